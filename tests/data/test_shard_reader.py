"""Rows of shards: invalid rows, digests, columns."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tensormt.data.row_columns import Columns
from tensormt.data.shard_reader import InvalidRow, content_digest, read_records
from tensormt.data.shards import cut_files
from tensormt.errors import TensorMTError


def read(shards, columns=None):
    return [row for shard in shards for row in read_records(shard, columns or Columns())]


def test_places_of_bad_rows(tmp_path):
    lines = [json.dumps({"hypothesis": "x" * (k % 7), "reference": "y"}) for k in range(40)]
    lines[29] = "[1]"
    lines[30] = json.dumps({"hypothesis": 5, "reference": "y"})
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(lines))
    for size in range(40, 400, 33):
        bad = [
            row.message for row in read(cut_files([str(path)], size)) if isinstance(row, InvalidRow)
        ]
        assert bad == [
            f"{path}, line 30: expected a JSON object, found '[1]'",
            f"{path}, line 31: 'hypothesis' must be a string",
        ]
    table = tmp_path / "b.tsv"
    table.write_text("hypothesis\treference\n" + "a\tb\n" * 9 + "a\n" + "a\tb\n" * 9)
    for size in (7, 25, 60, 1000):
        (bad,) = [row for row in read(cut_files([str(table)], size)) if isinstance(row, InvalidRow)]
        assert bad.message == f"{table}, line 11: 1 columns, the header has 2"


def test_the_digest_sees_what_is_read(tmp_path):
    path = tmp_path / "a.jsonl"
    line = '{"hypothesis": "a", "references": ["b"]}\n'
    path.write_text(line * 40)
    before = [content_digest(shard, Columns()) for shard in cut_files([str(path)], 500)]
    path.write_text(line * 20 + line.replace("a", "c", 1).replace("c", "a", 1) * 19 + line.upper())
    after = [content_digest(shard, Columns()) for shard in cut_files([str(path)], 500)]
    assert [one == two for one, two in zip(before, after, strict=True)] == [True] * (
        len(before) - 1
    ) + [False]
    tables = []
    for word in ("x", "y"):
        table = pa.table({"hypothesis": ["a", word], "reference": ["b", "b"]})
        pq.write_table(table, tmp_path / "a.parquet", row_group_size=1)
        shards = cut_files([str(tmp_path / "a.parquet")], 1)
        tables.append([content_digest(shard, Columns()) for shard in shards])
    assert [one == two for one, two in zip(*tables, strict=True)] == [True, False]


def test_columns_that_are_not_there(tmp_path):
    pq.write_table(pa.table({"a": ["x"], "n": [1]}), tmp_path / "a.parquet")
    (tmp_path / "b.tsv").write_text("a\tn\nx\t1\n")
    for name in ("a.parquet", "b.tsv"):
        (shard,) = cut_files([str(tmp_path / name)], 100)
        with pytest.raises(TensorMTError, match=rf"{name} has no column 'hypothesis': it has a, n"):
            list(read_records(shard, Columns()))
    (shard,) = cut_files([str(tmp_path / "a.parquet")], 100)
    (row,) = read_records(shard, Columns("n", ("a",)))
    assert row == InvalidRow(f"{tmp_path / 'a.parquet'}, row 1: 'n' must be a string")
    (tmp_path / "c.parquet").write_text("no Parquet")
    with pytest.raises(TensorMTError, match=r"c.parquet cannot be read as Parquet"):
        cut_files([str(tmp_path / "c.parquet")], 100)


SCHEMA = pa.schema([("n", pa.int64()), ("refs", pa.list_(pa.string())), ("mt", pa.string())])


def made(count):
    return [
        {"n": k, "refs": [None, "é" * (k % 5), f"r{k}"][: 1 + k % 3], "mt": f"text {k}"}
        for k in range(count)
    ]


def write(path, groups):
    """A file with groups of so many rows."""
    rows, at = made(sum(groups)), 0
    with pq.ParquetWriter(path, SCHEMA) as writer:
        for own in groups:
            writer.write_table(pa.Table.from_pylist(rows[at : at + own], SCHEMA))
            at += own
    return rows


def test_bad_rows_have_their_numbers_in_the_file(tmp_path):
    path = tmp_path / "a.parquet"
    rows = [*made(40), {"n": 40, "refs": ["x"], "mt": None}, *made(300)]
    rows[250] = {"n": 1, "refs": [" ", None], "mt": "x"}
    with pq.ParquetWriter(path, SCHEMA) as writer:
        for some in (rows[:20], rows[20:]):
            writer.write_table(pa.Table.from_pylist(some, SCHEMA))
    columns = Columns("mt", ("refs",), None, "n")
    good = [k for k, row in enumerate(rows) if k not in (40, 250) and any(row["refs"])]
    for size in (100, 300, 1000, 10**6):
        found = [
            row for shard in cut_files([str(path)], size) for row in read_records(shard, columns)
        ]
        bad = {k: row.message for k, row in enumerate(found) if isinstance(row, InvalidRow)}
        assert bad[40] == f"{path}, row 41: the row has no 'mt'"
        assert bad[250] == f"{path}, row 251: the row has no non-empty reference"
        assert [k for k in range(len(rows)) if k not in bad] == good
        assert [found[k].id for k in good] == [rows[k]["n"] for k in good]


def test_the_digest_of_a_part_sees_its_rows_alone(tmp_path):
    path, columns = tmp_path / "a.parquet", Columns("mt", ("refs",))

    def digests(rows):
        pq.write_table(pa.Table.from_pylist(rows, SCHEMA), path)
        return [content_digest(shard, columns) for shard in cut_files([str(path)], 2000)]

    rows = made(600)
    before = digests(rows)
    assert len(before) > 3
    assert digests(rows) == before
    assert len(set(before)) == len(before)
    rows[3] = rows[3] | {"mt": "text 4"}  # as long as before
    assert [a == b for a, b in zip(before, digests(rows), strict=True)] == [False] + [True] * (
        len(before) - 1
    )
    rows[3] = made(4)[3] | {"n": 77}  # a column that is not read
    assert digests(rows) == before


def test_the_digest_while_reading_is_the_digest_alone(tmp_path):
    import hashlib

    path, columns = tmp_path / "a.parquet", Columns("mt", ("refs",))
    write(path, [300, 20, 20])
    for shard in cut_files([str(path)], 3000):
        own = hashlib.blake2b(digest_size=16)
        for _ in read_records(shard, columns, own):
            pass
        assert own.hexdigest() == content_digest(shard, columns)
