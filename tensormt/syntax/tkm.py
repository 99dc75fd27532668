"""TKM and DTKM: all subtrees at once, by the tree kernel (Liu & Gildea 2005, section 2.2).

    TKM = max over references r of K(h, r) / √(K(h, h) K(r, r))

K is the kernel of Collins & Duffy (kernels/tree_kernel.py). Documents and corpora take the mean of
the segments.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from tensormt.formulas import column, where
from tensormt.options import Number
from tensormt.plain import overridden
from tensormt.syntax.base import (
    ConstituencyMetric,
    DependencyMetric,
    HeadRules,
    Lexical,
    TreeMetric,
)

if TYPE_CHECKING:
    from torch import Tensor

    from tensormt.explanation import Explanation
    from tensormt.trees.batch import TreeBatch
    from tensormt.trees.plain_trees import PlainTree

Decay = Annotated[
    float, Number("How much larger subtrees weigh; 1 is the paper's", 0, 1, exclusive=True)
]


# K is at most n² 2ⁿ for trees of n nodes, and at least the decay: within these limits the product
# of two kernels is a normal float64. Others are left to the engine, which computes logarithms.
_MOST_NODES = 400
_LEAST_DECAY = 1e-100


class TreeKernelMetric(TreeMetric):
    """Cosine of tree kernels with the best reference. Statistics, float64: segments, score."""

    decay: float

    @property
    def width(self) -> int:
        """The number of statistics: two."""
        return 2

    def hashed(self, batch: TreeBatch) -> tuple[TreeBatch, Tensor, Tensor | None]:
        """Return trees, the hashes of their labels, and of words that count as leaves.

        The words are None where the kernel compares nodes alone.
        """
        trees = self.trees(batch)
        return trees, trees.labels.hashes, None

    def log(self, hyp: TreeBatch, refs: Sequence[TreeBatch]) -> Tensor:
        """Compute the log of segment scores, float64 [B]: long sentences have tiny scores."""
        from tensormt.syntax import kernel_engine

        return kernel_engine.log_cosine(self, hyp, self._check_sides(hyp, refs))

    def log_kernel(self, left: TreeBatch, right: TreeBatch) -> Tensor:
        """Compute log K(left b, right b) of aligned trees, float64 [B]; -inf where K is 0."""
        from tensormt.syntax import kernel_engine

        self._check_sides(left, [right])
        return kernel_engine.log_kernels(self, left, right)

    def _statistics(self, hyp: TreeBatch, refs: Sequence[TreeBatch]) -> Tensor:
        from tensormt.syntax import kernel_engine

        return kernel_engine.statistics(self, hyp, refs)

    def _plain_statistics(
        self, hyp: TreeBatch, refs: Sequence[TreeBatch]
    ) -> list[list[float]] | None:
        if self.decay < _LEAST_DECAY or overridden(type(self), "_plain_cosine", "_statistics"):
            return None
        segments = self._plain_segments(hyp, refs)
        if segments is None:
            return None
        if any(len(tree) > _MOST_NODES for segment in segments for tree in segment):
            return None
        return [[1.0, self._plain_cosine(own, others)] for own, *others in segments]

    def _plain_cosine(self, hyp: PlainTree, refs: Sequence[PlainTree]) -> float:
        """Compute the cosine of one tree with the best reference."""
        own = _Productions(hyp)
        self_kernel, best = own.kernel(own, self.decay), 0.0
        for ref in refs:
            other = _Productions(ref)
            both = own.kernel(other, self.decay)
            if both:
                norm = math.sqrt(self_kernel * other.kernel(other, self.decay))
                best = max(best, min(both / norm, 1.0))
        return best

    def _score(self, rows: Any, segment: bool | None) -> Any:
        number, score = column(rows, 0), column(rows, 1)
        return score / where(number > 1, number, 1)

    def _explain(self, hyp: TreeBatch, refs: Sequence[TreeBatch]) -> Explanation:
        from tensormt.syntax import kernel_engine

        return kernel_engine.explain(self, hyp, refs)

    def settings(self) -> dict[str, object]:
        """Return decay, and which trees are compared."""
        decay = int(self.decay) if self.decay == 1 else self.decay
        return {"decay": decay, **self.tree_settings()}


class _Productions:
    """The inner nodes of one tree with their productions, children before their parents."""

    def __init__(self, tree: PlainTree) -> None:
        labels, self.children = tree.labels, tree.children
        order = [node for node, parent in enumerate(tree.parents) if parent < 0]
        for node in order:  # grows: parents before their children
            order += self.children[node]
        self.inner: list[tuple[int, Hashable]] = []
        self.nodes: dict[Hashable, list[int]] = {}
        for node in reversed(order):
            below = self.children[node]
            if below:
                production = (labels[node], *[labels[child] for child in below])
                self.inner.append((node, production))
                self.nodes.setdefault(production, []).append(node)

    def kernel(self, other: _Productions, decay: float) -> float:
        """Sum up C = decay · Π (1 + C of the children) over pairs of nodes of one production."""
        known: dict[tuple[int, int], float] = {}
        for node, production in self.inner:
            for match in other.nodes.get(production, ()):
                value = decay
                for pair in zip(self.children[node], other.children[match], strict=True):
                    if pair in known:
                        value *= 1.0 + known[pair]
                known[node, match] = value
        return sum(known.values())


class TKM(TreeKernelMetric, ConstituencyMetric):
    """Tree kernel metric on constituency trees.

    Args:
        decay: How much larger subtrees weigh; 1 is the paper's.
        lexical: Compare the words too, not the labels alone.

    >>> from tensormt import TreeBatch
    >>> tree = TreeBatch.from_brackets(["(S (NP (PRP I)) (VP (VBP run)))"])
    >>> TKM()(tree, [tree]).tolist()
    [1.0]
    """

    name = "TKM"
    summary: ClassVar[str] = "all shared subtrees at once, by the tree kernel"

    def __init__(self, decay: Decay = 1.0, lexical: Lexical = False) -> None:
        self._configure(locals())

    def hashed(self, batch: TreeBatch) -> tuple[TreeBatch, Tensor, Tensor | None]:
        """With `lexical` the trees as they are: the kernel needs no nodes for words."""
        if not self.lexical:
            return super().hashed(batch)
        return batch, batch.labels.hashes, batch.words.hashes


class DTKM(TreeKernelMetric, DependencyMetric):
    """Tree kernel metric on dependency trees.

    Args:
        decay: How much larger subtrees weigh; 1 is the paper's.
        rules: Head rules that make dependencies from constituents.
    """

    name = "DTKM"
    summary: ClassVar[str] = "the tree kernel on dependency trees"

    def __init__(self, decay: Decay = 1.0, rules: HeadRules = "collins") -> None:
        self._configure(locals())
