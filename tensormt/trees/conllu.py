"""CoNLL-U text to words, heads and relations, and back: columns 2, 7 and 8 of the words.

Comments, multi-word tokens (`3-4`) and empty nodes (`5.1`) are passed over; a blank line ends a
sentence. Every sentence must be one tree: heads are numbers of its words, one of them is 0, and all
words lead to that one. What is not so is refused with its line. Lines end in LF or in CRLF, all in
the same way.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from tensormt.data.lines import lines_of, lists_of
from tensormt.errors import TensorMTError

__all__ = ["Sentences", "read", "write"]

_COLUMNS = 10
_PASSED_OVER = re.compile(r"([0-9]+)-([0-9]+)|[0-9]+\.[0-9]+")
_BREAK = re.compile(r"[\t\n\r]")


class Sentences(NamedTuple):
    """The words of every sentence, their heads (1-based, 0 the root) and relations."""

    words: list[list[str]]
    heads: list[list[int]]
    relations: list[list[str]]


def read(text: str, source: str = "") -> Sentences:
    """The sentences of a text; an error names the source and the line."""
    found = Sentences([], [], [])
    lines = _lines(text.removeprefix("\ufeff"), source)
    words: list[str] = []
    heads: list[int] = []
    relations: list[str] = []
    places: list[int] = []  # line of each word
    for number, line in enumerate([*lines, ""], 1):
        if not line.strip():
            if words:
                _check(heads, places, source)
                found.words.append(words)
                found.heads.append(heads)
                found.relations.append(relations)
                words, heads, relations, places = [], [], [], []
            continue
        if line[0] == "#":
            continue
        fields = line.split("\t")
        if not fields[0].isdecimal() and len(fields) >= _COLUMNS and _passes(fields[0]):
            continue
        fault = _fault(fields, len(words) + 1)
        if fault:
            raise TensorMTError(f"{source}line {number}: {fault}")
        words.append(fields[1])
        heads.append(int(fields[6]))
        relations.append(fields[7])
        places.append(number)
    return found


def _lines(text: str, source: str) -> list[str]:
    """The lines without their ends, which must be of one kind."""
    lines = text.split("\n")
    if "\r" not in text:
        return lines
    for number, line in enumerate(lines[:-1], 1):
        if "\r" in line[:-1] or line.endswith("\r") != lines[0].endswith("\r"):
            raise TensorMTError(
                f"{source}line {number}: mixed line ends, expected LF everywhere or CRLF everywhere"
            )
    return [line.removesuffix("\r") for line in lines]


def _fault(fields: list[str], expected: int) -> str:
    """What is wrong with the columns of the word of this number; nothing where they are right."""
    if len(fields) < _COLUMNS:
        return f"expected {_COLUMNS} columns separated by tabs, found {len(fields)}"
    if fields[0] != str(expected):
        return f"word number {fields[0]!r}, expected {expected}"
    if not fields[1]:
        return "the word (column 2) is empty"
    if not (fields[6].isascii() and fields[6].isdecimal()):
        return f"the head (column 7) is {fields[6]!r}, expected a number"
    return ""


def _passes(number: str) -> bool:
    """Whether a word number is that of a multi-word token or of an empty node."""
    found = _PASSED_OVER.fullmatch(number)
    return found is not None and (found[1] is None or int(found[1]) <= int(found[2]))


def _check(heads: list[int], places: list[int], source: str) -> None:
    """One root, heads within the sentence, no cycle; `places` are the lines of the words."""
    size = len(heads)
    if max(heads) > size:
        word = next(word for word, head in enumerate(heads) if head > size)
        raise TensorMTError(
            f"{source}line {places[word]}: head {heads[word]} is out of range, "
            f"expected 0 (root) to {size}"
        )
    roots = [place for place, head in zip(places, heads, strict=True) if not head]
    if len(roots) > 1:
        raise TensorMTError(
            f"{source}line {roots[1]}: a second root (head 0), the first is on line {roots[0]}"
        )
    if not roots:
        raise TensorMTError(
            f"{source}line {places[0]}: the sentence that starts here has no root (head 0)"
        )
    state = [0] * size  # number of the walk that came by; a walk that meets itself is a cycle
    for start in range(size):
        word = start
        while not state[word]:
            state[word] = start + 1
            if not heads[word]:
                break
            word = heads[word] - 1
        else:
            if state[word] == start + 1:
                raise TensorMTError(
                    f"{source}line {places[word]}: word {word + 1} is in a cycle of heads; every "
                    "word must lead to the root"
                )


def write(
    words: Sequence[Sequence[str]],
    heads: Sequence[Sequence[int]],
    relations: Sequence[Sequence[str]] | None = None,
) -> str:
    """CoNLL-U text that reads back to these sentences; `_` in the columns that are not known.

    A word may hold spaces, but no tab and no line end; a sentence without words cannot be written.
    """
    blocks: list[str] = []
    if relations is not None:
        relations = [lines_of(row, "relations") for row in lists_of(relations, "relations")]
        if len(relations) != len(words):
            raise TensorMTError(f"relations of {len(relations)} segments for {len(words)}")
    for number, (row, above) in enumerate(zip(words, heads, strict=True), 1):
        if not row:
            raise TensorMTError(
                f"segment {number} has no word: CoNLL-U has no empty sentences, leave it out"
            )
        names = ["_"] * len(row) if relations is None else relations[number - 1]
        if len(names) != len(row):
            raise TensorMTError(f"segment {number}: {len(row)} words but {len(names)} relations")
        for text in (*row, *names):
            if not text or _BREAK.search(text):
                raise TensorMTError(
                    f"segment {number}: {text!r} cannot be written as CoNLL-U: a column is not "
                    "empty and has no tab or line end in it"
                )
        blocks.append(
            "".join(
                f"{place}\t{word}\t_\t_\t_\t_\t{head}\t{name}\t_\t_\n"
                for place, (word, head, name) in enumerate(zip(row, above, names, strict=True), 1)
            )
        )
    return "".join(f"{block}\n" for block in blocks)
