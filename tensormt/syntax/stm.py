"""STM and DSTM: shared subtrees up to a depth (Liu & Gildea 2005, section 2.1).

A depth-n subtree is the part of a tree within n levels of a node whose height is at least n (depth
1: the node's label alone; depth 2: a production).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from tensormt.syntax.base import ConstituencyMetric, DependencyMetric, HeadRules, Lexical, MaxDepth
from tensormt.syntax.clipped_precision import Balance, ClippedPrecisionMetric

if TYPE_CHECKING:
    from torch import Tensor

    from tensormt.kernels.counts import Keys
    from tensormt.kernels.nodes import Nodes
    from tensormt.trees.batch import TreeBatch
    from tensormt.trees.plain_trees import PlainTree


class SubtreeMetric(ClippedPrecisionMetric):
    """Counts the subtrees of every depth."""

    item = "subtree"
    max_depth: int

    @property
    def orders(self) -> int:
        """The deepest subtrees."""
        return self.max_depth

    def keys(self, batch: TreeBatch) -> Keys:
        """Return the keys of subtrees."""
        from tensormt.kernels.subtrees import subtree_keys

        return subtree_keys(batch.nodes, batch.labels.hashes, self.orders)

    def _plain_keys(self, tree: PlainTree) -> Iterator[Sequence[Hashable]]:
        # a subtree is the label of its top with what is below each child, one level less deep
        labels, parents, children = tree.labels, tree.parents, tree.children
        subtree: list[Hashable] = list(labels)  # of each node, to the depth of the round
        yield labels
        tall = [node for node, below in enumerate(children) if below]
        for _ in range(1, self.max_depth):
            keys = [(labels[node], *[subtree[child] for child in children[node]]) for node in tall]
            for node, key in zip(tall, keys, strict=True):
                subtree[node] = key
            yield keys
            tall = list({parents[node] for node in tall} - {-1})

    def highest(self, nodes: Nodes) -> Tensor:
        """Return the height of each node: it has subtrees of all depths up to it."""
        return nodes.height


class STM(SubtreeMetric, ConstituencyMetric):
    """Subtree metric: shared subtrees of the constituency trees up to a depth.

    Args:
        max_depth: Deepest subtrees that count.
        balance: precision (the paper's), recall, f1 or brevity.
        lexical: Compare the words too, not the labels alone.

    >>> from tensormt import TreeBatch
    >>> hyp = TreeBatch.from_brackets(["(S (NP (PRON I)) (VP (V had) (NP (PRON it))))"])
    >>> ref = TreeBatch.from_brackets(["(S (NP (PRON I)) (VP (V had) (NP (ART a) (N dog))))"])
    >>> round(STM(max_depth=3)(hyp, [ref]).item(), 3)
    0.702
    """

    name = "STM"
    summary: ClassVar[str] = "shared subtrees of the constituency trees"

    def __init__(
        self,
        max_depth: MaxDepth = 4,
        balance: Balance = "precision",
        lexical: Lexical = False,
    ) -> None:
        self._configure(locals())


class DSTM(SubtreeMetric, DependencyMetric):
    """Subtree metric on dependency trees, a word at every node.

    Args:
        max_depth: Deepest subtrees that count.
        balance: precision (the paper's), recall, f1 or brevity.
        rules: Head rules that make dependencies from constituents.
    """

    name = "DSTM"
    summary: ClassVar[str] = "shared subtrees of the dependency trees"

    def __init__(
        self,
        max_depth: MaxDepth = 3,
        balance: Balance = "precision",
        rules: HeadRules = "collins",
    ) -> None:
        self._configure(locals())
