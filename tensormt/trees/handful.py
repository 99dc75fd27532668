"""A handful of bracketings, read piece by piece: for one sentence, array operations cost more.

The same pieces as in bracket_tokens.py, each different one taken apart once in a process. Whatever
is wrong with the text is left to the reader of many lines, which finds it again and says so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from tensormt.data.coercion import lone_surrogate
from tensormt.trees.bracket_tokens import words_of

FEW, _LINES = 1 << 12, 1 << 7  # characters of text, and lines: up to here the loop is faster
_BLANK = " \t\n\r\v\f"
_EMPTY = "-NONE-"
OUTER = ("", "ROOT", "TOP")


class Handful(NamedTuple):
    """Nodes in text order, five numbers each; where the lines end among them, and their strings.

    `rows`: parent (-1: a root), label (-1: a bare word), word (-1: none), depth (root 1) and place
    among the siblings. `labels`, already cut, and `words` are the strings of the ids.
    """

    rows: tuple[list[int], list[int], list[int], list[int], list[int]]
    ends: list[int]
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
    return _Piece(cut(label), word, bare, text.count(")"))


def read(lines: Sequence[str | None]) -> Handful | None:
    """The nodes of a handful of lines, without outer nodes.

    None where they are more, hold an empty element, or something is wrong.
    """
    if len(lines) > _LINES or not set(map(type, lines)) <= {str, type(None)}:
        return None
    texts = [line or "" for line in lines]
    if sum(map(len, texts)) > FEW or lone_surrogate("".join(texts)):
        return None
    labels: dict[str, int] = {}
    words: dict[str, int] = {}
    found = Handful(([], [], [], [], []), [0], [], [], False)
    parent, label, word, depth, place = found.rows
    children: list[int] = []  # of each node, so far
    bare = False
    for line in texts:
        head, *parts = line.split("(")
        if head.strip(_BLANK):
            return None
        way: list[int] = []  # from the root to the node that is open
        for number, part in enumerate(parts):
            piece = _piece(part)
            if piece is None or piece.label == _EMPTY or bool(way) != (number > 0):
                return None
            if way:
                if not piece.label:
                    return None
                parent.append(way[-1])
                place.append(children[way[-1]])
                children[way[-1]] += 1
            else:
                parent.append(-1)
                place.append(0)
            way.append(len(label))
            label.append(labels.setdefault(piece.label, len(labels)))
            word.append(-1 if piece.word is None else words.setdefault(piece.word, len(words)))
            depth.append(len(way))
            children.append(0)
            for name, rise in piece.bare:
                if len(way) + rise < 2:
                    return None  # a word outside its tree
                above = way[len(way) + rise - 2]
                parent.append(above)
                label.append(-1)
                word.append(words.setdefault(name, len(words)))
                depth.append(len(way) + rise)
                place.append(children[above])
                children[above] += 1
                children.append(0)
                bare = True
            if piece.closes > len(way):
                return None
            if piece.closes:
                del way[-piece.closes :]
        if way:
            return None
        _drop_outer(found, children, {labels.get(name) for name in OUTER})
        found.ends.append(len(label))
    return found._replace(labels=list(labels), words=list(words), bare=bare)


def _drop_outer(found: Handful, children: list[int], outer: set[int | None]) -> None:
    """Take the outer nodes off the last tree, whose nodes begin where the line before ends."""
    first = found.ends[-1]
    parent, label, _, depth, _ = found.rows
    while first < len(label) and label[first] in outer and children[first] == 1:
        if label[first + 1] < 0:
            return
        parent[first + 1 :] = [-1, *(node - 1 for node in parent[first + 2 :])]
        depth[first:] = [0, *(level - 1 for level in depth[first + 1 :])]
        for row in (*found.rows, children):
            del row[first]
