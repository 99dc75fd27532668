"""Scoring of many files: the same scores as those of `tensormt score`, parts, errors."""

import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scale.samples import call, corpus, rows, scores, wanted, write_jsonl

from tensormt.errors import TensorMTError
from tensormt.scale import score_files

METRICS = ["bleu", "bm", "nm", "nist", "chrf+bm:weighting=zipf"]


def spread(folder, some):
    """The rows over a Parquet file of many row groups, a JSONL, a packed JSONL and a TSV file."""
    folder.mkdir()
    quarter = len(some) // 4
    table = pa.Table.from_pylist(some[:quarter])
    pq.write_table(table, folder / "a.parquet", row_group_size=17)
    write_jsonl(folder / "b.jsonl", some[quarter : 2 * quarter])
    packed = gzip.compress(
        write_jsonl(folder / "c.jsonl", some[2 * quarter : 3 * quarter]).read_bytes()
    )
    (folder / "c.jsonl").unlink()
    (folder / "c.jsonl.gz").write_bytes(packed)
    lines = ["id\thypothesis\treference1\treference2\tdoc"]
    for row in some[3 * quarter :]:
        refs = [*row["references"], ""][:2]
        lines.append("\t".join([str(row["id"]), row["hypothesis"], *refs, row["doc"]]))
    (folder / "d.tsv").write_text("\n".join(lines) + "\n", "utf-8")
    return folder


@pytest.mark.parametrize(("workers", "size"), [(1, 1 << 24), (1, 700), (2, 3000)])
def test_scores_are_those_of_score(tmp_path, workers, size):
    some = rows(400)
    report, segments = wanted(tmp_path, some, METRICS)
    data = spread(tmp_path / "data", some)
    found = score_files(
        [data], tmp_path / "out", METRICS, workers=workers, shard_bytes=size, id="id", doc="doc"
    )
    assert corpus(found) == report
    assert scores(found, METRICS) == segments
    assert (found.segments, found.skipped, found.missing) == (400, 0, 0)
    kept = [(str(row["id"]), row["doc"]) for row in scores(found, ["id", "doc"])]
    assert kept == [(str(row["id"]), row["doc"]) for row in some]
    assert len(found.outputs) >= (4 if size > 1 << 20 else 12)


@pytest.mark.heavy(needs="minutes")
def test_trees_at_hand_and_parsed(tmp_path):
    trees = [
        "(S (NP (DT the) (NN dog)) (VP (VBD ran)))",
        "(S (NP (DT a) (JJ old) (NN dog)) (VP (VBZ runs) (ADVP (RB fast))))",
        "(S (NP (PRP it)) (VP (VBD saw) (NP (DT the) (NN cat))))",
        "(FRAG (NP (NN dog)))",
    ]
    some = [
        {"hypothesis": trees[k % 4], "references": [trees[(k * k + 1) % 4], trees[k // 3 % 4]]}
        for k in range(37)
    ]
    metrics = ["stm", "tkm", "tkm:decay=0.3", "hwcm", "dtkm", "nist"]
    report, segments = wanted(tmp_path, some, metrics, "--trees")
    path = write_jsonl(tmp_path / "rows.jsonl", some)
    for workers in (1, 2):
        out = tmp_path / f"out{workers}"
        found = score_files([path], out, metrics, workers=workers, shard_bytes=900, trees=True)
        assert corpus(found) == report
        assert scores(found, metrics) == segments
    words = [
        " ".join(part.split(")")[0] for part in tree.split(" ") if ")" in part) for tree in trees
    ]
    texts = [{"hypothesis": words[k % 4], "references": [words[k // 4]]} for k in range(12)]
    report, segments = wanted(tmp_path, texts, ["stm", "bleu"], "--no-cache")
    path = write_jsonl(tmp_path / "texts.jsonl", texts)
    found = score_files(
        [path], tmp_path / "parsed", ["stm", "bleu"], workers=2, shard_bytes=300,
        cache=str(tmp_path / "cache"),
    )  # fmt: skip
    assert corpus(found) == report
    assert scores(found, ["stm", "bleu"]) == segments
    assert list((tmp_path / "cache").glob("*.sqlite"))


def test_memory_file_system(tmp_path):
    import fsspec

    some = rows(120)
    report, segments = wanted(tmp_path, some, ["bleu", "nist"])
    memory = fsspec.filesystem("memory")
    table = pa.Table.from_pylist(some[:50])
    with memory.open("/in/a.parquet", "wb") as file:
        pq.write_table(table, file, row_group_size=20)
    memory.pipe("/in/b.jsonl", "".join(json.dumps(row) + "\n" for row in some[50:]).encode())
    try:
        for _ in range(2):  # the second run finds all of it done
            found = score_files(
                ["memory://in/*"], "memory://out", ["bleu", "nist"], workers=1, shard_bytes=2000
            )
            assert corpus(found) == report
            assert scores(found, ["bleu", "nist"]) == segments
        assert json.loads(memory.cat("/out/summary.json"))["segments"] == 120
        assert not [path for path in memory.find("/out") if path.endswith(".tmp")]
    finally:
        memory.rm("/in", recursive=True)
        memory.rm("/out", recursive=True)


def test_parts_of_an_array_job(tmp_path, capsys):
    some = rows(90)
    report, segments = wanted(tmp_path, some, ["bleu", "nist"])
    path = write_jsonl(tmp_path / "rows.jsonl", some)
    more = {"workers": 1, "shard_bytes": 2000}

    def part(number):
        return score_files([path], tmp_path / "out", ["bleu", "nist"], part=(number, 2), **more)

    with pytest.raises(TensorMTError, match=r"counted in \d of \d shards: run this part again"):
        part(1)
    second = part(2)  # counts its own, and has them all
    assert second.missing
    assert not (tmp_path / "out" / "summary.json").exists()
    first = part(1)
    assert not first.missing
    assert (corpus(first), scores(first, ["bleu", "nist"])) == (report, segments)
    capsys.readouterr()
    common = ["score-files", str(path), "-o", str(tmp_path / "cli"), "--shard-size", "0.002"]
    assert call(*common, "--shard", "1/2", "--workers", 1) == ""
    assert "shards are not done" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"metrics": ["blue"]}, "no metric named 'blue'"),
        ({"engine": "dask"}, "expected an engine of local, ray"),
        ({"workers": 0}, "0 workers"),
        ({"part": (3, 2)}, "part 3/2"),
        ({"format": "csv"}, "no format 'csv'"),
        ({"paths": ["absent-*.jsonl"]}, "no file found"),
        ({"hyp": "mt"}, "rows.jsonl, line 1: the row has no 'mt'"),
    ],
)
def test_what_cannot_be_is_one_sentence(tmp_path, change, message):
    path = write_jsonl(tmp_path / "rows.jsonl", rows(4))
    given = {"paths": [path], "out": tmp_path / "out", "metrics": ["bleu"], "workers": 1} | change
    with pytest.raises(TensorMTError, match=message):
        score_files(**given)
