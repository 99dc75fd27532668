"""Rows that contain a hypothesis and its references: JSONL, and TSV with a header."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tensormt.data.files import display_name, json_line, lines, suffix
from tensormt.data.row_columns import (
    check_document,
    check_texts,
    reference_columns,
    split_header,
    split_row,
)
from tensormt.errors import TensorMTError


class Row(NamedTuple):
    """One segment: its hypothesis, references and document; None: missing."""

    hyp: str | None
    refs: list[str | None]
    doc: str | None


def read_rows(path: str, needed: str | None = None) -> Iterator[Row]:
    """Iterate over the rows of a JSONL or TSV file.

    Args:
        path: File; its suffix gives the format.
        needed: Column that every row must have, "hypothesis" or "references"; None: no check.

    Raises:
        TensorMTError: If a row is invalid; the message names the file and the line.
    """
    is_json = suffix(path) == ".jsonl"
    header: list[str] = []
    for number, line in enumerate(lines(path), 1):
        where = f"{display_name(path)}, line {number}"
        if not is_json and number == 1:
            header = _header(line, where)
            continue
        row = _json_row(line, where) if is_json else _tsv_row(line, header, where)
        if (needed == "hypothesis" and row.hyp is None) or (
            needed == "references" and not row.refs
        ):
            raise TensorMTError(f"{where}: the row has no {needed!r}")
        yield row


def _json_row(line: str, where: str) -> Row:
    data = json_line(line, where)
    refs = check_texts(data.get("references", data.get("reference", [])), where, "references")
    hyp, doc = data.get("hypothesis"), data.get("doc")
    if not (hyp is None or isinstance(hyp, str)):
        raise TensorMTError(f"{where}: 'hypothesis' must be a string")
    if hyp:
        check_texts(hyp, where, "hypothesis")
    return Row(hyp, refs, None if doc is None else check_document(doc, where))


def _header(line: str, where: str) -> list[str]:
    header = split_header(line, where)
    if "hypothesis" not in header and not reference_columns(header):
        raise TensorMTError(
            f"{where}: expected a header with the columns hypothesis and reference, "
            f"found {line[:60]!r}"
        )
    return header


def _tsv_row(line: str, header: list[str], where: str) -> Row:
    row = split_row(line, header, where)
    refs = [row[name] or None for name in reference_columns(header)]
    return Row(row.get("hypothesis"), refs, row.get("doc"))
