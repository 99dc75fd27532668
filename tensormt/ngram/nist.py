"""NIST (Doddington 2002) as mteval-v13a computes it, and NM, its multi-reference weighting.

    NIST = Σₙ ( Σ over clipped matches of Info / n-grams of the hypothesis ) · penalty
    penalty = exp( β ln² min(Lsys/Lref, 1) ),  β such that a ratio of 2/3 gives 0.5

Lref is the mean length of a segment's references, summed over segments. Information comes from all
references of the test set, or with `info="segment"` from the segment's own. NM (Qin & Specia 2015,
Eq. 9) multiplies every match's information by its weight R(g).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor

from tensormt.ngram.base import TestSetMetric, choose, totals
from tensormt.ngram.frequencies import Frequencies
from tensormt.ngram.matching import Matches, matches
from tensormt.ngram.references import References
from tensormt.ngram.weights import Held, counted, held, information, recurrence, zipf
from tensormt.text.tokens import TokenBatch

__all__ = ["NIST", "NM", "length_penalty"]

_BETA = math.log(0.5) / math.log(1.5) ** 2


def length_penalty(length: Tensor, reference: Tensor) -> Tensor:
    """NIST's penalty of hypothesis and reference lengths [...], float64 [...]; 0 for no words."""
    ratio = (length.double() / reference.double()).clamp_max(1.0)
    return torch.exp(_BETA * torch.log(ratio) ** 2)


class NIST(TestSetMetric):
    """NIST-N; statistics [B, 3+2N] float64: segments, length, mean reference length, info, totals.

    `counts`: see TestSetMetric; not needed for `info="segment"`.
    """

    name: ClassVar[str] = "NIST"

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

    def statistics(self, hyp: TokenBatch, refs: Sequence[TokenBatch]) -> Tensor:
        hyp, ready = self.read(hyp, refs)
        size = self.max_order
        table = self.frequencies(ready) if self.needs_table else None
        words = ready.lengths.sum(0)
        rows = torch.empty(len(hyp), 3 + 2 * size, dtype=torch.float64, device=hyp.device)
        for part in matches(hyp, ready, size):
            found = [held(order) for order in part.orders]
            counts = None if table is None else counted(part, found, hyp, table)
            if self.info == "segment" or table is None:
                gains = information(part, found, None, words[part.rows])
            else:
                gains = information(part, found, counts, table.words)
            weights = self.weights(part, found, ready, counts, table)
            rows[part.rows, 3 : 3 + size] = torch.stack(
                [
                    here.sums(gain if weight is None else gain * weight, len(part.rows))
                    for here, gain, weight in zip(found, gains, weights, strict=True)
                ],
                1,
            )
        rows[:, 0] = 1
        rows[:, 1] = hyp.lengths
        rows[:, 2] = ready.mean_lengths
        rows[:, 3 + size :] = totals(hyp.lengths, size)
        return rows

    @property
    def needs_table(self) -> bool:
        """Whether counts over the whole test set are needed."""
        return self.info == "testset"

    def weights(
        self,
        part: Matches,
        found: list[Held],
        refs: References,
        counts: list[Tensor] | None,
        table: Frequencies | None,
    ) -> Sequence[Tensor | None]:
        """By what the information of each held n-gram is multiplied, [m] an order; None: by 1."""
        return [None] * len(found)

    def score(self, statistics: Tensor, *, segment: bool | None = None) -> Tensor:
        rows = statistics.double()
        size = self.max_order
        gains = rows[..., 3 : 3 + size] / rows[..., 3 + size :].clamp_min(1)
        return gains.sum(-1) * length_penalty(rows[..., 1], rows[..., 2])


class NM(NIST):
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
        self.weighting = choose("weighting", weighting, ("recurrence", "zipf"))
        self.recurrence = choose("recurrence", recurrence, ("references", "occurrences"))

    def options(self) -> dict[str, object]:
        return {
            **super().options(),
            "weighting": self.weighting,
            **({"recurrence": self.recurrence} if self.weighting == "recurrence" else {}),
        }

    @property
    def needs_table(self) -> bool:
        return self.info == "testset" or self.weighting == "zipf"

    def weights(
        self,
        part: Matches,
        found: list[Held],
        refs: References,
        counts: list[Tensor] | None,
        table: Frequencies | None,
    ) -> Sequence[Tensor | None]:
        if self.weighting == "zipf" and counts is not None and table is not None:
            return zipf(found, counts, refs.number[part.rows], table)
        return recurrence(part, found, refs, self.recurrence == "occurrences")
