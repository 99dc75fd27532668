"""Rows that bring a hypothesis and its references along: JSONL, and TSV with a head."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from tensormt.data.coercion import lone_surrogate
from tensormt.data.files import json_line, kind, lines, shown
from tensormt.errors import TensorMTError

_REFERENCE = re.compile(r"reference[ _-]?\d*")


class Row(NamedTuple):
    """One segment: its hypothesis, references and document."""

    hyp: str | None
    refs: list[str | None]
    doc: str | None


def rows(path: str, needed: str | None = None) -> Iterator[Row]:
    """Rows of a JSONL or TSV file: hypothesis, references, doc."""
    is_json = kind(path) == ".jsonl"
    head: list[str] = []
    for number, line in enumerate(lines(path), 1):
        where = f"{shown(path)}, line {number}"
        if not is_json and number == 1:
            head = _head(line, where)
            continue
        row = _json_row(line, where) if is_json else _tsv_row(line, head, where)
        if (needed == "hypothesis" and row.hyp is None) or (
            needed == "references" and not row.refs
        ):
            raise TensorMTError(f"{where}: the row has no {needed!r}")
        yield row


def strings(value: Any, where: str, name: str) -> list[str | None]:
    """A list of texts from JSON: a string alone is a list of one, null an absent text."""
    found = [value] if isinstance(value, str) else value
    if not isinstance(found, list) or not all(x is None or isinstance(x, str) for x in found):
        raise TensorMTError(f"{where}: {name!r} must be a list of strings")
    for each in found:
        if each is not None and lone_surrogate(each):
            raise TensorMTError(f"{where}: {name!r} holds half a character (a lone surrogate)")
    return found


def _json_row(line: str, where: str) -> Row:
    data = json_line(line, where)
    refs = strings(data.get("references", data.get("reference", [])), where, "references")
    hyp, doc = data.get("hypothesis"), data.get("doc")
    if not (hyp is None or isinstance(hyp, str)):
        raise TensorMTError(f"{where}: 'hypothesis' must be a string")
    strings(hyp, where, "hypothesis") if hyp else None
    return Row(hyp, refs, None if doc is None else document(doc, where))


def document(value: Any, where: str) -> str:
    """A document id from JSON: a string or a number."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise TensorMTError(f"{where}: 'doc' must be a string or a number")
    strings(str(value), where, "doc")
    return str(value)


def _head(line: str, where: str) -> list[str]:
    head = line.split("\t")
    if len(set(head)) != len(head):
        raise TensorMTError(f"{where}: two columns have one name; write reference1, reference2, …")
    if "hypothesis" not in head and not any(map(_REFERENCE.fullmatch, head)):
        raise TensorMTError(
            f"{where}: expected a head with columns hypothesis and reference, found {line[:60]!r}"
        )
    return head


def _tsv_row(line: str, head: list[str], where: str) -> Row:
    cells = line.split("\t")
    if len(cells) != len(head):
        raise TensorMTError(f"{where}: {len(cells)} columns, the head has {len(head)}")
    row = dict(zip(head, cells, strict=True))
    refs = [cell or None for name, cell in row.items() if _REFERENCE.fullmatch(name)]
    return Row(row.get("hypothesis"), refs, row.get("doc"))
