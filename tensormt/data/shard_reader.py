"""Rows of a shard by the names of their columns: hypothesis, references, document, id.

Parquet, JSONL and TSV rows all become a mapping first and are then looked at in one way. A row that
cannot be used is a `InvalidRow` with a sentence that names file and line; whoever reads decides
whether that ends the run. The digest tells what was read: the lines, the bytes of row groups, or
the rows of a part of one.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from tensormt.data.files import json_line
from tensormt.data.fsspec_io import open_input
from tensormt.data.parquet_splits import batches, hash_groups, open_parquet
from tensormt.data.row_reader import document, strings
from tensormt.data.shards import Shard, place
from tensormt.errors import TensorMTError

_REFERENCE = re.compile(r"reference[ _-]?\d*")


class Columns(NamedTuple):
    """Names of columns; without `refs`, `references` or all called reference, reference1, …"""

    hyp: str = "hypothesis"
    refs: tuple[str, ...] = ()
    doc: str | None = None
    id: str | None = None


class Record(NamedTuple):
    """One segment."""

    hyp: str
    refs: list[str | None]
    doc: str | None
    id: Any


class InvalidRow(NamedTuple):
    """A row that cannot be used, and why."""

    message: str


def records(
    shard: Shard, columns: Columns, digest: hashlib.blake2b | None = None
) -> Iterator[Record | InvalidRow]:
    """The rows of a shard in order; what was read is added to the digest."""
    rows = _parquet if shard.kind == ".parquet" else _lines
    for index, row in enumerate(rows(shard, columns, digest)):
        try:
            yield _record(row, columns, "")
        except TensorMTError:
            where = place(shard, index)
            try:
                yield _record(row, columns, where)  # again, now that the sentence can name it
            except TensorMTError as error:
                yield InvalidRow(str(error))


def digest(shard: Shard, columns: Columns) -> str:
    """What `records` adds to a digest while it reads, alone."""
    own = hashlib.blake2b(digest_size=16)
    if shard.kind == ".parquet" and shard.skip is None:
        hash_groups(shard.path, range(shard.start, shard.stop), own)
    else:
        for _ in (_batches if shard.kind == ".parquet" else _lines)(shard, columns, own):
            pass
    return own.hexdigest()


Raw = Mapping[str, Any] | tuple[bytes, "list[str] | None"]


def _lines(shard: Shard, columns: Columns, digest: hashlib.blake2b | None) -> Iterator[Raw]:
    """The lines that start in the shard, with the head of a TSV file."""
    with open_input(shard.path) as file:
        head, at = None, 0
        if shard.kind == ".tsv":
            line = file.readline()
            at = len(line)
            head = _head(line, columns, shard.path)
            if digest:
                digest.update(line)
        if shard.start > at:
            file.seek(shard.start - 1)
            at = shard.start - 1 + len(file.readline())
        readline = file.readline  # looked up once: fsspec's files pass it on
        while at < shard.stop and (line := readline()):
            if digest:
                digest.update(line)
            start, at = at, at + len(line)
            yield (line if start else line.removeprefix(b"\xef\xbb\xbf")), head


def _head(line: bytes, columns: Columns, path: str) -> list[str]:
    head = line.decode("utf-8-sig", "replace").rstrip("\r\n").split("\t")
    if len(set(head)) != len(head):
        raise TensorMTError(f"{path}, line 1: two columns have one name")
    _check_names(head, columns, path)
    return head


def _check_names(names: list[str], columns: Columns, path: str) -> None:
    """Raise unless a file has the columns that are asked for."""
    for name in (columns.hyp, *columns.refs, columns.doc, columns.id):
        if name is not None and name not in names:
            raise TensorMTError(
                f"{path} has no column {name!r}: it has {', '.join(names)}; name the right ones",
                options="hyp refs doc id",
            )


def _parquet(shard: Shard, columns: Columns, digest: hashlib.blake2b | None) -> Iterator[Raw]:
    """The rows of the row groups as mappings."""
    for batch in _batches(shard, columns, digest):
        yield from batch.to_pylist()


def _batches(shard: Shard, columns: Columns, digest: hashlib.blake2b | None) -> Iterator[Any]:
    """The columns that are asked for, some rows at a time."""
    groups = range(shard.start, shard.stop)
    if digest and shard.skip is None:
        hash_groups(shard.path, groups, digest)
    with open_parquet(shard.path) as file:
        names = list(file.schema_arrow.names)
        _check_names(names, columns, shard.path)
        refs = columns.refs or [n for n in names if n == "references" or _REFERENCE.fullmatch(n)]
        wanted = [columns.hyp, *refs, *filter(None, (columns.doc, columns.id))]
        most = None if shard.skip is None else shard.rows
        for batch in batches(file, groups, list(dict.fromkeys(wanted)), shard.skip or 0, most):
            if digest and shard.skip is not None:
                digest.update(batch.serialize())  # the bytes of the group are also those of others
            yield batch


def id_type(shard: Shard, columns: Columns) -> str:
    """How ids are kept: whole numbers of Parquet as such, all else as strings."""
    import pyarrow as pa

    if columns.id is None or shard.kind != ".parquet":
        return "string"
    with open_parquet(shard.path) as file:
        _check_names(list(file.schema_arrow.names), columns, shard.path)
        kind = file.schema_arrow.field(columns.id).type
    return "int64" if pa.types.is_integer(kind) else "string"


def _record(row: Raw, columns: Columns, where: str) -> Record:
    data = row if isinstance(row, Mapping) else _mapping(row, where)
    hyp = data.get(columns.hyp)
    if hyp is None:
        raise TensorMTError(f"{where}: the row has no {columns.hyp!r}")
    if not isinstance(hyp, str):
        raise TensorMTError(f"{where}: {columns.hyp!r} must be a string")
    if not hyp.isascii():
        strings(hyp, where, columns.hyp)
    refs: list[str | None] = []
    for name in columns.refs or _references(tuple(data)):
        value = data.get(name)
        if value is None or (isinstance(value, str) and value.isascii()):
            refs.append(value)
        else:
            refs += strings(value, where, name)
    for ref in refs:
        if ref and not ref.isspace():
            break
    else:
        raise TensorMTError(f"{where}: the row has no reference that is not empty")
    if columns.doc is None and columns.id is None:
        return Record(hyp, refs, None, None)
    doc = None if columns.doc is None else data.get(columns.doc)
    own = None if columns.id is None else data.get(columns.id)
    if isinstance(own, dict | list):
        own = json.dumps(own, ensure_ascii=False)
    return Record(hyp, refs, None if doc is None else document(doc, where), own)


@lru_cache(maxsize=1000)
def _references(names: tuple[str, ...]) -> list[str]:
    """The columns of references among all columns of a row; rows of a file mostly have the same."""
    if "references" in names:
        return ["references"]
    return [name for name in names if _REFERENCE.fullmatch(name)]


def _mapping(row: tuple[bytes, list[str] | None], where: str) -> Mapping[str, Any]:
    try:
        line = row[0].decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError:
        raise TensorMTError(f"{where}: not UTF-8 text") from None
    if row[1] is None:
        return json_line(line, where)
    cells = line.split("\t")
    if len(cells) != len(row[1]):
        raise TensorMTError(f"{where}: {len(cells)} columns, the head has {len(row[1])}")
    return dict(zip(row[1], cells, strict=True))


def sample(shard: Shard, columns: Columns, most: int) -> tuple[list[Record], int]:
    """The first good rows of a shard, and how many rows the shard has, about."""
    found: list[Record] = []
    size = 0
    if shard.kind == ".parquet":
        for row in records(shard, columns):
            if len(found) >= most:
                break
            if isinstance(row, Record):
                found.append(row)
        return found, shard.rows or 0
    seen = 0
    for line in _lines(shard, columns, None):
        seen, size = seen + 1, size + len(line[0])  # type: ignore[index]
        try:
            found.append(_record(line, columns, ""))
        except TensorMTError:
            continue
        if len(found) >= most:
            break
    packed = 4 if shard.path.endswith(".gz") else 1  # text packs to about a quarter
    return found, round(shard.bytes * packed * seen / size) if size else 0
