"""What the n-gram metrics share: options, the text that they read, counts over the test set.

A metric defines in `count` what it takes from a table of matches (`tensormt.ngram.match_table`);
text and token ids (`tensormt.train.functional`) both arrive there.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, cast

from tensormt.errors import TensorMTError
from tensormt.inputs import Tokens
from tensormt.metric import Metric, plain_rows_of
from tensormt.ngram.plain_matches import PlainFrequencies
from tensormt.options import Boolean, Choice, Integer, describe
from tensormt.plain import MAX_TOKENS, overridden, torch_imported
from tensormt.text.tokens import count_tokens, plain_rows

if TYPE_CHECKING:
    from pathlib import Path

    from torch import Tensor

    from tensormt.explanation import Explanation
    from tensormt.ngram.frequencies import Frequencies
    from tensormt.ngram.match_table import MatchTable
    from tensormt.ngram.references import References
    from tensormt.text.plain_tokens import Row
    from tensormt.text.tokens import TokenBatch

MaxOrder = Annotated[int, Integer("Longest n-grams that count", 1, 100)]
Tokenizer = Annotated[
    str, Choice("Tokeniser", ("13a", "none", "char"), "a tokeniser of sacrebleu by its name there")
]
Lowercase = Annotated[bool, Boolean("Compare in lower case")]
_ENGINE = ("_statistics", "in_case", "count")  # methods for which `_plain_row` stands
_tokens = lru_cache(maxsize=64)(Tokens)  # asked for in every call


class NgramMetric(Metric["TokenBatch"]):
    """A metric on n-grams up to `max_order`.

    `tokenize` and `lowercase` say how text is read, by `tm.score` for example. A batch that is
    passed directly brings its own tokenisation; with `lowercase` its types are put in lower case.
    """

    max_order: int
    tokenize: str
    lowercase: bool
    counts_tokens: ClassVar[bool] = True  # whether token ids are what text is cut into
    clips_only: ClassVar[bool] = False  # whether `count` needs clipped matches and lengths alone
    _plain_limit: ClassVar[int] = MAX_TOKENS  # the size of all sides that the plain path takes
    counts: Frequencies | None = None  # n-gram counts of the whole test set, where they are needed
    _plain_counts: PlainFrequencies | None = None  # the same, collected without torch

    def _configure(self, values: Any) -> None:
        super()._configure(values)
        if "tokenize" in values:
            from tensormt.text.plain_tokens import check_name

            check_name(self.tokenize)

    @property
    def reads(self) -> Tokens:
        """Tokens, by the metric's tokeniser and case."""
        return _tokens(self.tokenize, self.lowercase)

    def settings(self) -> dict[str, object]:
        """Return order, case and tokeniser."""
        case = "lc" if self.lowercase else "mixed"
        return {"order": self.max_order, "case": case, "tok": self.tokenize}

    @abstractmethod
    def count(self, table: MatchTable, frequencies: Frequencies | None) -> Tensor:
        """Compute statistics [...,K] from a table of matches.

        Args:
            table: Hypotheses compared with their references.
            frequencies: N-gram counts of the whole test set, if `needs_frequencies`.
        """

    @property
    def needs_frequencies(self) -> bool:
        """Whether these settings need n-gram counts over the whole test set."""
        return False

    def unfitted(self) -> list[Any]:
        """Return the metric itself if it needs n-gram counts of the test set and has none."""
        fitted = self.counts is not None or self._plain_counts is not None
        return [self] if self.needs_frequencies and not fitted else []

    @property
    def counts_key(self) -> str:
        """Tokeniser, case and order: metrics with equal keys need the same counts."""
        return f"{self.tokenize}-{'lc' if self.lowercase else 'mixed'}-{self.max_order}"

    def no_counts(self) -> Frequencies:
        """Return the n-gram counts before any reference."""
        from tensormt.ngram.frequencies import Frequencies

        return Frequencies(self.max_order)

    def load_counts(self, path: str | Path) -> Frequencies:
        """Read n-gram counts from a file."""
        from tensormt.ngram.frequencies import Frequencies

        return Frequencies.load(path)

    def serves(self, counts: Frequencies) -> bool:
        """Whether n-gram counts that were saved are those that the metric needs."""
        kind = (self.tokenize, self.lowercase)
        return counts.kind == kind and counts.max_order >= self.max_order

    def use_counts(self, counts: Frequencies) -> None:
        """Take n-gram counts of the whole test set that were collected before."""
        self.counts = counts

    def in_case(self, hyp: TokenBatch, refs: Sequence[TokenBatch]) -> tuple[TokenBatch, References]:
        """Return hypothesis and prepared references in the case that the metric compares."""
        from tensormt.ngram.references import References

        ready = refs if isinstance(refs, References) else References(refs)
        return (hyp.lowered, ready.lowered) if self.lowercase else (hyp, ready)

    def frequencies(self, refs: References) -> Frequencies | None:
        """Return the n-gram counts of the test set to which the references belong, if needed."""
        if not self.needs_frequencies:
            return None
        self._batch_counts()
        if self.counts is None:
            return refs.frequencies(self.max_order)
        self.counts.check(refs[0])
        return self.counts

    def _batch_counts(self) -> None:
        """Give counts that were collected without torch to the batched engine."""
        if self._plain_counts is not None:
            self.counts, self._plain_counts = self._plain_counts.batched(), None

    def _statistics(self, hyp: TokenBatch, refs: Sequence[TokenBatch]) -> Tensor:
        from tensormt.ngram.matching import joint_statistics

        return joint_statistics([self], hyp, refs)[0]

    @property
    def has_plain_path(self) -> bool:
        """Whether a few segments can be scored in plain Python, without torch."""
        return not overridden(type(self), "_plain_row", *_ENGINE)

    def _plain_statistics(
        self, hyp: TokenBatch, refs: Sequence[TokenBatch]
    ) -> list[list[float]] | None:
        segments = self._plain_rows(hyp, refs)
        return None if segments is None else [self._plain_row(*segment) for segment in segments]

    def _plain_row(
        self, hyp: Row, refs: Sequence[Row], frequencies: PlainFrequencies | None = None
    ) -> list[float]:
        """Compute the statistics of one segment from its tokens and those of its references."""
        raise NotImplementedError

    def _plain_size(self, rows: Sequence[Row]) -> int:
        """The number of tokens, or of what else takes the time."""
        return count_tokens(rows)

    def _plain_rows(
        self, hyp: TokenBatch, refs: Sequence[TokenBatch]
    ) -> list[tuple[Row, list[Row]]] | None:
        """The tokens of each segment and of its references, in the case that is compared.

        None where there are too many for the plain path, or where the engine is to raise an error.
        """
        if not self.has_plain_path:
            return None
        return plain_rows(hyp, refs, self.lowercase, self._plain_limit, self._plain_size)

    @property
    def sharing_key(self) -> Hashable:
        """Metrics that read alike share one table of matches, unless they have their own engine."""
        kind, hooks = type(self), ("_statistics", "in_case")
        own = any(getattr(kind, name) is not getattr(NgramMetric, name) for name in hooks)
        return super().sharing_key if own else (NgramMetric, self.reads)

    def rows_with(
        self, others: Sequence[Metric[TokenBatch]], hyp: TokenBatch, refs: Sequence[TokenBatch]
    ) -> list[Any]:
        """Compute `rows` of this metric and of others; the engine has one table of matches."""
        metrics = [self, *(cast(NgramMetric, other) for other in others)]
        refs = self._check_sides(hyp, refs)
        if rows := plain_rows_of(metrics, hyp, refs):
            return rows
        from tensormt.ngram.matching import joint_statistics

        return [*joint_statistics(metrics, hyp, refs)]

    def _explain(self, hyp: TokenBatch, refs: Sequence[TokenBatch]) -> Explanation:
        from tensormt.explanation import Explanation
        from tensormt.kernels.matches import items
        from tensormt.ngram.keys import occurrences

        hyp, ready = self.in_case(hyp, refs)
        own, *others = [occurrences(batch, self.max_order) for batch in (hyp, *ready)]
        columns = [self.columns_of(order) for order in range(1, self.max_order + 1)]
        return Explanation("n-gram", hyp, ready, items(own, others), columns=columns)

    def columns_of(self, order: int) -> list[int]:
        """Return the columns of the statistics that hold the matches of an order."""
        return [2 + order]


