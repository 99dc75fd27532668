"""TKM and DTKM: all subtrees at once, by the tree kernel (Liu & Gildea 2005, section 2.2).

    TKM = max over references r of K(h, r) / √(K(h, h) K(r, r))

K is the kernel of Collins & Duffy (kernels/tree_kernel.py). Documents and corpora take the mean of
the segments.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from tensormt.explanation import Explanation
from tensormt.kernels.matches import node_pairs
from tensormt.kernels.tree_kernel import Side, log_kernel, side
from tensormt.metric import check_aligned
from tensormt.syntax.base import CHUNK, ConstituencyMetric, DependencyMetric, TreeMetric
from tensormt.trees.batch import TreeBatch
from tensormt.validation import number

__all__ = ["DTKM", "TKM"]


class TreeKernelMetric(TreeMetric):
    """Cosine of tree kernels with the best reference. Statistics: segments, score."""

    def __init__(self, decay: float) -> None:
        self.decay = number(0, 1, above=True)(decay, "decay")

    @property
    def width(self) -> int:
        """Two."""
        return 2

    def log_kernel(self, left: TreeBatch, right: TreeBatch) -> Tensor:
        """log K(left b, right b) of aligned trees, float64 [B]; -inf where K is 0."""
        check_aligned(left, [right])
        sides = zip(self._sides(left), self._sides(right), strict=True)
        return torch.cat(
            [log_kernel(a, b, self.decay, k * CHUNK + 1) for k, (a, b) in enumerate(sides)]
        )

    def _sides(self, batch: TreeBatch) -> list[Side]:
        """The trees in chunks, prepared for the kernel; made once for a batch."""
        trees, labels, words = self._hashed(batch)
        return trees.memo(
            ("sides", words is None),
            lambda: [side(part.nodes, labels, words) for part in trees.chunks(CHUNK)],
        )

    def _log_self(self, batch: TreeBatch) -> Tensor:
        trees, _, words = self._hashed(batch)
        return trees.memo(
            ("log K", self.decay, words is None), lambda: self.log_kernel(batch, batch)
        )

    def _hashed(self, batch: TreeBatch) -> tuple[TreeBatch, Tensor, Tensor | None]:
        """Trees, the hashes of their labels, and of words that count as leaves without nodes."""
        trees = self.trees(batch)
        return trees, trees.labels.hashes, None

    def log(self, hyp: TreeBatch, refs: Sequence[TreeBatch]) -> Tensor:
        """Log of the segment scores, float64 [B]: scores of long sentences at decay 1 are tiny."""
        self.check(hyp, refs)
        best = torch.full((len(hyp),), -math.inf, dtype=torch.float64, device=hyp.device)
        (own, *others), crosses = self._kernels(hyp, refs)
        for both, other in zip(crosses, others, strict=True):
            cosine = both - (own + other) / 2
            best = torch.maximum(best, torch.where(both.isinf(), -math.inf, cosine))
        return best.clamp(max=0)

    def _kernels(
        self, hyp: TreeBatch, refs: Sequence[TreeBatch]
    ) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
        """log K of each side with itself, and of the hypothesis with each reference, [B] each."""
        selves = [self._log_self(side) for side in (hyp, *refs)]
        return selves, [self.log_kernel(hyp, ref) for ref in refs]

    def statistics(self, hyp: TreeBatch, refs: Sequence[TreeBatch]) -> Tensor:
        """Float64 [B,2]."""
        score = self.log(hyp, refs).exp()
        return torch.stack([torch.ones_like(score), score], 1)

    def score(self, statistics: Tensor, *, segment: bool | None = None) -> Tensor:
        """Float64 [...]."""
        return (statistics[..., 1] / statistics[..., 0].clamp(min=1)).to(torch.float64)

    def explain(self, hyp: TreeBatch, refs: Sequence[TreeBatch]) -> Explanation:
        """The pairs of nodes with equal productions, each with log C, its share of K(h, r)."""
        self.check(hyp, refs)
        # log K(h, h) is the same for all references
        cosines = [self.log_kernel(hyp, ref) - self._log_self(ref) / 2 for ref in refs]
        best = torch.stack(cosines).nan_to_num(nan=-math.inf).argmax(0)
        trees, *others = (self.trees(batch) for batch in (hyp, *refs))
        own, *sides = (side(batch.nodes, batch.labels.hashes) for batch in (trees, *others))
        first = trees.nodes.offsets
        pairs = [
            node_pairs(own, other, (first, ref.nodes.offsets), self.decay)
            for other, ref in zip(sides, others, strict=True)
        ]
        return Explanation("pair", trees, others, pairs=pairs, best=best)

    def options(self) -> dict[str, object]:
        """Decay, then what trees are compared."""
        decay = int(self.decay) if self.decay == 1 else self.decay
        return {"decay": decay, **self.tree_options()}


class TKM(TreeKernelMetric, ConstituencyMetric):
    """Tree kernel metric on constituency trees."""

    name = "TKM"

    def __init__(self, decay: float = 1.0, lexical: bool = False) -> None:
        TreeKernelMetric.__init__(self, decay)
        ConstituencyMetric.__init__(self, lexical)

    def _hashed(self, batch: TreeBatch) -> tuple[TreeBatch, Tensor, Tensor | None]:
        """With `lexical` the trees as they are: the kernel needs no nodes for words."""
        if not self.lexical:
            return super()._hashed(batch)
        return batch, batch.labels.hashes, batch.words.hashes


class DTKM(TreeKernelMetric, DependencyMetric):
    """Tree kernel metric on dependency trees."""

    name = "DTKM"

    def __init__(self, decay: float = 1.0, rules: str = "collins") -> None:
        TreeKernelMetric.__init__(self, decay)
        DependencyMetric.__init__(self, rules)
