"""Segment scores: rows as JSON and TSV, resumed runs, and results that are not overwritten."""

import json
import math

import pyarrow.parquet as pq
import pytest

import tensormt as tm
from tensormt.data.segment_writer import SegmentWriter

NAMES = ["bleu", 'a"%s', "é%"]
SCORES = [[0.1, 1e-300, -0.0], [math.nan, math.inf, -math.inf], [1.0, 2.5e17, 1 / 3]]


@pytest.mark.parametrize("docs", [None, ["d 1", 'q"\t%d', "é"]])
def test_rows_are_those_of_json(tmp_path, docs):
    out = tmp_path / "out.jsonl"
    writer = SegmentWriter(str(out), "mark", NAMES, False)
    systems = ["s%d", "t\t2"]
    writer.add(7, docs, {s: dict(zip(NAMES, SCORES, strict=True)) for s in systems}, {})
    writer.finish()
    expected = [
        {
            "segment": 8 + k,
            "system": system,
            **({"doc": docs[k]} if docs else {}),
            **{name: column[k] for name, column in zip(NAMES, SCORES, strict=True)},
        }
        for k in range(3)
        for system in systems
    ]
    lines = [json.dumps(row, ensure_ascii=False) for row in expected]
    assert out.read_text().splitlines() == lines


def test_cells_of_a_table_are_one_line(tmp_path):
    out = tmp_path / "out.tsv"
    writer = SegmentWriter(str(out), "mark", ["bleu"], False)
    writer.add(0, ["a\tb"], {"s %d\n": {"bleu": [math.nan]}}, {})
    writer.finish()
    assert out.read_text() == "segment\tsystem\tdoc\tbleu\n1\ts %d\ta b\tnan\n"


def write(path, scores, start=0, resume=False, fingerprint="mark"):
    writer = SegmentWriter(str(path), fingerprint, ["bleu"], resume)
    writer.add(start, None, {"s": {"bleu": scores}}, {"sum": sum(scores)})
    return writer


@pytest.mark.parametrize("suffix", [".jsonl", ".tsv", ".parquet"])
def test_an_interrupted_run_is_resumed(tmp_path, suffix):
    path, whole = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
    write(path, [1.0, 2.0])._file.close()
    with (tmp_path / f"a{suffix}.part").open("ab") as part:
        part.write(b"an incomplete chunk")
    writer = write(path, [3.0], 2, resume=True)
    assert (writer.done, writer.kept) == (3, {"sum": 3.0})
    writer.finish()
    write(whole, [1.0, 2.0, 3.0]).finish()
    if suffix == ".parquet":
        assert pq.read_table(path).to_pydict() == pq.read_table(whole).to_pydict()
    else:
        assert path.read_bytes() == whole.read_bytes()
    assert {file.name for file in tmp_path.iterdir()} == {path.name, whole.name}


def test_what_cannot_be_resumed_or_replaced(tmp_path):
    path = tmp_path / "a.jsonl"
    write(path, [1.0])._file.close()
    with pytest.raises(tm.TensorMTError, match="inputs or options have changed"):
        write(path, [1.0], 1, resume=True, fingerprint="other")
    write(path, [1.0]).finish()
    write(path, [1.0]).finish()  # the same result again
    with pytest.raises(tm.TensorMTError, match="contains the result of another run"):
        write(path, [2.0])
    assert json.loads(path.read_text())["bleu"] == 1.0
    with pytest.raises(tm.TensorMTError, match=r"must end in one of .jsonl"):
        write(tmp_path / "a.txt", [1.0])


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
@pytest.mark.parametrize("planted", [".state.new", ".part.new"])
def test_planted_links_are_not_followed(tmp_path, suffix, planted):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / f"a{suffix}{planted}").symlink_to(victim)
    write(tmp_path / f"a{suffix}", [1.0]).finish()
    assert victim.read_text() == "mine"


@pytest.mark.parametrize("planted", ["", ".part", ".state"])
def test_links_in_place_of_the_files_of_a_run(tmp_path, planted):
    victim = tmp_path / "victim"
    victim.write_text("")
    (tmp_path / f"a.jsonl{planted}").symlink_to(victim)
    if planted:
        with pytest.raises(tm.TensorMTError, match="not a regular file"):
            write(tmp_path / "a.jsonl", [1.0])
        assert victim.read_text() == ""
    else:
        write(tmp_path / "a.jsonl", [1.0]).finish()  # the output's own link is followed
        assert json.loads(victim.read_text())["bleu"] == 1.0


def test_a_second_name_of_another_file_is_not_written(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / "a.jsonl.part").hardlink_to(victim)
    with pytest.raises(tm.TensorMTError, match="a file with several names"):
        write(tmp_path / "a.jsonl", [1.0])
    assert victim.read_text() == "mine"
