"""Reading the rows of a shard: hypothesis, references, document and id, by the names of columns.

Parquet, JSONL, TSV and CSV rows are converted to mappings, which become records by the one rule of
`tensormt.data.row_columns`. A row that cannot be used becomes an `InvalidRow` with a message that
names the file and the line; the caller decides whether the run ends. The digest covers what was
read: lines, bytes of row groups, or the rows of a part of one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import IO, Any, NamedTuple

from tensormt.data.csv_text import csv_rows, split_csv
from tensormt.data.files import json_line
from tensormt.data.fsspec_io import open_input
from tensormt.data.parquet_splits import hash_groups, open_parquet, read_batches
from tensormt.data.row_columns import (
    LIST,
    Columns,
    Record,
    check_names,
    check_references,
    make_record,
    pair_cells,
    reference_columns,
    split_header,
)
from tensormt.data.shards import Shard, row_location
from tensormt.errors import TensorMTError

_LOOKED_AT = 1000  # rows in which a column is looked for


class InvalidRow(NamedTuple):
    """A row that cannot be used, with the message that says why, and options that would help."""

    message: str
    options: str = ""


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
    kind = shard.suffix
    rows = _parquet if kind == ".parquet" else _lines
    for index, row in enumerate(rows(shard, columns, digest)):
        try:
            yield _record(row, columns, "", kind)
        except TensorMTError:
            where = row_location(shard, index)
            try:
                yield _record(row, columns, where, kind)  # again, with the location in the message
            except TensorMTError as error:
                yield InvalidRow(str(error), error.options)


def check_columns(shard: Shard, columns: Columns) -> None:
    """Raise if the first rows of a shard of JSONL lack a column of documents, ids or sources.

    The header of other files is checked when they are read.
    """
    if shard.suffix != ".jsonl" or {columns.doc, columns.id, columns.src} == {None}:
        return
    seen: dict[str, None] = {}
    for row in islice(_lines(shard, columns, None), _LOOKED_AT):
        try:
            seen.update(dict.fromkeys(_mapping(row, "", shard.suffix)))  # type: ignore[arg-type]
        except TensorMTError:
            return  # an invalid row: said when it is read
    if seen:
        check_names(list(seen), columns._replace(refs=()), shard.path, hyp=False)


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
    """The lines that start in the shard, with the header of a TSV or CSV file."""
    with open_input(shard.path) as file:
        if shard.suffix == ".csv":
            yield from _csv_lines(file, shard, columns, digest)
            return
        header, at = None, 0
        if shard.suffix == ".tsv":
            line = file.readline()
            at = len(line)
            header = split_header(_header_text(line), f"{shard.path}, line 1")
            check_names(header, columns, shard.path)
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


def _csv_lines(
    file: IO[bytes], shard: Shard, columns: Columns, digest: hashlib.blake2b | None
) -> Iterator[Raw]:
    """The rows of a CSV file, which is one shard, since its rows may contain line breaks."""
    # Latin-1 maps every byte to one character: rows are decoded one by one
    texts = (line.decode("latin-1").rstrip("\r\n") for line in iter(file.readline, b""))
    header: list[str] | None = None
    for _, row in csv_rows(texts, shard.path):
        line = row.encode("latin-1")
        if digest:
            digest.update(line + b"\n")
        if header is None:
            header = split_csv(_header_text(line), f"{shard.path}, line 1")
            check_names(header, columns, shard.path)
        else:
            yield line, header


def _header_text(line: bytes) -> str:
    return line.decode("utf-8-sig", "replace").rstrip("\r\n")


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
        check_names(names, columns, shard.path)
        known = {LIST, *reference_columns(names)}
        refs = columns.refs or [name for name in names if name in known]
        wanted = [columns.hyp, *refs, *filter(None, (columns.doc, columns.id, columns.src))]
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
        check_names(list(file.schema_arrow.names), columns, shard.path)
        kind = file.schema_arrow.field(columns.id).type
    return "int64" if pa.types.is_integer(kind) else "string"


def _record(row: Raw, columns: Columns, where: str, kind: str) -> Record:
    data = row if isinstance(row, Mapping) else _mapping(row, where, kind)
    record = make_record(data, columns, where)
    check_references(record, data, columns, where)
    return record


def _mapping(row: tuple[bytes, list[str] | None], where: str, kind: str) -> Mapping[str, Any]:
    try:
        line = row[0].decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError:
        raise TensorMTError(f"{where}: not UTF-8 text") from None
    if row[1] is None:
        return json_line(line, where)
    cells = split_csv(line, where) if kind == ".csv" else line.split("\t")
    return pair_cells(cells, row[1], where)


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
            found.append(_record(line, columns, "", shard.suffix))
        except TensorMTError:
            continue
        if len(found) >= most:
            break
    packed = 4 if shard.path.endswith(".gz") else 1  # typical compression ratio of text
    return found, round(shard.bytes * packed * seen / size) if size else 0
