"""Pearson and Spearman correlation over the last axis, batched and masked.

    r = Σ (x - x̄)(y - ȳ) / √(Σ (x - x̄)² Σ (y - ȳ)²)        ρ = r of the mean ranks

Where fewer than two items are real or one side is constant the correlation does not exist: NaN.
"""

import torch
from torch import Tensor


def full_mask(x: Tensor, mask: Tensor | None) -> Tensor:
    """Return the mask itself, or one that is True everywhere, bool of the shape of x."""
    if mask is None:
        return torch.ones(x.shape, dtype=torch.bool, device=x.device)
    return mask.expand(x.shape)


def pearson(x: Tensor, y: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return Pearson's r of x and y, float64 [...]; x, y [..., N], mask bool [..., N]."""
    real = full_mask(x, mask)
    count = real.sum(dim=-1, keepdim=True)
    x, y = (_centred(side.to(torch.float64), real, count) for side in (x, y))
    # Each side is scaled before the product: tiny or huge values neither vanish nor overflow.
    x, y = (side / torch.linalg.vector_norm(side, dim=-1, keepdim=True) for side in (x, y))
    return (x * y).sum(dim=-1).clamp(-1.0, 1.0)


def _centred(side: Tensor, real: Tensor, count: Tensor) -> Tensor:
    """Take off the mean of the real items; a constant side becomes exactly 0, so its r is NaN."""
    side = side.masked_fill(~real, 0.0)
    centred = (side - side.sum(dim=-1, keepdim=True) / count).masked_fill(~real, 0.0)
    low = side.masked_fill(~real, torch.inf).amin(dim=-1, keepdim=True)
    high = side.masked_fill(~real, -torch.inf).amax(dim=-1, keepdim=True)
    return centred.masked_fill(low >= high, 0.0)


def ranks(x: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return ranks from 1 in rising order, ties sharing their mean, float64 [..., N].

    Masked items rank after all real ones and count for none of them.
    """
    real = full_mask(x, mask)
    values = x.to(torch.float64).masked_fill(~real, torch.inf).contiguous()
    ordered = values.sort(dim=-1).values
    below = torch.searchsorted(ordered, values)
    up_to = torch.searchsorted(ordered, values, right=True)
    up_to = torch.minimum(up_to, real.sum(dim=-1, keepdim=True))
    return (below + up_to + 1) / 2.0


def spearman(x: Tensor, y: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return Spearman's ρ of x and y, float64 [...]; shapes as `pearson`."""
    return pearson(ranks(x, mask), ranks(y, mask), mask)
