"""Tree files in which a segment spans several lines: brackets (`.mrg`) and CoNLL-U.

The format is recognized by the suffix, or else by the first lines. All other tree files have one
bracketing per line and are read like text.

A CoNLL-U file is a sequence of sentences, of which several may form a segment, by the rule
`segments` (`--group` on the command line):

    sentence    every sentence is a segment
    blank       two or more empty lines separate segments, one separates sentences
    newdoc      a segment starts at every comment `# newdoc` (or `# newpar`)
    sent_id     sentences of a segment share their `# sent_id` up to the last number: 12-1, 12-2
    a file      with the number of sentences of every segment, one per line; 0: an empty segment

`tensormt parse` writes `# segments = N` first and the number of the segment as `# sent_id`: such a
file needs no rule, and segments without a sentence are empty.
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
PLACE = "# tensormt place = "  # comment before every sentence: FILE:LINE of the next line
RULES = ("sentence", "blank", "newdoc", "sent_id")

_ROW = re.compile(r"[0-9]+(?:[-.][0-9]+)?\t[^\t]+\t(?:[^\t]*\t){6}")
_TOTAL = re.compile(r"#\s*segments\s*=\s*([0-9]+)\s*")
_MAX_TOTAL = 10**7  # of segments that a file may announce
_ID = re.compile(r"#\s*sent_id\s*=\s*(.*\S)\s*")
_NEW = re.compile(r"#\s*new(?:doc|par)\b")
_LAST_NUMBER = re.compile(r"[^0-9]*[0-9]+$")


class SentenceBlock(NamedTuple):
    """The lines of one sentence, the number of the first one, and of empty lines before it."""

    lines: list[str]
    first: int
    gap: int

    def found(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Return the match of the first comment that matches a pattern; None: there is none."""
        comments = (line for line in self.lines if line.startswith("#"))
        return next(filter(None, map(pattern.match, comments)), None)


def tree_format(path: str) -> str:
    """Return the format of a tree file: `conllu`, `mrg`, or `brackets` (one per line)."""
    kind = files.suffix(path)
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


def read_trees(path: str, segments: str = "sentence") -> list[str]:
    """Read the trees of a `.mrg` or CoNLL-U file as text, one string per segment.

    Args:
        path: The file.
        segments: Rule of the module docstring, or a file of numbers of sentences.

    Raises:
        TensorMTError: If the file is invalid; the message names the line.
    """
    if tree_format(path) == "mrg":
        return list(_brackets(path))
    blocks = list(_blocks(path))
    groups = _groups(blocks, path, segments)
    name = files.display_name(path)
    return [
        "\n\n".join(f"{PLACE}{name}:{b.first}\n" + "\n".join(b.lines) for b in group)
        for group in groups
    ]


def _blocks(path: str) -> Iterator[SentenceBlock]:
    """Blocks of lines that are separated by empty lines; mixed line ends are an error."""
    lines = files.text(path).split("\n")
    ends = {line.endswith("\r") for line in lines[:-1]}
    block: list[str] = []
    gap = 0
    for number, line in enumerate([*lines, ""], 1):
        if len(ends) > 1 and number < len(lines) and line.endswith("\r") != lines[0].endswith("\r"):
            raise TensorMTError(
                f"{files.display_name(path)}, line {number}: mixed line ends, expected LF "
                "everywhere or CRLF everywhere"
            )
        line = line.removesuffix("\r")
        if line.strip():
            block.append(line)
        elif block:
            yield SentenceBlock(block, number - len(block), gap)
            block, gap = [], 1
        else:
            gap += 1


def _groups(blocks: list[SentenceBlock], path: str, segments: str) -> list[list[SentenceBlock]]:
    """The sentences of every segment."""
    total = blocks[0].found(_TOTAL) if blocks else None
    if total:
        if len(total[1]) > len(str(_MAX_TOTAL)) or int(total[1]) > _MAX_TOTAL:
            raise TensorMTError(
                f"{files.display_name(path)}, line {blocks[0].first}: {total[1][:40]} segments, "
                f"expected at most {_MAX_TOTAL:,}"
            )
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


def _sent_id(block: SentenceBlock, path: str) -> str:
    found = block.found(_ID)
    if found is None:
        raise TensorMTError(
            f"{files.display_name(path)}, line {block.first}: the sentence that starts here has no "
            "'# sent_id', which assigns it to a segment"
        )
    return found[1]


def _from_starts(blocks: list[SentenceBlock], starts: list[bool]) -> list[list[SentenceBlock]]:
    groups: list[list[SentenceBlock]] = []
    for block, start in zip(blocks, starts, strict=True):
        if start or not groups:
            groups.append([])
        groups[-1].append(block)
    return groups


def _numbered(blocks: list[SentenceBlock], total: int, path: str) -> list[list[SentenceBlock]]:
    """The segments of a file that `tensormt parse` wrote."""
    groups: list[list[SentenceBlock]] = [[] for _ in range(total)]
    for block in blocks:
        if all(line[0] == "#" for line in block.lines):
            continue
        number = _sent_id(block, path)
        decimal = number.isdecimal() and len(number) <= len(str(total))
        if not decimal or not 1 <= int(number) <= total:
            raise TensorMTError(
                f"{files.display_name(path)}, line {block.first}: sent_id {number[:40]!r} is not a "
                f"number from 1 to {total}, the number of segments at the beginning of the file"
            )
        groups[int(number) - 1].append(block)
    return groups


def _counted(blocks: list[SentenceBlock], path: str, counts: str) -> list[list[SentenceBlock]]:
    """Segments with the numbers of sentences in a file, one per line."""
    sizes = []
    for number, line in enumerate(files.lines(counts), 1):
        if not line.strip().isdecimal() or len(line.strip()) > len(str(_MAX_TOTAL)):
            raise TensorMTError(
                f"{files.display_name(counts)}, line {number}: expected the number of sentences "
                f"of a segment, got {line[:40]!r} (or use one of {', '.join(RULES)})",
                options="group",
            )
        sizes.append(int(line))
    if sum(sizes) != len(blocks):
        raise TensorMTError(
            f"{files.display_name(counts)} counts {sum(sizes)} sentences, "
            f"{files.display_name(path)} has {len(blocks)}: the numbers must be equal"
        )
    rest = iter(blocks)
    return [list(islice(rest, size)) for size in sizes]


def _brackets(path: str) -> Iterator[str]:
    """Bracketed trees, each of the lines up to the one that closes its first bracket."""
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
                f"{files.display_name(path)}, line {number}: closing bracket without an opening one"
            )
        if not depth:
            yield " ".join(block)
            block = []
    if block:
        raise TensorMTError(
            f"{files.display_name(path)}, line {begin}: opening bracket without a closing one"
        )
