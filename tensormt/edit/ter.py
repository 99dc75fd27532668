"""Translation edit rate (Snover et al. 2006), with the numbers of sacrebleu.

    TER = 100 · (shifts + substitutions + insertions + deletions) / mean length of the references

A shift of several words to another place is one edit; shifts are searched greedily, as Tercom does
(`tensormt.kernels.shifts`). Of several references the one with the fewest edits counts, divided by
the mean length of all of them. 100 is an edit for every word of the reference; lower is better. A
reference that has no word left without punctuation has length 0; every word is an edit then.

With `normalized`, sacrebleu normalizes references twice, outputs once, and so do we: the second
time cuts off what stands before punctuation that was cut off the first time, so that an output with
a word such as "neighbour's." has errors even if it equals its reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

from tensormt.edit.base import ErrorRate
from tensormt.edit.plain_shifts import shift_work, translation_edits
from tensormt.options import Boolean
from tensormt.plain import MAX_SEGMENTS, MAX_SHIFT_WORK, limit
from tensormt.text.tercom import name_of

if TYPE_CHECKING:
    from torch import Tensor

    from tensormt.explanation import Explanation
    from tensormt.ngram.references import References
    from tensormt.text.plain_tokens import Row
    from tensormt.text.tokens import TokenBatch

Normalized = Annotated[bool, Boolean("Cut off punctuation and replace entities, as Tercom does")]
NoPunct = Annotated[bool, Boolean("Remove punctuation")]
AsianSupport = Annotated[
    bool,
    Boolean("With normalized cut Chinese characters, with no_punct remove Asian punctuation too"),
]
CaseSensitive = Annotated[bool, Boolean("Compare in mixed case")]


class TER(ErrorRate):
    """Translation edit rate with sacrebleu's numbers: 0 is perfect, 100 an edit for every word.

    Statistics, float64 [B,3]: segments, edits, mean reference length.

    Args:
        normalized: Cut off punctuation and replace entities, as Tercom does.
        no_punct: Remove punctuation.
        asian_support: With `normalized`, cut Chinese characters apart, not kana; with `no_punct`,
            remove Chinese and Japanese punctuation too.
        case_sensitive: Compare in mixed case.

    >>> from tensormt import TokenBatch
    >>> lines = ["the dog home ran today"], ["the dog ran home today"]
    >>> hyp, ref = TokenBatch.from_texts(lines, "none")
    >>> TER()(hyp, [ref]).item()
    20.0
    """

    name = "TER"
    summary: ClassVar[str] = "translation edit rate with sacrebleu's numbers, 0 is perfect"
    scale: ClassVar[float | None] = 100.0
    digits: ClassVar[int] = 2
    integer = False
    normalized: bool
    no_punct: bool
    asian_support: bool
    case_sensitive: bool

    def __init__(
        self,
        normalized: Normalized = False,
        no_punct: NoPunct = False,
        asian_support: AsianSupport = False,
        case_sensitive: CaseSensitive = False,
    ) -> None:
        self._configure(locals())
        self.lowercase = not self.case_sensitive
        self.tokenize = name_of(self.normalized, self.no_punct, self.asian_support)

    def settings(self) -> dict[str, object]:
        """Return case, tokeniser, and what it does, in sacrebleu's words."""
        return {
            "case": "mixed" if self.case_sensitive else "lc",
            "tok": "tercom",
            "norm": self.normalized,
            "punct": not self.no_punct,
            "asian": self.asian_support,
        }

    def prepared(
        self, hyp: TokenBatch, refs: Sequence[TokenBatch]
    ) -> tuple[TokenBatch, References]:
        """Return hypothesis and references in the case that is compared, as sacrebleu cuts them.

        It normalizes references twice, which also cuts the possessive of "the neighbour's.".
        """
        from tensormt.ngram.references import References

        ready = refs if isinstance(refs, References) else References(refs)
        if self.normalized:
            ready = ready.cut_again(self.tokenize, self.lowercase)
        return super().prepared(hyp, ready)

    def edits(self, hyp: TokenBatch, refs: References) -> Tensor:
        """Count shifts and edits of each segment with each reference, int64 [R,B]."""
        from tensormt.edit import engine

        return engine.shifted_distances(hyp, refs)

    def _statistics(self, hyp: TokenBatch, refs: Sequence[TokenBatch]) -> Tensor:
        from tensormt.edit import engine

        hyp, ready = self.prepared(hyp, refs)
        return engine.mean_length_rows(self.edits(hyp, ready), ready)

    def _plain_segments(
        self, hyp: TokenBatch, refs: Sequence[TokenBatch]
    ) -> list[tuple[Row, list[Row]]] | None:
        if self.normalized and len(hyp) <= limit(MAX_SEGMENTS):  # as in `prepared`
            refs = [ref.cut_again(self.tokenize, self.lowercase) for ref in refs]
        segments = super()._plain_segments(hyp, refs)
        if segments is None:
            return None
        work = sum(shift_work(own, ref) for own, others in segments for ref in others)
        return segments if work <= limit(MAX_SHIFT_WORK, 50) else None

    def _plain_edits(self, hyp: Row, ref: Row) -> int:
        return translation_edits(hyp, ref)

    @property
    def exact_plain_path(self) -> bool:
        """Whether the plain path gives the statistics of the engine to the last bit: it does."""
        return True

    def _plain_row(self, hyp: Row, refs: Sequence[Row]) -> list[float]:
        edits = min(self._plain_edits(hyp, ref) for ref in refs)
        return [1.0, float(edits), sum(map(len, refs)) / len(refs)]

    def _explain(self, hyp: TokenBatch, refs: Sequence[TokenBatch]) -> Explanation:
        from tensormt.edit import explained

        hyp, ready = self.prepared(hyp, refs)
        return explained.explain_shifts(hyp, ready)
