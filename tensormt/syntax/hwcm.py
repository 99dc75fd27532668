"""HWCM: shared headword chains up to a length (Liu & Gildea 2005, section 2.3).

A chain of n words is a path downwards in the dependency tree. Zero fractions become 1e-3 in single
segments (section 3.1 of the paper), whatever the balance. With `labels` the links of a chain are
words with the names of their arcs (dog as nsubj is not dog as obj), beyond the paper.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

from tensormt.options import Boolean, Integer
from tensormt.syntax.base import DependencyMetric, HeadRules
from tensormt.syntax.clipped_precision import Balance, ClippedPrecisionMetric

if TYPE_CHECKING:
    from torch import Tensor

    from tensormt.kernels.counts import Keys
    from tensormt.kernels.nodes import Nodes
    from tensormt.trees.batch import TreeBatch
    from tensormt.trees.plain_trees import PlainTree

MaxLength = Annotated[int, Integer("Longest chains that count", 1, 1000)]
ArcLabels = Annotated[bool, Boolean("Compare the names of arcs too, of dependency parses")]


class HWCM(ClippedPrecisionMetric, DependencyMetric):
    """Headword chain metric: shared downward paths of words in the dependency trees.

    Args:
        max_length: Longest chains that count.
        balance: precision (the paper's), recall, f1 or brevity.
        rules: Head rules that make dependencies from constituents.
        labels: Compare the names of arcs too.

    >>> from tensormt import TreeBatch
    >>> tree = TreeBatch.from_heads([["I", "run"]], [[2, 0]])
    >>> HWCM(max_length=2)(tree, [tree]).tolist()
    [1.0]
    """

    name = "HWCM"
    summary: ClassVar[str] = "shared chains of head words in the dependency trees"
    epsilon = 1e-3
    item = "chain"
    order_name = "length"
    max_length: int
    labels: bool

    def __init__(
        self,
        max_length: MaxLength = 4,
        balance: Balance = "precision",
        rules: HeadRules = "collins",
        labels: ArcLabels = False,
    ) -> None:
        self._configure(locals())

    @property
    def orders(self) -> int:
        """The longest chains."""
        return self.max_length

    def trees(self, batch: TreeBatch) -> TreeBatch:
        """Return dependency trees, with relations beside the words where these count."""
        trees = super().trees(batch)
        return trees.with_relations() if self.labels and trees.size else trees

    def _plain_trees(self, batch: TreeBatch) -> list[PlainTree] | None:
        trees = super()._plain_trees(batch)
        if trees is None or not self.labels:
            return trees
        if any(tree.relations is None and len(tree) for tree in trees):
            return None  # the engine raises
        return [tree.with_relations() if len(tree) else tree for tree in trees]

    def tree_settings(self) -> dict[str, object]:
        """Return the head rules, and whether relations count."""
        return {**super().tree_settings(), **({"labels": True} if self.labels else {})}

    def keys(self, batch: TreeBatch) -> Keys:
        """Return the keys of headword chains."""
        from tensormt.kernels.chains import chain_keys

        return chain_keys(batch.nodes, batch.labels.hashes, self.orders)

    def _plain_keys(self, tree: PlainTree) -> Iterator[Sequence[Hashable]]:
        labels, parents = tree.labels, tree.parents
        yield labels
        chains: list[Hashable] = [*labels]  # those that end at each word; None: there is none
        for _ in range(1, self.max_length):
            chains.append(None)  # above a root, whose parent is -1
            pairs = zip(parents, labels, strict=True)
            chains = [None if (up := chains[above]) is None else (up, own) for above, own in pairs]
            yield list(filter(None, chains))

    def highest(self, nodes: Nodes) -> Tensor:
        """Return the depth of each node: chains go up from it."""
        return nodes.depth
