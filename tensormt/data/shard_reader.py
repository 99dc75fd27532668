"""Reading the rows of a shard: hypothesis, references, document and id, by the names of columns.

Parquet, JSONL and TSV rows are converted to mappings, which are checked in one function. A row that
cannot be used becomes an `InvalidRow` with a message that names the file and the line; the caller
decides whether the run ends. The digest covers what was read: lines, bytes of row groups, or the
rows of a part of one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from tensormt.data.files import json_line
from tensormt.data.fsspec_io import open_input
from tensormt.data.parquet_splits import hash_groups, open_parquet, read_batches
from tensormt.data.row_columns import (
    check_document,
    check_texts,
    reference_columns,
    split_header,
    split_row,
)
from tensormt.data.shards import Shard, row_location
from tensormt.errors import TensorMTError


class Columns(NamedTuple):
    """Names of columns.

    Attributes:
        hyp: Column of the hypothesis.
        refs: Columns of references; empty: `references`, or else reference, reference1, …
        doc: Column of the document id; None: there is none.
        id: Column of the segment id; None: there is none.
    """

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
    """A row that cannot be used, with the message that says why."""

    message: str


def read_records(
    shard: Shard, columns: Columns, digest: hashlib.blake2b | None = None
) -> Iterator[Record | InvalidRow]:
    """Iterate over the rows of a shard in order.

    Args:
        shard: The shard.
        columns: Names of columns.
        digest: Hash to which everything that is read is added.

    Raises:
        TensorMTError: If the file cannot be read or lacks a column.
    """
    rows = _parquet if shard.suffix == ".parquet" else _lines
    for index, row in enumerate(rows(shard, columns, digest)):
        try:
            yield _record(row, columns, "")
        except TensorMTError:
            where = row_location(shard, index)
            try:
                yield _record(row, columns, where)  # again, with the location in the message
            except TensorMTError as error:
                yield InvalidRow(str(error))


def content_digest(shard: Shard, columns: Columns) -> str:
    """Compute the digest that `read_records` would compute, without checking the rows."""
    own = hashlib.blake2b(digest_size=16)
    if shard.suffix == ".parquet" and shard.skip is None:
        hash_groups(shard.path, range(shard.start, shard.stop), own)
    else:
        for _ in (_batches if shard.suffix == ".parquet" else _lines)(shard, columns, own):
            pass
    return own.hexdigest()


Raw = Mapping[str, Any] | tuple[bytes, "list[str] | None"]


def _lines(shard: Shard, columns: Columns, digest: hashlib.blake2b | None) -> Iterator[Raw]:
    """The lines that start in the shard, with the header of a TSV file."""
    with open_input(shard.path) as file:
        header, at = None, 0
        if shard.suffix == ".tsv":
            line = file.readline()
            at = len(line)
            header = _header(line, columns, shard.path)
            if digest:
                digest.update(line)
        if shard.start > at:
            file.seek(shard.start - 1)
            at = shard.start - 1 + len(file.readline())
        readline = file.readline  # looked up once: attribute access is slow in fsspec's files
        while at < shard.stop and (line := readline()):
            if digest:
                digest.update(line)
            start, at = at, at + len(line)
            yield (line if start else line.removeprefix(b"\xef\xbb\xbf")), header


def _header(line: bytes, columns: Columns, path: str) -> list[str]:
    text = line.decode("utf-8-sig", "replace").rstrip("\r\n")
    header = split_header(text, f"{path}, line 1")
    _check_names(header, columns, path)
    return header


def _check_names(names: list[str], columns: Columns, path: str) -> None:
    """Raise unless a file has the requested columns."""
    for name in (columns.hyp, *columns.refs, columns.doc, columns.id):
        if name is not None and name not in names:
            raise TensorMTError(
                f"{path} has no column {name!r}: it has {', '.join(names)}; name one of these",
                options="hyp refs doc id",
            )


def _parquet(shard: Shard, columns: Columns, digest: hashlib.blake2b | None) -> Iterator[Raw]:
    """The rows of the row groups as mappings."""
    for batch in _batches(shard, columns, digest):
        yield from batch.to_pylist()


def _batches(shard: Shard, columns: Columns, digest: hashlib.blake2b | None) -> Iterator[Any]:
    """The requested columns, in batches of rows."""
    groups = range(shard.start, shard.stop)
    if digest and shard.skip is None:
        hash_groups(shard.path, groups, digest)
    with open_parquet(shard.path) as file:
        names = list(file.schema_arrow.names)
        _check_names(names, columns, shard.path)
        known = {"references", *reference_columns(names)}
        refs = columns.refs or [name for name in names if name in known]
        wanted = [columns.hyp, *refs, *filter(None, (columns.doc, columns.id))]
        most = None if shard.skip is None else shard.rows
        for batch in read_batches(file, groups, list(dict.fromkeys(wanted)), shard.skip or 0, most):
            if digest and shard.skip is not None:
                digest.update(batch.serialize())  # the row group belongs to other shards, too
            yield batch


def id_type(shard: Shard, columns: Columns) -> str:
    """Return the type of ids in the output: "int64" for integers of Parquet, else "string"."""
    import pyarrow as pa

    if columns.id is None or shard.suffix != ".parquet":
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
        check_texts(hyp, where, columns.hyp)
    refs: list[str | None] = []
    for name in columns.refs or _references(tuple(data)):
        value = data.get(name)
        if value is None or (isinstance(value, str) and value.isascii()):
            refs.append(value)
        else:
            refs += check_texts(value, where, name)
    for ref in refs:
        if ref and not ref.isspace():
            break
    else:
        raise TensorMTError(f"{where}: the row has no non-empty reference")
    if columns.doc is None and columns.id is None:
        return Record(hyp, refs, None, None)
    doc = None if columns.doc is None else data.get(columns.doc)
    own = None if columns.id is None else data.get(columns.id)
    if isinstance(own, dict | list):
        own = json.dumps(own, ensure_ascii=False)
    return Record(hyp, refs, None if doc is None else check_document(doc, where), own)


@lru_cache(maxsize=1000)
def _references(names: tuple[str, ...]) -> list[str]:
    """The columns of references among the columns of a row; cached, since rows mostly agree."""
    return ["references"] if "references" in names else reference_columns(names)


def _mapping(row: tuple[bytes, list[str] | None], where: str) -> Mapping[str, Any]:
    try:
        line = row[0].decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError:
        raise TensorMTError(f"{where}: not UTF-8 text") from None
    return json_line(line, where) if row[1] is None else split_row(line, row[1], where)


def sample_rows(shard: Shard, columns: Columns, most: int) -> tuple[list[Record], int]:
    """Return the first valid rows of a shard, at most `most`, and an estimate of its rows."""
    found: list[Record] = []
    size = 0
    if shard.suffix == ".parquet":
        for row in read_records(shard, columns):
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
    packed = 4 if shard.path.endswith(".gz") else 1  # typical compression ratio of text
    return found, round(shard.bytes * packed * seen / size) if size else 0
