"""What the error rates share: options, statistics, the rate, the choice of the reference.

    rate = edits / length of the reference

Statistics are counts: segments, edits, reference length. A corpus divides the sum of all edits by
the sum of all lengths. Of several references the one with the smallest rate counts; of equal rates
the shortest, so that the order of the references does not matter.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tensormt.formulas import as_float64, column, ratio, where
from tensormt.inputs import Tokens
from tensormt.metric import Metric
from tensormt.plain import MAX_TOKENS, overridden
from tensormt.text.plain_tokens import NO_TOKEN
from tensormt.text.tokens import plain_rows

if TYPE_CHECKING:
    from torch import Tensor

    from tensormt.explanation import Explanation
    from tensormt.ngram.references import References
    from tensormt.text.plain_tokens import Row
    from tensormt.text.tokens import TokenBatch


class ErrorRate(Metric["TokenBatch"]):
    """A rate of edits per token of the reference; 0 is perfect, and there is no upper bound.

    Statistics, int64 [B,3]: segments, edits, reference length.
    """

    higher_is_better = False
    integer = True
    tokenize: str
    lowercase: bool

    @property
    def reads(self) -> Tokens:
        """Tokens, by the metric's tokeniser and case."""
        return Tokens(self.tokenize, self.lowercase)

    def settings(self) -> dict[str, object]:
        """Return case, tokeniser and the choice of the reference."""
        case = "lc" if self.lowercase else "mixed"
        return {"case": case, "tok": self.tokenize, "ref": "best"}

    @property
    def width(self) -> int:
        """The number of statistics: three."""
        return 3

    def prepared(
        self, hyp: TokenBatch, refs: Sequence[TokenBatch]
    ) -> tuple[TokenBatch, References]:
        """Return hypothesis and references in the case that the metric compares."""
        from tensormt.ngram.references import References

        ready = refs if isinstance(refs, References) else References(refs)
        return (hyp.lowered, ready.lowered) if self.lowercase else (hyp, ready)

    @abstractmethod
    def edits(self, hyp: TokenBatch, refs: References) -> Tensor:
        """Count the edits of each segment with each reference, int64 [R,B]."""

    def _statistics(self, hyp: TokenBatch, refs: Sequence[TokenBatch]) -> Tensor:
        from tensormt.edit import engine

        hyp, ready = self.prepared(hyp, refs)
        return engine.best_rows(self.edits(hyp, ready), ready.lengths)

    @property
    def has_plain_path(self) -> bool:
        """Whether a few segments can be scored in plain Python, without torch."""
        return not overridden(type(self), "_plain_edits", "edits", "_statistics", "prepared")

    def _plain_edits(self, hyp: Row, ref: Row) -> int:
        """Count the edits of one segment with one reference."""
        raise NotImplementedError

    def _plain_statistics(
        self, hyp: TokenBatch, refs: Sequence[TokenBatch]
    ) -> list[list[float]] | None:
        segments = self._plain_segments(hyp, refs) if self.has_plain_path else None
        return None if segments is None else [self._plain_row(*segment) for segment in segments]

    def _plain_segments(
        self, hyp: TokenBatch, refs: Sequence[TokenBatch]
    ) -> list[tuple[Row, list[Row]]] | None:
        """The tokens of each segment and its references; None where the engine is faster."""
        segments = plain_rows(hyp, refs, self.lowercase, MAX_TOKENS)
        if segments is None:
            return None
        if any(NO_TOKEN in row for own, others in segments for row in (own, *others)):
            return None  # its length is not 1
        return segments

    def _plain_row(self, hyp: Row, refs: Sequence[Row]) -> list[float]:
        """Count the edits of one segment with its best reference, and that reference's length."""
        pairs = [(self._plain_edits(hyp, ref), len(ref)) for ref in refs]
        return [1, *min(pairs, key=lambda pair: (pair[0] / pair[1], pair[1]))]

    def _score(self, rows: Any, segment: bool | None) -> Any:
        edits, length = (as_float64(column(rows, place)) for place in (1, 2))
        rate = ratio(edits, length)
        # without a reference length: an error if there is anything
        return self.scale * where(length > 0, rate, where(edits > 0, 1.0, 0.0) + 0 * rate)

    def _explain(self, hyp: TokenBatch, refs: Sequence[TokenBatch]) -> Explanation:
        from tensormt.edit import engine, explained

        hyp, ready = self.prepared(hyp, refs)
        return explained.explain(hyp, ready, engine.best(self.edits(hyp, ready), ready.lengths))
