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

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from tensormt.errors import TensorMTError
from tensormt.formulas import as_float64, brevity_penalty, namespace
from tensormt.metric import single_segments
from tensormt.ngram.base import Lowercase, MaxOrder, NgramMetric, Tokenizer
from tensormt.options import Boolean, Choice, Number

if TYPE_CHECKING:
    from torch import Tensor

    from tensormt.ngram.frequencies import Frequencies
    from tensormt.ngram.match_table import MatchTable

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
        matched: Clipped matches of each order, [...,N]; torch or numpy.
        totals: N-grams of the hypothesis of each order, [...,N].
        length: Lengths of hypotheses, [...].
        reference: Closest reference lengths, [...].
        smooth: A name of `SMOOTHINGS`.
        smooth_value: Its value; None for the usual one.
        effective_order: For all, or bool [...]: leave out orders without an n-gram.

    Returns:
        float64 [...], 0 to 100.
    """
    xp = namespace(matched)
    value = float((SMOOTHINGS[smooth] if smooth_value is None else smooth_value) or 0.0)
    found, possible = as_float64(matched), as_float64(totals)
    if smooth == "add-k":
        more = xp.full_like(found, value)
        more[..., 0] = 0.0
        found, possible = found + more, possible + more
    # an order in which the hypothesis has no n-gram does not count, nor do those above it
    real = possible > 0
    zero = (found == 0) & real
    precision = found / possible
    if smooth == "exp":
        halved = xp.exp2(-as_float64(xp.cumsum(zero, -1))) / possible
        precision = xp.where(zero, halved, precision)
    elif smooth == "floor":
        precision = xp.where(zero, value / possible, precision)
    elif smooth == "epsilon":
        precision = xp.where(zero, value, precision)
    logs = xp.log(precision)
    if effective_order is not True:
        mean = xp.where(real, logs, -xp.inf).mean(-1)
    if effective_order is not False:
        short = xp.where(real, logs, 0.0).sum(-1) / real.sum(-1)
        mean = short if effective_order is True else xp.where(effective_order, short, mean)
    score = 100.0 * brevity_penalty(length, reference) * xp.exp(mean)
    return xp.where((matched > 0).any(-1), score, 0.0)


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

    def _score(self, rows: Any, segment: bool | None) -> Any:
        size, effective = self.max_order, self.effective_order
        chosen: Any = effective
        if effective is None:
            chosen = segment if segment is not None else single_segments(rows, None)
        return bleu(
            rows[..., 3 : 3 + size],
            rows[..., 3 + size :],
            rows[..., 1],
            rows[..., 2],
            self.smooth,
            self.smooth_value,
            chosen,
        )
