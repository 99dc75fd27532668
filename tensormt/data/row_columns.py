"""The columns of rows (JSONL, TSV, CSV, Parquet): which one is read as what, and checks of values.

All readers of rows follow one rule. The hypothesis is in the column `hypothesis`. The references
are in the column `references`, a list or one text, or in the columns `reference`, `reference1`,
`reference_2`, …, ordered by their numbers. Columns that are named replace these. A row with both
kinds of references, or with two columns of the same number, can be read in two ways and is refused.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from tensormt.data.coercion import lone_surrogate
from tensormt.errors import TensorMTError

_REFERENCE = re.compile(r"reference(?:[ _-]?(\d{1,9})|[ _-])?")
LIST = "references"  # the column of all references
DOCUMENT, SOURCE = "doc", "src"  # columns of documents and source texts, where none are named


class Columns(NamedTuple):
    """Names of columns.

    Attributes:
        hyp: Column of the hypothesis.
        refs: Columns of references; empty: `references`, or else reference, reference1, …
        doc: Column of the document id; None: there is none.
        id: Column of the segment id; None: there is none.
        src: Column of the source text; None: there is none.
    """

    hyp: str = "hypothesis"
    refs: tuple[str, ...] = ()
    doc: str | None = None
    id: str | None = None
    src: str | None = None


class Record(NamedTuple):
    """One segment: its texts, document and id; None: missing."""

    hyp: str
    refs: list[str | None]
    doc: str | None = None
    id: Any = None
    src: str | None = None


def reference_columns(names: Iterable[str]) -> list[str]:
    """Return the names that are columns of single references, ordered by their numbers.

    >>> reference_columns(["hypothesis", "reference_2", "reference1", "references", "referee"])
    ['reference1', 'reference_2']
    """
    found = {name: match for name in names if (match := _REFERENCE.fullmatch(name))}
    return sorted(found, key=lambda name: int(found[name][1] or 0))


def check_names(names: Sequence[str], columns: Columns, where: str, *, hyp: bool = True) -> None:
    """Raise unless a file has the columns that are needed.

    Args:
        names: Columns of the file.
        columns: Columns that are needed.
        where: Name of the file.
        hyp: Whether the hypothesis is needed.

    Raises:
        TensorMTError: If a column is missing or two have the same name; the message lists those
            that exist.
    """
    needed: list[tuple[str, str | None]] = [("hyp", columns.hyp)] if hyp else []
    needed += [("refs", name) for name in columns.refs]
    needed += [("doc", columns.doc), ("id", columns.id), ("src", columns.src)]
    for option, name in needed:
        if name is not None and name not in names:
            raise TensorMTError(
                f"{where} has no column {name!r}: it has {_listed(names)}; name one of these",
                options=option,
            )
    if len(set(names)) != len(names):
        twice, _ = Counter(names).most_common(1)[0]
        raise TensorMTError(f"{where}: two columns have the same name, {twice[:60]!r}: rename one")


def make_record(
    data: Mapping[str, Any], columns: Columns, where: str, *, hyp: bool = True, refs: bool = True
) -> Record:
    """Return the segment of a row; every reader of rows calls this function.

    Args:
        data: Values by column.
        columns: Names of columns.
        where: File and line, for messages.
        hyp: Whether the row must have a hypothesis; otherwise it is not read.
        refs: Whether references are read; a row may have none.

    Raises:
        TensorMTError: If the row has no hypothesis, a value is not text, or the references can be
            read in two ways.

    >>> row = {"hypothesis": "a cat", "reference2": "a dog", "reference1": "the cat"}
    >>> make_record(row, Columns(), "x.jsonl, line 1").refs
    ['the cat', 'a dog']
    """
    own = data.get(columns.hyp) if hyp else ""
    if own is None and columns.hyp in data:
        raise TensorMTError(f"{where}: the row has no {columns.hyp!r}")
    if own is None:
        raise TensorMTError(
            f"{where}: the row has no {columns.hyp!r}: it has {_listed(data)}; name one of these",
            options="hyp refs",
        )
    if not isinstance(own, str):
        raise TensorMTError(f"{where}: {columns.hyp!r} must be a string")
    if not own.isascii():
        check_texts(own, where, columns.hyp)
    found: list[str | None] = []
    for name in _reference_names(data, columns, where) if refs else ():
        value = data.get(name)
        if value is None or (isinstance(value, str) and value.isascii()):
            found.append(value or None)
        else:
            found += check_texts(value, where, name)
    if columns.doc is None and columns.id is None and columns.src is None:
        return Record(own, found)
    doc = None if columns.doc is None else data.get(columns.doc)
    key = None if columns.id is None else data.get(columns.id)
    if isinstance(key, dict | list):
        key = json.dumps(key, ensure_ascii=False)
    src = None if columns.src is None else data.get(columns.src)
    if src is not None and not (isinstance(src, str) and src.isascii()):
        src = check_texts([src], where, str(columns.src))[0]
    document = None if doc is None else check_document(doc, where, str(columns.doc))
    return Record(own, found, document, key, src)


def check_references(record: Record, data: Mapping[str, Any], columns: Columns, where: str) -> None:
    """Raise unless a row has a reference that is not blank."""
    for ref in record.refs:
        if ref and not ref.isspace():
            return
    found = columns.refs or _names(tuple(data))[0]
    if any(name in data for name in found):
        raise TensorMTError(f"{where}: the row has no non-empty reference")
    raise TensorMTError(
        f"{where}: the row has no non-empty reference, for it has no column "
        f"{' or '.join(map(repr, columns.refs or (LIST, 'reference')))}: it has {_listed(data)}; "
        "name one of these",
        options="refs",
    )


def _reference_names(data: Mapping[str, Any], columns: Columns, where: str) -> Sequence[str]:
    """The columns of the references of a row."""
    if columns.refs:
        return columns.refs
    names, others = _names(tuple(data))
    if not others:
        return names
    own = [name for name in names if data[name] not in (None, "", [])]
    more = [name for name in others if data[name] not in (None, "", [])]
    if own and more:
        raise TensorMTError(
            f"{where}: the references can be read from {_listed(own)} or from {_listed(more)}: "
            "name the columns to read",
            options="refs",
        )
    return own or more


@lru_cache(maxsize=1000)  # rows mostly agree
def _names(names: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """The columns of references, and those of a second reading (empty: there is one reading)."""
    single = reference_columns(names)
    if LIST in names:
        return [LIST], single
    numbers: dict[int, list[str]] = {}
    for name in single:
        match = _REFERENCE.fullmatch(name)
        assert match
        numbers.setdefault(int(match[1]) if match[1] else -1, []).append(name)
    if len(numbers) == len(single):
        return single, []
    return [own[0] for own in numbers.values()], [
        name for own in numbers.values() for name in own[1:]
    ]


def _listed(names: Iterable[str], most: int = 20) -> str:
    """Names of columns in a message."""
    found = [str(name)[:60] for name in names]
    return ", ".join(found[:most]) + (", …" if len(found) > most else "") or "none"


def split_header(line: str, where: str) -> list[str]:
    """Split the header line of a TSV file into names of columns.

    Raises:
        TensorMTError: If two columns have the same name; the message starts with `where`.
    """
    names = line.split("\t")
    if len(set(names)) != len(names):
        raise TensorMTError(
            f"{where}: two columns have the same name; name them reference1, reference2, …"
        )
    return names


def pair_cells(cells: list[str], header: list[str], where: str) -> dict[str, str]:
    """Return the cells of a table's row by column.

    Raises:
        TensorMTError: If the number of cells is not that of the header.

    >>> pair_cells(["a", "b"], ["hypothesis", "reference"], "x.tsv, line 2")
    {'hypothesis': 'a', 'reference': 'b'}
    """
    if len(cells) != len(header):
        raise TensorMTError(f"{where}: {len(cells)} columns, the header has {len(header)}")
    return dict(zip(header, cells, strict=True))


def check_texts(value: Any, where: str, name: str) -> list[str | None]:
    """Return a JSON value as a list of texts: one string is a list of one, null a missing text.

    Raises:
        TensorMTError: If the value is something else, or a text contains a lone surrogate.

    >>> check_texts("a", "x.jsonl, line 1", "references")
    ['a']
    """
    found = [value] if isinstance(value, str) else value
    if not isinstance(found, list) or not all(x is None or isinstance(x, str) for x in found):
        raise TensorMTError(f"{where}: {name!r} must be a list of strings")
    for text in found:
        if text is not None and lone_surrogate(text):
            raise TensorMTError(f"{where}: {name!r} contains a lone surrogate (invalid UTF-8)")
    return found


def check_document(value: Any, where: str, name: str = "doc") -> str:
    """Return a document id, a string or a number of JSON, as a string.

    Raises:
        TensorMTError: If the value is something else.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise TensorMTError(f"{where}: {name!r} must be a string or a number")
    check_texts(str(value), where, name)
    return str(value)
