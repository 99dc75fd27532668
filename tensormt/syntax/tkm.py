"""TKM and DTKM: all subtrees at once, by the tree kernel (Liu & Gildea 2005, section 2.2).

    TKM = max over references r of K(h, r) / √(K(h, h) K(r, r))

K is the kernel of Collins & Duffy (kernels/tree_kernel.py). Documents and corpora take the mean of
the segments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from tensormt.formulas import as_float64, namespace
from tensormt.options import Number
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

Decay = Annotated[
    float, Number("How much larger subtrees weigh; 1 is the paper's", 0, 1, exclusive=True)
]


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

    def _score(self, rows: Any, segment: bool | None) -> Any:
        xp = namespace(rows)
        return as_float64(rows[..., 1] / xp.clip(rows[..., 0], 1, None))

    def _explain(self, hyp: TreeBatch, refs: Sequence[TreeBatch]) -> Explanation:
        from tensormt.syntax import kernel_engine

        return kernel_engine.explain(self, hyp, refs)

    def settings(self) -> dict[str, object]:
        """Return decay, and which trees are compared."""
        decay = int(self.decay) if self.decay == 1 else self.decay
        return {"decay": decay, **self.tree_settings()}


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

    name: ClassVar[str] = "TKM"
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

    name: ClassVar[str] = "DTKM"
    summary: ClassVar[str] = "the tree kernel on dependency trees"

    def __init__(self, decay: Decay = 1.0, rules: HeadRules = "collins") -> None:
        self._configure(locals())
