"""What the n-gram metrics share: how text is read, and counts over the whole test set.

A metric says in `count` what it takes from a comparison of hypotheses and references; text
(`statistics`) and token ids (tensormt.train.functional) both end there.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from typing import ClassVar, TypeVar, cast

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.explanation import Explanation
from tensormt.inputs import Tokens
from tensormt.kernels.backend import repeat
from tensormt.kernels.matches import Occurrences, items
from tensormt.metric import Metric
from tensormt.ngram.frequencies import Frequencies
from tensormt.ngram.keys import orders
from tensormt.ngram.match_table import Comparison
from tensormt.ngram.matching import matches
from tensormt.ngram.references import References
from tensormt.options import Boolean, Choice, Integer, describe
from tensormt.text.tokenizer import check_name
from tensormt.text.tokens import TokenBatch

__all__ = ["NgramMetric", "TestSetMetric", "choose", "occurrences"]

Self = TypeVar("Self", bound="TestSetMetric")


def occurrences(batch: TokenBatch, max_order: int) -> Occurrences:
    """All n-grams of a batch up to an order, with where they stand."""
    segment, place = repeat(batch.lengths)
    parts = []
    for order, (key, start) in enumerate(orders(batch, max_order), 1):
        number = torch.full_like(start, order)
        parts.append(Occurrences(segment[start], number, place[start], key))
    return Occurrences(*(torch.cat(part) for part in zip(*parts, strict=True)))


def choose(what: str, value: str, known: Sequence[str]) -> str:
    """The value, if it is one of the known ones."""
    if not isinstance(value, str) or value not in known:
        raise TensorMTError(f"unknown {what} {describe(value)}: choose one of {', '.join(known)}")
    return value


class NgramMetric(Metric[TokenBatch]):
    """A metric on n-grams up to `max_order`.

    `tokenize` and `lowercase` say how text is to be read (`tm.score` makes the batches by them). A
    batch brings its own tokenisation; where `lowercase` is set and the batch is not in lower case,
    its types are lowered.
    """

    dtype: ClassVar[torch.dtype] = torch.float64  # of the statistics
    counts_tokens: ClassVar[bool] = True  # of text as of ids; chrF's ids are characters
    clips_only: ClassVar[bool] = False  # `count` asks for clipped matches and lengths alone
    counts: Frequencies | None = None  # of the whole test set, where a metric takes them

    def __init__(self, max_order: int, tokenize: str, lowercase: bool) -> None:
        self.max_order: int = Integer("max_order", 4, "", 1, 100).check(max_order)
        self.tokenize: str = Choice("tokenize", "13a", "", (), "a tokeniser's name").check(tokenize)
        check_name(self.tokenize)
        self.lowercase: bool = Boolean("lowercase", False, "").check(lowercase)
        self._seen: Tokens | None = None  # how the batches scored last had been read

    @property
    def reads(self) -> Tokens:
        """Tokens, by the metric's tokeniser and case."""
        return Tokens(self.tokenize, self.lowercase)

    def options(self) -> dict[str, object]:
        """Order, case and tokeniser: those of the batches, where some have been scored."""
        read = self._seen or self.reads
        return {
            "order": self.max_order,
            "case": "lc" if read.lowercase else "mixed",
            "tok": read.tokenize,
        }

    def read(self, hyp: TokenBatch, refs: Sequence[TokenBatch]) -> tuple[TokenBatch, References]:
        """Hypothesis and prepared references in the case that the metric wants."""
        self._seen = self.reads.of(hyp)
        ready = refs if isinstance(refs, References) else References(refs)
        return (hyp.lowered, ready.lowered) if self.lowercase else (hyp, ready)

    @abstractmethod
    def count(self, part: Comparison, table: Frequencies | None) -> Tensor:
        """Statistics [...,K] of a comparison; table: the test set's counts, where needed."""

    @property
    def needs_table(self) -> bool:
        """Whether these settings use the counts over the whole test set."""
        return False

    @property
    def needs_fit(self) -> bool:
        """Whether the counts over the whole test set are needed and not given yet."""
        return self.needs_table and self.counts is None

    def table(self, refs: References) -> Frequencies | None:
        """The counts of the test set to which these references belong, where they are needed."""
        if not self.needs_table:
            return None
        if self.counts is None:
            return refs.frequencies(self.max_order)
        self.counts.check(refs[0])
        return self.counts

    def statistics(self, hyp: TokenBatch, refs: Sequence[TokenBatch]) -> Tensor:
        """Sufficient statistics of every segment, [B,K]."""
        return self.statistics_with((), hyp, refs)[0]

    @property
    def group(self) -> Hashable:
        """Metrics that read alike share one comparison, unless their class has a way of its own."""
        own = any(getattr(type(self), name) is not getattr(NgramMetric, name) for name in _SHARED)
        return super().group if own else (NgramMetric, self.reads)

    def statistics_with(
        self, others: Sequence[Metric[TokenBatch]], hyp: TokenBatch, refs: Sequence[TokenBatch]
    ) -> list[Tensor]:
        """Statistics of this metric and of others of its group, by one comparison."""
        metrics = [self, *(cast(NgramMetric, other) for other in others)]
        # what the highest order finds serves the others
        first = sorted(range(len(metrics)), key=lambda k: -metrics[k].max_order)
        refs = refs if isinstance(refs, References) else References(refs)
        (hyp, ready), *_ = [metric.read(hyp, refs) for metric in metrics]
        tables = [metric.table(ready) for metric in metrics]
        found = [
            torch.empty(len(hyp), metric.width, dtype=metric.dtype, device=hyp.device)
            for metric in metrics
        ]
        for some, part in matches(hyp, ready, metrics[first[0]].max_order):
            for k in first:
                found[k][some] = metrics[k].count(part.upto(metrics[k].max_order), tables[k])
        return found

    def explain(self, hyp: TokenBatch, refs: Sequence[TokenBatch]) -> Explanation:
        """The n-grams that were counted."""
        hyp, ready = self.read(hyp, refs)
        sides = [occurrences(batch, self.max_order) for batch in (hyp, *ready)]
        columns = [self.columns_of(order) for order in range(1, self.max_order + 1)]
        return Explanation("n-gram", hyp, ready, items(sides[0], sides[1:]), columns=columns)

    def columns_of(self, order: int) -> list[int]:
        """The statistics that hold the matches of an order."""
        return [2 + order]


_SHARED = ("read", "statistics", "statistics_with")


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
        if not isinstance(counts, Frequencies | None):
            raise TensorMTError(
                f"counts is {describe(counts)}: count with Frequencies({max_order}).add(refs)"
            )
        if counts is not None and counts.max_order < max_order:
            raise TensorMTError(
                f"counts go up to order {counts.max_order}, the metric needs {max_order}: "
                f"count with max_order={max_order}"
            )
        self.counts = counts

    def fit(self: Self, refs: Sequence[TokenBatch]) -> Self:
        """Count the n-grams of the references of the test set, or of one more piece of it."""
        if self.counts is None:
            self.counts = Frequencies(self.max_order)
        self.counts.add([ref.lowered for ref in refs] if self.lowercase else refs)
        return self
