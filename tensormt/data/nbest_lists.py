"""Files of several texts for each segment: n-best lists and samples.

    .jsonl           a row for each segment, with a column of texts: {"candidates": ["a", "b"]}
    text, blocks     a text a line, an empty line behind each segment
    text, N each     a text a line, N lines for each segment
    text, |||        Moses and Marian: 0 ||| text ||| features ||| score

Numbers that belong to the texts, such as log-probabilities, are a column of lists in rows, and the
last field, called `score`, in lines with |||.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from itertools import groupby
from typing import Any, NamedTuple

from tensormt.data.files import Spool, display_name, lines, suffix
from tensormt.data.row_columns import check_texts
from tensormt.data.row_reader import table_rows
from tensormt.errors import TensorMTError, TensorMTWarning

_FIELDS = re.compile(r"\s*(\d+)\s*\|\|\|(?:\s|$)")
SCORE = "score"  # the last field of lines with |||
_MANY = 50  # texts of a segment that has no empty line behind it


class TextLists(NamedTuple):
    """The texts of each segment [B][K], numbers of each text [B][K], and doubts about their form.

    numbers is None where none were asked for. Callers warn of `doubts` once nothing else is wrong.
    """

    texts: list[list[str]]
    numbers: list[list[float]] | None
    doubts: list[TensorMTWarning]

    def warn(self) -> None:
        """Warn of the doubts."""
        for doubt in self.doubts:
            warnings.warn(doubt, stacklevel=2)


def read_text_lists(
    path: str,
    columns: tuple[str, ...] = ("candidates",),
    *,
    size: int | None = None,
    numbers: str | None = None,
    most: int = 1000,
) -> TextLists:
    """Read the texts of every segment.

    Args:
        path: File; `-`: standard input, as text.
        columns: Columns of rows that may have the texts; the first one that exists is read.
        size: Lines of each segment in a text file; None: an empty line ends a segment.
        numbers: Column with a number for each text; None: none are read.
        most: Largest segment in a text file without empty lines, which may be meant otherwise.

    Raises:
        TensorMTError: If the file cannot be read or has another form; the message names the line.
    """
    name, kind, doubts = display_name(path), suffix(path), list[TensorMTWarning]()
    if kind == ".jsonl":
        if size is not None:
            raise TensorMTError(f"{name} has rows, not a number of lines for each segment")
        found = [*_rows(path, name, columns, numbers)]
    else:
        found = [*_text(Spool().path(path), name, size, numbers, most, doubts)]
    if not found:
        raise TensorMTError(f"{name} contains no segment: expected at least one")
    own = None if numbers is None else [own for _, own in found]
    return TextLists([texts for texts, _ in found], own, doubts)


Group = tuple[list[str], list[float]]


def _rows(path: str, name: str, columns: tuple[str, ...], numbers: str | None) -> Iterator[Group]:
    for number, row in table_rows(path):
        where = f"{name}, line {number}"
        column = next((own for own in columns if own in row), None)
        for wanted in (column or columns[0], numbers):
            if wanted is not None and wanted not in row:
                raise TensorMTError(
                    f"{where}: the row has no {wanted!r}: it has {', '.join(row)[:200] or 'none'}"
                )
        read = check_texts(row[str(column)], where, str(column))
        texts = [text for text in read if text is not None]
        if len(texts) < len(read):
            raise TensorMTError(f'{where}: {column!r} has a null: an empty text is ""')
        if not texts:
            raise TensorMTError(f"{where}: {column!r} has no text: expected at least one")
        own: list[float] = []
        if numbers is not None:
            own = _numbers(row[numbers], where, numbers)
            if len(own) != len(texts):
                raise TensorMTError(
                    f"{where}: {numbers!r} has {len(own)} numbers for {len(texts)} texts"
                )
        yield texts, own


def _numbers(value: Any, where: str, name: str) -> list[float]:
    if not isinstance(value, list) or not all(
        isinstance(each, int | float) and not isinstance(each, bool) for each in value
    ):
        raise TensorMTError(f"{where}: {name!r} must be a list of numbers")
    try:
        return [float(each) for each in value]
    except OverflowError:
        raise TensorMTError(f"{where}: {name!r} has a number that is too large") from None


def _text(
    path: str,
    name: str,
    size: int | None,
    numbers: str | None,
    most: int,
    doubts: list[TensorMTWarning],
) -> Iterator[Group]:
    numbered = enumerate(lines(path), 1)
    first = next(iter(lines(path)), "")
    if name == "-" and first.startswith('{"'):
        raise TensorMTError("standard input has rows: they are read from a file, NAME.jsonl")
    if size is None and _FIELDS.match(first):
        yield from _fields(numbered, name, numbers)
        return
    if numbers is not None:
        raise TensorMTError(
            f"{name} has texts only, no {numbers!r}: give rows (.jsonl) with such a column, or "
            "lines as 0 ||| text ||| score",
            options="weights log_probs",
        )
    if size is None:
        yield from _blocks(numbered, name, most, doubts)
        return
    own: list[str] = []
    for _, text in numbered:
        own.append(text)
        if len(own) == size:
            yield own, []
            own = []
    if own:
        raise TensorMTError(
            f"{name}: {len(own)} lines are left at the end: expected {size} for each segment"
        )


def _blocks(
    numbered: Iterator[tuple[int, str]], name: str, most: int, doubts: list[TensorMTWarning]
) -> Iterator[Group]:
    """The groups of lines with an empty line behind each."""
    blank, several, count = False, 0, 0
    for real, part in groupby(numbered, lambda line: bool(line[1].strip())):
        if not real:
            empty = [number for number, _ in part]
            if empty[0] == 1 or len(empty) > 1:
                several = several or empty[empty[0] > 1]  # the one that comes first or once more
            blank = True
            continue
        if several and not doubts:
            doubts.append(
                TensorMTWarning(
                    f"{name}, line {several}: an empty line that ends no segment is left out; a "
                    "segment or a text that is empty needs rows (.jsonl)"
                )
            )
        texts = [text for _, text in part]
        if len(texts) > most and not blank:
            raise TensorMTError(
                f"{name}: the first {len(texts):,} lines would be one segment, for no empty line "
                "stands between them: say how many lines a segment has",
                options="lines",
            )
        count += len(texts)
        yield texts, []
    if count > _MANY and not blank:
        doubts.append(
            TensorMTWarning(
                f"{name}: no empty line stands between the {count:,} lines, so that all are "
                "candidates of one segment: if not, say how many lines a segment has",
                options="lines",
            )
        )


def _check_next(last: int | None, number: int, where: str) -> None:
    """Raise unless the number of a segment follows that of the last one; None: there is none."""
    if last is None:
        if number > 1:
            raise TensorMTError(
                f"{where}: the first segment is {number}, expected 0 or 1: those before it are "
                "missing, and all segments would move"
            )
        return
    if number < last:
        raise TensorMTError(f"{where}: segment {number} stands in two places: sort them")
    if number > last + 1:
        raise TensorMTError(
            f"{where}: segment {number} follows segment {last}: those between are missing, and all "
            "further segments would move; give each one a line, with an empty text if need be"
        )


def _fields(numbered: Iterator[tuple[int, str]], name: str, numbers: str | None) -> Iterator[Group]:
    """The groups of lines with |||; the lines of a segment stand together."""
    if numbers not in (None, SCORE):
        raise TensorMTError(
            f"{name} has lines with |||, whose last field is called {SCORE!r}: got {numbers!r}",
            options="weights log_probs",
        )
    key, texts, own = None, [], []  # type: tuple[str | None, list[str], list[float]]
    for number, line in numbered:
        where = f"{name}, line {number}"
        found = _FIELDS.match(line)
        fields = [field.strip() for field in line.split("|||")]
        if not found or len(fields) < 2 + (numbers is not None):
            raise TensorMTError(f"{where}: expected a line as 0 ||| text ||| score")
        if found[1] != key:
            _check_next(None if key is None else int(key), int(found[1]), where)
            if key is not None:
                yield texts, own
            key, texts, own = found[1], [], []
        texts.append(fields[1])
        if numbers is not None:
            try:
                own.append(float(fields[-1]))
            except ValueError:
                raise TensorMTError(
                    f"{where}: the last field is {fields[-1][:40]!r}, expected a number"
                ) from None
    if key is not None:
        yield texts, own
