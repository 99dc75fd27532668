"""Any metric as a similarity of texts: all pairs of every case, in large batches."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from tensormt.kernels.backend import nonzero
from tensormt.metric import Metric

# Pairs of texts scored at a time.
PAIRS = 4000


def similarities(metric: Metric[Any], batch: Any, index: Tensor) -> Tensor:
    """Score all pairs of texts of every case with a metric of the package, float64 [T,N,N].

    batch holds prepared texts, first the empty one; index int64 [T,N] says which of them are those
    of a case, -1 for an absent or empty one. The value is x(candidate i, reference j), 0 where one
    is absent.

    An error rate is negated, because similarities are only compared with each other. An empty
    candidate then has the error rate of an empty output, and an empty reference the lowest
    similarity of the table: 0 would be the best.
    """
    cases, width = index.shape
    present = index >= 0
    scored = present if metric.higher_is_better else torch.ones_like(present)
    pairs = nonzero(scored[:, :, None] & present[:, None, :])
    case, place = pairs // (width * width), pairs % (width * width)
    candidate, reference = index[case, place // width].clamp(min=0), index[case, place % width]
    out = torch.zeros(cases * width * width, dtype=torch.float64, device=index.device)
    for start in range(0, len(pairs), PAIRS):
        part = slice(start, start + PAIRS)
        out[pairs[part]] = metric(batch[candidate[part]], [batch[reference[part]]])
    out = out.view(cases, width, width)
    if metric.higher_is_better:
        return out
    return (-out).masked_fill(~present[:, None, :], -float(out.max()))
