"""What every metric is: statistics that add up over segments, and a score of their sum.

    statistics(hyp, refs) -> [B, K]        score(statistics [..., K]) -> [...]

Segment scores are `score(s)`, the corpus score `score(s.sum(0))`, a document's the score of the sum
of its rows, a bootstrap `score(weights @ s)`, many machines a sum. The first statistic is always
the number of segments (1 in every row): metrics that smooth single segments but not sums (HWCM,
BM) see from it which of the two they hold.

What `hyp` and `refs` are is said by `reads`: tokens or trees (tensormt.inputs). Whatever a class
defines as `statistics`, `explain`, `fit` and `score` is given only what was checked: batches that
fit `reads`, rows of the right width.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, ClassVar, Generic, TypeVar

import torch
from torch import Tensor

from tensormt.data.coercion import as_list
from tensormt.errors import NoExplanation, TensorMTError
from tensormt.explanation import Explanation
from tensormt.inputs import BATCHES, Input, reads_trees
from tensormt.options import describe
from tensormt.validation import boolean, optional, tensor_of
from tensormt.version import __version__

__all__ = ["Metric", "check_aligned"]

Batch = TypeVar("Batch", bound=Any)


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
    """Base of all metrics: a subclass gives `name`, `reads`, `options`, `statistics`, `score`."""

    name: ClassVar[str]
    digits: ClassVar[int] = 4  # behind the point, where a score is shown to people
    scale: ClassVar[float | None] = 1.0  # the largest score; None: there is none
    _width: int | None = None

    def __init_subclass__(cls, **more: Any) -> None:
        """Put the checks before what a class defines."""
        super().__init_subclass__(**more)
        for name, checked in _CHECKED.items():
            if name in cls.__dict__ and not getattr(cls.__dict__[name], "__isabstractmethod__", 0):
                setattr(cls, name, checked(cls.__dict__[name]))

    @property
    @abstractmethod
    def reads(self) -> Input:
        """What the metric reads of a text, tokens or trees."""

    @abstractmethod
    def options(self) -> dict[str, object]:
        """Every option that changes a score, in the order of the signature."""

    @abstractmethod
    def statistics(self, hyp: Batch, refs: Sequence[Batch]) -> Tensor:
        """Sufficient statistics of every segment, [B,K], additive; column 0 counts segments."""

    @abstractmethod
    def score(self, statistics: Tensor, *, segment: bool | None = None) -> Tensor:
        """Scores (float64 [...]) of statistics [...,K], single rows or sums of rows.

        `segment` says whether rows are single segments; None: those that count one segment are.
        """

    @property
    def width(self) -> int:
        """The number of statistics, K."""
        if self._width is not None:
            return self._width
        none: Any = self.reads.none()
        self._width = -1  # not known yet: `statistics` may ask `score` for the best reference
        found = None
        try:
            found = self.statistics(none, [none]).shape[1]
        finally:
            self._width = found
        return found

    @property
    def group(self) -> Hashable:
        """Metrics of an equal group may be counted together."""
        return id(self)

    def statistics_with(
        self, others: Sequence[Metric[Batch]], hyp: Batch, refs: Sequence[Batch]
    ) -> list[Tensor]:
        """Statistics of this metric and of others of its group."""
        return [metric.statistics(hyp, refs) for metric in (self, *others)]

    def __call__(self, hyp: Batch, refs: Sequence[Batch]) -> Tensor:
        """Segment scores, float64 [B]."""
        return self.score(self.statistics(hyp, refs), segment=True)

    def corpus(self, hyp: Batch, refs: Sequence[Batch]) -> Tensor:
        """The corpus score, float64 []."""
        return self.score(self.statistics(hyp, refs).sum(0), segment=False)

    def explain(self, hyp: Batch, refs: Sequence[Batch]) -> Explanation:
        """What was matched, item by item; see `tm.explain`."""
        raise NoExplanation(f"{self.name} does not say what it matched: explain one of its parts")

    @property
    def reads_trees(self) -> bool:
        """Whether trees are part of what the metric reads."""
        return reads_trees(self.reads)

    @property
    def needs_fit(self) -> bool:
        """Whether counts over all references have to be gathered first, with `fit`."""
        return False

    def fit(self, refs: Sequence[Batch]) -> Metric[Batch]:
        """Count what the metric needs of all references, or of one more piece of them."""
        return self

    def documents(
        self, hyp: Batch, refs: Sequence[Batch], ids: Sequence[Hashable]
    ) -> dict[Hashable, float]:
        """The score of every document, given the document id of each of the B segments."""
        self._check_batches([hyp])
        ids = as_list(ids, "ids")
        if len(ids) != len(hyp):
            raise TensorMTError(
                f"{len(ids)} document ids for {len(hyp)} segments: give one id for each segment"
            )
        places: dict[Hashable, int] = {}
        try:
            index = [places.setdefault(name, len(places)) for name in ids]
        except TypeError:
            raise TensorMTError("ids: a document's id is a string or a number") from None
        rows = self.statistics(hyp, refs)
        sums = torch.zeros(len(places), rows.shape[1], dtype=rows.dtype, device=rows.device)
        sums.index_add_(0, torch.tensor(index, dtype=torch.int64, device=rows.device), rows)
        return dict(zip(places, self.score(sums, segment=False).tolist(), strict=True))

    def _check_batches(self, batches: Any) -> Sequence[Any]:
        """A list of batches that the metric can read."""
        if isinstance(batches, BATCHES):
            raise TensorMTError(
                f"{self.name} takes a list of R batches of references, got one batch: pass [refs]"
            )
        if isinstance(batches, str | bytes) or not isinstance(batches, Iterable):
            raise TensorMTError(
                f"{self.name} takes a list of R batches of references, got {describe(batches)}"
            )
        try:
            found = batches if isinstance(batches, Sequence) else list(batches)
        except TypeError:  # an array of no dimension
            raise TensorMTError(f"{self.name} cannot read {describe(batches)}") from None
        for batch in found:
            self.reads.check(self.name, batch)
        return found

    def _check_rows(self, statistics: Any) -> Tensor:
        """Statistics of this metric."""
        rows: Tensor = tensor_of("K", more=True)(statistics, "statistics")
        if self.width not in (-1, rows.shape[-1]):
            raise TensorMTError(
                f"statistics of shape {list(rows.shape)}: {self.name} has {self.width} of them, in "
                "the last axis"
            )
        return rows

    @property
    def signature(self) -> str:
        """Name, options and version: all that is needed to reproduce a score."""
        return self.signed({})

    def signed(self, facts: Mapping[str, object]) -> str:
        """The signature with more facts, such as the number of references or the parser.

        A fact that is None takes the option of its name away, which did not matter.
        """
        words = {True: "yes", False: "no"}
        fields = (
            f"{key}:{words[value] if isinstance(value, bool) else value}"
            for key, value in {**self.options(), **facts}.items()
            if value is not None or key not in facts
        )
        return "|".join((self.name, *fields, f"version:{__version__}"))

    def in_short(self, facts: Mapping[str, object]) -> str:
        """Name and options in brackets, as a part of another metric's signature.

        Of the facts only those count that take an option away; the others stand outside.
        """
        gone = {key: None for key, value in facts.items() if value is None}
        name, *rest = self.signed(gone).split("|")
        return f"{name}({','.join(rest[:-1])})"

    def __repr__(self) -> str:
        return f"<{self.signature}>"


def _sides(define: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(define)
    def checked(self: Metric[Any], hyp: Any, refs: Any) -> Any:
        self._check_batches([hyp])
        refs = self._check_batches(refs)
        check_aligned(hyp, refs)
        return define(self, hyp, refs)

    return checked


def _fit(define: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(define)
    def fit(self: Metric[Any], refs: Any) -> Any:
        return define(self, self._check_batches(refs))

    return fit


def _score(define: Callable[..., Tensor]) -> Callable[..., Tensor]:
    @wraps(define)
    def score(self: Metric[Any], statistics: Any, *, segment: Any = None) -> Tensor:
        return define(
            self, self._check_rows(statistics), segment=optional(boolean)(segment, "segment")
        )

    return score


_CHECKED = {"statistics": _sides, "explain": _sides, "fit": _fit, "score": _score}
