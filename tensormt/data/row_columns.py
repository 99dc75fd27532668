"""The columns of rows (JSONL, TSV, Parquet): their names, and checks of their values.

A row has the column `hypothesis`; its references are a list in the column `references`, or texts in
the columns `reference`, `reference1`, `reference_2`, …; its document is in the column `doc`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from tensormt.data.coercion import lone_surrogate
from tensormt.errors import TensorMTError

_REFERENCE = re.compile(r"reference[ _-]?\d*")


def reference_columns(names: Iterable[str]) -> list[str]:
    """Return the names that are columns of single references.

    >>> reference_columns(["hypothesis", "reference1", "reference_2", "references", "referee"])
    ['reference1', 'reference_2']
    """
    return [name for name in names if _REFERENCE.fullmatch(name)]


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


def split_row(line: str, header: list[str], where: str) -> dict[str, str]:
    """Split a line of a TSV file into cells by column.

    Raises:
        TensorMTError: If the number of cells is not that of the header.

    >>> split_row("a\\tb", ["hypothesis", "reference"], "x.tsv, line 2")
    {'hypothesis': 'a', 'reference': 'b'}
    """
    cells = line.split("\t")
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


def check_document(value: Any, where: str) -> str:
    """Return a document id, a string or a number of JSON, as a string.

    Raises:
        TensorMTError: If the value is something else.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise TensorMTError(f"{where}: 'doc' must be a string or a number")
    check_texts(str(value), where, "doc")
    return str(value)
