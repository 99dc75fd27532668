"""From plain trees to flat nodes with dictionaries, and back."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np
import torch

from tensormt.kernels.nodes import Nodes
from tensormt.text.dictionary import Dictionary
from tensormt.trees.plain_trees import PlainTree


class FlatTrees(NamedTuple):
    """Nodes, the dictionaries of their labels and words, and of the names of arcs.

    bare: Some words stand beside other children; such a word is a node of its own without a label.
    """

    nodes: Nodes
    labels: Dictionary
    words: Dictionary
    bare: bool = False
    relations: Dictionary | None = None


def flatten(trees: Sequence[PlainTree], kind: str) -> FlatTrees:
    """Return the flat form of plain trees of one kind."""
    sizes = [len(tree) for tree in trees]
    offsets = np.append(0, np.cumsum(sizes, dtype=np.int64))
    parents, depths, positions = [], [], []
    for tree, start in zip(trees, offsets.tolist(), strict=False):
        parents += [parent + start if parent >= 0 else -1 for parent in tree.parents]
        if kind == "constituency":  # in preorder, parents before their children
            depth, position = _places(tree.parents)
            depths += depth
            positions += position
    word, words = _number(chain.from_iterable(tree.words for tree in trees))
    label, labels, bare, relations, relation = word, words, False, None, None
    if kind == "constituency":
        label, labels = _number(chain.from_iterable(tree.labels for tree in trees))
        bare = -1 in label
    elif trees and trees[0].relations is not None:
        relation, relations = _number(chain.from_iterable(tree.relations or () for tree in trees))
    nodes = Nodes(
        _tensor(parents),
        _tensor(label),
        _tensor(word),
        torch.from_numpy(offsets),
        max(sizes, default=0),
        _tensor(depths) if kind == "constituency" else None,
        _tensor(positions) if kind == "constituency" else None,
        None if relation is None else _tensor(relation),
    )
    return FlatTrees(nodes, labels, words, bare, relations)


def unflatten(flat: FlatTrees) -> list[PlainTree] | None:
    """Return the plain form of flat trees on a CPU; None where a label is missing."""
    nodes, names = flat.nodes, flat.words.strings
    labels, words = nodes.label.tolist(), nodes.word.tolist()
    if -1 in labels and not flat.bare:
        return None
    parents, offsets = nodes.parent.tolist(), nodes.offsets.tolist()
    words = [names[k] if k >= 0 else None for k in words]
    names = flat.labels.strings
    labels = [names[k] if k >= 0 else None for k in labels]
    arcs: list[str] | None = None
    if nodes.relation is not None and flat.relations is not None:
        names = flat.relations.strings
        arcs = [names[k] for k in nodes.relation.tolist()]
    return [
        PlainTree(
            labels[a:b],
            words[a:b],
            [parent - a if parent >= 0 else -1 for parent in parents[a:b]],
            None if arcs is None else arcs[a:b],
        )
        for a, b in pairwise(offsets)
    ]


def _places(parents: Sequence[int]) -> tuple[list[int], list[int]]:
    """Depth of each node, 1 at the root, and its place among its siblings, in preorder."""
    depth: list[int] = []
    position: list[int] = []
    children = [0] * len(parents)
    for parent in parents:
        depth.append(1 if parent < 0 else depth[parent] + 1)
        position.append(0 if parent < 0 else children[parent])
        if parent >= 0:
            children[parent] += 1
    return depth, position


def _number(strings: chain[str | None]) -> tuple[list[int], Dictionary]:
    """Ids of strings among the different ones, -1 for None, and the dictionary of these."""
    known: dict[str, int] = {}
    ids = [-1 if name is None else known.setdefault(name, len(known)) for name in strings]
    return ids, Dictionary(known)


def _tensor(values: list[int]) -> torch.Tensor:
    return torch.from_numpy(np.array(values, np.int64))
