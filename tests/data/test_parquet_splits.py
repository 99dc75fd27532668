"""Parts of Parquet files against plain Python: every row once, in order, with its number."""

import io
import os
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensormt.data import parquet_splits
from tensormt.data.parquet_splits import open_parquet, read_batches, split_file
from tensormt.data.row_columns import Columns
from tensormt.data.shard_reader import read_records
from tensormt.data.shards import cut_files
from tensormt.errors import TensorMTError

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


def read(path, some, **options):
    with open_parquet(str(path)) as file:
        found = []
        for part in some:
            groups = range(part.start, part.stop)
            for batch in read_batches(
                file, groups, SCHEMA.names, part.skip or 0, part.rows, **options
            ):
                found += batch.to_pylist()
        return found


@given(st.lists(st.integers(1, 60), max_size=5), st.integers(1, 9000))
def test_every_row_has_one_part(tmp_path_factory, groups, size):
    path = tmp_path_factory.mktemp("groups") / "a.parquet"
    rows = write(path, groups)
    found = split_file(str(path), size)
    assert read(path, found) == rows
    assert [part.first for part in found] == [
        sum(part.rows for part in found[:k]) for k in range(len(found))
    ]
    about = pq.read_metadata(path)
    weights = [about.row_group(k).total_byte_size for k in range(about.num_row_groups)]
    assert sum(part.bytes for part in found) == sum(weights)
    most = max(4, 16 // max(1, len(groups)))
    for group, weight in enumerate(weights):
        own = [part for part in found if part.start == group and part.skip is not None]
        number = min(round(weight / size), groups[group], most)
        assert len(own) == (number if number > 1 else 0)
        sizes = [part.rows for part in own] or [0]
        assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("number", [1, 2, 3, 7])
def test_one_group_in_so_many_parts(tmp_path, number):
    """With small batches, parts end within batches, and batches within parts."""
    path = tmp_path / "a.parquet"
    rows = write(path, [1000])
    weight = pq.read_metadata(path).row_group(0).total_byte_size
    found = split_file(str(path), weight // number)
    assert len(found) == number
    assert read(path, found, batch_rows=64) == rows
    for part in found:
        assert read(path, [part], batch_rows=64) == rows[part.first : part.first + part.rows]


def test_groups_that_are_not_heavy_are_left_as_they_were(tmp_path):
    """Outputs of older runs have the same cuts: groups together until they weigh enough."""
    path = tmp_path / "a.parquet"
    write(path, [30] * 9)
    about = pq.read_metadata(path)
    weights = [about.row_group(k).total_byte_size for k in range(9)]
    for size in (max(weights), 2 * max(weights), 5 * max(weights), 10**9):
        expected, start = [], 0
        for stop in range(1, 10):
            if sum(weights[start:stop]) >= size or stop == 9:
                expected.append((start, stop, None))
                start = stop
        assert [(p.start, p.stop, p.skip) for p in split_file(str(path), size)] == expected


def test_a_group_is_never_held_whole(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    noise = [os.urandom(2000).hex() for _ in range(3000)]
    pq.write_table(pa.table({"mt": noise}), path, compression="none", use_dictionary=False)
    asked = []

    class Watched(io.FileIO):
        def read(self, size=-1):
            asked.append(size)
            return super().read(size)

    @contextmanager
    def opened(name):
        with Watched(name) as file:
            yield file

    monkeypatch.setattr(parquet_splits, "open_input", opened)
    with open_parquet(str(path)) as file:
        found = [
            text for b in read_batches(file, [0], ["mt"], 2500, 100) for text in b["mt"].to_pylist()
        ]
    assert found == noise[2500:2600]
    assert max(asked) <= 5 << 20 < path.stat().st_size // 2


def test_a_damaged_group_is_one_sentence(tmp_path):
    path = tmp_path / "a.parquet"
    write(path, [500])
    chunk = pq.read_metadata(path).row_group(0).column(2)
    data = bytearray(path.read_bytes())
    data[chunk.data_page_offset : chunk.data_page_offset + 200] = b"\xff" * 200
    path.write_bytes(data)
    *_, last = cut_files([str(path)], 4000)
    with pytest.raises(TensorMTError, match=r"a.parquet cannot be read"):
        list(read_records(last, Columns("mt", ("refs",))))
