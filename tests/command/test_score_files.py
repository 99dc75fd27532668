"""`tensormt score-files`: its output, dry runs and log lines."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scale.samples import call, rows, wanted, write_jsonl


def test_the_command_prints_what_score_prints(tmp_path):
    some = rows(60)
    report, segments = wanted(tmp_path, some, ["bleu", "bm"])
    other = [
        {"mt": row["hypothesis"], "a": row["references"][0], "b": (row["references"] + [None])[1]}
        for row in some
    ]
    path = write_jsonl(tmp_path / "other.jsonl", other)
    common = ["score-files", path, "--hyp", "mt", "--refs", "a", "b", "-m", "bleu", "bm", "-q"]
    one = call(*common, "-o", tmp_path / "out", "-f", "json", "--workers", 1, "--to", "jsonl")
    assert json.loads(one) == {"systems": {"mt": report}, "segments": 60}
    (output,) = (tmp_path / "out").glob("*.jsonl")
    assert [json.loads(line) for line in output.read_text().split("\n") if line] == segments
    text = call(*common, "-o", tmp_path / "out", "--to", "jsonl")
    assert text.split("\n")[1].split() == [
        "mt",
        f"{report['bleu']['score']:.2f}",
        f"{report['bm']['score']:.4f}",
    ]
    assert text.rstrip().endswith(report["bm"]["signature"])


def test_dry_run_writes_nothing(tmp_path):
    path = write_jsonl(tmp_path / "rows.jsonl", rows(500))
    table = pa.Table.from_pylist(rows(70))
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=10)
    common = ["--dry-run", "-m", "bleu", "nist", "-o", tmp_path / "out", "-f", "json"]
    plan = json.loads(call("score-files", path, "--shard-size", "0.01", *common))
    assert (plan["files"], plan["bytes"]) == (1, path.stat().st_size)
    assert plan["shards"] == round(path.stat().st_size / (0.01 * 2**20))
    assert plan["rows"] == pytest.approx(500, rel=0.1)
    assert plan["speed"] > 0
    exact = json.loads(call("score-files", tmp_path / "rows.parquet", *common))
    assert (exact["rows"], exact["exact"]) == (70, True)
    assert not (tmp_path / "out").exists()


def test_a_log_line_a_shard_when_quiet(tmp_path, capsys):
    path = write_jsonl(tmp_path / "rows.jsonl", rows(40))
    call("score-files", path, "-o", tmp_path / "out", "-q", "--workers", 1, "--shard-size", "0.002")
    lines = [line for line in capsys.readouterr().err.split("\n") if "scored" in line]
    assert len(lines) == len(list((tmp_path / "out").glob("*.parquet"))) > 1
    assert "rows/s" in lines[0]
