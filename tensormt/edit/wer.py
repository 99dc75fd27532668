"""Word, character and position-independent error rates.

    WER = (S + D + I) / N        substitutions, deletions, insertions; N words of the reference
    CER = the same of characters
    PER = (max(H, N) - M) / N    H words of the hypothesis, M in common whatever their places

WER and CER have the numbers of jiwer for one reference: case and punctuation count, words are cut
at blanks; in CER the white space between words counts as characters, that at the ends does
not. PER (Tillmann et al. 1997) counts the words as bags: a word in the wrong place is no error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

from tensormt.edit.base import ErrorRate
from tensormt.options import Boolean, Choice
from tensormt.plain import clipped, edit_distance

if TYPE_CHECKING:
    from torch import Tensor

    from tensormt.explanation import Explanation
    from tensormt.ngram.references import References
    from tensormt.text.plain_tokens import Row
    from tensormt.text.tokens import TokenBatch

Tokenizer = Annotated[
    str,
    Choice(
        "Tokeniser", ("none", "blanks", "13a", "char"), "a tokeniser of sacrebleu by its name there"
    ),
]
Lowercase = Annotated[bool, Boolean("Compare in lower case")]
Whitespace = Annotated[bool, Boolean("Count white space between words as characters")]


class WER(ErrorRate):
    """Word error rate with jiwer's numbers: 0 is perfect, and there is no upper bound.

    Args:
        tokenize: Tokeniser of text; blanks cuts at blanks, as jiwer does, none at any white space.
        lowercase: Compare in lower case.

    >>> from tensormt import TokenBatch
    >>> lines = ["a dog ran"], ["the dog ran far"]
    >>> hyp, ref = TokenBatch.from_texts(lines, "none")
    >>> WER()(hyp, [ref]).item()
    0.5
    """

    name = "WER"
    summary: ClassVar[str] = "word error rate with jiwer's numbers, 0 is perfect"

    def __init__(self, tokenize: Tokenizer = "blanks", lowercase: Lowercase = False) -> None:
        from tensormt.text.plain_tokens import check_name

        self._configure(locals())
        check_name(self.tokenize)

    def edits(self, hyp: TokenBatch, refs: References) -> Tensor:
        """Count the edits of each segment with each reference, int64 [R,B]."""
        from tensormt.edit import engine

        return engine.edit_distances(hyp, refs)

    def _plain_edits(self, hyp: Row, ref: Row) -> int:
        return edit_distance(hyp, ref)


class CER(WER):
    """Character error rate with jiwer's numbers: 0 is perfect, and there is no upper bound.

    Args:
        whitespace: Count white space between words as characters.
        lowercase: Compare in lower case.

    >>> from tensormt import TokenBatch
    >>> hyp, ref = (TokenBatch.from_text([text], "stripped") for text in ("a dog", "the dog"))
    >>> round(CER()(hyp, [ref]).item(), 4)
    0.4286
    """

    name = "CER"
    summary: ClassVar[str] = "character error rate with jiwer's numbers, 0 is perfect"
    whitespace: bool

    def __init__(self, whitespace: Whitespace = True, lowercase: Lowercase = False) -> None:
        self._configure(locals())
        self.tokenize = "stripped" if self.whitespace else "char"

    def settings(self) -> dict[str, object]:
        """Return case, white space and the choice of the reference."""
        case = "lc" if self.lowercase else "mixed"
        return {"case": case, "space": self.whitespace, "ref": "best"}


class PER(WER):
    """Position-independent error rate: 0 is perfect, and there is no upper bound.

    Args:
        tokenize: Tokeniser of text, as for WER.
        lowercase: Compare in lower case.

    >>> from tensormt import TokenBatch
    >>> hyp, ref = (TokenBatch.from_text([text], "none") for text in ("ran the dog", "the dog ran"))
    >>> PER()(hyp, [ref]).item()
    0.0
    """

    name = "PER"
    summary: ClassVar[str] = "position-independent error rate, 0 is perfect"

    def edits(self, hyp: TokenBatch, refs: References) -> Tensor:
        """Count the words that the bags of words do not share, int64 [R,B]."""
        from tensormt.edit import engine

        return engine.bag_distances(hyp, refs)

    def _plain_edits(self, hyp: Row, ref: Row) -> int:
        return max(len(hyp), len(ref)) - clipped(hyp, [ref])

    def _explain(self, hyp: TokenBatch, refs: Sequence[TokenBatch]) -> Explanation:
        from tensormt.edit import engine, explained

        hyp, ready = self.prepared(hyp, refs)
        chosen = engine.best(self.edits(hyp, ready), ready.lengths)
        return explained.explain_bags(hyp, ready, chosen)
