"""A handful of bracketings, read piece by piece: for one sentence, array operations cost more.

The same pieces as in pieces.py, each different one taken apart once in a process. Whatever is wrong
with the text is left to the reader of many lines, which finds it again and says so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from tensormt.trees.pieces import words_of

__all__ = ["FEW", "Handful", "cut", "read"]

FEW = 1 << 12  # characters of text: up to here the loop is the faster one
_BLANK = " \t\n\r\v\f"


class Handful(NamedTuple):
    """Nodes in text order: label (-1: a bare word), word (-1: none), depth (root 1) and segment.

    `labels`, already cut, and `words` are the strings of the ids.
    """

    label: list[int]
    word: list[int]
    depth: list[int]
    segment: list[int]
    labels: list[str]
    words: list[str]
    bare: bool


class _Piece(NamedTuple):
    label: str
    word: str | None
    bare: tuple[tuple[str, int], ...]  # words beside other children, and how far below the node
    closes: int


@lru_cache(maxsize=1 << 12)
def cut(label: str) -> str:
    """A label without function tags and indices; -LRB-, -NONE- and the like stay."""
    return label if label[:1] == "-" else re.split("(?<=.)[-=]", label, maxsplit=1)[0]


@lru_cache(maxsize=1 << 14)
def _piece(text: str) -> _Piece | None:
    """The piece of text behind an opening bracket; None where it closes without a child."""
    label, words = words_of("(" + text)
    if not words and ")" in text:
        return None
    word = words.pop(0)[0] if words and words[0][1] is None else None
    bare = tuple((name, rise) for name, rise in words if rise is not None)
    return _Piece(label, word, bare, text.count(")"))


def _has_utf8(text: str) -> bool:
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def read(lines: Sequence[str | None]) -> Handful | None:
    """The nodes of a handful of lines; None where they are more, or something is wrong."""
    if len(lines) > FEW or not set(map(type, lines)) <= {str, type(None)}:
        return None
    texts = [line or "" for line in lines]
    if sum(map(len, texts)) > FEW or not _has_utf8("".join(texts)):
        return None
    labels: dict[str, int] = {}
    words: dict[str, int] = {}
    found = Handful([], [], [], [], [], [], False)
    bare = False
    for segment, line in enumerate(texts):
        head, *parts = line.split("(")
        if head.strip(_BLANK):
            return None
        depth = 0
        for number, part in enumerate(parts):
            piece = _piece(part)
            depth += 1
            if piece is None or (depth == 1) != (number == 0) or not (piece.label or depth == 1):
                return None
            nodes = [(labels.setdefault(cut(piece.label), len(labels)), piece.word, depth)]
            nodes += [(-1, word, depth + rise) for word, rise in piece.bare]
            for label, name, place in nodes:
                if label < 0 and place < 2:
                    return None  # a word outside its tree
                found.label.append(label)
                found.word.append(-1 if name is None else words.setdefault(name, len(words)))
                found.depth.append(place)
                found.segment.append(segment)
            bare |= len(nodes) > 1
            depth -= piece.closes
        if depth:
            return None
    return found._replace(labels=list(labels), words=list(words), bare=bare)
