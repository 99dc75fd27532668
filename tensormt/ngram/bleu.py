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

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from tensormt.errors import TensorMTError
from tensormt.formulas import brevity_penalty, columns, exp, log, where
from tensormt.ngram.base import Lowercase, MaxOrder, NgramMetric, Tokenizer
from tensormt.options import Boolean, Choice, Number
from tensormt.plain import clipped, closest_length

if TYPE_CHECKING:
    from torch import Tensor

    from tensormt.ngram.frequencies import Frequencies
    from tensormt.ngram.match_table import MatchTable
    from tensormt.text.plain_tokens import Row
    from tensormt.text.tokens import TokenBatch

# default value of each smoothing; None: it takes no value
SMOOTHINGS: dict[str, float | None] = {
    "none": None,
    "floor": 0.1,
    "add-k": 1.0,
    "exp": None,
    "epsilon": 1e-3,
}
Smoothing = Annotated[str, Choice("What a precision without a match becomes", tuple(SMOOTHINGS))]
EffectiveOrder = Annotated[
    bool | None,
    Boolean("Leave out orders that the hypothesis is too short for; None: in single segments only"),
]
SmoothValue = Annotated[
    float | None, Number("Value of floor, add-k or epsilon; None: its usual value")
]


def bleu(
    matched: Any,
    totals: Any,
    length: Any,
    reference: Any,
    smooth: str = "exp",
    smooth_value: float | None = None,
    effective_order: Any = False,
) -> Any:
    """Compute BLEU from counts.

    Args:
        matched: Clipped matches of each order: an array [...,N], or a list of N arrays or numbers.
        totals: N-grams of the hypothesis of each order, likewise.
        length: Lengths of hypotheses, [...].
        reference: Closest reference lengths, [...].
        smooth: A name of `SMOOTHINGS`.
        smooth_value: Its value; None for the usual one.
        effective_order: For all, or bool [...]: leave out orders without an n-gram.

    Returns:
        float64 [...], 0 to 100.
    """
    value = float((SMOOTHINGS[smooth] if smooth_value is None else smooth_value) or 0.0)
    orders = list(zip(columns(matched), columns(totals), strict=True))
    total, number, zeros = 0.0, 0, 0
    some = False
    for order, (found, possible) in enumerate(orders):
        some = some | (found > 0)
        if smooth == "add-k" and order:
            found, possible = found + value, possible + value
        # an order in which the hypothesis has no n-gram does not count, nor do those above it
        real = possible > 0
        precision = found / where(real, possible, 1)
        if smooth == "exp":
            zeros = zeros + (real & (found == 0))
            precision = where(found > 0, precision, 0.5**zeros / where(real, possible, 1))
        elif smooth == "floor":
            precision = where(found > 0, precision, value / where(real, possible, 1))
        elif smooth == "epsilon":
            precision = where(found > 0, precision, value)
        total = total + where(real, log(precision), 0.0)
        number = number + real
    counted = where(effective_order, number, len(orders))
    mean = total / where(counted > 0, counted, 1)
    score = 100.0 * brevity_penalty(length, reference) * exp(mean)
    return where(some & (effective_order | (number == len(orders))), score, 0.0)


def _ngrams(tokens: Row, order: int) -> Sequence[Hashable]:
    """The n-grams of a line."""
    if order == 1:
        return tokens
    return list(zip(*[tokens[start:] for start in range(order)], strict=False))


class BLEU(NgramMetric):
    """BLEU with sacrebleu's numbers, 0 to 100.

    Statistics, int64 [B,3+2N]: segments, length, closest reference length, matches, n-grams.

    Args:
        max_order: Longest n-grams that count.
        smooth: What a precision without a match becomes: none, floor, add-k, exp or epsilon.
        effective_order: Leave out orders that the hypothesis is too short for; None: in single
            segments only.
        smooth_value: Value of floor, add-k or epsilon; None: its usual value.
        tokenize: Tokeniser of text.
        lowercase: Compare in lower case.

    >>> from tensormt import TokenBatch
    >>> lines = TokenBatch.from_text(["the dog ran home today"])
    >>> round(BLEU()(lines, [lines]).item(), 2)
    100.0
    """

    name: ClassVar[str] = "BLEU"
    summary: ClassVar[str] = "BLEU with sacrebleu's numbers, 0 to 100"
    digits: ClassVar[int] = 2  # as sacrebleu prints it
    scale: ClassVar[float | None] = 100.0
    clips_only = True
    integer = True
    smooth: str
    smooth_value: float | None
    effective_order: bool | None

    def __init__(
        self,
        max_order: MaxOrder = 4,
        smooth: Smoothing = "exp",
        effective_order: EffectiveOrder = None,
        smooth_value: SmoothValue = None,
        tokenize: Tokenizer = "13a",
        lowercase: Lowercase = False,
    ) -> None:
        self._configure(locals())
        if self.smooth_value is None:
            self.smooth_value = SMOOTHINGS[self.smooth]
        elif SMOOTHINGS[self.smooth] is None:
            raise TensorMTError(f"smoothing {smooth!r} takes no value: leave smooth_value out")

    def settings(self) -> dict[str, object]:
        """Return order, case, tokeniser, effective order and smoothing."""
        value = "" if self.smooth_value is None else f"[{self.smooth_value:g}]"
        return {
            **super().settings(),
            "eff": "segments" if self.effective_order is None else self.effective_order,
            "smooth": self.smooth + value,
        }

    @property
    def width(self) -> int:
        """The number of statistics: three, and two for each order."""
        return 3 + 2 * self.max_order

    def count(self, table: MatchTable, frequencies: Frequencies | None) -> Tensor:
        """Count segments, lengths, and matches and n-grams of each order."""
        return table.rows(table.closest, table.matched, table.totals)

    def _plain_statistics(self, hyp: TokenBatch, refs: Sequence[TokenBatch]) -> np.ndarray | None:
        segments = self._plain_rows(hyp, refs)
        if segments is None:
            return None
        return np.array([self._plain_row(row, others) for row, others in segments], np.int64)

    def _plain_row(self, hyp: Row, refs: Sequence[Row]) -> list[int]:
        """Count lengths, matches and n-grams of one segment, given its tokens and references."""
        length, orders = len(hyp), range(1, self.max_order + 1)
        matched: list[int] = []
        for order in orders:
            found = clipped(_ngrams(hyp, order), [_ngrams(ref, order) for ref in refs])
            matched.append(found)
            if not found:
                break  # a longer n-gram contains one of this order
        matched += [0] * (self.max_order - len(matched))
        totals = [max(length - order + 1, 0) for order in orders]
        return [1, length, closest_length(length, [len(ref) for ref in refs]), *matched, *totals]

    def _score(self, rows: Any, segment: bool | None) -> Any:
        size, table = self.max_order, columns(rows)
        effective: Any = self.effective_order
        if effective is None:
            effective = table[0] == 1 if segment is None else segment
        return bleu(
            table[3 : 3 + size],
            table[3 + size :],
            table[1],
            table[2],
            self.smooth,
            self.smooth_value,
            effective,
        )
