"""OffTarget: the share of an output's letters that are in another script than its references.

    OffTarget = Σ_s max(0, h(s) - b(s)) / Σ_s h(s)    first sum over scripts s that are no main one

h(s) counts the letters of script s in the output. The main script of a reference is the one with
most letters; its letters are never wrong. Of another script, as many letters as some reference has
are borrowed (names, as BBC in Russian text): b(s), the largest number in a reference. 0 is perfect,
1 is an output in another script. Outputs without letters have 0, and so have those whose references
have none. Scripts tell English from Russian, not English from French.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from tensormt.errors import TensorMTError
from tensormt.formulas import as_float64, column, ratio
from tensormt.inputs import Tokens
from tensormt.metric import Metric
from tensormt.options import Boolean

if TYPE_CHECKING:
    from torch import Tensor

    from tensormt.text.tokens import TokenBatch

Borrowed = Annotated[
    bool, Boolean("Allow as many letters of a further script as some reference has")
]


class OffTarget(Metric["TokenBatch"]):
    """The share of letters in another script than the references, 0 to 1; 0 is perfect.

    Statistics, int64 [B,3]: segments, letters in another script, letters.

    Args:
        borrowed: Allow as many letters of a further script as some reference has.

    >>> from tensormt import TokenBatch
    >>> hyp, ref = (TokenBatch.from_text([line], "none") for line in ("да yes", "да нет"))
    >>> OffTarget()(hyp, [ref]).item()
    0.6
    """

    name = "OffTarget"
    summary: ClassVar[str] = "share of letters in another script than the references, 0 is perfect"
    higher_is_better = False
    integer = True
    borrowed: bool

    def __init__(self, borrowed: Borrowed = True) -> None:
        self._configure(locals())

    @property
    def reads(self) -> Tokens:
        """Words between white space."""
        return Tokens("none", False)

    def settings(self) -> dict[str, object]:
        """Return whether borrowed letters are allowed."""
        return {"borrowed": self.borrowed}

    @property
    def width(self) -> int:
        """The number of statistics: three."""
        return 3

    @property
    def penalizes_short_output(self) -> bool:
        """Whether the score falls when parts of the output are left out; it does not."""
        return False

    def _statistics(self, hyp: TokenBatch, refs: Sequence[TokenBatch]) -> Tensor:
        import torch

        own, *others = _letters([hyp, *refs])
        counts = torch.stack(others)  # [R,B,scripts]
        most = counts.amax(-1, keepdim=True)
        main = ((counts == most) & (most > 0)).any(0)
        wrong = (own - counts.amax(0)).clamp(min=0) if self.borrowed else own
        wrong = torch.where(main, 0, wrong).sum(-1) * main.any(-1)
        return torch.stack([torch.ones_like(wrong), wrong, own.sum(-1)], 1)

    def _score(self, rows: Any, segment: bool | None) -> Any:
        wrong, letters = (as_float64(column(rows, place)) for place in (1, 2))
        return ratio(wrong, letters)


def _letters(batches: Sequence[TokenBatch]) -> list[Tensor]:
    """The letters of each segment by script, int64 [B,scripts] for each batch."""
    import torch

    from tensormt.text.scripts import script_counts

    words = []
    for batch in batches:
        if batch.dictionary is None:
            raise TensorMTError("token ids have no script: OffTarget needs text")
        words.append([script_counts(word) for word in batch.dictionary.strings])
    names = sorted({name for own in words for word in own for name in word}) or ["LATIN"]
    found = []
    for batch, own in zip(batches, words, strict=True):
        rows = [[word[name] for name in names] for word in own] or [[0] * len(names)]
        table = torch.tensor(rows, dtype=torch.int64, device=batch.device)
        owner = torch.repeat_interleave(batch.lengths)
        sums = table.new_zeros(len(batch), len(names))
        found.append(sums.index_add_(0, owner, table.index_select(0, batch.tokens)))
    return found
