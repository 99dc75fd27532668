"""Rows that contain a hypothesis and its references: JSONL, and TSV or CSV with a header."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tensormt.data.csv_text import csv_rows, split_csv
from tensormt.data.files import display_name, json_line, lines, suffix
from tensormt.data.row_columns import (
    DOCUMENT,
    SOURCE,
    Columns,
    Record,
    check_names,
    make_record,
    pair_cells,
    split_header,
)
from tensormt.errors import TensorMTError


def read_rows(
    path: str, columns: Columns | None = None, *, hyp: bool = True, refs: bool = True
) -> Iterator[Record]:
    """Iterate over the rows of a JSONL, TSV or CSV file.

    Args:
        path: File; its suffix gives the format.
        columns: Names of columns (`tensormt.data.row_columns`); documents and source texts that
            are not named are in the columns `doc` and `src`, where there are such.
        hyp: Whether every row must have a hypothesis; otherwise it is not read.
        refs: Whether references are read.

    Raises:
        TensorMTError: If a row is invalid or a column is missing; the message names the file, the
            line, and the columns that exist.
    """
    named = columns or Columns()
    without = named._replace(doc=named.doc or DOCUMENT)
    wanted = without._replace(src=named.src or SOURCE)
    seen: dict[str, None] = {}

    def check(header: list[str], name: str) -> None:
        check_names(header, named, name, hyp=hyp)

    for number, row in table_rows(path, check):
        where = f"{display_name(path)}, line {number}"
        # a column that was not named may hold something else
        read = wanted if named.src or isinstance(row.get(SOURCE), str) else without
        record = make_record(row, read, where, hyp=hyp, refs=refs)
        if refs and not hyp and not record.refs:
            raise TensorMTError(
                f"{where}: the row has no references: it has {', '.join(row)}; name their column",
                options="refs",
            )
        seen.update(dict.fromkeys(row))
        yield record
    if seen:
        check_names(list(seen), named, display_name(path), hyp=hyp)


def table_rows(
    path: str, check: Callable[[list[str], str], None] | None = None
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Iterate over the rows of a JSONL, TSV or CSV file by column, with the numbers of their lines.

    Args:
        path: File; its suffix gives the format.
        check: Called with the names of the columns and the name of the file, if it has a header.
    """
    name, kind = display_name(path), suffix(path)
    if kind == ".jsonl":
        for number, line in enumerate(lines(path), 1):
            yield number, json_line(line, f"{name}, line {number}")
        return
    rows = csv_rows(lines(path), name) if kind == ".csv" else enumerate(lines(path), 1)
    header: list[str] | None = None
    for number, row in rows:
        where = f"{name}, line {number}"
        if header is None:
            header = split_csv(row, where) if kind == ".csv" else split_header(row, where)
            if check is not None:
                check(header, name)
            continue
        cells = split_csv(row, where) if kind == ".csv" else row.split("\t")
        yield number, pair_cells(cells, header, where)
