"""BM and BMA: BLEU with matches weighted over several references (Qin & Specia 2015).

    BM  = BP · exp( 1/N Σₙ ln(Rₙ·Pₙ) )        BMA = BP · 1/N Σₙ Rₙ·Pₙ        Rₙ·Pₙ = Σ R(g) / count

The sum runs over the clipped matches g of order n; R(g) is larger for what several references share
(`weighting="recurrence"`, Eq. 6) or for what is frequent at a low rank (`"zipf"`, Eq. 7). Single
segments: Pₙ gets one match and one n-gram more for n > 1 (Lin & Och 2004), Rₙ is the mean of R over
the matches, and an order without a match takes the R of an n-gram that one reference holds. Sums of
segments are scored without smoothing. Scores are on the paper's scale, not times 100.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from tensormt.kernels.lengths import brevity_penalty
from tensormt.ngram.base import TestSetMetric
from tensormt.ngram.frequencies import Frequencies
from tensormt.ngram.match_table import Comparison
from tensormt.ngram.weights import Weighted, single

__all__ = ["BM", "BMA"]


class BM(Weighted, TestSetMetric):
    """BM-N; statistics [B, 3+4N] float64: segments, length, closest reference length, then N each
    of matches, n-grams, sums of R over matches, and R of an n-gram held once (for smoothing).

    `counts`: see TestSetMetric; needed for `weighting="zipf"` only.
    """

    name: ClassVar[str] = "BM"

    def __init__(
        self,
        max_order: int = 4,
        weighting: str = "recurrence",
        recurrence: str = "references",
        tokenize: str = "13a",
        lowercase: bool = True,
        counts: Frequencies | None = None,
    ) -> None:
        super().__init__(max_order, tokenize, lowercase, counts)
        self.weigh(weighting, recurrence)

    def options(self) -> dict[str, object]:
        return {**super().options(), **self.weighting_options()}

    @property
    def needs_table(self) -> bool:
        """Whether counts over the whole test set are needed."""
        return self.weighting == "zipf"

    @property
    def width(self) -> int:
        """Three, and four for each order."""
        return 3 + 4 * self.max_order

    def count(self, part: Comparison, table: Frequencies | None) -> Tensor:
        """Segments, lengths, and N each of matches, n-grams, sums of R, R of one held once."""
        once = part.along(single(part.refs, self.max_order, table))
        blocks = [part.matched, part.totals, self.weighted_matches(part, table), once]
        return torch.cat([part.head(part.closest), *blocks], -1)

    def columns_of(self, order: int) -> list[int]:
        """Matches, and their sum of R."""
        return [2 + order, 2 + order + 2 * self.max_order]

    def score(self, statistics: Tensor, *, segment: bool | None = None) -> Tensor:
        rows = statistics.double()
        head, matched, possible, weighted, once = _columns(rows, self.max_order)
        plain = weighted / possible.clamp_min(1)
        # add-one for n > 1: R is the mean over the matches, P = (matches + 1) / (n-grams + 1)
        weight = torch.where(matched > 0, weighted / matched.clamp_min(1), once)
        smoothed = weight * (matched + 1) / (possible + 1)
        smoothed = torch.cat([plain[..., :1], smoothed[..., 1:]], -1)
        alone = head[..., 0] == 1 if segment is None else torch.full_like(head[..., 0], segment) > 0
        precision = torch.where(alone[..., None], smoothed, plain)
        return brevity_penalty(head[..., 1], head[..., 2]) * self.mean(precision)

    def mean(self, precision: Tensor) -> Tensor:
        """The mean of weighted precisions [...,N] over the orders."""
        return torch.exp(torch.log(precision).mean(-1))


class BMA(BM):
    """BM with the arithmetic mean over the orders, as NIST takes it."""

    name: ClassVar[str] = "BMA"

    def mean(self, precision: Tensor) -> Tensor:
        return precision.mean(-1)


def _columns(rows: Tensor, size: int) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """The views of statistics [...,3+4N]: head, matches, n-grams, weighted matches, held once."""
    head, *blocks = torch.split(rows, [3, size, size, size, size], -1)
    return (head, blocks[0], blocks[1], blocks[2], blocks[3])
