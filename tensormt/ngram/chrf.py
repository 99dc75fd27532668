"""chrF and chrF++ (Popović 2015, 2017), with the numbers of sacrebleu.

    chrF = 100 · (1 + β²) P R / (β² P + R)        P, R: means over orders of matched / n-grams

Orders are character n-grams 1…6 and word n-grams 1…word_order (2 in chrF++); one in which
hypothesis or reference has no n-gram is left out. White space is taken out unless `whitespace`;
words are cut at white space, punctuation off their end or start. With `eps_smoothing` the F of each
order is averaged instead, 10⁻¹⁶ where there is nothing (as chrF++.py, Moses and nltk do). Of
several references the one with the best segment score gives the segment its counts; sums of
segments are scored likewise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from tensormt.errors import TensorMTError
from tensormt.formulas import as_float64, namespace
from tensormt.ngram.base import Lowercase, NgramMetric
from tensormt.options import Boolean, Integer, Number

if TYPE_CHECKING:
    from torch import Tensor

    from tensormt.explanation import Explanation
    from tensormt.ngram.frequencies import Frequencies
    from tensormt.ngram.match_table import MatchTable
    from tensormt.ngram.references import References
    from tensormt.text.tokens import TokenBatch

_EPS = 1e-16
CharOrder = Annotated[int, Integer("Longest n-grams of characters that count", 1, 100)]
WordOrder = Annotated[int, Integer("Longest n-grams of words that count; 2 is chrF++", 0, 100)]
Beta = Annotated[float, Number("Weight of recall against precision", 0, 1000, True)]
Whitespace = Annotated[bool, Boolean("Count white space as characters")]
EpsSmoothing = Annotated[bool, Boolean("Average F over the orders, as Moses and nltk do")]


class ChrF(NgramMetric):
    """chrF and chrF++ with sacrebleu's numbers, 0 to 100.

    Statistics, int64 [B,1+3N]: segments, then for each order n-grams of the hypothesis, n-grams of
    the reference and matches, characters before words.

    Args:
        char_order: Longest n-grams of characters that count.
        word_order: Longest n-grams of words that count; 2 is chrF++.
        beta: Weight of recall against precision.
        lowercase: Compare in lower case.
        whitespace: Count white space as characters.
        eps_smoothing: Average F over the orders, as Moses and nltk do.

    >>> from tensormt import TokenBatch
    >>> hyp, ref = (TokenBatch.from_text([text], "char") for text in ("the dog ran", "a dog ran"))
    >>> round(ChrF()(hyp, [ref]).item(), 2)
    67.23
    """

    name: ClassVar[str] = "chrF"
    summary: ClassVar[str] = "chrF and chrF++ with sacrebleu's numbers, 0 to 100"
    digits: ClassVar[int] = 2
    scale: ClassVar[float | None] = 100.0
    integer = True
    counts_tokens: ClassVar[bool] = False
    char_order: int
    word_order: int
    beta: float
    whitespace: bool
    eps_smoothing: bool

    def __init__(
        self,
        char_order: CharOrder = 6,
        word_order: WordOrder = 0,
        beta: Beta = 2,
        lowercase: Lowercase = False,
        whitespace: Whitespace = False,
        eps_smoothing: EpsSmoothing = False,
    ) -> None:
        from tensormt.text.tokenizer import CHARACTERS

        self._configure(locals())
        # characters alone need no words
        without, with_space = ("none", "spaced") if self.word_order else CHARACTERS
        self.tokenize = with_space if self.whitespace else without

    @property
    def max_order(self) -> int:  # type: ignore[override]
        """Longest n-grams of characters that count."""
        return self.char_order

    def settings(self) -> dict[str, object]:
        """Return orders, β, white space, case and smoothing."""
        return {
            "chars": self.max_order,
            "words": self.word_order,
            "beta": f"{self.beta:g}",
            "space": self.whitespace,
            "case": "lc" if self.lowercase else "mixed",
            "eps": self.eps_smoothing,
        }

    @property
    def width(self) -> int:
        """The number of statistics: one, and three for each order."""
        return 1 + 3 * (self.max_order + self.word_order)

    def _statistics(self, hyp: TokenBatch, refs: Sequence[TokenBatch]) -> Tensor:
        from tensormt.ngram import chrf_engine

        hyp, ready = self.in_case(hyp, refs)
        return chrf_engine.statistics(self, [hyp, *ready.streams])

    def in_case(self, hyp: TokenBatch, refs: Sequence[TokenBatch]) -> tuple[TokenBatch, References]:
        """Return hypothesis and references in the case that the metric compares."""
        from tensormt.text.tokenizer import CHARACTERS, WITH_SPACE

        for batch in (hyp, *refs):
            if self.word_order and (batch.dictionary is None or batch.tokenize in CHARACTERS):
                raise TensorMTError(
                    f"chrF++ counts words, and the batch holds single "
                    f"{'ids' if batch.dictionary is None else 'characters'}: "
                    f"use TokenBatch.from_text(lines, {self.tokenize!r}), or word_order=0"
                )
            spaced = batch.tokenize in WITH_SPACE
            if batch.dictionary is not None and spaced != self.whitespace:
                raise TensorMTError(
                    f"the batch was read {'with' if spaced else 'without'} white space, the metric "
                    f"has whitespace={self.whitespace}: "
                    f"use TokenBatch.from_text(lines, {self.tokenize!r})"
                )
        return super().in_case(hyp, refs)

    def _explain(self, hyp: TokenBatch, refs: Sequence[TokenBatch]) -> Explanation:
        from tensormt.ngram import chrf_engine

        hyp, ready = self.in_case(hyp, refs)
        return chrf_engine.explain(self, [hyp, *ready.streams])

    def count(self, table: MatchTable, frequencies: Frequencies | None) -> Tensor:
        """Count the same from token ids, which are characters."""
        from tensormt.ngram import chrf_engine

        if self.word_order:
            raise TensorMTError("chrF++ counts words, token ids have none: use word_order=0 here")
        return chrf_engine.statistics_of_ids(self, table)

    def _score(self, rows: Any, segment: bool | None) -> Any:
        xp = namespace(rows)
        hyp, ref, matched = (as_float64(rows[..., k::3]) for k in (1, 2, 3))
        factor = float(self.beta) ** 2
        real = (hyp > 0) & (ref > 0)
        precision = xp.where(hyp > 0, matched / xp.clip(hyp, 1, None), _EPS)
        recall = xp.where(ref > 0, matched / xp.clip(ref, 1, None), _EPS)
        if self.eps_smoothing:
            return 100 * _f(precision, recall, factor, _EPS).mean(-1)
        number = xp.clip(real.sum(-1), 1, None)
        means = [xp.where(real, side, 0.0).sum(-1) / number for side in (precision, recall)]
        return 100 * _f(means[0], means[1], factor, 0.0)


def _f(precision: Any, recall: Any, factor: float, nothing: float) -> Any:
    """The F of precision and recall; `nothing` where both are 0."""
    xp = namespace(precision)
    whole = factor * precision + recall
    share = (1 + factor) * precision * recall / xp.where(whole > 0, whole, 1.0)
    return xp.where(whole > 0, share, nothing)
