"""HWCM: shared headword chains up to a length (Liu & Gildea 2005, section 2.3).

Zero fractions become 1e-3 in single segments (section 3.1 of the paper), whatever the balance.
With `labels` the links of a chain are words with the names of their arcs (dog as nsubj is not dog
as obj), beyond the paper.
"""

from __future__ import annotations

from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.kernels.chains import chain_keys
from tensormt.kernels.counts import Keys
from tensormt.kernels.nodes import Nodes
from tensormt.syntax.base import DependencyMetric
from tensormt.syntax.clipped_precision import ClippedPrecisionMetric
from tensormt.trees.batch import TreeBatch

__all__ = ["HWCM"]


class HWCM(ClippedPrecisionMetric, DependencyMetric):
    """Headword chain metric: shared downward paths of words in the dependency trees."""

    name = "HWCM"
    epsilon = 1e-3
    item = "chain"
    order_name = "length"

    def __init__(
        self,
        max_length: int = 4,
        balance: str = "precision",
        rules: str = "collins",
        labels: bool = False,
    ) -> None:
        ClippedPrecisionMetric.__init__(self, max_length, balance, "max_length")
        DependencyMetric.__init__(self, rules)
        if not isinstance(labels, bool):
            raise TensorMTError(f"{self.name}: labels is {labels!r}, expected True or False")
        self.labels = labels

    def trees(self, batch: TreeBatch) -> TreeBatch:
        """Dependency trees, with relations beside the words where these count."""
        trees = super().trees(batch)
        return trees.with_relations() if self.labels and len(trees.nodes) else trees

    def tree_options(self) -> dict[str, object]:
        """The head rules, and whether relations count."""
        return {**super().tree_options(), **({"labels": True} if self.labels else {})}

    def keys(self, batch: TreeBatch) -> Keys:
        """Headword-chain keys."""
        return chain_keys(batch.nodes, batch.labels.hashes, self.orders)

    def highest(self, nodes: Nodes) -> Tensor:
        """A node's depth: chains go up from it."""
        return nodes.depth
