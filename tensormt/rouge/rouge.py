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
from tensormt.metric import Metric
from tensormt.options import Boolean, Choice, Integer, Number

if TYPE_CHECKING:
    from torch import Tensor

    from tensormt.explanation import Explanation
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
        from tensormt.text.plain_tokens import check_name

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
    def sharing_key(self) -> Hashable:
        """Variants that read and prepare text alike share its preparation and their n-grams."""
        return ROUGE, self.reads, self.stem, self.stop_words

    def rows_with(
        self, others: Sequence[Metric[TokenBatch]], hyp: TokenBatch, refs: Sequence[TokenBatch]
    ) -> list[Any]:
        """Compute `rows` of this metric and of other variants together."""
        from tensormt.rouge import engine

        metrics = [self, *(cast(ROUGE, other) for other in others)]
        return [*engine.joint_statistics(metrics, hyp, self._check_sides(hyp, refs))]

    def _score(self, rows: Any, segment: bool | None) -> Any:
        count = as_float64(column(rows, 0))
        value = as_float64(column(rows, 1 + BALANCES.index(self.balance)))
        return value / where(count > 0, count, 1.0)

    def _explain(self, hyp: TokenBatch, refs: Sequence[TokenBatch]) -> Explanation:
        from tensormt.rouge import explained

        return explained.explain(self, hyp, refs)
