"""ROUGE (Lin 2004), with the numbers of the package rouge-score for its variants.

    P = M / items of the hypothesis      R = M / items of the reference      F = 2 P R / (P + R)

    1 … 9   M: n-grams in common, each as often as in both
    l       M: words of the longest common subsequence
    lsum    M: words of the union of the subsequences of each sentence of the reference with every
            sentence of the hypothesis, each word as often as in both; sentences are lines, as in
            rouge-score, or cut by `sentences=split`
    w       P = (M / Hʷ)^(1/w), R = (M / Nʷ)^(1/w), M: weighted subsequence, in which k matches in a
            row count kʷ; H, N words; w = 1.2
    s, su   M: pairs of words with at most `max_skip` words between them; su: and single words

Of several references the one with the best F counts (`references=best`, as in rouge-score);
`average` divides the sum of M over all references by the sum of their items, as ROUGE-1.5.5 does
with -f A; `jackknife` leaves out each reference in turn, takes the best of the others and averages,
as Lin (2004) describes. Documents and corpora have the mean of their segments.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, cast

from tensormt.formulas import as_float64, column, where
from tensormt.inputs import Tokens
from tensormt.metric import Metric, plain_rows_of
from tensormt.options import Boolean, Choice, Integer, Number
from tensormt.plain import MAX_TOKENS, clipped, common_subsequence, ngrams, overridden
from tensormt.text.plain_tokens import NO_TOKEN, check_name
from tensormt.text.rouge_tokens import stem
from tensormt.text.tokens import plain_rows

if TYPE_CHECKING:
    from torch import Tensor

    from tensormt.explanation import Explanation
    from tensormt.text.plain_tokens import Row
    from tensormt.text.tokens import TokenBatch

NGRAMS = tuple("123456789")
BALANCES = ("precision", "recall", "f1")
Variant = Annotated[str, Choice("What is compared", (*NGRAMS, "l", "lsum", "w", "s", "su"))]
Balance = Annotated[str, Choice("Which of the three is the score", BALANCES)]
Stem = Annotated[bool, Boolean("Compare stems (Porter) of words of more than three letters")]
StopWords = Annotated[bool, Boolean("Keep English function words")]
Several = Annotated[str, Choice("How several references count", ("best", "average", "jackknife"))]
MaxSkip = Annotated[int, Integer("Words between a pair, for s and su; -1: any number", -1, 1000)]
Weight = Annotated[float, Number("Exponent of matches in a row, for w", 1, 10)]
SentenceEnds = Annotated[str, Choice("What ends a sentence, for lsum", ("lines", "split"))]
Tokenizer = Annotated[
    str, Choice("Tokeniser", ("rouge", "none", "13a", "char"), "a tokeniser of sacrebleu by name")
]


class ROUGE(Metric["TokenBatch"]):
    """ROUGE, 0 to 1, with the numbers of rouge-score for n-grams, `l` and `lsum`.

    Statistics, float64 [B,5]: segments, precision, recall, F, matches with the best reference.

    Args:
        variant: What is compared: 1 … 9 (n-grams), l, lsum, w, s or su.
        balance: Which of precision, recall and f1 is the score.
        stem: Compare stems (Porter) of words of more than three letters.
        references: How several references count: best, average or jackknife.
        max_skip: Most words between the words of a pair, for s and su; -1: any number.
        weight: Exponent of matches in a row, for w.
        sentences: What ends a sentence, for lsum: lines, or split for a rule of punctuation.
        tokenize: Tokeniser of text; rouge keeps runs of a-z and 0-9, as rouge-score does. Text is
            compared in lower case.
        stop_words: Keep English function words; False leaves them out on both sides.

    >>> from tensormt import TokenBatch
    >>> lines = ["police kill the gunman"], ["police killed the gunman"]
    >>> hyp, ref = TokenBatch.from_texts(lines, "rouge")
    >>> ROUGE("l")(hyp, [ref]).item()
    0.75
    """

    name = "ROUGE"
    summary: ClassVar[str] = "ROUGE with rouge-score's numbers: n-grams, common subsequences, pairs"
    variant: str
    balance: str
    stem: bool
    references: str
    max_skip: int
    weight: float
    sentences: str
    tokenize: str
    stop_words: bool

    def __init__(
        self,
        variant: Variant = "l",
        balance: Balance = "f1",
        stem: Stem = False,
        references: Several = "best",
        max_skip: MaxSkip = 4,
        weight: Weight = 1.2,
        sentences: SentenceEnds = "lines",
        tokenize: Tokenizer = "rouge",
        stop_words: StopWords = True,
    ) -> None:
        self._configure(locals())
        check_name(self.tokenize)

    @property
    def reads(self) -> Tokens:
        """Tokens in lower case; for lsum with the ends of sentences."""
        name = self.tokenize
        if self.variant == "lsum":
            name = f"{'lines' if self.sentences == 'lines' else 'sentences'}+{name}"
        return Tokens(name, self.tokenize != "rouge")

    def settings(self) -> dict[str, object]:
        """Return the settings that matter to the variant."""
        found: dict[str, object] = {"variant": self.variant, "balance": self.balance}
        if self.variant in ("s", "su"):
            found["skip"] = "any" if self.max_skip < 0 else self.max_skip
        elif self.variant == "w":
            found["weight"] = f"{self.weight:g}"
        elif self.variant == "lsum":
            found["sentences"] = self.sentences
        found["stem"] = self.stem
        if not self.stop_words:
            found["stopwords"] = False
        return {**found, "tok": self.tokenize, "multi": self.references}

    @property
    def width(self) -> int:
        """The number of statistics: five."""
        return 5

    @property
    def penalizes_short_output(self) -> bool:
        """Whether the score falls when parts of the output are left out; precision does not."""
        return self.balance != "precision"

    def _statistics(self, hyp: TokenBatch, refs: Sequence[TokenBatch]) -> Tensor:
        from tensormt.rouge import engine

        return engine.joint_statistics([self], hyp, refs)[0]

    @property
    def has_plain_path(self) -> bool:
        """Whether a few segments can be scored in plain Python, without torch."""
        kind = self.variant in (*NGRAMS, "l") and self.stop_words
        return kind and not overridden(type(self), "_plain_row", "_statistics")

    def _plain_statistics(
        self, hyp: TokenBatch, refs: Sequence[TokenBatch]
    ) -> list[list[float]] | None:
        if not self.has_plain_path:
            return None
        segments = plain_rows(hyp, refs, self.reads.lowercase, MAX_TOKENS)
        return None if segments is None else [self._plain_row(*segment) for segment in segments]

    def _plain_row(self, hyp: Row, refs: Sequence[Row]) -> list[float]:
        """Compute the statistics of one segment from its tokens and those of its references."""
        own, *others = (self._plain_items(row) for row in (hyp, *refs))
        matched = [self._plain_matches(own, other) for other in others]
        scores = [
            _shares(match, len(own), len(other))
            for match, other in zip(matched, others, strict=True)
        ]
        best = _best(scores)
        if self.references == "average":
            value = _shares(sum(matched), len(own) * len(others), sum(map(len, others)))
        elif self.references == "jackknife" and len(others) > 1:
            left = [scores[:place] + scores[place + 1 :] for place in range(len(scores))]
            chosen = [some[_best(some)] for some in left]
            value = [sum(column) / len(chosen) for column in zip(*chosen, strict=True)]
        else:
            value = scores[best]
        return [1, *value, matched[best]]

    def _plain_items(self, row: Row) -> list[Hashable]:
        """The n-grams of a line, or its tokens for `l`."""
        tokens = [token for token in row if token != NO_TOKEN]
        if self.stem:
            tokens = [*map(stem, tokens)]
        if self.variant == "l":
            return [*tokens]
        return [*[*ngrams(tokens, int(self.variant))][-1]]

    def _plain_matches(self, hyp: list[Hashable], ref: list[Hashable]) -> int:
        """Count the items in common."""
        return common_subsequence(hyp, ref) if self.variant == "l" else clipped(hyp, [ref])

    @property
    def sharing_key(self) -> Hashable:
        """Variants that read and prepare text alike share its preparation and their n-grams."""
        return ROUGE, self.reads, self.stem, self.stop_words

    def rows_with(
        self, others: Sequence[Metric[TokenBatch]], hyp: TokenBatch, refs: Sequence[TokenBatch]
    ) -> list[Any]:
        """Compute `rows` of this metric and of other variants together."""
        metrics = [self, *(cast(ROUGE, other) for other in others)]
        refs = self._check_sides(hyp, refs)
        if rows := plain_rows_of(metrics, hyp, refs):
            return rows
        from tensormt.rouge import engine

        return [*engine.joint_statistics(metrics, hyp, refs)]

    def _score(self, rows: Any, segment: bool | None) -> Any:
        count = as_float64(column(rows, 0))
        value = as_float64(column(rows, 1 + BALANCES.index(self.balance)))
        return value / where(count > 0, count, 1.0)

    def _explain(self, hyp: TokenBatch, refs: Sequence[TokenBatch]) -> Explanation:
        from tensormt.rouge import explained

        return explained.explain(self, hyp, refs)


def _shares(matched: int, hyp: int, ref: int) -> list[float]:
    """Precision, recall and F of a number of matches, and of items of both sides."""
    precision, recall = (matched / side if side else 0.0 for side in (hyp, ref))
    both = precision + recall
    return [precision, recall, 2 * precision * recall / both if both else 0.0]


def _best(scores: list[list[float]]) -> int:
    """The place of the best F, the first of equal ones."""
    return max(range(len(scores)), key=lambda place: scores[place][2])