class TestSetMetric(NgramMetric):
    """A metric that needs n-gram counts over all references of the test set.

    Without `counts` the references of each call are the whole test set. With counts, given or
    collected by `fit`, the test set can be scored in parts with the same result.
    """

    __test__ = False

    def _configure(self, values: Any) -> None:
        super()._configure(values)
        self.counts = values["counts"]
        if self.counts is None:
            return
        from tensormt.ngram.frequencies import Frequencies

        if not isinstance(self.counts, Frequencies):
            raise TensorMTError(
                f"counts is {describe(self.counts)}: count with "
                f"Frequencies({self.max_order}).add(refs)"
            )
        if self.counts.max_order < self.max_order:
            raise TensorMTError(
                f"counts go up to order {self.counts.max_order}, the metric needs "
                f"{self.max_order}: count with max_order={self.max_order}"
            )

    def _fit(self, refs: Sequence[TokenBatch]) -> None:
        refs = self._cased(refs)
        if self.counts is None and not torch_imported() and all(ref.is_plain for ref in refs):
            self._plain_counts = self._plain_counts or PlainFrequencies(self.max_order)
            self._plain_counts.add(refs)
            return
        from tensormt.ngram.frequencies import Frequencies

        self._batch_counts()
        if self.counts is None:
            self.counts = Frequencies(self.max_order)
        self.counts.add(refs)

    def _cased(self, refs: Sequence[TokenBatch]) -> Sequence[TokenBatch]:
        """References in the case that the metric compares."""
        return [ref.lowered for ref in refs] if self.lowercase else refs

    def _plain_statistics(
        self, hyp: TokenBatch, refs: Sequence[TokenBatch]
    ) -> list[list[float]] | None:
        if torch_imported():
            return None  # the engine rounds otherwise: a metric has one path while it can
        segments = self._plain_rows(hyp, refs)
        frequencies = None
        if segments is not None and self.needs_frequencies:
            if self.counts is not None:
                return None
            refs = self._cased(refs)
            frequencies = self._plain_counts or PlainFrequencies(self.max_order).add(refs)
            if len(frequencies.kinds.union((ref.tokenize, ref.lowercase) for ref in refs)) > 1:
                return None  # the engine raises
        if segments is None:
            return None
        return [self._plain_row(*segment, frequencies) for segment in segments]
