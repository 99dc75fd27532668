"""BM and BMA: BLEU with matches weighted over several references (Qin & Specia 2015).

    BM  = BP · exp( 1/N Σₙ ln(Rₙ·Pₙ) )        BMA = BP · 1/N Σₙ Rₙ·Pₙ        Rₙ·Pₙ = Σ R(g) / count

The sum runs over the clipped matches g of order n; R(g) is larger for what several references share
(`weighting="recurrence"`, Eq. 6) or for what is frequent at a low rank (`"zipf"`, Eq. 7). Single
segments: Pₙ gets one match and one n-gram more for n > 1 (Lin & Och 2004), Rₙ is the mean of R over
the matches, and an order without a match takes the R of an n-gram that one reference holds. Sums of
segments are scored without smoothing. Scores are on the paper's scale, not times 100.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from tensormt.formulas import as_float64, brevity_penalty, namespace
from tensormt.metric import single_segments
from tensormt.ngram.base import Lowercase, MaxOrder, TestSetMetric, Tokenizer
from tensormt.ngram.plain_matches import PlainMatches
from tensormt.ngram.weighting import Recurrence, WeightedMatches, Weighting
from tensormt.plain import closest_length

if TYPE_CHECKING:
    from torch import Tensor

    from tensormt.ngram.frequencies import Frequencies
    from tensormt.ngram.match_table import MatchTable
    from tensormt.ngram.plain_matches import PlainFrequencies
    from tensormt.text.plain_tokens import Row


class BM(WeightedMatches, TestSetMetric):
    """BLEU with matches weighted by what several references share.

    Statistics, float64 [B,3+4N]: segments, length, closest reference length, then N each of
    matches, n-grams, sums of R over matches, and R of an n-gram held once (for smoothing).

    Args:
        max_order: Longest n-grams that count.
        weighting: How n-grams are weighted: recurrence or zipf.
        recurrence: What recurrence counts: references that hold the n-gram, or occurrences.
        tokenize: Tokeniser of text.
        lowercase: Compare in lower case.
        counts: N-gram counts of the test set; needed for `weighting="zipf"` only.
    """

    name = "BM"
    summary: ClassVar[str] = "BLEU with matches weighted by what several references share"

    def __init__(
        self,
        max_order: MaxOrder = 4,
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
        return self.weighting == "zipf"

    @property
    def width(self) -> int:
        """The number of statistics: three, and four for each order."""
        return 3 + 4 * self.max_order

    def count(self, table: MatchTable, frequencies: Frequencies | None) -> Tensor:
        """Count segments, lengths, and for each order matches, n-grams, sums of R, R held once."""
        from tensormt.ngram.weights import single

        once = table.along(single(table.refs, self.max_order, frequencies))
        weighted = self.weighted_matches(table, frequencies)
        return table.rows(table.closest, table.matched, table.totals, weighted, once)

    def _plain_row(
        self, hyp: Row, refs: Sequence[Row], frequencies: PlainFrequencies | None = None
    ) -> list[float]:
        found = PlainMatches(hyp, refs, self.max_order)
        return [
            *(1, len(hyp), closest_length(len(hyp), found.lengths)),
            *(*found.matched, *found.totals),
            *found.sums(self._plain_weights(found, frequencies)),
            *found.single(frequencies),
        ]

    def columns_of(self, order: int) -> list[int]:
        """Return the columns of the matches and of their sum of R."""
        return [2 + order, 2 + order + 2 * self.max_order]

    def _score(self, rows: Any, segment: bool | None) -> Any:
        xp, size = namespace(rows), self.max_order
        rows = as_float64(rows)
        matched, possible, weighted, once = (
            rows[..., 3 + k * size : 3 + (k + 1) * size] for k in range(4)
        )
        plain = weighted / xp.clip(possible, 1, None)
        # add-one for n > 1: R is the mean over the matches, P = (matches + 1) / (n-grams + 1)
        weight = xp.where(matched > 0, weighted / xp.clip(matched, 1, None), once)
        smoothed = weight * (matched + 1) / (possible + 1)
        smoothed = xp.concatenate([plain[..., :1], smoothed[..., 1:]], -1)
        alone = single_segments(rows, segment)
        precision = xp.where(alone[..., None], smoothed, plain)
        return brevity_penalty(rows[..., 1], rows[..., 2]) * self._mean(precision)

    def _mean(self, precision: Any) -> Any:
        """The mean of weighted precisions [...,N] over the orders."""
        xp = namespace(precision)
        return xp.exp(xp.log(precision).mean(-1))


class BMA(BM):
    """BM with the arithmetic mean over the orders, as NIST takes it."""

    name = "BMA"
    summary: ClassVar[str] = "BM with the arithmetic mean over the orders"

    def _mean(self, precision: Any) -> Any:
        return precision.mean(-1)
