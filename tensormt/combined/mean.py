"""The mean of metrics that compare different things, each on a scale of 0 to 1.

    Mean = 1/k Σ mᵢ / scaleᵢ                    BLEU and chrF by 100
           of an error rate max(0, 1 - mᵢ / scaleᵢ)    TER by 100; `1-WER(…)` in the signature

A document or corpus has the mean of the members' document or corpus scores. Statistics are those of
the members side by side behind one count of segments, so that sums, bootstraps and many machines
work as for any metric.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from tensormt.combined.base import CombinedMetric
from tensormt.errors import TensorMTError
from tensormt.formulas import namespace
from tensormt.inputs import member_batch, member_batches
from tensormt.metric import Metric

if TYPE_CHECKING:
    from torch import Tensor

    from tensormt.explanation import Explanation


class Mean(CombinedMetric):
    """The arithmetic mean of metrics, 0 to 1; typed `chrf+hwcm:max_length=2,balance=f1+stm`.

    Args:
        metrics: At least two metrics with an upper bound.

    >>> import tensormt as tm
    >>> metric = Mean([tm.ChrF(), tm.BLEU(max_order=2)])
    >>> lines = tm.TokenBatch.from_text(["the dog ran"], "none")
    >>> metric(lines, [lines]).tolist()
    [1.0]
    """

    name = "Mean"
    summary: ClassVar[str] = "the mean of metrics on a scale of 0 to 1"

    def __init__(self, metrics: Sequence[Metric[Any]]) -> None:
        super().__init__(metrics)
        for metric in self.metrics:
            if metric.scale is None:
                raise TensorMTError(
                    f"{metric.name} has no upper bound, so it cannot join a mean on a scale of 0 "
                    "to 1: leave it out, or combine with queen"
                )
        self._sizes: list[int] = [metric.width - 1 for metric in self.metrics]

    @property
    def integer(self) -> bool:  # type: ignore[override]
        """Whether the statistics of all members are counts."""
        return all(metric.integer for metric in self.metrics)

    @property
    def has_plain_path(self) -> bool:
        """Whether all members have one."""
        return all(metric.has_plain_path for metric in self.metrics)

    @property
    def exact_plain_path(self) -> bool:
        """Whether that of each member is exact."""
        return all(metric.exact_plain_path for metric in self.metrics)

    @property
    def width(self) -> int:
        """The number of statistics: one, and what the members have besides."""
        return 1 + sum(self._sizes)

    def _statistics(self, hyp: Any, refs: Sequence[Any]) -> Tensor:
        import torch

        found = [metric._statistics(*sides) for metric, sides in self._members(hyp, refs)]
        kind = torch.float64 if any(rows.is_floating_point() for rows in found) else torch.int64
        return torch.cat([found[0][:, :1].to(kind), *(rows[:, 1:].to(kind) for rows in found)], 1)

    def _plain_statistics(self, hyp: Any, refs: Sequence[Any]) -> list[list[float]] | None:
        found = []
        for metric, sides in self._members(hyp, refs):
            rows = metric._plain_statistics(*sides)
            if rows is None:
                return None
            found.append(rows)
        first, *others = found
        return [
            row + [n for more in own for n in more[1:]]
            for row, *own in zip(first, *others, strict=True)
        ]

    def _members(self, hyp: Any, refs: Sequence[Any]) -> list[tuple[Metric[Any], tuple[Any, Any]]]:
        """Each member with the hypothesis and references that it reads."""
        return [
            (metric, (member_batch(hyp, k), member_batches(refs, k)))
            for k, metric in enumerate(self.metrics)
        ]

    def _score(self, rows: Any, segment: bool | None) -> Any:
        total, first = 0.0, 1
        for metric, size in zip(self.metrics, self._sizes, strict=True):
            last = first + size
            if isinstance(rows, list):  # one segment
                own: Any = [rows[0], *rows[first:last]]
            else:
                parts = [rows[..., :1], rows[..., first:last]]
                own = namespace(rows).concatenate(parts, -1)
            total = total + metric.on_unit_scale(metric._score(own, segment))
            first = last
        return total / len(self.metrics)

    def _member_signature(self, metric: Metric[Any], without: Collection[str]) -> str:
        own = super()._member_signature(metric, without)
        return own if metric.higher_is_better else f"1-{own}"

    def _explain(self, hyp: Any, refs: Sequence[Any]) -> Explanation:
        from tensormt.explanation import Explanation, Part, display_names

        parts, first = [], 1
        names = display_names(self.metrics)
        for k, (metric, sides) in enumerate(self._members(hyp, refs)):
            sign = 1 if metric.higher_is_better else -1
            weight = sign / (len(names) * (metric.scale or 1.0))
            columns = [0, *range(first, first + self._sizes[k])]
            parts.append(Part(names[k], weight, metric, columns, metric.explain(*sides)))
            first += self._sizes[k]
        return Explanation("mean", hyp, refs, parts=parts)
