"""Rows that bring a hypothesis and its references along: JSONL, and TSV with a head."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

from tensormt.data.files import kind, lines, shown
from tensormt.errors import TensorMTError

__all__ = ["Row", "rows"]


class Row(NamedTuple):
    hyp: str | None
    refs: list[str | None]
    doc: str | None


def rows(path: str, needed: str | None = None) -> Iterator[Row]:
    """Rows of a JSONL or TSV file: hypothesis, references, doc."""
    make = _json_row if kind(path) == ".jsonl" else None
    head: list[str] = []
    for number, line in enumerate(lines(path), 1):
        where = f"{shown(path)}, line {number}"
        if make is None and number == 1:
            head = line.split("\t")
            if len(set(head)) != len(head):
                raise TensorMTError(
                    f"{where}: two columns have one name; write reference1, reference2, …"
                )
            if "hypothesis" not in head and not any(h.startswith("reference") for h in head):
                raise TensorMTError(
                    f"{where}: expected a head with columns hypothesis and reference, found "
                    f"{line[:60]!r}"
                )
            continue
        row = make(line, where) if make else _tsv_row(line, head, where)
        if (needed == "hypothesis" and row.hyp is None) or (
            needed == "references" and not row.refs
        ):
            raise TensorMTError(f"{where}: the row has no {needed!r}")
        yield row


def _json_row(line: str, where: str) -> Row:
    try:
        data = json.loads(line)
    except ValueError:
        raise TensorMTError(f"{where}: not a JSON object") from None
    if not isinstance(data, dict):
        raise TensorMTError(f"{where}: expected a JSON object, found {line[:40]!r}")
    refs = data.get("references", data.get("reference", []))
    refs = [refs] if isinstance(refs, str) else refs
    hyp, doc = data.get("hypothesis"), data.get("doc")
    if not isinstance(refs, list) or not all(ref is None or isinstance(ref, str) for ref in refs):
        raise TensorMTError(f"{where}: 'references' must be a list of strings")
    if not (hyp is None or isinstance(hyp, str)):
        raise TensorMTError(f"{where}: 'hypothesis' must be a string")
    return Row(hyp, refs, None if doc is None else str(doc))


def _tsv_row(line: str, head: list[str], where: str) -> Row:
    cells = line.split("\t")
    if len(cells) != len(head):
        raise TensorMTError(f"{where}: {len(cells)} columns, the head has {len(head)}")
    row = dict(zip(head, cells, strict=True))
    refs = [cell or None for name, cell in row.items() if name.startswith("reference")]
    return Row(row.get("hypothesis"), refs, row.get("doc"))
