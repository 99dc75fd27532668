"""Shards against plain Python: every row has one owner, wherever files are cut."""

import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensormt.data.row_columns import Columns
from tensormt.data.shard_reader import read_records
from tensormt.data.shards import cut_files, find_files, row_location
from tensormt.errors import TensorMTError

TEXTS = st.text(st.characters(blacklist_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=12)


def read(shards, columns=None):
    return [row for shard in shards for row in read_records(shard, columns or Columns())]


@given(st.lists(TEXTS, min_size=1, max_size=20), st.integers(1, 300), st.booleans(), st.booleans())
def test_every_line_has_one_owner(tmp_path_factory, texts, size, end, mark):
    folder = tmp_path_factory.mktemp("lines")
    rows = [json.dumps({"hypothesis": t, "reference": "r"}, ensure_ascii=False) for t in texts]
    body = "\n".join(rows) + ("\n" if end else "")
    (folder / "a.jsonl").write_bytes((b"\xef\xbb\xbf" if mark else b"") + body.encode())
    cells = [f"{text}\tr{k}" for k, text in enumerate(texts)]
    body = "\n".join(["hypothesis\treference", *cells]) + ("\n" if end else "")
    (folder / "b.tsv").write_text(body, "utf-8", newline="")
    shards = cut_files(find_files([folder]), size)
    assert [row.hyp for row in read(shards)] == texts * 2
    assert [row.refs[0] for row in read(shards)][len(texts) :] == [
        f"r{k}" for k in range(len(texts))
    ]
    assert [shard.number for shard in shards] == list(range(len(shards)))
    assert len({shard.name for shard in shards}) == len(shards)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(1, 400))
def test_row_groups_are_shared_out(tmp_path_factory, groups, size):
    path = tmp_path_factory.mktemp("groups") / "a.parquet"
    schema = pa.schema([("mt", pa.string()), ("refs", pa.list_(pa.string())), ("key", pa.int32())])
    expected, count = [], 0
    with pq.ParquetWriter(path, schema) as writer:
        for rows in groups:
            some = [
                {"mt": f"h{k}", "refs": ["a", None], "key": k} for k in range(count, count + rows)
            ]
            writer.write_table(pa.Table.from_pylist(some, schema))
            expected += [(row["mt"], row["refs"], row["key"]) for row in some]
            count += rows
    shards = cut_files(find_files([str(path)]), size)
    found = read(shards, Columns("mt", ("refs",), None, "key"))
    assert [(row.hyp, row.refs, row.id) for row in found] == expected
    assert sum(shard.rows for shard in shards) == count
    assert row_location(shards[-1], 0) == f"{path}, row {shards[-1].first + 1}"


def test_packed_files_are_one_shard_and_folders_are_searched(tmp_path):
    inner = tmp_path / "data" / "inner"
    inner.mkdir(parents=True)
    line = b'{"hypothesis": "a", "references": ["b"]}\n'
    (inner / "b.jsonl.gz").write_bytes(gzip.compress(line * 50))
    (tmp_path / "data" / "a.jsonl").write_bytes(line)
    (tmp_path / "data" / "_SUCCESS").write_bytes(b"")
    (tmp_path / "data" / ".c.jsonl").write_bytes(b"hidden")
    found = find_files([tmp_path / "data"])
    assert found == [str(tmp_path / "data" / "a.jsonl"), str(inner / "b.jsonl.gz")]
    assert find_files([str(tmp_path / "data" / "*.jsonl")]) == found[:1]
    assert len(read(cut_files(found, 10))) == 51
    assert len(cut_files(found[1:], 10)) == 1
    with pytest.raises(TensorMTError, match=r"expected a \.parquet"):
        find_files([tmp_path / "data" / "_SUCCESS"])
    (inner / "b.jsonl.gz").write_bytes(gzip.compress(line * 50)[:-20])
    with pytest.raises(TensorMTError, match=r"b.jsonl.gz cannot be read"):
        read(cut_files(found, 10))
