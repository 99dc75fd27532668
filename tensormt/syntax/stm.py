"""STM and DSTM: shared subtrees up to a depth (Liu & Gildea 2005, section 2.1)."""

from __future__ import annotations

from torch import Tensor

from tensormt.kernels.counts import Keys
from tensormt.kernels.nodes import Nodes
from tensormt.kernels.subtrees import subtree_keys
from tensormt.syntax.base import ConstituencyMetric, DependencyMetric
from tensormt.syntax.clipped_precision import ClippedPrecisionMetric
from tensormt.trees.batch import TreeBatch

__all__ = ["DSTM", "STM"]


class _Subtrees(ClippedPrecisionMetric):
    """Counts the subtrees of every depth."""

    item = "subtree"

    def keys(self, batch: TreeBatch) -> Keys:
        """Subtree keys."""
        return subtree_keys(batch.nodes, batch.labels.hashes, self.orders)

    def highest(self, nodes: Nodes) -> Tensor:
        """A node's height: it has subtrees of all depths up to it."""
        return nodes.height


class STM(_Subtrees, ConstituencyMetric):
    """Subtree metric: shared subtrees of the constituency trees up to a depth."""

    name = "STM"

    def __init__(
        self, max_depth: int = 4, balance: str = "precision", lexical: bool = False
    ) -> None:
        ClippedPrecisionMetric.__init__(self, max_depth, balance, "max_depth")
        ConstituencyMetric.__init__(self, lexical)


class DSTM(_Subtrees, DependencyMetric):
    """Subtree metric on dependency trees, a word at every node."""

    name = "DSTM"

    def __init__(
        self, max_depth: int = 3, balance: str = "precision", rules: str = "collins"
    ) -> None:
        ClippedPrecisionMetric.__init__(self, max_depth, balance, "max_depth")
        DependencyMetric.__init__(self, rules)
