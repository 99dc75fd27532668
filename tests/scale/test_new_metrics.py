"""Error rates, ROUGE and shares: files of shards give what `tensormt score` gives, to the bit."""

from scale.samples import rows, wanted, write_jsonl

from tensormt.command.main import main
from tensormt.scale import score_files

METRICS = ["ter", "wer", "cer", "per", "rouge:variant=1", "rouge:variant=2", "rouge:variant=l"]
METRICS += ["rouge:variant=lsum,stem=yes", "offtarget", "copied", "chrf+ter+copied"]


def test_shards_equal_one_file(tmp_path):
    some = [{**row, "src": row["references"][0][::2]} for row in rows(120)]
    found, _ = wanted(tmp_path, some, METRICS)
    write_jsonl(tmp_path / "rows.jsonl", some)
    summary = score_files(
        [tmp_path / "rows.jsonl"], tmp_path / "out", METRICS, workers=1, src="src", shard_bytes=2000
    )
    assert summary.corpus == {name: own["score"] for name, own in found.items()}


def test_the_command_names_the_source(tmp_path):
    some = [{**row, "src": row["references"][0]} for row in rows(5)]
    write_jsonl(tmp_path / "rows.jsonl", some)
    names = [str(tmp_path / name) for name in ("rows.jsonl", "out")]
    assert main(["score-files", names[0], "-m", "copied", "--src", "src", "-o", names[1]]) == 0
