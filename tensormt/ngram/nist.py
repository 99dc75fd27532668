"""NIST (Doddington 2002) as mteval-v13a computes it, and NM, its multi-reference weighting.

    NIST = Σₙ ( Σ over clipped matches of Info / n-grams of the hypothesis ) · penalty
    penalty = exp( β ln² min(Lsys/Lref, 1) ),  β such that a ratio of 2/3 gives 0.5

Lref is the mean length of a segment's references, summed over segments. Information comes from all
references of the test set, or with `info="segment"` from the segment's own. NM (Qin & Specia 2015,
Eq. 9) multiplies every match's information by its weight R(g).
"""

from __future__ import annotations

import math
from typing import ClassVar

import torch
from torch import Tensor

from tensormt.ngram.base import TestSetMetric, choose
from tensormt.ngram.frequencies import Frequencies
from tensormt.ngram.match_table import Comparison
from tensormt.ngram.weights import Weighted, information

__all__ = ["NIST", "NM", "length_penalty"]

_BETA = math.log(0.5) / math.log(1.5) ** 2


def length_penalty(length: Tensor, reference: Tensor) -> Tensor:
    """NIST's penalty of hypothesis and reference lengths [...], float64 [...]; 0 for no words."""
    ratio = (length.double() / reference.double().clamp_min(1e-300)).clamp_max(1.0)
    return torch.exp(_BETA * torch.log(ratio) ** 2)


class NIST(TestSetMetric):
    """NIST-N; statistics [B, 3+2N] float64: segments, length, mean reference length, info, totals.

    `counts`: see TestSetMetric; not needed for `info="segment"`.
    """

    name: ClassVar[str] = "NIST"
    scale: ClassVar[float | None] = None

    def __init__(
        self,
        max_order: int = 5,
        info: str = "testset",
        tokenize: str = "13a",
        lowercase: bool = True,
        counts: Frequencies | None = None,
    ) -> None:
        super().__init__(max_order, tokenize, lowercase, counts)
        self.info = choose("info", info, ("testset", "segment"))

    def options(self) -> dict[str, object]:
        return {**super().options(), "info": self.info}

    @property
    def width(self) -> int:
        """Three, and two for each order."""
        return 3 + 2 * self.max_order

    @property
    def needs_table(self) -> bool:
        """Whether counts over the whole test set are needed."""
        return self.info == "testset"

    def count(self, part: Comparison, table: Frequencies | None) -> Tensor:
        """Segments, length, mean reference length, information and n-grams of each order."""
        counts = None if table is None else part.counted(table)
        whole = None if self.info == "segment" else counts
        gains = information(part, whole, 0 if table is None else table.words)
        weights = self.weights(part, counts, table)
        if weights is not None:
            gains = [gain * weight for gain, weight in zip(gains, weights, strict=True)]
        mean = part.refs.lengths.sum(0).double() / part.refs.number.clamp_min(1)
        head = part.head(part.along(mean.clamp_min(1)))
        return torch.cat([head, part.sums(gains), part.totals], -1)

    def weights(
        self, part: Comparison, counts: list[Tensor] | None, table: Frequencies | None
    ) -> list[Tensor] | None:
        """By what the information of each n-gram is multiplied, [m] an order; None: by 1."""
        return None

    def score(self, statistics: Tensor, *, segment: bool | None = None) -> Tensor:
        rows = statistics.double()
        size = self.max_order
        gains = rows[..., 3 : 3 + size] / rows[..., 3 + size :].clamp_min(1)
        return gains.sum(-1) * length_penalty(rows[..., 1], rows[..., 2])


class NM(Weighted, NIST):
    """NIST with every match's information times its weight over the references."""

    name: ClassVar[str] = "NM"

    def __init__(
        self,
        max_order: int = 5,
        info: str = "testset",
        weighting: str = "recurrence",
        recurrence: str = "references",
        tokenize: str = "13a",
        lowercase: bool = True,
        counts: Frequencies | None = None,
    ) -> None:
        super().__init__(max_order, info, tokenize, lowercase, counts)
        self.weigh(weighting, recurrence)

    def options(self) -> dict[str, object]:
        return {**super().options(), **self.weighting_options()}

    @property
    def needs_table(self) -> bool:
        """Whether counts over the whole test set are needed."""
        return self.info == "testset" or self.weighting == "zipf"

    def weights(
        self, part: Comparison, counts: list[Tensor] | None, table: Frequencies | None
    ) -> list[Tensor] | None:
        """R(g) or R′(g) of each n-gram."""
        return self.match_weights(part, counts, table)
