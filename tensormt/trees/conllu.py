"""CoNLL-U text to words, heads and relations, and back: columns 2, 7 and 8 of the words.

Comments, multi-word tokens (`3-4`) and empty nodes (`5.1`) are passed over; a blank line ends a
sentence. On demand words are the tokens of the text (German `zum`, two words of the tree): a
multi-word token hangs where its topmost part hangs, and all that hung on a part hangs on it. Every
sentence must be one tree: heads are numbers of its words, one of them is 0, and all words lead to
that one. What is not so is refused with its line. Lines end in LF or in CRLF, all in the same way.
The sentences of a segment can be joined to one tree: the roots of later ones hang on that of the
first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from tensormt.data.coercion import as_lines, as_lists
from tensormt.data.tree_files import PLACE
from tensormt.errors import TensorMTError

LATER = "parataxis"  # how the root of a later sentence hangs on that of the first

_COLUMNS = 10
_MAX_DIGITS = 9  # of a number of a word
_PASSED_OVER = re.compile(r"([0-9]{1,9})-([0-9]{1,9})|[0-9]+\.[0-9]+")
_BREAK = re.compile(r"[\t\n\r]")


class Sentences(NamedTuple):
    """The words of every sentence, their heads (1-based, 0 the root), relations and tags.

    Tags (column 4) are there where they were read from text.
    """

    words: list[list[str]]
    heads: list[list[int]]
    relations: list[list[str]]
    tags: list[list[str]]

    @classmethod
    def none(cls) -> Sentences:
        """No sentence, to be filled."""
        return cls([], [], [], [])

    def add(
        self, words: list[str], heads: list[int], relations: list[str], tags: list[str]
    ) -> None:
        """One more sentence."""
        self.words.append(words)
        self.heads.append(heads)
        self.relations.append(relations)
        self.tags.append(tags)


def read(text: str, source: str = "", surface: bool = False) -> Sentences:
    """The sentences of a text; an error names the source and the line.

    `surface`: multi-word tokens are joined to the words of the text.
    """
    found = Sentences.none()
    lines = _lines(text.removeprefix("\ufeff"), source)
    shift = 0  # from places in the text to lines of the file that a sentence says it is from
    words: list[str] = []
    heads: list[int] = []
    relations: list[str] = []
    tags: list[str] = []
    ranges: dict[int, tuple[int, str]] = {}  # first word of a multi-word token → last one, form
    places: list[int] = []  # line of each word
    for number, line in enumerate([*lines, ""], 1):
        if not line.strip():
            if words:
                _check(heads, places, source)
                rows = (words, heads, relations, tags)
                found.add(*(_joined(*rows, ranges) if surface and ranges else rows))
                words, heads, relations, tags, places, ranges = [], [], [], [], [], {}
            continue
        if line[0] == "#":
            if line.startswith(PLACE):
                source, _, first = line.removeprefix(PLACE).rpartition(":")
                source, shift = f"{source}, ", int(first) - number - 1
            continue
        fields = line.split("\t")
        if not fields[0].isdecimal() and len(fields) >= _COLUMNS and _passes(fields[0]):
            if "-" in fields[0]:
                start, last = map(int, fields[0].split("-"))
                ranges[start] = last, fields[1]
            continue
        fault = _fault(fields, len(words) + 1)
        if fault:
            raise TensorMTError(f"{source}line {number + shift}: {fault}")
        words.append(fields[1])
        heads.append(int(fields[6]))
        relations.append(fields[7])
        tags.append(fields[3])
        places.append(number + shift)
    return found


def _joined(
    words: list[str],
    heads: list[int],
    relations: list[str],
    tags: list[str],
    ranges: dict[int, tuple[int, str]],
) -> tuple[list[str], list[int], list[str], list[str]]:
    """A tree over the tokens of the text.

    No cycle can arise: the head of a token is that of its topmost part, which is nearer the root
    than any part.
    """
    depth = _depths(heads)
    place = [0] * (len(words) + 1)
    tops, forms = [], []
    word = 1
    while word <= len(words):
        last, form = ranges.get(word, (word, words[word - 1]))
        parts = range(word, min(last, len(words)) + 1)
        tops.append(min(parts, key=depth.__getitem__) - 1)
        forms.append(form)
        for part in parts:
            place[part] = len(forms)
        word = parts[-1] + 1
    return (
        forms,
        [place[heads[top]] for top in tops],
        [relations[top] for top in tops],
        [tags[top] for top in tops],
    )


def _depths(heads: list[int]) -> list[int]:
    """The number of steps from each word to the root, from place 1 on; every word is visited once.

    >>> _depths([2, 0, 2])
    [0, 2, 1, 2]
    """
    depth = [0, *(-1 for _ in heads)]
    for start in range(1, len(depth)):
        path, word = [], start
        while depth[word] < 0:
            path.append(word)
            word = heads[word - 1]
        for steps, below in enumerate(reversed(path), depth[word] + 1):
            depth[below] = steps
    return depth


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
        return f"word number {fields[0][:40]!r}, expected {expected}"
    if not fields[1]:
        return "the word (column 2) is empty"
    head = fields[6]
    if not (head.isascii() and head.isdecimal() and len(head) <= _MAX_DIGITS):
        return f"the head (column 7) is {head[:40]!r}, expected a number"
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


def join(found: Sentences, counts: Sequence[int]) -> Sentences:
    """One tree for each segment of `counts` sentences; a segment of none has an empty tree."""
    joined = Sentences.none()
    rest = iter(zip(found.words, found.heads, found.relations, strict=True))
    for count in counts:
        words: list[str] = []
        heads: list[int] = []
        relations: list[str] = []
        root = 0
        for row, above, names in islice(rest, count):
            shift = len(words)
            heads += [head + shift if head else root for head in above]
            relations += [
                name if head or not root else LATER for head, name in zip(above, names, strict=True)
            ]
            words += row
            root = root or heads.index(0) + 1
        joined.add(words, heads, relations, [])
    return joined


def write(
    words: Sequence[Sequence[str]],
    heads: Sequence[Sequence[int]],
    relations: Sequence[Sequence[str]] | None = None,
    first: int | None = None,
) -> str:
    """CoNLL-U text that reads back to these sentences; `_` in the columns that are not known.

    A word may hold spaces, but no tab and no line end; a sentence without words cannot be written.
    With `first` sentences are numbered from there (`# sent_id`), and those without words left out.
    """
    blocks: list[str] = []
    if relations is not None:
        relations = [as_lines(row, "relations") for row in as_lists(relations, "relations")]
        if len(relations) != len(words):
            raise TensorMTError(f"relations of {len(relations)} segments for {len(words)}")
    for number, (row, above) in enumerate(zip(words, heads, strict=True), 1):
        if not row and first is not None:
            continue
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
        title = "" if first is None else f"# sent_id = {first + number - 1}\n"
        blocks.append(
            title
            + "".join(
                f"{place}\t{word}\t_\t_\t_\t_\t{head}\t{name}\t_\t_\n"
                for place, (word, head, name) in enumerate(zip(row, above, names, strict=True), 1)
            )
        )
    return "".join(f"{block}\n" for block in blocks)
