"""Explanation: what a metric matched in a batch, with the batches that the places refer to.

A metric that can say what it matched gives one (`Metric.explain`). Items are of one kind:

    n-gram     place: the first token, in the tokens that the metric compared
    subtree    place: its top node; order: its depth
    chain      place: its lowest node; order: its length
    pair       nodes with equal productions, each with its share of the tree kernel

`hyp` and `refs` are what the metric compared: lower-cased tokens, trees without words, dependency
trees. Places are those of nodes (preorder, or sentence order) or tokens in one segment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from tensormt.kernels.matches import Items, NodePairs
from tensormt.text.tokens import TokenBatch
from tensormt.trees.batch import TreeBatch

__all__ = ["Explanation", "item_text"]


@dataclass(frozen=True)
class Explanation:
    """What was matched in B segments: items, or for each reference the pairs of nodes."""

    kind: str
    hyp: Any  # TokenBatch or TreeBatch
    refs: Sequence[Any]
    items: Items | None = None
    pairs: Sequence[NodePairs] = ()
    columns: Sequence[Sequence[int]] = ()  # of the statistics: those of the matches of each order
    best: Tensor | None = None  # int64 [B]: the one reference that gave a segment its score


class _Tokens:
    """The tokens of one segment."""

    def __init__(self, batch: TokenBatch, segment: int) -> None:
        self.words = batch[segment].to_tokens()[0]

    def text(self, kind: str, order: int, place: int) -> str:
        return " ".join(self.words[place : place + order])


class _Tree:
    """One tree, with the children of every node."""

    def __init__(self, batch: TreeBatch, segment: int) -> None:
        tree = batch[segment]
        names = batch.labels.strings
        self.labels = [names[i] if i >= 0 else "" for i in tree.nodes.label.tolist()]
        self.parents = tree.nodes.parent.tolist()
        self.children: list[list[int]] = [[] for _ in self.labels]
        for node, parent in enumerate(self.parents):
            if parent >= 0:
                self.children[parent].append(node)

    def text(self, kind: str, order: int, place: int) -> str:
        if kind == "chain":
            chain = [place]
            while len(chain) < order:
                chain.append(self.parents[chain[-1]])
            return " → ".join(self.labels[node] for node in reversed(chain))
        return self._bracket(place, 2 if kind == "pair" else order)

    def _bracket(self, node: int, depth: int) -> str:
        if depth == 1 or not self.children[node]:
            return self.labels[node]
        below = " ".join(self._bracket(child, depth - 1) for child in self.children[node])
        return f"({self.labels[node]} {below})"


def item_text(batch: TokenBatch | TreeBatch, kind: str, segment: int) -> Any:
    """A function (order, place) → text of the items of one segment.

    Subtrees are bracketed, chains go from the upper word to the lower one.
    """
    holder: _Tokens | _Tree = (
        _Tree(batch, segment) if isinstance(batch, TreeBatch) else _Tokens(batch, segment)
    )
    return lambda order, place: holder.text(kind, order, place)
