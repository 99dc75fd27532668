"""score-files on Parquet files whose row groups are cut: scores, bad rows, and going on."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scale.samples import call, corpus, rows, scores, wanted

from tensormt.errors import TensorMTError
from tensormt.scale import score_files
from tensormt.scale.driver import plan

METRICS = ["bleu", "bm", "nist"]


def write(path, some, *groups):
    """A Parquet file with groups of so many rows, the rest in one; its heaviest group in bytes."""
    table, at = pa.Table.from_pylist(some), 0
    with pq.ParquetWriter(path, table.schema) as writer:
        for size in (*groups, len(some) - sum(groups)):
            writer.write_table(table.slice(at, size))
            at += size
    about = pq.read_metadata(path)
    assert about.num_row_groups == len(groups) + 1
    return max(about.row_group(k).total_byte_size for k in range(about.num_row_groups))


@pytest.mark.parametrize(("number", "workers"), [(1, 1), (2, 1), (7, 2)])
def test_one_row_group_in_parts(tmp_path, number, workers):
    some = rows(500)
    report, segments = wanted(tmp_path, some, METRICS)
    weight = write(tmp_path / "one.parquet", some)
    found = score_files(
        [tmp_path / "one.parquet"], tmp_path / "out", METRICS, workers=workers, id="id",
        shard_bytes=weight // number,
    )  # fmt: skip
    assert len(found.outputs) == number
    assert corpus(found) == report
    assert scores(found, METRICS) == segments
    assert [row["id"] for row in scores(found, ["id"])] == list(range(500))


@pytest.mark.parametrize("parts", [2, 4])
def test_groups_cut_and_together(tmp_path, parts):
    some = rows(400)
    report, segments = wanted(tmp_path, some, METRICS)
    weight = write(tmp_path / "many.parquet", some, 10, 15, 170, 5, 170, 3)
    found = score_files(
        [tmp_path / "many.parquet"], tmp_path / "out", METRICS, workers=1,
        shard_bytes=weight // parts,
    )  # fmt: skip
    cuts = json.loads((tmp_path / "out" / "summary.json").read_text())["shards"]
    assert [cut["start"] for cut in cuts if "skip" in cut] == [2] * parts + [4] * parts
    assert sum(cut["rows"] for cut in cuts) == 400
    assert (corpus(found), scores(found, METRICS)) == (report, segments)


def test_references_in_columns_and_nulls(tmp_path):
    some = [
        {"mt": row["hypothesis"], "a": row["references"][0], "b": (row["references"] + [None])[1]}
        for row in rows(300)
    ]
    good = [k for k in range(300) if k not in (0, 137, 299)]
    as_rows = [
        {"hypothesis": some[k]["mt"], "references": [some[k]["a"], some[k]["b"]]} for k in good
    ]
    report, segments = wanted(tmp_path, as_rows, METRICS)
    some[0]["mt"] = some[299]["mt"] = None
    some[137] |= {"a": None, "b": " "}
    path = tmp_path / "one.parquet"
    weight = write(path, some)
    columns = {"hyp": "mt", "refs": ["a", "b"], "workers": 1, "shard_bytes": weight // 5}
    with pytest.raises(TensorMTError, match=r"one.parquet, row 1: the row has no 'mt'"):
        score_files([path], tmp_path / "stop", METRICS, **columns)
    found = score_files([path], tmp_path / "out", METRICS, on_error="skip", **columns)
    assert len(found.outputs) == 5
    assert (found.segments, found.skipped) == (297, 3)
    assert found.errors == [
        f"{path}, row 1: the row has no 'mt'",
        f"{path}, row 138: the row has no non-empty reference",
        f"{path}, row 300: the row has no 'mt'",
    ]
    assert corpus(found) == report
    everything = scores(found, METRICS)
    assert [everything[k] for k in good] == segments
    assert everything[137] == dict.fromkeys(METRICS)


def test_parts_go_on_and_are_refused(tmp_path):
    some = rows(300)
    path, out = tmp_path / "one.parquet", tmp_path / "out"
    size = write(path, some) // 4
    first = score_files([path], out, ["bleu"], workers=1, shard_bytes=size, part=(2, 2))
    assert (len(first.outputs), first.missing) == (2, 2)
    kept = {name: name.stat().st_mtime_ns for name in out.glob("*.parquet")}
    whole = score_files([path], out, ["bleu"], workers=1, shard_bytes=size)
    assert {name: name.stat().st_mtime_ns for name in kept} == kept
    report, segments = wanted(tmp_path, some, ["bleu"])
    assert (corpus(whole), scores(whole, ["bleu"])) == (report, segments)
    with pytest.raises(TensorMTError, match="belongs to another run"):
        score_files([path], out, ["bleu"], workers=1, shard_bytes=2 * size)
    write(path, some)  # written again, the same
    assert score_files([path], out, ["bleu"], workers=1, shard_bytes=size) == whole
    some[290]["hypothesis"] = some[290]["hypothesis"][::-1]
    write(path, some)
    with pytest.raises(TensorMTError, match=r"0003.parquet has scores of another version"):
        score_files([path], out, ["bleu"], workers=1, shard_bytes=size)


def test_other_cuts_of_as_many_parts_are_refused(tmp_path):
    """Rows moved from one group to another: as many shards of the same names, other rows."""
    path, out = tmp_path / "one.parquet", tmp_path / "out"
    some = rows(300)
    size = write(path, some, 150) // 2
    score_files([path], out, ["bleu"], workers=1, shard_bytes=size)
    write(path, some, 148)
    assert len(plan([path], str(out), size)) == 4
    with pytest.raises(TensorMTError, match="has scores of another version"):
        score_files([path], out, ["bleu"], workers=1, shard_bytes=size)


def test_outputs_from_before_groups_were_cut_are_taken(tmp_path):
    """A footer without `skip`, as older runs wrote it."""
    path, out = tmp_path / "one.parquet", tmp_path / "out"
    write(path, rows(60), 30)
    first = score_files([path], out, ["bleu"], workers=1)
    (output,) = out.glob("*.parquet")
    table = pq.read_table(output)
    footer = json.loads(pq.read_metadata(output).metadata[b"tensormt"])
    assert footer.pop("skip") is None
    pq.write_table(table.replace_schema_metadata({b"tensormt": json.dumps(footer)}), output)
    stamp = output.stat().st_mtime_ns
    assert score_files([path], out, ["bleu"], workers=1) == first
    assert output.stat().st_mtime_ns == stamp


@pytest.mark.parametrize("change", [{"skip": 71}, {"skip": None}, {"rows": 70}])
def test_cuts_of_another_version_are_refused(tmp_path, change):
    """The file is the same, and so are the names of the shards; their rows would not be."""
    path, out = tmp_path / "one.parquet", tmp_path / "out"
    size = write(path, rows(300)) // 4
    score_files([path], out, ["bleu"], workers=1, shard_bytes=size)
    output = out / "00000-one-0001.parquet"
    footer = json.loads(pq.read_metadata(output).metadata[b"tensormt"])
    assert (footer["skip"], footer["rows"]) == (75, 75)
    table = pq.read_table(output)
    pq.write_table(
        table.replace_schema_metadata({b"tensormt": json.dumps(footer | change)}), output
    )
    with pytest.raises(TensorMTError, match=r"0001.parquet has scores of another version"):
        score_files([path], out, ["bleu"], workers=1, shard_bytes=size)


def test_a_plan_counts_the_parts(tmp_path):
    path = tmp_path / "one.parquet"
    weight = write(path, rows(300))
    more = ["-o", tmp_path / "out", "--shard-size", weight / 6 / 2**20, "-f", "json", "--dry-run"]
    found = json.loads(call("score-files", path, *more))
    assert (found["shards"], found["rows"], found["exact"]) == (6, 300, True)
    assert found["bytes"] == weight
