"""Files of scores: read back with pyarrow and json alone, whole or not there at all."""

import json
import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensormt.data import shard_writer
from tensormt.data.shard_writer import (
    ScoreFile,
    read_columns,
    read_footer,
    read_json,
    remove_temporary_files,
    write_json,
)
from tensormt.errors import TensorMTError

FIELDS = {"id": "int64", "doc": "string", "bleu": "double"}
TEXTS = st.text(st.characters(blacklist_categories=["Cs"]), max_size=8)
ROWS = st.lists(
    st.tuples(
        st.none() | st.integers(-(2**63), 2**63 - 1),
        st.none() | TEXTS,
        st.none() | st.floats(allow_nan=False, allow_infinity=False),
    ),
    max_size=30,
)


def write(path, rows, step, footer, **options):
    with ScoreFile(str(path), FIELDS, **options) as file:
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            file.add({name: [row[k] for row in part] for k, name in enumerate(FIELDS)})
        file.finish(footer)


def read(path):
    """The rows of a file, by libraries alone."""
    if path.suffix == ".parquet":
        found = pq.ParquetFile(path).read().to_pylist()
    else:
        found = [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]
    assert all(list(row) == list(FIELDS) for row in found)
    return [tuple(row.values()) for row in found]


@given(ROWS, st.integers(1, 9), st.sampled_from(["parquet", "jsonl"]))
def test_what_is_written_is_read(tmp_path_factory, rows, step, form):
    folder = tmp_path_factory.mktemp("scores")
    path, footer = folder / f"a.{form}", {"rows": len(rows), "é": [[1, 2], None, 0.1]}
    write(path, rows, step, footer, group_rows=7)
    assert read(path) == rows
    assert [math.copysign(1, row[2]) for row in read(path) if row[2] is not None] == [
        math.copysign(1, row[2]) for row in rows if row[2] is not None
    ]
    assert read_footer(str(path)) == footer
    names = {path.name} | ({"a.jsonl.footer"} if form == "jsonl" else set())
    assert {name.name for name in folder.iterdir()} == names
    if form == "parquet":
        kinds = [str(field.type) for field in pq.read_schema(path)]
        assert kinds == ["int64", "string", "double"]
        columns, facts = read_columns(str(path))
        assert facts == footer
        assert list(zip(*columns.values(), strict=True)) == rows
        assert list(columns) == list(FIELDS)


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_a_file_is_there_whole_or_not_at_all(tmp_path, form):
    path = tmp_path / f"a.{form}"
    write(path, [(1, "old", 0.5)], 1, {"run": 1})
    before = {name.name: name.read_bytes() for name in tmp_path.iterdir()}

    def fail():
        with ScoreFile(str(path), FIELDS) as file:
            file.add({"id": [2], "doc": ["new"], "bleu": [1.0]})
            during = [name.name for name in tmp_path.iterdir() if name.name.endswith(".tmp")]
            assert len(during) == 1
            assert during[0].startswith(f".a.{form}.")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert {name.name: name.read_bytes() for name in tmp_path.iterdir()} == before
    write(path, [(2, "new", 1.0)], 1, {"run": 2})
    assert (read(path), read_footer(str(path))) == ([(2, "new", 1.0)], {"run": 2})


def test_old_scores_never_meet_new_facts(tmp_path, monkeypatch):
    """A kill between the footer of a JSONL file and its rows: the file is not there."""
    path = tmp_path / "a.jsonl"
    write(path, [(1, "old", 0.5)], 1, {"run": 1})

    def killed(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(shard_writer, "move_into_place", killed)
        with pytest.raises(KeyboardInterrupt):
            write(path, [(2, "new", 1.0)], 1, {"run": 2})
    assert not path.exists()
    assert read_footer(str(path)) is None


def test_what_others_wrote_is_not_ours(tmp_path):
    assert read_footer(str(tmp_path / "absent.parquet")) is None
    pq.write_table(pa.table({"a": [1]}), tmp_path / "a.parquet")
    (tmp_path / "b.parquet").write_bytes(b"PAR1, but no Parquet")
    (tmp_path / "c.jsonl").write_text("{}\n")
    (tmp_path / "d.jsonl").write_text("{}\n")
    (tmp_path / "d.jsonl.footer").write_text("[1")
    for name in ("a.parquet", "b.parquet", "c.jsonl", "d.jsonl"):
        with pytest.raises(TensorMTError, match=rf"{name} was not written by score-files: choose"):
            read_footer(str(tmp_path / name))
    with pytest.raises(TensorMTError, match=r"absent.parquet is missing"):
        read_columns(str(tmp_path / "absent.parquet"))


def test_small_files(tmp_path):
    path = tmp_path / "summary.json"
    for data in ({"é": [1, None, 0.1]}, [], "x"):
        write_json(str(path), data)
        assert json.loads(path.read_text("utf-8")) == read_json(str(path)) == data
        assert [name.name for name in tmp_path.iterdir()] == ["summary.json"]
    path.write_text('{"a": ')
    with pytest.raises(TensorMTError, match=r"summary.json is damaged: not JSON"):
        read_json(str(path))
    with pytest.raises(TensorMTError, match=r"no-folder/a.json cannot be written: No such file"):
        write_json(str(tmp_path / "no-folder" / "a.json"), {})


def test_sweeping_takes_temporary_files_alone(tmp_path):
    names = [".a.parquet.12345678.tmp", ".hidden", "b.tmp", "a.parquet"]
    for name in names:
        (tmp_path / name).write_text("")
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / ".c.tmp").write_text("")
    remove_temporary_files(str(tmp_path))
    left = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*"))
    assert left == sorted([*names[1:], "inner", "inner/.c.tmp"])
