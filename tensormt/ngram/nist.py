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
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from tensormt.formulas import as_float64, namespace
from tensormt.ngram.base import Lowercase, MaxOrder, TestSetMetric, Tokenizer
from tensormt.ngram.plain_matches import PlainMatches
from tensormt.ngram.weighting import Recurrence, WeightedMatches, Weighting
from tensormt.options import Choice

if TYPE_CHECKING:
    from torch import Tensor

    from tensormt.ngram.frequencies import Frequencies
    from tensormt.ngram.match_table import MatchTable
    from tensormt.ngram.plain_matches import PlainFrequencies
    from tensormt.text.plain_tokens import Row

_BETA = math.log(0.5) / math.log(1.5) ** 2
Info = Annotated[str, Choice("References that give the information", ("testset", "segment"))]


def length_penalty(length: Any, reference: Any) -> Any:
    """Compute NIST's penalty of hypothesis and reference lengths [...]; 0 for no words."""
    xp = namespace(length)
    ratio = xp.clip(as_float64(length) / xp.clip(as_float64(reference), 1e-300, None), None, 1.0)
    return xp.exp(_BETA * xp.log(ratio) ** 2)


class NIST(TestSetMetric):
    """NIST as mteval-v13a computes it.

    Statistics, float64 [B,3+2N]: segments, length, mean reference length, information, n-grams.

    Args:
        max_order: Longest n-grams that count.
        info: References that give the information: testset, or the segment's own.
        tokenize: Tokeniser of text.
        lowercase: Compare in lower case.
        counts: N-gram counts of the test set; not needed for `info="segment"`.
    """

    name = "NIST"
    summary: ClassVar[str] = "NIST as mteval-v13a computes it"
    scale: ClassVar[float | None] = None
    info: str

    def __init__(
        self,
        max_order: MaxOrder = 5,
        info: Info = "testset",
        tokenize: Tokenizer = "13a",
        lowercase: Lowercase = True,
        counts: Frequencies | None = None,
    ) -> None:
        self._configure(locals())

    def settings(self) -> dict[str, object]:
        """Return order, case, tokeniser and the source of the information."""
        return {**super().settings(), "info": self.info}

    @property
    def width(self) -> int:
        """The number of statistics: three, and two for each order."""
        return 3 + 2 * self.max_order

    @property
    def needs_frequencies(self) -> bool:
        """Whether n-gram counts over the whole test set are needed."""
        return self.info == "testset"

    def count(self, table: MatchTable, frequencies: Frequencies | None) -> Tensor:
        """Count segments, length, mean reference length, information and n-grams of each order."""
        from tensormt.ngram.weights import information

        counts = None if frequencies is None else table.counted(frequencies)
        whole = None if self.info == "segment" else counts
        gains = information(table, whole, 0 if frequencies is None else frequencies.words)
        weights = self._weights(table, counts, frequencies)
        if weights is not None:
            gains = [gain * weight for gain, weight in zip(gains, weights, strict=True)]
        mean = table.refs.lengths.sum(0).double() / table.refs.number.clamp_min(1)
        return table.rows(table.along(mean.clamp_min(1)), table.sums(gains), table.totals)

    def _weights(
        self, table: MatchTable, counts: list[Tensor] | None, frequencies: Frequencies | None
    ) -> list[Tensor] | None:
        """Factors of the information of each n-gram, [m] for each order; None: 1."""
        return None

    def _plain_row(
        self, hyp: Row, refs: Sequence[Row], frequencies: PlainFrequencies | None = None
    ) -> list[float]:
        found = PlainMatches(hyp, refs, self.max_order)
        gains = found.information(None if self.info == "segment" else frequencies)
        return [
            *(1, len(hyp), sum(found.lengths) / len(refs)),
            *found.sums(gains, *self._plain_factors(found, frequencies)),
            *found.totals,
        ]

    def _plain_factors(
        self, matches: PlainMatches, frequencies: PlainFrequencies | None
    ) -> list[list[list[float]]]:
        """Factors of the information of every match."""
        return []

    def _score(self, rows: Any, segment: bool | None) -> Any:
        xp, size = namespace(rows), self.max_order
        rows = as_float64(rows)
        gains = rows[..., 3 : 3 + size] / xp.clip(rows[..., 3 + size :], 1, None)
        return gains.sum(-1) * length_penalty(rows[..., 1], rows[..., 2])


class NM(WeightedMatches, NIST):
    """NIST with every match's information times its weight over the references.

    Args:
        max_order: Longest n-grams that count.
        info: References that give the information: testset, or the segment's own.
        weighting: How n-grams are weighted: recurrence or zipf.
        recurrence: What recurrence counts: references that hold the n-gram, or occurrences.
        tokenize: Tokeniser of text.
        lowercase: Compare in lower case.
        counts: N-gram counts of the test set.
    """

    name = "NM"
    summary: ClassVar[str] = "NIST with matches weighted by what several references share"

    def __init__(
        self,
        max_order: MaxOrder = 5,
        info: Info = "testset",
        weighting: Weighting = "recurrence",
        recurrence: Recurrence = "references",
        tokenize: Tokenizer = "13a",
        lowercase: Lowercase = True,
        counts: Frequencies | None = None,
    ) -> None:
        self._configure(locals())

    @property
    def needs_frequencies(self) -> bool:
        """Whether n-gram counts over the whole test set are needed."""
        return self.info == "testset" or self.weighting == "zipf"

    def _weights(
        self, table: MatchTable, counts: list[Tensor] | None, frequencies: Frequencies | None
    ) -> list[Tensor] | None:
        return self.match_weights(table, counts, frequencies)

    def _plain_factors(
        self, matches: PlainMatches, frequencies: PlainFrequencies | None
    ) -> list[list[list[float]]]:
        return [self._plain_weights(matches, frequencies)]
