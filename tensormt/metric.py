"""The interface of all metrics: statistics that add up over segments, and a score of their sum.

    statistics(hyp, refs) -> [B, K]        score(statistics [..., K]) -> [...]

Segment scores are `score(s)`, the corpus score is `score(s.sum(0))`, a document's is the score of
the sum of its rows, a bootstrap is `score(weights @ s)`, and results of several machines are added.
The first statistic is the number of segments (1 in every row), by which metrics that smooth single
segments but not sums (HWCM, BM) tell the two apart.

The public methods check their arguments once and then call the hooks that a subclass defines:

    public        hook
    statistics    _statistics(hyp, refs) -> Tensor [B,K]
                  _plain_statistics(hyp, refs) -> B lists of K (optional: a few segments, on a CPU)
    score         _score(rows, segment) -> array [...], of arrays [...,K] of torch or numpy, and,
                  where there is a plain path, of a list of K numbers (`tensormt.formulas`)
    explain       _explain(hyp, refs) (optional)
    fit           _fit(refs) (optional)

This module imports torch only when a metric is used, so that metrics can be listed without it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, overload

import numpy as np

from tensormt.errors import NoExplanation, TensorMTError
from tensormt.formulas import namespace, where
from tensormt.inputs import Input, is_batch
from tensormt.options import Boolean, Option, declared, describe, format_value
from tensormt.version import __version__

if TYPE_CHECKING:
    from torch import Tensor

    from tensormt.explanation import Explanation

__all__ = ["Metric", "check_aligned", "join_signature", "single_segments"]

Batch = TypeVar("Batch", bound=Any)
_NONE: Mapping[str, object] = {}


def check_aligned(hyp: Any, refs: Sequence[Any]) -> None:
    """Raise unless there is a reference and all have as many segments as the hypothesis."""
    if not len(refs):
        raise TensorMTError("no reference given: pass a list of at least one batch of references")
    for number, ref in enumerate(refs, 1):
        if len(ref) != len(hyp):
            raise TensorMTError(
                f"reference {number} has {len(ref)} segments, the hypothesis has {len(hyp)}: "
                "they must align one to one"
            )


class Metric(ABC, Generic[Batch]):
    """Base class of all metrics.

    A subclass defines `name`, `reads`, `settings`, `_statistics` and `_score`; the options that
    users may set are the annotated parameters of its `__init__` (`tensormt.options`).

    Attributes:
        name: Name in signatures and tables.
        summary: What the metric compares, in one line.
        scale: Largest score; None if there is no upper bound; of an error rate, an error for
            every token of the reference.
        higher_is_better: False for error rates.
        digits: Decimal places in tables.
        integer: Whether statistics are counts, equal to the last bit on every path.
    """

    name: str
    summary: ClassVar[str] = ""
    scale: ClassVar[float | None] = 1.0
    higher_is_better: bool = True
    digits: ClassVar[int] = 4
    integer: bool = False  # whether statistics are counts, the same to the last bit on every path
    _width: int | None = None

    @classmethod
    def options(cls) -> tuple[Option, ...]:
        """Return the options that users may set, in the order of the constructor."""
        return declared(cls.__init__)

    def _configure(self, values: Mapping[str, Any]) -> None:
        """Check the declared options among the arguments of `__init__` and store them."""
        for option in self.options():
            setattr(self, option.name, option.check(values[option.name]))

    # --- what a subclass defines ----------------------------------------------------------------

    @property
    @abstractmethod
    def reads(self) -> Input:
        """The form of text that the metric compares: tokens or trees (`tensormt.inputs`)."""

    @abstractmethod
    def settings(self) -> dict[str, object]:
        """Return every setting that changes a score, in the order of the signature."""

    @abstractmethod
    def _statistics(self, hyp: Batch, refs: Sequence[Batch]) -> Tensor:
        """Compute statistics [B,K] of aligned batches."""

    @abstractmethod
    def _score(self, rows: Any, segment: bool | None) -> Any:
        """Compute scores [...] of statistics [...,K], torch or numpy, or of K numbers in a list."""

    def _plain_statistics(self, hyp: Batch, refs: Sequence[Batch]) -> list[list[float]] | None:
        """Compute K numbers for each of a few segments; None: use the batched engine."""
        return None

    def _explain(self, hyp: Batch, refs: Sequence[Batch]) -> Explanation:
        parts = ": explain one of its parts" if hasattr(self, "metrics") else ""
        raise NoExplanation(f"{self.name} does not say what it matched{parts}")

    def _fit(self, refs: Sequence[Batch]) -> None:
        """Take in the references of the test set, or of one more part of it."""

    # --- public methods ---------------------------------------------------------------------------

    def statistics(
        self, hyp: Batch, refs: Sequence[Batch], *, batched: bool | None = None
    ) -> Tensor:
        """Compute the sufficient statistics of every segment.

        Args:
            hyp: A batch of B segments.
            refs: R batches of B segments; an empty segment is an absent reference.
            batched: True to use the tensor engine in any case; None to let a few segments on a CPU
                take the plain-Python path, which gives the same numbers.

        Returns:
            int64 or float64 [B,K], additive over segments; column 0 counts segments.

        Raises:
            TensorMTError: If the batches do not align or are not what the metric reads.
        """
        import torch

        rows = self.rows(hyp, refs, batched)
        return torch.from_numpy(rows) if isinstance(rows, np.ndarray) else rows

    def rows(self, hyp: Batch, refs: Sequence[Batch], batched: bool | None = None) -> Any:
        """Compute `statistics`, of the plain path in numpy, of the engine in torch."""
        refs = self._check_sides(hyp, refs)
        rows = None if batched else self._plain_statistics(hyp, refs)
        return self._statistics(hyp, refs) if rows is None else self._as_array(rows)

    def _as_array(self, rows: list[list[float]]) -> np.ndarray:
        """Return plain statistics as an array [B,K]."""
        return np.array(rows, np.int64 if self.integer else np.float64)

    @overload
    def score(self, statistics: np.ndarray, *, segment: bool | None = None) -> np.ndarray: ...
    @overload
    def score(self, statistics: Tensor, *, segment: bool | None = None) -> Tensor: ...
    def score(self, statistics: Any, *, segment: bool | None = None) -> Any:
        """Compute scores of statistics.

        Args:
            statistics: [...,K], rows of single segments or sums of such rows; a tensor, or an array
                of numpy.
            segment: Whether rows are single segments; None: rows that count one segment are.

        Returns:
            float64 [...], of the same library.

        Raises:
            TensorMTError: If the statistics do not have K columns.
        """
        from tensormt.validation import array_of_numbers

        rows = array_of_numbers("K")(statistics, "statistics")
        if rows.shape[-1] != self.width:
            raise TensorMTError(
                f"statistics of shape {list(rows.shape)}: {self.name} has {self.width} of them, in "
                "the last axis"
            )
        segment = Boolean(name="segment").check(segment)
        if not isinstance(rows, np.ndarray):
            return self._score(rows, segment)
        with np.errstate(all="ignore"):  # as torch: 0 / 0 is NaN, log 0 is -∞
            return self._score(rows, segment)

    def __call__(self, hyp: Batch, refs: Sequence[Batch]) -> Tensor:
        """Compute segment scores, float64 [B]."""
        import torch

        refs = self._check_sides(hyp, refs)
        rows = self._plain_statistics(hyp, refs)
        if rows is None:
            scores: Tensor = self.score(self._statistics(hyp, refs), segment=True)
            return scores
        return torch.from_numpy(np.array([self._score(row, True) for row in rows], np.float64))

    def on_unit_scale(self, scores: Any) -> Any:
        """Put scores on a scale of 0 to 1 on which higher is better, as means and rewards do.

        Args:
            scores: Scores of this metric: a tensor, an array or a number.

        Returns:
            score / scale; for an error rate 1 - score / scale, but at least 0. Scores without an
            upper bound stay as they are.
        """
        found = scores / (self.scale or 1.0)
        if self.higher_is_better:
            return found
        return where(found < 1.0, 1.0 - found, 0.0 * found)

    def corpus(self, hyp: Batch, refs: Sequence[Batch]) -> Tensor:
        """Compute the corpus score, float64 []."""
        return self.score(self.statistics(hyp, refs).sum(0), segment=False)

    def explain(self, hyp: Batch, refs: Sequence[Batch]) -> Explanation:
        """Say which items were matched; see `tm.explain`."""
        return self._explain(hyp, self._check_sides(hyp, refs))

    def fit(self, refs: Sequence[Batch]) -> Metric[Batch]:
        """Count what the metric needs of all references of a test set, or of one more part."""
        self._fit(self._check_batches(refs))
        return self

    @property
    def label(self) -> str:
        """What results call the metric if it was given as an object: its name in lower case."""
        return self.name.lower()

    @property
    def needs_fit(self) -> bool:
        """True if `fit` must be called first, with all references of the test set."""
        return bool(self.unfitted())

    @property
    def fit_reads(self) -> Input:
        """What `fit` reads of the references: less than `reads` where counting needs less."""
        return self.reads

    def unfitted(self) -> list[Any]:
        """Return the metrics that need counts: itself, or members of a combined metric.

        Each has a `counts_key`, equal for metrics that need the same counts, and `counts`,
        `no_counts()`, `load_counts(path)` and `use_counts(counts)`; counts have `merge`, `save` and
        `facts`.
        """
        return []

    @property
    def width(self) -> int:
        """The number of statistics K."""
        if self._width is None:
            none = self.reads.empty()
            self._width = self._statistics(none, [none]).shape[1]
        return self._width

    @property
    def has_plain_path(self) -> bool:
        """Whether a few segments can be scored in plain Python, without torch."""
        return type(self)._plain_statistics is not Metric._plain_statistics

    @property
    def exact_plain_path(self) -> bool:
        """Whether the plain path gives the statistics of the engine to the last bit."""
        return self.integer

    @property
    def penalizes_short_output(self) -> bool:
        """Whether the score falls when parts of the output are left out; precisions do not."""
        return True

    @property
    def reads_trees(self) -> bool:
        """Whether trees are part of what the metric reads."""
        return self.reads.uses_trees

    @property
    def sharing_key(self) -> Hashable:
        """Metrics with equal keys may be computed together by `rows_with`."""
        return id(self)

    def rows_with(
        self, others: Sequence[Metric[Batch]], hyp: Batch, refs: Sequence[Batch]
    ) -> list[Any]:
        """Compute `rows` of this metric and of others with an equal `sharing_key`."""
        return [metric.rows(hyp, refs) for metric in (self, *others)]

    def check_size(self, segments: int) -> None:
        """Raise unless a corpus of so many segments can be scored; stored scores need their own."""

    def documents(
        self, hyp: Batch, refs: Sequence[Batch], ids: Sequence[Hashable]
    ) -> dict[Hashable, float]:
        """Compute the score of every document, given the document id of each of the B segments."""
        import torch

        from tensormt.data.coercion import as_list

        rows = self.statistics(hyp, refs)
        names = as_list(ids, "ids")
        if len(names) != len(rows):
            raise TensorMTError(
                f"{len(names)} document ids for {len(rows)} segments: give one id for each segment"
            )
        places: dict[Hashable, int] = {}
        try:
            index = [places.setdefault(name, len(places)) for name in names]
        except TypeError:
            raise TensorMTError("ids: a document's id is a string or a number") from None
        sums = torch.zeros(len(places), rows.shape[1], dtype=rows.dtype, device=rows.device)
        sums.index_add_(0, torch.tensor(index, dtype=torch.int64, device=rows.device), rows)
        return dict(zip(places, self.score(sums, segment=False).tolist(), strict=True))

    # --- signatures -------------------------------------------------------------------------------

    @property
    def signature(self) -> str:
        """Name, settings and version: all that is needed to reproduce a score."""
        return self.format_signature()

    def format_signature(
        self,
        facts: Mapping[str, object] = _NONE,
        *,
        without: Collection[str] = (),
        short: bool = False,
    ) -> str:
        """Format the signature.

        Args:
            facts: Further fields, such as the number of references or the parser.
            without: Settings that did not matter, such as head rules for dependency parses.
            short: As a part of another metric's signature: settings in brackets, no version.

        Returns:
            `NAME|setting:value|…|version:…`, or `NAME(setting:value,…)`.
        """
        known = {**self._signature_settings(without), **facts}
        if short:
            return f"{self.name}({','.join(_fields(known))})"
        return join_signature(self.name, known)

    def _signature_settings(self, without: Collection[str]) -> dict[str, object]:
        return {key: value for key, value in self.settings().items() if key not in without}

    def __repr__(self) -> str:
        return f"<{self.signature}>"

    # --- checks -----------------------------------------------------------------------------------

    def _check_sides(self, hyp: Any, refs: Any) -> Sequence[Any]:
        """The references as a sequence, if hypothesis and references fit and align."""
        self.reads.check(self.name, hyp)
        found = self._check_batches(refs)
        check_aligned(hyp, found)
        return found

    def _check_batches(self, batches: Any) -> Sequence[Any]:
        """A list of batches that the metric can read."""
        if isinstance(batches, Sequence) and not isinstance(batches, str | bytes):
            check = self.reads.check
            for batch in batches:
                check(self.name, batch)
            return batches
        if is_batch(batches):
            raise TensorMTError(
                f"{self.name} takes a list of R batches of references, got one batch: pass [refs]"
            )
        if isinstance(batches, str | bytes) or not isinstance(batches, Iterable):
            raise TensorMTError(
                f"{self.name} takes a list of R batches of references, got {describe(batches)}"
            )
        try:
            found = list(batches)
        except TypeError:  # an array of no dimension
            raise TensorMTError(f"{self.name} cannot read {describe(batches)}") from None
        for batch in found:
            self.reads.check(self.name, batch)
        return found


def join_signature(name: str, facts: Mapping[str, object]) -> str:
    """Format a signature from the name of a metric and what else its scores depend on.

    >>> join_signature("bleu", {"refs": 1}).partition("|version:")[0]
    'bleu|refs:1'
    """
    return "|".join((name, *_fields(facts), f"version:{__version__}"))


def _fields(facts: Mapping[str, object]) -> list[str]:
    return [
        f"{key}:{format_value(value) if isinstance(value, bool) else value}"
        for key, value in facts.items()
    ]


def single_segments(rows: Any, segment: bool | None) -> Any:
    """Which rows of statistics [...,K] are single segments, bool [...]."""
    count = rows[..., 0]
    return count == 1 if segment is None else namespace(rows).ones_like(count) == int(segment)


def plain_rows_of(
    metrics: Sequence[Metric[Any]], hyp: Any, refs: Sequence[Any]
) -> list[np.ndarray] | None:
    """Compute `rows` of metrics that read alike without torch; None if one needs the engine."""
    if not all(metric.has_plain_path for metric in metrics):
        return None
    found = []
    for metric in metrics:
        rows = metric._plain_statistics(hyp, refs)
        if rows is None:
            return None
        found.append(metric._as_array(rows))
    return found
