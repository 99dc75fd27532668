"""What the n-gram metrics share: how text is read, and counts over the whole test set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.metric import Metric
from tensormt.ngram.frequencies import Frequencies
from tensormt.ngram.references import References
from tensormt.text.tokenizer import check_name
from tensormt.text.tokens import TokenBatch

__all__ = ["NgramMetric", "TestSetMetric", "choose", "totals"]

Self = TypeVar("Self", bound="TestSetMetric")


def choose(what: str, value: str, known: Sequence[str]) -> str:
    """The value, if it is one of the known ones."""
    if value not in known:
        raise TensorMTError(f"unknown {what} {value!r}: choose one of {', '.join(known)}")
    return value


def totals(lengths: Tensor, max_order: int) -> Tensor:
    """The number of n-grams of each order in segments of lengths [B], int64 [B,N]."""
    orders = torch.arange(max_order, device=lengths.device)
    return (lengths[:, None] - orders).clamp_min(0)


class NgramMetric(Metric[TokenBatch]):
    """A metric on n-grams up to `max_order`.

    `tokenize` and `lowercase` say how text is to be read (`tm.score` makes the batches by them). A
    batch brings its own tokenisation; where `lowercase` is set and the batch is not in lower case,
    its types are lowered.
    """

    def __init__(self, max_order: int, tokenize: str, lowercase: bool) -> None:
        if not isinstance(max_order, int) or max_order < 1:
            raise TensorMTError(f"max_order is {max_order!r}: expected an integer of at least 1")
        check_name(tokenize)
        self.max_order = max_order
        self.tokenize = tokenize
        self.lowercase = lowercase

    def options(self) -> dict[str, object]:
        return {
            "order": self.max_order,
            "case": "lc" if self.lowercase else "mixed",
            "tok": self.tokenize,
        }

    def read(self, hyp: TokenBatch, refs: Sequence[TokenBatch]) -> tuple[TokenBatch, References]:
        """Hypothesis and prepared references in the case that the metric wants."""
        ready = refs if isinstance(refs, References) else References(refs)
        return (hyp.lowered, ready.lowered) if self.lowercase else (hyp, ready)


class TestSetMetric(NgramMetric):
    """A metric that needs n-gram counts over all references of the test set.

    Without `counts` the references of each call are the whole test set. With counts, given or
    gathered by `fit`, the test set can be scored piece by piece with the same result.
    """

    __test__ = False

    def __init__(
        self, max_order: int, tokenize: str, lowercase: bool, counts: Frequencies | None
    ) -> None:
        super().__init__(max_order, tokenize, lowercase)
        if counts is not None and counts.max_order < max_order:
            raise TensorMTError(
                f"counts go up to order {counts.max_order}, the metric needs {max_order}: "
                f"count with max_order={max_order}"
            )
        self.counts = counts

    @property
    def needs_table(self) -> bool:
        """Whether these settings use the counts over the whole test set."""
        return True

    def fit(self: Self, refs: Sequence[TokenBatch]) -> Self:
        """Count the n-grams of the references of the test set, or of one more piece of it."""
        if self.counts is None:
            self.counts = Frequencies(self.max_order)
        self.counts.add([ref.lowered for ref in refs] if self.lowercase else refs)
        return self

    def frequencies(self, refs: References) -> Frequencies:
        """The counts of the test set to which these references belong."""
        if self.counts is None:
            return refs.frequencies(self.max_order)
        self.counts.check(refs[0])
        return self.counts
