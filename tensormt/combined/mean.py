"""The mean of metrics that look at different things, each on a scale of 0 to 1.

    Mean = 1/k Σ mᵢ / scaleᵢ            BLEU and chrF by 100

A document or corpus has the mean of the members' document or corpus scores. Statistics are those of
the members side by side behind one count of segments, so that sums, bootstraps and many machines
work as for any metric.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from tensormt.combined.base import Combined
from tensormt.errors import TensorMTError
from tensormt.explanation import Explanation, Part
from tensormt.inputs import view, views
from tensormt.metric import Metric

__all__ = ["Mean"]


class Mean(Combined):
    """The arithmetic mean of metrics, 0 to 1; typed `chrf+hwcm:max_length=2,balance=f1+stm`.

    >>> import tensormt as tm
    >>> metric = Mean([tm.ChrF(), tm.BLEU(max_order=2)])
    >>> lines = tm.TokenBatch.from_text(["the dog ran"], "none")
    >>> metric(lines, [lines]).tolist()
    [1.0]
    """

    name: ClassVar[str] = "Mean"

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
    def width(self) -> int:
        """One, and what the members have besides."""
        return 1 + sum(self._sizes)

    def statistics(self, hyp: Any, refs: Sequence[Any]) -> Tensor:
        """Segments, then the statistics of every member without its own count of them, [B,K]."""
        found = [
            metric.statistics(view(hyp, k), views(refs, k)) for k, metric in enumerate(self.metrics)
        ]
        kind = torch.float64 if any(rows.is_floating_point() for rows in found) else torch.int64
        return torch.cat([found[0][:, :1].to(kind), *(rows[:, 1:].to(kind) for rows in found)], 1)

    def score(self, statistics: Tensor, *, segment: bool | None = None) -> Tensor:
        """Float64 [...]."""
        count, *blocks = torch.split(statistics, [1, *self._sizes], -1)
        scores = [
            metric.score(torch.cat([count, block], -1), segment=segment) / (metric.scale or 1.0)
            for metric, block in zip(self.metrics, blocks, strict=True)
        ]
        return torch.stack(scores, -1).mean(-1)

    def explain(self, hyp: Any, refs: Sequence[Any]) -> Explanation:
        """What each member counted, with its weight in the mean."""
        parts, first = [], 1
        names = [metric.name for metric in self.metrics]
        for k, (metric, size) in enumerate(zip(self.metrics, self._sizes, strict=True)):
            found = metric.explain(view(hyp, k), views(refs, k))
            name = names[k] if names.count(names[k]) == 1 else f"{names[k]} {k + 1}"
            weight = 1 / (len(names) * (metric.scale or 1.0))
            parts.append(Part(name, weight, metric, [0, *range(first, first + size)], found))
            first += size
        return Explanation("mean", hyp, refs, parts=parts)
