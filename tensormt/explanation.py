"""Explanation: what a metric matched in a batch, with the batches that the places refer to.

A metric that can say what it matched gives one (`Metric.explain`). Items are of one kind:

    n-gram     place: the first token, in the tokens that the metric compared
    subtree    place: its top node; order: its depth
    chain      place: its lowest node; order: its length
    character  place: the first character; orders of words (chrF++) come behind those of characters
    pair       nodes with equal productions, each with its share of the tree kernel
    mean       none of its own: parts, the members' explanations with their weights

`hyp` and `refs` are what the metric compared: lower-cased tokens, trees without words, dependency
trees. Places are those of nodes (preorder, or sentence order) or tokens in one segment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from torch import Tensor

from tensormt.kernels.matches import Items, NodePairs
from tensormt.text.tokens import TokenBatch
from tensormt.trees.batch import TreeBatch

_NAMES = {
    "n-gram": "{}-grams",
    "character": "character {}-grams",
    "subtree": "subtrees of depth {}",
    "chain": "headword chains of {}",
    "pair": "pairs of nodes",
}


class Part(NamedTuple):
    """What a member of a mean matched: the mean is Σ weight · the member's score.

    columns: the member's statistics among those of the mean.
    """

    name: str
    weight: float
    metric: Any
    columns: Sequence[int]
    found: Explanation


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
    parts: Sequence[Part] = ()  # of a mean
    words: Sequence[TokenBatch] = ()  # of chrF++: the hypothesis's, the references'
    characters: int = 0  # of chrF: orders that are of characters

    def name(self, order: int) -> str:
        """What items of an order are: "subtrees of depth 2"."""
        if self.characters and order > self.characters:
            return f"word {order - self.characters}-grams"
        return _NAMES[self.kind].format(order)

    def text(self, segment: int) -> Callable[[int, int], str]:
        """A function (order, place) → text of the hypothesis's items in one segment.

        Subtrees are bracketed, chains go from the upper word to the lower one.
        """
        if isinstance(self.hyp, TreeBatch):
            tree = _Tree(self.hyp, segment)
            return lambda order, place: tree.text(self.kind, order, place)
        tokens = self.hyp[segment].to_tokens()[0]
        if not self.characters:
            return lambda order, place: " ".join(tokens[place : place + order])
        words = self.words[0][segment].to_tokens()[0] if self.words else []

        def cut(order: int, place: int) -> str:
            if order <= self.characters:
                return "".join(tokens[place : place + order])
            return " ".join(words[place : place + order - self.characters])

        return cut


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
