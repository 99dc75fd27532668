"""Pearson and Spearman correlation over the last axis, batched and masked.

    r = Σ (x - x̄)(y - ȳ) / √(Σ (x - x̄)² Σ (y - ȳ)²)        ρ = r of the mean ranks

A mask is bool (which items are real) or int64 (how often each counts: 2 is as good as a copy, 0 as
good as absent). Where fewer than two items are real or one side is constant the correlation does
not exist: NaN.
"""

import torch
from torch import Tensor

from tensormt.metaeval.checks import CHECKED, full_mask, paired


@CHECKED
def pearson(x: Tensor, y: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return Pearson's r of x and y, float64 [...]; x, y [..., N], mask bool or int64 [..., N]."""
    x, y, times = paired(x, y, mask)
    x, y = (_centred(side.to(torch.float64), times) for side in (x, y))
    if times.dtype != torch.bool:
        x, y = (side * times.to(torch.float64).sqrt() for side in (x, y))
    # Each side is scaled before the product: tiny or huge values neither vanish nor overflow.
    x, y = (side / torch.linalg.vector_norm(side, dim=-1, keepdim=True) for side in (x, y))
    return (x * y).sum(dim=-1).clamp(-1.0, 1.0)


def _centred(side: Tensor, times: Tensor) -> Tensor:
    """Take off the mean of the real items; a constant side becomes exactly 0, so its r is NaN."""
    real = times > 0
    side = side.masked_fill(~real, 0.0)
    mean = (side * times).sum(dim=-1, keepdim=True) / times.sum(dim=-1, keepdim=True)
    low = side.masked_fill(~real, torch.inf).amin(dim=-1, keepdim=True)
    high = side.masked_fill(~real, -torch.inf).amax(dim=-1, keepdim=True)
    return (side - mean).masked_fill(~real | (low >= high), 0.0)


@CHECKED
def ranks(x: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return ranks from 1 in rising order, ties sharing their mean, float64 [..., N].

    Masked items rank after all real ones and count for none of them.
    """
    times = full_mask(x, mask)
    values = x.to(torch.float64).masked_fill(times <= 0, torch.inf).contiguous()
    ordered, order = values.sort(dim=-1)
    up_to = times.to(torch.int64).gather(-1, order).cumsum(dim=-1)
    up_to = torch.cat([torch.zeros_like(up_to[..., :1]), up_to], dim=-1)
    below = up_to.gather(-1, torch.searchsorted(ordered, values))
    above = up_to.gather(-1, torch.searchsorted(ordered, values, right=True))
    return (below + above + 1) / 2.0


@CHECKED
def spearman(x: Tensor, y: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return Spearman's ρ of x and y, float64 [...]; shapes as `pearson`."""
    x, y, times = paired(x, y, mask)
    return pearson(ranks(x, times), ranks(y, times), times)
