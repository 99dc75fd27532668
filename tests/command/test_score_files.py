"""`tensormt score-files`: its output, dry runs and log lines."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scale.samples import call, rows, wanted, write_jsonl

from tensormt.command.main import main


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


def test_direction_of_error_rates(tmp_path):
    path = write_jsonl(tmp_path / "a.jsonl", rows(9))
    common = ["score-files", path, "-m", "ter", "bleu", "-q", "-o", tmp_path / "out"]
    assert "\n\nlower is better: ter\n\n" in call(*common)
    assert r"ter $\downarrow$" in call(*common, "-f", "latex")
    assert json.loads(call(*common, "-f", "json"))["lower_is_better"] == ["ter"]
    assert json.loads((tmp_path / "out/summary.json").read_text())["lower_is_better"] == ["ter"]


def test_a_column_that_a_later_file_lacks(tmp_path, capsys):
    """It is an error in whatever order the files come."""
    some = rows(4)
    first = write_jsonl(tmp_path / "a.jsonl", [{**row, "src": "x"} for row in some])
    second = write_jsonl(tmp_path / "b.jsonl", some)
    for paths in ([first, second], [second, first]):
        command = ["score-files", *paths, "-o", tmp_path / "out", "-m", "bleu", "--src", "src"]
        assert main([*map(str, command), "-q"]) == 2
        assert "b.jsonl" in capsys.readouterr().err
        assert not (tmp_path / "out").exists()


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


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        (
            "a.jsonl",
            ['{"hypothesis": "a cat sat down", "reference": "x y", "reference2": "a cat"}'],
        ),
        ("a.jsonl", ['{"hypothesis": "a cat sat down", "references": "a cat sat down"}']),
        ("a.tsv", ["hypothesis\treferences", "a cat sat down\ta cat sat"]),
        ("a.tsv", ["reference2\thypothesis\treference", "x\ta cat sat down\ta cat sat"]),
        ("a.csv", ["reference2,hypothesis,reference", '"x","a cat sat, down",a cat sat']),
        ("a.csv", ["hypothesis,reference1", '"a cat', 'sat, down","a cat', 'sat, up"']),
    ],
)
def test_one_row_has_one_reading(tmp_path, name, lines):
    path = tmp_path / name
    path.write_text("\n".join([*lines, ""]))
    common = ["-m", "bleu:smooth=floor", "chrf", "-q", "-f", "json"]
    one = json.loads(call("score", "-i", path, *common))
    two = json.loads(call("score-files", path, "-o", tmp_path / "out", "--workers", 1, *common))
    assert list(one["systems"].values()) == list(two["systems"].values())
    assert one["segments"] == two["segments"] == 1


@pytest.mark.parametrize("lines", [["hypothesis\treference\treferences", "a\tb\tc"]])
def test_a_row_of_two_readings_is_refused_by_both(tmp_path, capsys, lines):
    path = tmp_path / "a.tsv"
    path.write_text("\n".join([*lines, ""]))
    for command in (["score", "-i", path], ["score-files", path, "-o", tmp_path / "out"]):
        assert main([*map(str, command), "-m", "bleu", "-q"]) == 2
        error = capsys.readouterr().err
        assert "line 2: the references can be read from references or from reference:" in error
        assert error.rstrip().endswith("(--refs)")


def test_a_misspelt_column_names_those_that_exist(tmp_path, capsys):
    path = write_jsonl(tmp_path / "a.jsonl", [{"mt": "a", "gold": "b"}])
    for named, option in ((["--hyp", "tm"], "--hyp, --refs"), (["--hyp", "mt"], "--refs")):
        for command in (["score", "-i", path], ["score-files", path, "-o", tmp_path / "out"]):
            assert main([*map(str, command), "-m", "bleu", "-q", *named, "--refs", "glod"]) == 2
            error = capsys.readouterr().err
            assert "it has mt, gold; name one of these" in error
            assert error.rstrip().endswith(f"({option})")


def test_ids_in_files_of_segment_scores(tmp_path):
    some = rows(6)
    path = write_jsonl(tmp_path / "a.jsonl", some)
    for kind in ("jsonl", "tsv", "parquet"):
        out = tmp_path / f"out.{kind}"
        call("score", "-i", path, "-m", "bleu", "-q", "--id", "id", "--segments", out)
        call("score", "-i", path, "-m", "bleu", "-q", "--id", "id", "--segments", out)  # the same
        if kind == "parquet":
            found = pq.read_table(out).column("id").to_pylist()
        elif kind == "tsv":
            head, *lines = [line.split("\t") for line in out.read_text().split("\n") if line]
            found = [line[head.index("id")] for line in lines]
        else:
            found = [json.loads(line)["id"] for line in out.read_text().split("\n") if line]
        assert found == [str(row["id"]) for row in some]
