"""Dependency trees as lists: the words of a segment and, for each, the number of its head.

Heads are 1-based, 0 marks the root. A segment has one root; every word leads to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, pairwise

import numpy as np
import torch

from tensormt.data.coercion import as_lines, as_lists
from tensormt.errors import TensorMTError
from tensormt.kernels.nodes import Nodes
from tensormt.text.dictionary import Dictionary


def read(
    words: Sequence[Sequence[str]], heads: Sequence[Sequence[int]]
) -> tuple[Nodes, Dictionary]:
    """Flat nodes in sentence order, labelled with their words, and the dictionary of these."""
    words, heads = as_lists(words, "words"), as_lists(heads, "heads")
    if len(words) != len(heads):
        raise TensorMTError(
            f"{len(words)} segments of words but {len(heads)} of heads: give one list of each"
        )
    sizes = np.fromiter(map(len, words), np.int64, len(words))
    given = np.fromiter(map(len, heads), np.int64, len(heads))
    for segment in np.flatnonzero(sizes != given)[:1]:
        raise TensorMTError(
            f"segment {segment + 1}: {sizes[segment]} words but {given[segment]} heads"
        )
    flat = as_lines(list(chain.from_iterable(words)), "words")
    if None in flat:
        raise TensorMTError("words: one of them is None, expected strings")
    ids, names = Dictionary.encode(flat)
    head = np.array(list(chain.from_iterable(heads)) or np.zeros(0, np.int64))
    if head.dtype.kind not in "iu" or head.ndim != 1:
        raise TensorMTError("heads: expected whole numbers, the word that is the head or 0")
    offsets = np.append(0, np.cumsum(sizes))
    segment = np.repeat(np.arange(len(sizes)), sizes)
    start = offsets[segment]
    _check_range(head, sizes, segment, start)
    nodes = Nodes(
        torch.from_numpy(np.where(head == 0, -1, start + head - 1)),
        ids,
        ids,
        torch.from_numpy(offsets),
        int(sizes.max(initial=0)),
    )
    _check_shape(nodes)
    return nodes, names


def _check_range(
    head: np.ndarray, sizes: np.ndarray, segment: np.ndarray, start: np.ndarray
) -> None:
    """Every head is a word of its segment, or 0."""
    for cell in np.flatnonzero((head < 0) | (head > sizes[segment]))[:1]:
        where = segment[cell]
        raise TensorMTError(
            f"segment {where + 1}, word {cell - start[cell] + 1}: head {head[cell]} is out of "
            f"range, expected 0 (root) to {sizes[where]}"
        )


def _check_shape(nodes: Nodes) -> None:
    """Every segment with words has one root, and no cycle."""
    segment = nodes.segment.numpy()
    roots = np.bincount(segment[nodes.parent.numpy() < 0], minlength=nodes.trees)
    for where in np.flatnonzero((roots != 1) & (nodes.lengths.numpy() > 0))[:1]:
        raise TensorMTError(
            f"segment {where + 1}: {roots[where]} words have head 0, expected exactly one root"
        )
    above = np.append(nodes.up.numpy(), len(nodes))
    for _ in range(nodes.width.bit_length()):
        above = above[above]
    for cell in np.flatnonzero(above[:-1] != len(nodes))[:1]:
        where = segment[cell]
        word = cell - int(nodes.offsets[where]) + 1
        raise TensorMTError(
            f"segment {where + 1}: the heads form a cycle that word {word} leads into; "
            "every word must lead to the root"
        )


def write(nodes: Nodes, words: Dictionary) -> tuple[list[list[str]], list[list[int]]]:
    """The words and 1-based heads of every segment."""
    offsets = nodes.offsets.tolist()
    strings = [words.strings[i] for i in nodes.word.tolist()]
    start = nodes.offsets[nodes.segment]
    heads = torch.where(nodes.parent < 0, 0, nodes.parent - start + 1).tolist()
    bounds = list(pairwise(offsets))
    return [strings[a:b] for a, b in bounds], [heads[a:b] for a, b in bounds]


def with_relations(nodes: Nodes, names: Sequence[Sequence[str]]) -> tuple[Nodes, Dictionary]:
    """The nodes with the names of their arcs, one for each word, and the dictionary of these."""
    sizes = nodes.lengths.tolist()
    for number, (size, row) in enumerate(zip(sizes, names, strict=True), 1):
        if size != len(row):
            raise TensorMTError(f"segment {number}: {size} words but {len(row)} relations")
    ids, known = Dictionary.encode(list(chain.from_iterable(names)))
    return replace(nodes, relation=ids), known


def relations(nodes: Nodes, names: Dictionary) -> list[list[str]]:
    """The names of the arcs of every segment."""
    assert nodes.relation is not None
    strings = [names.strings[i] for i in nodes.relation.tolist()]
    return [strings[a:b] for a, b in pairwise(nodes.offsets.tolist())]
