"""Matches, weights and counts of a small test set in plain Python: NIST, BM and NM without torch.

The definitions are those of `tensormt.ngram.match_table`, `weights` and `frequencies`. Sums of
logarithms have other last bits there, so these are used only as long as torch is not imported.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from tensormt.errors import TensorMTError
from tensormt.plain import count, ngrams

if TYPE_CHECKING:
    from tensormt.ngram.frequencies import Frequencies
    from tensormt.text.plain_tokens import Row
    from tensormt.text.tokens import TokenBatch

LACKING = (
    "the references hold an n-gram that the counts of the test set lack: "
    "fit the metric on all references that it is to score"
)


class PlainFrequencies:
    """Counts of the n-grams of all references up to max_order, as `Frequencies`."""

    def __init__(self, max_order: int) -> None:
        self.max_order = max_order
        self.words = 0
        self.kinds: set[tuple[str, bool]] = set()  # tokeniser and case of what was counted
        self._counts: list[Counter[Hashable]] = [Counter() for _ in range(max_order)]
        self._sorted: list[int] | None = None
        self._batches: list[TokenBatch] = []

    def add(self, refs: Sequence[TokenBatch]) -> PlainFrequencies:
        """Count the n-grams of streams of references that are held as strings."""
        for stream in refs:
            self.kinds.add((stream.tokenize, stream.lowercase))
            for row in stream.plain_rows() or ():
                self.words += len(row)
                for counts, found in zip(self._counts, ngrams(row, self.max_order), strict=True):
                    counts.update(found)
        self._batches += refs
        self._sorted = None
        return self

    def of(self, order: int, ngram: Hashable) -> int:
        """Return how often an n-gram of a reference stands in the test set."""
        found = self._counts[order - 1][ngram]
        if not found:
            raise TensorMTError(LACKING)
        return found

    def rank(self, frequency: int) -> float:
        """Return Zipf's rank of n-grams of a frequency; those of equal frequency share the mean."""
        if self._sorted is None:
            self._sorted = sorted(chain(*(counts.values() for counts in self._counts)))
        low, high = (cut(self._sorted, frequency) for cut in (bisect_left, bisect_right))
        return len(self._sorted) - high + (high - low + 1) / 2

    def batched(self) -> Frequencies:
        """Return the same counts for the batched engine."""
        from tensormt.ngram.frequencies import Frequencies

        return Frequencies(self.max_order).add(self._batches)


class Match(NamedTuple):
    """An n-gram that hypothesis and references hold."""

    ngram: Hashable
    times: int  # clipped matches
    holders: int  # references that hold it
    occurrences: int  # in all references


class PlainMatches:
    """One hypothesis compared with its references.

    Args:
        hyp: Tokens of the hypothesis.
        refs: Tokens of the references, none of them empty.
        max_order: Longest n-grams.
    """

    def __init__(self, hyp: Row, refs: Sequence[Row], max_order: int) -> None:
        self.lengths = [len(ref) for ref in refs]
        self.length = len(hyp)
        self.orders: list[list[Match]] = []
        self.diversity: list[float] = []  # different n-grams over all n-grams of the references
        for own, *others in zip(*[ngrams(row, max_order) for row in (hyp, *refs)], strict=True):
            counts = [count(other) for other in others]
            found = []
            for ngram, number in count(own).items():
                held = [ref[ngram] for ref in counts if ngram in ref]
                if held:
                    found.append(Match(ngram, min(number, max(held)), len(held), sum(held)))
            self.orders.append(found)
            every = sum(sum(ref.values()) for ref in counts)
            self.diversity.append(len(set().union(*counts)) / every if every else 1.0)

    @property
    def matched(self) -> list[int]:
        """The number of clipped matches of each order."""
        return [sum(match.times for match in found) for found in self.orders]

    @property
    def totals(self) -> list[int]:
        """The number of n-grams of each order."""
        return [max(self.length - order, 0) for order in range(len(self.orders))]

    def information(self, frequencies: PlainFrequencies | None) -> list[list[float]]:
        """NIST's information of every match in bits; None: from the segment's own references."""
        found: list[list[float]] = []
        before: dict[Hashable, int] = {}
        for order, matches in enumerate(self.orders, 1):
            if frequencies is None:
                counts = {match.ngram: match.occurrences for match in matches}
                words = sum(self.lengths)
            else:
                counts = {match.ngram: frequencies.of(order, match.ngram) for match in matches}
                words = frequencies.words
            found.append(
                [math.log2(_count_before(g, order, before, words) / n) for g, n in counts.items()]
            )
            before = counts
        return found

    def recurrence(self, occurrences: bool) -> list[list[float]]:
        """R(g) of every match; M(g) counts references, or all occurrences in them."""
        return [
            [
                self._recurrence(order, match.occurrences if occurrences else match.holders)
                for match in matches
            ]
            for order, matches in enumerate(self.orders, 1)
        ]

    def _recurrence(self, order: int, times: int) -> float:
        return self.diversity[order - 1] * math.log10(order + times / len(self.lengths))

    def zipf(self, frequencies: PlainFrequencies) -> list[list[float]]:
        """R′(g) of every match."""
        return [
            [self._zipf(frequencies.of(order, match.ngram), frequencies) for match in matches]
            for order, matches in enumerate(self.orders, 1)
        ]

    def _zipf(self, number: int, frequencies: PlainFrequencies) -> float:
        return math.log10(1 + frequencies.rank(number) * number / len(self.lengths))

    def single(self, frequencies: PlainFrequencies | None) -> list[float]:
        """The weight of an n-gram that stands once, in one reference, by order; given: Zipf's."""
        if frequencies is None:
            return [self._recurrence(order, 1) for order in range(1, len(self.orders) + 1)]
        return [self._zipf(1, frequencies)] * len(self.orders)

    def sums(self, *factors: list[list[float]]) -> list[float]:
        """Products of values of the matches, summed over the clipped matches of each order."""
        return [
            math.fsum(
                match.times * math.prod(values)
                for match, *values in zip(matches, *own, strict=True)
            )
            for matches, *own in zip(self.orders, *factors, strict=True)
        ]


def _count_before(ngram: Hashable, order: int, shorter: dict[Hashable, int], words: int) -> int:
    """The count of an n-gram without its last word, given those of the order below."""
    if order == 1:
        return words
    assert isinstance(ngram, tuple)
    return shorter[ngram[0] if order == 2 else ngram[:-1]]
