"""Files of trees cut into items, one a segment: brackets over several lines (`.mrg`) and CoNLL-U.

What a file holds is told by its suffix, or else by its beginning. Every other file of trees has one
bracketing a line and is read like text.

A CoNLL-U file has one sentence after the other, a segment may have several. Which sentences make a
segment is told by `segments` (`--group`):

    sentence    each is a segment of its own
    blank       segments lie two or more empty lines apart, their sentences one
    newdoc      a segment begins at every comment `# newdoc` (or `# newpar`)
    sent_id     sentences of a segment share their `# sent_id` up to the last number: 12-1, 12-2
    a file      it has the number of sentences of every segment, a line each; 0: it has none

`tensormt parse` writes `# segments = N` first and the number of its segment as each `# sent_id`:
such a file needs no rule, and segments without a sentence are empty ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby, islice
from pathlib import Path
from typing import NamedTuple

from tensormt.data import files
from tensormt.errors import TensorMTError

CONLLU = (".conllu", ".conll")
PLACE = "# tensormt place = "  # put before every sentence: FILE:LINE, LINE being that of the next
RULES = ("sentence", "blank", "newdoc", "sent_id")

_ROW = re.compile(r"[0-9]+(?:[-.][0-9]+)?\t[^\t]+\t(?:[^\t]*\t){6}")
_TOTAL = re.compile(r"#\s*segments\s*=\s*([0-9]+)\s*")
_ID = re.compile(r"#\s*sent_id\s*=\s*(.*\S)\s*")
_NEW = re.compile(r"#\s*new(?:doc|par)\b")
_LAST_NUMBER = re.compile(r"[^0-9]*[0-9]+$")


class Block(NamedTuple):
    """The lines of one sentence, the number of the first, and how many empty lines lie before."""

    lines: list[str]
    first: int
    gap: int

    def found(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """The first comment that a pattern matches."""
        comments = (line for line in self.lines if line.startswith("#"))
        return next(filter(None, map(pattern.match, comments)), None)


def form(path: str) -> str:
    """What a file of trees holds: `conllu`, `mrg`, or `brackets`, one a line."""
    kind = files.kind(path)
    if kind in CONLLU:
        return "conllu"
    if kind == ".mrg" or not Path(path).is_file():
        return "mrg" if kind == ".mrg" else "brackets"
    begin = [line for line in islice(files.lines(path), 100) if line.strip()]
    rows = [line for line in begin if not line.startswith("#")]
    if rows and _ROW.match(rows[0]):
        return "conllu"
    balance = [line.count("(") - line.count(")") for line in begin[:1]]
    return "mrg" if balance and balance[0] > 0 and begin[0].lstrip().startswith("(") else "brackets"


def cut(path: str, segments: str = "sentence") -> list[str]:
    """The trees of a `.mrg` or CoNLL-U file as they stand, those of a segment in one string."""
    if form(path) == "mrg":
        return list(_brackets(path))
    blocks = list(_blocks(path))
    groups = _groups(blocks, path, segments)
    name = files.shown(path)
    return [
        "\n\n".join(f"{PLACE}{name}:{b.first}\n" + "\n".join(b.lines) for b in group)
        for group in groups
    ]


def _blocks(path: str) -> Iterator[Block]:
    """Blocks of lines with empty lines between them; line ends are of one kind."""
    lines = files.text(path).split("\n")
    ends = {line.endswith("\r") for line in lines[:-1]}
    block: list[str] = []
    gap = 0
    for number, line in enumerate([*lines, ""], 1):
        if len(ends) > 1 and number < len(lines) and line.endswith("\r") != lines[0].endswith("\r"):
            raise TensorMTError(
                f"{files.shown(path)}, line {number}: mixed line ends, expected LF everywhere or "
                "CRLF everywhere"
            )
        line = line.removesuffix("\r")
        if line.strip():
            block.append(line)
        elif block:
            yield Block(block, number - len(block), gap)
            block, gap = [], 1
        else:
            gap += 1


def _groups(blocks: list[Block], path: str, segments: str) -> list[list[Block]]:
    """The sentences of every segment."""
    total = blocks[0].found(_TOTAL) if blocks else None
    if total:
        return _numbered(blocks, int(total[1]), path)
    blocks = [block for block in blocks if any(line[0] != "#" for line in block.lines)]
    if segments == "sentence":
        return [[block] for block in blocks]
    if segments == "blank":
        return _from_starts(blocks, [block.gap > 1 for block in blocks])
    if segments == "newdoc":
        return _from_starts(blocks, [block.found(_NEW) is not None for block in blocks])
    if segments == "sent_id":
        keys = [_LAST_NUMBER.sub("", _sent_id(block, path)) for block in blocks]
        pairs = groupby(zip(keys, blocks, strict=True), key=lambda pair: pair[0])
        return [[block for _, block in group] for _, group in pairs]
    return _counted(blocks, path, segments)


def _sent_id(block: Block, path: str) -> str:
    found = block.found(_ID)
    if found is None:
        raise TensorMTError(
            f"{files.shown(path)}, line {block.first}: the sentence that starts here has no "
            "'# sent_id', by which it would join a segment"
        )
    return found[1]


def _from_starts(blocks: list[Block], starts: list[bool]) -> list[list[Block]]:
    groups: list[list[Block]] = []
    for block, start in zip(blocks, starts, strict=True):
        if start or not groups:
            groups.append([])
        groups[-1].append(block)
    return groups


def _numbered(blocks: list[Block], total: int, path: str) -> list[list[Block]]:
    """The segments of a file that `tensormt parse` wrote."""
    groups: list[list[Block]] = [[] for _ in range(total)]
    for block in blocks:
        if all(line[0] == "#" for line in block.lines):
            continue
        number = _sent_id(block, path)
        if not number.isdecimal() or not 1 <= int(number) <= total:
            raise TensorMTError(
                f"{files.shown(path)}, line {block.first}: sent_id {number!r} is no number from 1 "
                f"to {total}, the segments that the file says it has"
            )
        groups[int(number) - 1].append(block)
    return groups


def _counted(blocks: list[Block], path: str, counts: str) -> list[list[Block]]:
    """Segments with the numbers of sentences that a file gives, a line each."""
    sizes = []
    for number, line in enumerate(files.lines(counts), 1):
        if not line.strip().isdecimal():
            raise TensorMTError(
                f"{files.shown(counts)}, line {number}: expected the number of sentences of a "
                f"segment, got {line[:40]!r} (or use one of {', '.join(RULES)})",
                options="group",
            )
        sizes.append(int(line))
    if sum(sizes) != len(blocks):
        raise TensorMTError(
            f"{files.shown(counts)} counts {sum(sizes)} sentences, {files.shown(path)} has "
            f"{len(blocks)}: they must be as many"
        )
    rest = iter(blocks)
    return [list(islice(rest, size)) for size in sizes]


def _brackets(path: str) -> Iterator[str]:
    """Lines up to the one in which the first bracket is closed."""
    block: list[str] = []
    depth = begin = 0
    for number, line in enumerate(files.lines(path), 1):
        if not line.strip() and not depth:
            continue
        begin = begin if block else number
        block.append(line.strip())
        depth += line.count("(") - line.count(")")
        if depth < 0:
            raise TensorMTError(
                f"{files.shown(path)}, line {number}: a bracket is closed that was never opened"
            )
        if not depth:
            yield " ".join(block)
            block = []
    if block:
        raise TensorMTError(f"{files.shown(path)}, line {begin}: a bracket is never closed")
