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

from collections.abc import Sequence
from operator import add
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from tensormt.errors import TensorMTError
from tensormt.formulas import (
    as_float64,
    brevity_penalty,
    column,
    each,
    exp,
    log,
    namespace,
    part,
    positive,
    running_total,
    total,
    where,
)
from tensormt.ngram.base import Lowercase, MaxOrder, NgramMetric, Tokenizer
from tensormt.options import Boolean, Choice, Number
from tensormt.plain import clipped, closest_length, ngrams

if TYPE_CHECKING:
    from torch import Tensor

    from tensormt.ngram.frequencies import Frequencies
    from tensormt.ngram.match_table import MatchTable
    from tensormt.ngram.plain_matches import PlainFrequencies
    from tensormt.text.plain_tokens import Row

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
        matched: Clipped matches of each order: an array [...,N], or a list of N numbers.
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
    found, possible = as_float64(matched), as_float64(totals)
    orders = len(found) if isinstance(found, list) else found.shape[-1]
    some = column(found, 0) > 0  # an n-gram contains words
    if smooth == "add-k":
        more = _above_first(value, found)
        found, possible = each(add, found, more), each(add, possible, more)
    # an order in which the hypothesis has no n-gram does not count, nor do those above it
    real = each(positive, possible)
    if smooth == "exp":
        halvings = running_total(each(lambda n, counts: (n == 0) & counts, found, real))
        found = each(lambda n, times: where(n == 0, 0.5**times, n), found, halvings)
    elif smooth == "floor":
        found = each(lambda n: where(n == 0, value, n), found)

    def log_precision(n: Any, all_: Any, counts: Any) -> Any:
        share = n / where(counts, all_, 1.0)
        if smooth == "epsilon":
            share = where(n == 0, value, share)
        return where(counts, log(share), 0.0)

    logs = total(each(log_precision, found, possible, real))
    number = total(real)
    counted = where(effective_order, number, orders)
    score = 100.0 * brevity_penalty(length, reference) * exp(logs / where(counted > 0, counted, 1))
    if effective_order is not True:
        some = some & (effective_order | (number == orders))
    return where(some, score, 0.0)


def _above_first(value: float, like: Any) -> Any:
    """The value for all orders but the first, which has 0."""
    if isinstance(like, list):
        return [0.0] + [value] * (len(like) - 1)
    values = namespace(like).full_like(like, value)
    values[..., 0] = 0.0
    return values


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

    name = "BLEU"
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

    def _plain_row(
        self, hyp: Row, refs: Sequence[Row], frequencies: PlainFrequencies | None = None
    ) -> list[float]:
        """Count lengths, matches and n-grams of one segment, given its tokens and references."""
        length, size = len(hyp), self.max_order
        matched: list[int] = []
        by_order = zip(*[ngrams(row, size) for row in (hyp, *refs)], strict=True)
        for own, *others in by_order:
            matched.append(clipped(list(own), others))
            if not matched[-1]:
                break  # a longer n-gram contains one of this order
        matched += [0] * (size - len(matched))
        totals = [max(length - order, 0) for order in range(size)]
        return [1, length, closest_length(length, [len(ref) for ref in refs]), *matched, *totals]

    def _score(self, rows: Any, segment: bool | None) -> Any:
        size, table = self.max_order, as_float64(rows)
        effective: Any = self.effective_order
        if effective is None:
            effective = column(table, 0) == 1 if segment is None else segment
        return bleu(
            part(table, 3, 3 + size),
            part(table, 3 + size),
            column(table, 1),
            column(table, 2),
            self.smooth,
            self.smooth_value,
            effective,
        )
