"""Penn bracketings to flat nodes, by operations on whole byte buffers.

A node is an opening bracket; the text from there to the next one, `(NP ` or `(DT the) `, is one
piece, interned once for all its occurrences and taken apart on the dictionary alone
(bracket_tokens.py). A bare word, `had` in `(VP had (NP …`, is one more node of its piece, without a
label. Depth is the running sum of +1 and -1 over the brackets. Sorted by depth (stable), siblings
stand together: a node whose predecessor in the text is shallower is a first child of that
predecessor, the siblings that follow share its parent.

Clean-up: function tags and indices are cut (`NP-SBJ-1` → `NP`), empty elements (`-NONE-`) go with
the nodes they leave childless, and so does an outer unlabelled, ROOT or TOP node with one child.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray

from tensormt.data.coercion import lone_surrogate
from tensormt.errors import TensorMTError
from tensormt.kernels.nodes import Nodes
from tensormt.text.dictionary import Dictionary, string_buffers
from tensormt.trees.bracket_text import EMPTY, OUTER, cut_label
from tensormt.trees.bracket_tokens import Pieces, take_apart
from tensormt.trees.bracketing import explain
from tensormt.trees.conversion import FlatTrees

Array = NDArray[Any]

_OPEN = ord("(")


class _Flat(NamedTuple):
    """Nodes in text order: label (-1: a bare word), word, depth (root 1) and segment, all [n]."""

    label: Array
    word: Array
    depth: Array
    segment: Array

    def keep(self, mask: Array) -> _Flat:
        return _Flat(*(np.compress(mask, part) for part in self))


def read(lines: Sequence[str | None], source: str = "", first: int = 1) -> FlatTrees:
    """Nodes of one bracketing a line; an empty line (or None) is an empty tree.

    An error names the source and the line, the first one being `first`.
    """
    data, offsets = string_buffers(_arrow(lines, source, first))
    offsets = offsets - offsets[0]
    data = data[: offsets[-1]]
    brackets = np.flatnonzero((data & 0xFE) == _OPEN)
    opens = np.flatnonzero(data[brackets] == _OPEN)
    starts = brackets[opens]
    kind, texts = _intern(data, starts)
    pieces = take_apart(texts)
    # before the k-th opening bracket (from 0) come k opening ones, the rest are closing
    depth = (2 * np.arange(len(opens)) + 1 - opens).astype(np.int32)
    edges = np.searchsorted(starts, offsets)  # of the lines, among the nodes
    bounds = np.searchsorted(brackets, offsets)
    before = data[: brackets[0]] if len(brackets) else data
    if pieces is None or not _balanced(before, depth, edges, bounds):
        explain(lines, source, first)
    segment = np.repeat(np.arange(len(lines)), np.diff(edges))
    flat = _expand(pieces, kind, depth, segment)
    if not _well_placed(flat, pieces.labels):
        explain(lines, source, first)
    flat, labels = _clean(flat, pieces.labels, len(lines))
    return FlatTrees(_link(flat, len(lines)), labels, pieces.words, len(pieces.bare_word) > 0)


def _arrow(lines: Sequence[str | None], source: str, first: int) -> pa.Array:
    try:
        array = pa.array(lines, pa.string())
    except UnicodeEncodeError:
        for number, line in enumerate(lines, first):
            if found := lone_surrogate(line or ""):
                raise TensorMTError(
                    f"{source}line {number}: character {found!r} has no UTF-8 form: "
                    "read the text as UTF-8"
                ) from None
        raise
    return array.fill_null("") if array.null_count else array


def _intern(data: Array, opens: Array) -> tuple[Array, pa.Array]:
    """The text from each opening bracket to the next one: ids [n] and the different strings.

    What closes a node stays in its string: the strings then lie end to end in the buffer as it is.
    """
    edges = np.append(opens, len(data)).astype(np.int32)
    strings = pa.StringArray.from_buffers(len(opens), pa.py_buffer(edges), pa.py_buffer(data))
    encoded = strings.dictionary_encode()
    return encoded.indices.to_numpy().astype(np.intp), encoded.dictionary


def _balanced(before: Array, depth: Array, edges: Array, bounds: Array) -> bool:
    """Whether every line holds one tree or none, and no text comes before the first.

    As many brackets close as open in every line, and only the first node of a line is a root: then
    no tree ends before its line does. `edges` [B+1] are those of the lines among the nodes,
    `bounds` [B+1] among all brackets.
    """
    roots = edges[:-1][edges[1:] > edges[:-1]]
    return bool(
        ((before == 32) | ((before >= 9) & (before <= 13))).all()
        and np.array_equal(2 * edges, bounds)
        and depth.min(initial=1) == 1
        and np.array_equal(np.flatnonzero(depth == 1), roots)
    )


def _expand(pieces: Pieces, kind: Array, depth: Array, segment: Array) -> _Flat:
    """The node of every piece (kind, depth and segment, [m] each), followed by its bare words."""
    flat = _Flat(pieces.label[kind], pieces.word[kind], depth, segment)
    if not len(pieces.bare_word):
        return flat
    extra = pieces.bare[kind]
    size = extra + 1
    owner = np.repeat(np.arange(len(kind)), size)
    place = np.arange(len(owner)) - (np.cumsum(size) - size)[owner]  # 0 is the node itself
    first = (np.cumsum(pieces.bare) - pieces.bare)[kind]
    cell = np.maximum(first[owner] + place - 1, 0)
    node = place == 0
    return _Flat(
        np.where(node, flat.label[owner], -1),
        np.where(node, flat.word[owner], pieces.bare_word[cell]),
        depth[owner] + np.where(node, 0, pieces.bare_rise[cell]),
        segment[owner],
    )


def _well_placed(flat: _Flat, labels: Dictionary) -> bool:
    """Whether only roots lack a label, and no bare word is as high as a root, outside its tree."""
    outside = flat.depth[flat.label < 0] < 2
    nameless = labels.strings.index("") if "" in labels.strings else len(labels)
    return not outside.any() and not (flat.depth[flat.label == nameless] > 1).any()


def _clean(flat: _Flat, labels: Dictionary, trees: int) -> tuple[_Flat, Dictionary]:
    """Cut labels, drop empty elements and outer nodes."""
    names = [cut_label(name) for name in labels.strings]
    if names != labels.strings:
        short, labels = Dictionary.encode(names)
        names = labels.strings
        flat = flat._replace(label=np.append(short.numpy(), -1)[flat.label])
    if EMPTY in names:
        flat = _drop_empty(flat, names.index(EMPTY), trees)
    outer = np.array([name in OUTER for name in names] + [False])
    return (_drop_outer(flat, outer[flat.label], trees) if outer.any() else flat), labels


def _drop_outer(flat: _Flat, outer: Array, trees: int) -> _Flat:
    """Remove the nodes above the first one that is not outer or has several children.

    Down to there, the k-th node of a tree has depth k, and no other node has.
    """
    sizes = np.bincount(flat.segment, minlength=trees)
    first = np.cumsum(sizes) - sizes
    place = np.arange(1, len(outer) + 1) - first[flat.segment]
    chain = _leading(outer & (flat.depth == place), first, sizes)
    # nodes of each depth, where the chain may reach: chain + 2 cells for every tree
    start = np.cumsum(chain + 2) - (chain + 2)
    near = flat.depth <= chain[flat.segment] + 1
    cell = start[flat.segment] + flat.depth
    counts = np.bincount(cell[near], minlength=int((chain + 2).sum()) + 1)
    below = np.append(flat.label[1:] >= 0, False) & (
        np.append(flat.segment[1:], -1) == flat.segment
    )
    single = near & below & (counts[np.where(near, cell + 1, 0)] == 1)
    drop = _leading(single & (place <= chain[flat.segment]), first, sizes)
    if not drop.any():
        return flat
    fewer = drop[flat.segment]
    return flat._replace(depth=flat.depth - fewer.astype(np.int32)).keep(flat.depth > fewer)


def _leading(mask: Array, first: Array, sizes: Array) -> Array:
    """For how many nodes of each tree, from its first one on, the mask [n] holds, int64 [B]."""
    ends = np.append(np.flatnonzero(~mask), len(mask))
    found: Array = ends[np.searchsorted(ends, first)] - first
    return np.minimum(found, sizes)


def _drop_empty(flat: _Flat, none: int, trees: int) -> _Flat:
    """Remove empty elements and the nodes they leave without a child."""
    parent = _link(flat, trees).up.numpy()
    keep = (flat.label != none) | (flat.word < 0)  # one with nodes below is no empty element
    children = np.bincount(parent[keep], minlength=len(keep) + 1)
    children[-1] = len(keep)  # of the place above the roots, which is never without
    barren = np.flatnonzero(keep & (flat.word < 0) & (children[:-1] == 0)).tolist()
    while barren:  # each node is removed once
        node = barren.pop()
        keep[node] = False
        above = parent[node]
        children[above] -= 1
        if not children[above]:
            barren.append(above)
    return flat.keep(keep)


def _link(flat: _Flat, trees: int) -> Nodes:
    """Nodes with parents and child positions, from depths in text order."""
    count = len(flat.depth)
    deepest = int(flat.depth.max(initial=0))
    # numpy sorts keys of 8 and 16 bits by radix
    short = np.uint8 if deepest < 1 << 8 else np.uint16 if deepest < 1 << 16 else np.int32
    order = np.argsort(flat.depth.astype(short), kind="stable")
    fresh = np.ones(count, dtype=bool)
    np.greater(flat.depth[1:], flat.depth[:-1], out=fresh[1:])
    fresh |= flat.depth == 1
    index = np.arange(count)
    start = np.maximum.accumulate(index * fresh[order]) if count else index
    parent, position = np.empty_like(index), np.empty_like(index)
    parent[order] = order[start] - 1
    position[order] = index - start
    parent[flat.depth == 1] = -1
    offsets = np.append(0, np.cumsum(np.bincount(flat.segment, minlength=trees)))
    return Nodes(
        torch.from_numpy(parent),
        torch.from_numpy(flat.label.astype(np.int64, copy=False)),
        torch.from_numpy(flat.word.astype(np.int64, copy=False)),
        torch.from_numpy(offsets.astype(np.int64)),
        int(np.diff(offsets).max(initial=0)),
        torch.from_numpy(flat.depth.astype(np.int64)),
        torch.from_numpy(position),
    )
