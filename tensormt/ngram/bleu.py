"""BLEU (Papineni et al. 2002), with the numbers of sacrebleu.

    BLEU = 100 · BP · exp( 1/N Σₙ ln Pₙ )        Pₙ = clipped matches / n-grams of the hypothesis
    BP = exp(1 - r/c) if c < r else 1            r = Σ reference length closest to the hypothesis's

Smoothing of a precision without a match (Chen & Cherry 2014): `none` leaves 0; `floor` counts
`smooth_value` matches (0.1); `add-k` adds `smooth_value` (1) to matches and n-grams for n > 1;
`exp` halves again at every such order, as mteval-v13a does; `epsilon` takes `smooth_value` (10⁻³)
as the precision, as Liu & Gildea (2005) do.

`effective_order` leaves out the orders that the hypothesis is too short for. By default single
segments do so and sums of segments do not, which is what `sacrebleu -sl` and `sacrebleu` print.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.kernels.lengths import brevity_penalty
from tensormt.ngram.base import NgramMetric, choose
from tensormt.ngram.frequencies import Frequencies
from tensormt.ngram.match_table import Comparison
from tensormt.options import Boolean, Number

__all__ = ["BLEU", "SMOOTHINGS", "bleu"]

# default value of each smoothing; None: it takes none
SMOOTHINGS: dict[str, float | None] = {
    "none": None,
    "floor": 0.1,
    "add-k": 1.0,
    "exp": None,
    "epsilon": 1e-3,
}


def bleu(
    matched: Tensor,
    totals: Tensor,
    length: Tensor,
    reference: Tensor,
    smooth: str = "exp",
    smooth_value: float | None = None,
    effective_order: bool | Tensor = False,
) -> Tensor:
    """BLEU (0 to 100, float64 [...]) of counts matched, totals [...,N] and lengths [...].

    effective_order: for all, or bool [...]: leave out orders of which there is no n-gram.
    """
    value = SMOOTHINGS[smooth] if smooth_value is None else smooth_value
    found, possible = matched.double(), totals.double()
    if smooth == "add-k":
        more = torch.full_like(found, float(value or 0.0))
        more[..., 0] = 0.0
        found, possible = found + more, possible + more
    # an order in which the hypothesis has no n-gram does not count, nor do those above it
    real = possible > 0
    zero = (found == 0) & real
    precision = found / possible
    if smooth == "exp":
        precision = torch.where(zero, torch.exp2(-zero.cumsum(-1).double()) / possible, precision)
    elif smooth == "floor":
        precision = torch.where(zero, float(value or 0.0) / possible, precision)
    elif smooth == "epsilon":
        precision = torch.where(zero, float(value or 0.0), precision)
    logs, absent = torch.log(precision), ~real
    if effective_order is not True:
        mean = logs.masked_fill(absent, -torch.inf).mean(-1)
    if effective_order is not False:
        short = logs.masked_fill(absent, 0.0).sum(-1) / real.sum(-1)
        mean = short if effective_order is True else torch.where(effective_order, short, mean)
    score = 100.0 * brevity_penalty(length, reference) * torch.exp(mean)
    return torch.where((matched > 0).any(-1), score, 0.0)


class BLEU(NgramMetric):
    """BLEU-N; statistics [B, 3+2N] int64: segments, length, reference length, matched, totals."""

    name: ClassVar[str] = "BLEU"
    digits: ClassVar[int] = 2  # as sacrebleu prints it
    scale: ClassVar[float | None] = 100.0
    clips_only = True
    dtype: ClassVar[torch.dtype] = torch.int64

    def __init__(
        self,
        max_order: int = 4,
        smooth: str = "exp",
        effective_order: bool | None = None,
        smooth_value: float | None = None,
        tokenize: str = "13a",
        lowercase: bool = False,
    ) -> None:
        super().__init__(max_order, tokenize, lowercase)
        choose("smoothing", smooth, tuple(SMOOTHINGS))
        if smooth_value is not None and SMOOTHINGS[smooth] is None:
            raise TensorMTError(f"smoothing {smooth!r} takes no value: leave smooth_value out")
        value: float | None = Number("smooth_value", None, "").check(smooth_value)
        self.smooth = smooth
        self.smooth_value = SMOOTHINGS[smooth] if value is None else value
        self.effective_order: bool | None = Boolean("effective_order", None, "").check(
            effective_order
        )

    def options(self) -> dict[str, object]:
        value = "" if self.smooth_value is None else f"[{self.smooth_value:g}]"
        return {
            **super().options(),
            "eff": "segments" if self.effective_order is None else self.effective_order,
            "smooth": self.smooth + value,
        }

    @property
    def width(self) -> int:
        """Three, and two for each order."""
        return 3 + 2 * self.max_order

    def count(self, part: Comparison, table: Frequencies | None) -> Tensor:
        """Segments, length, closest reference length, matches and n-grams of each order."""
        return torch.cat([part.head(part.closest), part.matched, part.totals], -1)

    def score(self, statistics: Tensor, *, segment: bool | None = None) -> Tensor:
        size, effective = self.max_order, self.effective_order
        chosen: bool | Tensor
        if effective is not None:
            chosen = effective
        else:
            chosen = statistics[..., 0] == 1 if segment is None else segment
        return bleu(
            statistics[..., 3 : 3 + size],
            statistics[..., 3 + size :],
            statistics[..., 1],
            statistics[..., 2],
            self.smooth,
            self.smooth_value,
            chosen,
        )
