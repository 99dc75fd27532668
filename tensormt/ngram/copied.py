"""Copied: the share of an output's words that were copied from the source.

    Copied = Σ_w max(0, min(h(w), s(w)) - b(w)) / Σ_w h(w)

h(w) and s(w) count a word in the output and in the source. Words that a reference has too are no
copies but names, numbers and punctuation: b(w), the largest number in a reference, is left out.
0 is perfect, 1 is an untranslated output. Outputs without words have 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from tensormt.errors import TensorMTError
from tensormt.formulas import as_float64, column, ratio
from tensormt.inputs import SourceBatch, SourceTokens
from tensormt.metric import Metric
from tensormt.ngram.base import Lowercase, Tokenizer
from tensormt.options import Boolean

if TYPE_CHECKING:
    from torch import Tensor

Borrowed = Annotated[bool, Boolean("Allow a word as often as some reference has it")]


class Copied(Metric[Any]):
    """The share of an output's words that were copied from the source, 0 to 1; 0 is perfect.

    Hypotheses come with their sources: `tm.score(…, sources=…)`, or a `SourceBatch`. Statistics,
    int64 [B,3]: segments, copied words, words.

    Args:
        borrowed: Allow a word as often as some reference has it.
        tokenize: Tokeniser.
        lowercase: Compare in lower case.

    >>> import tensormt as tm
    >>> result = tm.score(["the Hund"], [["the dog"]], ["copied"], sources=["der Hund"])
    >>> result.corpus["copied"]
    0.5
    """

    name = "Copied"
    summary: ClassVar[str] = "share of words copied from the source, 0 is perfect"
    higher_is_better = False
    integer = True
    borrowed: bool
    tokenize: str
    lowercase: bool

    def __init__(
        self,
        borrowed: Borrowed = True,
        tokenize: Tokenizer = "13a",
        lowercase: Lowercase = False,
    ) -> None:
        from tensormt.text.plain_tokens import check_name

        self._configure(locals())
        check_name(self.tokenize)

    @property
    def reads(self) -> SourceTokens:
        """Tokens, those of a hypothesis with those of its source."""
        return SourceTokens(self.tokenize, self.lowercase)

    def settings(self) -> dict[str, object]:
        """Return whether borrowed words are allowed, case and tokeniser."""
        case = "lc" if self.lowercase else "mixed"
        return {"borrowed": self.borrowed, "case": case, "tok": self.tokenize}

    @property
    def width(self) -> int:
        """The number of statistics: three."""
        return 3

    @property
    def penalizes_short_output(self) -> bool:
        """Whether the score falls when parts of the output are left out; it does not."""
        return False

    def _statistics(self, hyp: Any, refs: Sequence[Any]) -> Tensor:
        import torch

        from tensormt.kernels.counts import Keys, occurrences

        if not isinstance(hyp, SourceBatch):
            raise TensorMTError(
                "Copied compares with the source: pass SourceBatch(hyp, source), or sources to "
                "tm.score"
            )
        batches = [hyp.text, hyp.source, *(getattr(ref, "text", ref) for ref in refs)]
        if self.lowercase:
            batches = [batch.lowered for batch in batches]
        if len({batch.dictionary is None for batch in batches}) > 1:
            raise TensorMTError("Copied got both text and token ids: pass all in the same form")
        keys = []
        for batch in batches:
            words = batch.tokens.long() if batch.dictionary is None else batch.hashes
            keys.append(Keys(torch.repeat_interleave(batch.lengths), words))
        total = batches[0].lengths
        rank, counts = occurrences(keys[0], keys[1:], len(total))
        copied = rank < counts[0]
        if self.borrowed:
            copied &= rank >= counts[1:].amax(0)
        number = torch.zeros_like(total).index_add_(0, keys[0].group, copied.to(total.dtype))
        return torch.stack([torch.ones_like(total), number, total], 1)

    def _score(self, rows: Any, segment: bool | None) -> Any:
        copied, words = (as_float64(column(rows, place)) for place in (1, 2))
        return ratio(copied, words)
