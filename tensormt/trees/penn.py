"""Penn bracketings to flat nodes, by operations on whole byte buffers.

A node is an opening bracket; the text from there to the next one, `(NP ` or `(DT the) `, is one
string, interned once for all its occurrences and taken apart on the dictionary alone. Depth is the
running sum of +1 and -1 over the brackets. Sorted by depth (stable), siblings stand together: a
node whose predecessor in the text is shallower is a first child of that predecessor, the siblings
that follow share its parent.

Clean-up: function tags and indices are cut (`NP-SBJ-1` → `NP`), empty elements (`-NONE-`) go with
the nodes they leave childless, and so does an outer unlabelled, ROOT or TOP node with one child.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from numpy.typing import NDArray

from tensormt.errors import TensorMTError
from tensormt.kernels.nodes import Nodes
from tensormt.text.dictionary import Dictionary, string_buffers
from tensormt.trees.bracketing import explain

__all__ = ["Linear", "read"]

Array = NDArray[Any]

_OPEN = ord("(")
_OUTER = ("", "ROOT", "TOP")
_BARE = "\x00"  # label of a word that is not its node's only child, as `had` in (VP had (NP …))
_WORD = re.compile(r"\(\s*[^\s()]+\s+[^\s()]+\s*\)|\(\s*[^\s()]*|\)|([^\s()]+)", re.ASCII)


class Linear(NamedTuple):
    """What a reader gives: nodes, the dictionaries of their labels and words, and `bare`.

    bare: some words stand beside other children; such a word is a node of its own without a label.
    """

    nodes: Nodes
    labels: Dictionary
    words: Dictionary
    bare: bool


class _Flat(NamedTuple):
    """Nodes in text order: label, word, depth (root 1) and segment, all [n]."""

    label: Array
    word: Array
    depth: Array
    segment: Array

    def keep(self, mask: Array) -> _Flat:
        return _Flat(*(np.compress(mask, part) for part in self))


def read(lines: Sequence[str | None], source: str = "", first: int = 1) -> Linear:
    """Nodes of one bracketing a line; an empty line (or None) is an empty tree.

    An error names the source and the line, the first one being `first`.
    """
    array = _arrow(lines, source)
    data, offsets = string_buffers(array)
    offsets = offsets - offsets[0]
    data = data[: offsets[-1]]
    brackets = np.flatnonzero((data & 0xFE) == _OPEN)
    opening = data[brackets] == _OPEN
    following = np.append(brackets[1:], len(data))
    bounds = np.searchsorted(brackets, offsets)
    depth = np.cumsum(opening * np.int8(2) - np.int8(1), dtype=np.int32)
    opens, closes = np.flatnonzero(opening), np.flatnonzero(~opening)
    loose = closes[_visible(data, brackets[closes] + 1, following[closes])]
    if not _well_formed(data, brackets, bounds, depth, loose):
        explain(lines, source, first)

    # one string a node, `(NP ` or `(DT the) `, interned; what follows takes the types apart
    kind, types = _intern(data, brackets[opens])
    parts = pc.ascii_split_whitespace(pc.ascii_trim(types, characters="() \t\n\r\v\f"))
    edges = parts.offsets.to_numpy()
    size = np.diff(edges)
    leaf = np.append(~opening[1:], True)[opens]  # the next bracket closes the node
    with_word = size > 1
    if len(loose) or (size > 2).any() or (with_word[kind] & ~leaf).any():
        return read([_wrap(line) for line in lines], source, first)
    label_of, labels = Dictionary.encode(parts.values.take(pa.array(edges[:-1])))
    word_of = np.full(len(size), -1)
    found, words = Dictionary.encode(parts.values.take(pa.array(edges[:-1][with_word] + 1)))
    word_of[with_word] = found.numpy()
    flat = _Flat(
        label_of.numpy()[kind],
        word_of[kind],
        depth[opens],
        np.repeat(np.arange(len(lines)), np.diff(np.searchsorted(opens, bounds))),
    )
    nameless = np.array([name == "" for name in labels.strings], dtype=bool)
    if ((flat.word < 0) & leaf).any() or (nameless[flat.label] & (flat.depth > 1)).any():
        explain(lines, source, first)
    flat, labels, bare = _clean(flat, labels, len(lines))
    return Linear(_link(flat, len(lines)), labels, words, bare)


def _arrow(lines: Sequence[str | None], source: str) -> pa.Array:
    try:
        array = pa.array(lines, pa.string())
    except UnicodeEncodeError as error:
        raise TensorMTError(f"{source}the text is not valid Unicode: {error.reason}") from None
    return array.fill_null("") if array.null_count else array


def _spaces(data: Array) -> Array:
    """Which bytes are ASCII white space."""
    spaces: Array = (data == 32) | ((data >= 9) & (data <= 13))
    return spaces


def _visible(data: Array, start: Array, end: Array) -> Array:
    """Whether each range of bytes [start, end) holds anything but white space."""
    gap = end - start
    if (gap > 1).any():
        running = np.append(0, np.cumsum(_spaces(data), dtype=np.int32))
        visible: Array = running[end] - running[start] < gap
        return visible
    # brackets that touch or have one byte between them, the usual case
    return (gap == 1) & ~_spaces(np.take(data, start, mode="clip")) if len(data) else gap > 0


def _well_formed(data: Array, brackets: Array, bounds: Array, depth: Array, loose: Array) -> bool:
    """Whether every line is one balanced tree, or blank, with no text outside it."""
    if not len(brackets):
        return not _visible(data, np.zeros(1, int), np.full(1, len(data)))[0]
    last = bounds[1:][bounds[1:] > bounds[:-1]] - 1
    ends = np.flatnonzero(depth == 0)
    return bool(
        depth.min() == 0
        and np.array_equal(ends, last)
        and not (depth[loose] == 0).any()
        and not _visible(data, np.zeros(1, int), brackets[:1])[0]
    )


def _intern(data: Array, opens: Array) -> tuple[Array, pa.Array]:
    """The text from each opening bracket to the next one: ids [n] and the different strings.

    What closes a node stays in its string: the strings then lie end to end in the buffer as it is.
    """
    edges = np.append(opens, len(data)).astype(np.int32)
    strings = pa.StringArray.from_buffers(len(opens), pa.py_buffer(edges), pa.py_buffer(data))
    encoded = strings.dictionary_encode()
    return encoded.indices.to_numpy(), encoded.dictionary


def _wrap(line: str | None) -> str:
    """The line with every word that is not an only child made a node of its own."""
    return _WORD.sub(lambda m: f"({_BARE} {m[1]})" if m[1] else m[0], line or "")


def _cut(label: str) -> str:
    """A label without function tags and indices; -LRB-, -NONE- and the like stay."""
    return label if label[:1] == "-" else re.split("(?<=.)[-=]", label, maxsplit=1)[0]


def _clean(flat: _Flat, labels: Dictionary, trees: int) -> tuple[_Flat, Dictionary, bool]:
    """Cut labels, drop empty elements and outer nodes, take the mark off bare words."""
    short, labels = Dictionary.encode([_cut(name) for name in labels.strings])
    names = labels.strings
    flat = flat._replace(label=short.numpy()[flat.label])
    if "-NONE-" in names:
        flat = _drop_empty(flat, names.index("-NONE-"), trees)
    outer = np.array([name in _OUTER for name in names], dtype=bool)
    bare = np.array([name == _BARE for name in names], dtype=bool)
    while len(flat.label):
        second = np.bincount(flat.segment[flat.depth == 2], minlength=trees)
        beside = bare[flat.label] & (flat.depth == 2)
        kept_word = np.bincount(flat.segment[beside], minlength=trees) > 0
        single = (second == 1) & ~kept_word if bare.any() else second == 1
        drop = outer[flat.label] & (flat.depth == 1) & single[flat.segment]
        if not drop.any():
            break
        shorter = np.zeros(trees, np.int32)
        shorter[flat.segment[drop]] = 1
        flat = flat._replace(depth=flat.depth - shorter[flat.segment]).keep(~drop)
    if bare.any():
        flat = flat._replace(label=np.where(bare[flat.label], -1, flat.label))
    return flat, labels, bool(bare.any())


def _drop_empty(flat: _Flat, none: int, trees: int) -> _Flat:
    """Remove empty elements and, level by level, the nodes they leave without a child."""
    parent = _link(flat, trees).up.numpy()
    keep = flat.label != none
    while True:
        children = np.bincount(parent[keep], minlength=len(keep) + 1)[:-1]
        barren = keep & (flat.word < 0) & (children == 0)
        if not barren.any():
            return flat.keep(keep)
        keep &= ~barren


def _link(flat: _Flat, trees: int) -> Nodes:
    """Nodes with parents and child positions, from depths in text order."""
    count = len(flat.depth)
    deepest = int(flat.depth.max(initial=0))
    # 16-bit keys sort by radix
    order = np.argsort(
        flat.depth.astype(np.int16) if deepest < 1 << 15 else flat.depth, kind="stable"
    )
    fresh = np.ones(count, dtype=bool)
    np.greater(flat.depth[1:], flat.depth[:-1], out=fresh[1:])
    fresh |= flat.depth == 1
    index = np.arange(count)
    start = np.maximum.accumulate(np.where(fresh[order], index, 0)) if count else index
    parent, position = np.empty_like(index), np.empty_like(index)
    parent[order] = order[start] - 1
    position[order] = index - start
    parent[flat.depth == 1] = -1
    offsets = np.append(0, np.cumsum(np.bincount(flat.segment, minlength=trees)))
    return Nodes(
        torch.from_numpy(parent),
        torch.from_numpy(flat.label.astype(np.int64)),
        torch.from_numpy(flat.word.astype(np.int64)),
        torch.from_numpy(offsets.astype(np.int64)),
        int(np.diff(offsets).max(initial=0)),
        torch.from_numpy(flat.depth.astype(np.int64)),
        torch.from_numpy(position),
    )
