"""Rows of CSV files (RFC 4180): cells in quotation marks may contain commas and line breaks.

A cell that starts with a quotation mark ends with the next one that is not doubled. Quotation marks
inside other cells have no meaning. Time is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tensormt.errors import TensorMTError

_CELL = re.compile(r'"([^"]*(?:""[^"]*)*)"|([^,"][^,]*|)')


def csv_rows(lines: Iterable[str], where: str) -> Iterator[tuple[int, str]]:
    """Join the lines of rows that contain line breaks.

    Args:
        lines: Lines without line ends.
        where: Name of the file, for messages.

    Returns:
        For each row the number of its first line, from 1, and its text.

    Raises:
        TensorMTError: If a quotation mark is not closed.

    >>> list(csv_rows(['a,"b', 'c"', "d,e"], "x.csv"))
    [(1, 'a,"b\\nc"'), (3, 'd,e')]
    """
    first, parts, inside = 0, [], False
    for number, line in enumerate(lines, 1):
        first = first if inside else number
        parts.append(line)
        inside = _inside(line, inside)
        if not inside:
            yield first, "\n".join(parts)
            parts = []
    if inside:
        raise TensorMTError(f"{where}, line {first}: a quotation mark is not closed")


def _inside(line: str, inside: bool) -> bool:
    """Whether a line ends inside quotation marks, given whether it begins there."""
    if '"' not in line:
        return inside
    at = 0
    if not inside:
        at, inside = (1, True) if line.startswith('"') else _opened(line, 0)
    while inside:
        at = line.find('"', at)
        if at < 0:
            return True
        if line.startswith('"', at + 1):
            at += 2
        else:
            at, inside = _opened(line, at)
    return False


def _opened(line: str, at: int) -> tuple[int, bool]:
    """The place after the next quotation mark that starts a cell, and whether there is one."""
    at = line.find(',"', at)
    return (at + 2, True) if at >= 0 else (len(line), False)


def split_csv(row: str, where: str) -> list[str]:
    """Split a row into cells.

    Raises:
        TensorMTError: If a cell in quotation marks is not followed by a comma.

    >>> split_csv('a,"b, c",', "x.csv, line 2")
    ['a', 'b, c', '']
    """
    if '"' not in row:
        return row.split(",")
    cells, at = [], 0
    while True:
        match = _CELL.match(row, at)
        assert match
        quoted, plain = match.groups()
        cells.append(plain if quoted is None else quoted.replace('""', '"'))
        at = match.end()
        if at == len(row):
            return cells
        if row[at] != ",":
            raise TensorMTError(f"{where}: expected a comma after {row[:at][-40:]!r}")
        at += 1
