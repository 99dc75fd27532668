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

from collections.abc import Hashable, Sequence
from operator import add
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from tensormt.errors import TensorMTError
from tensormt.formulas import as_float64, each, part, ratio, total, where
from tensormt.ngram.base import Lowercase, NgramMetric
from tensormt.options import Boolean, Integer, Number
from tensormt.plain import MAX_CHARACTERS, clipped
from tensormt.text.plain_tokens import CHARACTERS, WITH_SPACE, split_punctuation

if TYPE_CHECKING:
    from torch import Tensor

    from tensormt.explanation import Explanation
    from tensormt.ngram.frequencies import Frequencies
    from tensormt.ngram.match_table import MatchTable
    from tensormt.ngram.plain_matches import PlainFrequencies
    from tensormt.ngram.references import References
    from tensormt.text.plain_tokens import Row
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

    name = "chrF"
    summary: ClassVar[str] = "chrF and chrF++ with sacrebleu's numbers, 0 to 100"
    digits: ClassVar[int] = 2
    scale: ClassVar[float | None] = 100.0
    integer = True
    counts_tokens: ClassVar[bool] = False
    _plain_limit: ClassVar[int] = MAX_CHARACTERS
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
        self._configure(locals())
        # characters alone need no words
        without, with_space = ("none", "spaced") if self.word_order else ("char", "letters")
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
        for batch in (hyp, *refs):
            if self._fits(batch):
                continue
            if self.word_order and not self._holds_words(batch):
                raise TensorMTError(
                    f"chrF++ counts words, and the batch holds single "
                    f"{'characters' if batch.from_strings else 'ids'}: "
                    f"use TokenBatch.from_text(lines, {self.tokenize!r}), or word_order=0"
                )
            raise TensorMTError(
                f"the batch was read {'without' if self.whitespace else 'with'} white space, the "
                f"metric has whitespace={self.whitespace}: "
                f"use TokenBatch.from_text(lines, {self.tokenize!r})"
            )
        return super().in_case(hyp, refs)

    def _holds_words(self, batch: TokenBatch) -> bool:
        return batch.from_strings and batch.tokenize not in CHARACTERS

    def _fits(self, batch: TokenBatch) -> bool:
        """Whether a batch has the words and the white space that the metric counts."""
        if self.word_order and not self._holds_words(batch):
            return False
        return not batch.from_strings or (batch.tokenize in WITH_SPACE) == self.whitespace

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

    def _plain_statistics(
        self, hyp: TokenBatch, refs: Sequence[TokenBatch]
    ) -> list[list[float]] | None:
        if not all(self._fits(batch) for batch in (hyp, *refs)):
            return None  # the engine raises
        return super()._plain_statistics(hyp, refs)

    def _plain_size(self, rows: Sequence[Row]) -> int:
        return sum(len(row) if isinstance(row, str) else sum(map(len, row)) for row in rows)

    def _plain_row(
        self, hyp: Row, refs: Sequence[Row], frequencies: PlainFrequencies | None = None
    ) -> list[float]:
        """Count n-grams and matches of one segment with the reference of the best score."""
        own = self._plain_ngrams(hyp)
        rows = []
        for ref in refs:
            row: list[float] = [1]
            for mine, other in zip(own, self._plain_ngrams(ref), strict=True):
                # as in sacrebleu, n-grams do not count in an order that the reference lacks
                row += [len(mine) if other else 0, len(other), clipped(mine, [other])]
            rows.append(row)
        return max(rows, key=lambda row: self._score(row, True)) if len(rows) > 1 else rows[0]

    def _plain_ngrams(self, row: Row) -> list[Sequence[Hashable]]:
        """The n-grams of a line: for each order those of characters, then those of words."""
        text = "".join(row)
        grams: list[str] = list(text)
        found: list[Sequence[Hashable]] = [grams]
        for order in range(1, self.max_order):
            grams = list(map(add, grams, text[order:]))  # each with the character behind it
            found.append(grams)
        if not self.word_order:
            return found
        words = [part for word in row for part in split_punctuation(word)]
        for order in range(1, self.word_order + 1):
            found.append(list(zip(*[words[start:] for start in range(order)], strict=False)))
        return found

    def _score(self, rows: Any, segment: bool | None) -> Any:
        table, factor = as_float64(rows), float(self.beta) ** 2
        hyp, ref, matched = (part(table, start, None, 3) for start in (1, 2, 3))
        nothing = _EPS if self.eps_smoothing else 0.0
        # an order that one side lacks has no matches
        precision, recall = (
            each(lambda found, all_: ratio(found, all_, nothing), matched, side)
            for side in (hyp, ref)
        )
        if self.eps_smoothing:
            scores = each(lambda p, r: _f(p, r, factor, nothing), precision, recall)
            return 100 * total(scores) / (self.max_order + self.word_order)
        number = total(each(lambda ours, theirs: (ours > 0) & (theirs > 0), hyp, ref))
        number = where(number > 0, number, 1)
        return 100 * _f(total(precision) / number, total(recall) / number, factor, 0.0)


def _f(precision: Any, recall: Any, factor: float, nothing: float) -> Any:
    """The F of precision and recall; `nothing` where both are 0."""
    return ratio((1 + factor) * precision * recall, factor * precision + recall, nothing)
