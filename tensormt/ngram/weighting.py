"""Options of the metrics that weigh matches over several references (Qin & Specia 2015)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from tensormt.ngram.base import NgramMetric
from tensormt.options import Choice

if TYPE_CHECKING:
    from torch import Tensor

    from tensormt.ngram.frequencies import Frequencies
    from tensormt.ngram.match_table import MatchTable
    from tensormt.ngram.plain_matches import PlainFrequencies, PlainMatches

Weighting = Annotated[str, Choice("How n-grams are weighted", ("recurrence", "zipf"))]
Recurrence = Annotated[
    str,
    Choice(
        "What recurrence counts: references that hold the n-gram, or all its occurrences",
        ("references", "occurrences"),
    ),
]


class WeightedMatches(NgramMetric):
    """A metric whose matches have weights R(g) or R′(g) over several references."""

    weighting: str
    recurrence: str

    def settings(self) -> dict[str, object]:
        """Return the settings, among them those of the weights."""
        own: dict[str, Any] = {"weighting": self.weighting}
        if self.weighting != "zipf":
            own["recurrence"] = self.recurrence
        return {**super().settings(), **own}

    def match_weights(
        self, table: MatchTable, counts: list[Tensor] | None, frequencies: Frequencies | None
    ) -> list[Tensor]:
        """Return the weight of each n-gram, [m] for each order.

        `counts` are those of the test set, for Zipf's weights.
        """
        from tensormt.ngram.weights import recurrence, zipf

        if self.weighting == "zipf" and counts is not None and frequencies is not None:
            return zipf(table, counts, frequencies)
        return recurrence(table, self.recurrence == "occurrences")

    def _plain_weights(
        self, matches: PlainMatches, frequencies: PlainFrequencies | None
    ) -> list[list[float]]:
        """The same for one segment, a weight for each match."""
        if self.weighting == "zipf" and frequencies is not None:
            return matches.zipf(frequencies)
        return matches.recurrence(self.recurrence == "occurrences")

    def weighted_matches(self, table: MatchTable, frequencies: Frequencies | None) -> Tensor:
        """Return the sum of the weights of all clipped matches of each order, float64 [...,N]."""
        from tensormt.ngram.weights import recurrence_sums

        if self.weighting == "recurrence" and self.recurrence == "references":
            return recurrence_sums(table)
        counts = None if frequencies is None else table.counted(frequencies)
        return table.sums(self.match_weights(table, counts, frequencies))
