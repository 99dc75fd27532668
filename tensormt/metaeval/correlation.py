"""Pearson and Spearman correlation over the last axis, batched and masked.

    r = Σ (x - x̄)(y - ȳ) / √(Σ (x - x̄)² Σ (y - ȳ)²)        ρ = r of the mean ranks

A mask is bool (which items are present) or int64 (how often each item counts: 2 has the effect of a
copy, 0 that of an absent item). The correlation is NaN if fewer than two items are present or one
side is constant. Scores may have any scale: they are brought to the order of 1 before they are
squared.
"""

import torch
from torch import Tensor

from tensormt.metaeval.checks import broadcast_scores, check_arguments, full_mask


def unit_scale(values: Tensor, *dims: int) -> tuple[Tensor, Tensor]:
    """Divide values by a power of two, so that the largest absolute value along dims is about 1.

    Squares and sums then neither overflow nor underflow. The division is exact, so that results are
    the same to the last bit where neither would have happened.

    Args:
        values: Floating-point values [...]; NaN and infinite ones do not count as the largest.
        dims: Axes over which values have one scale.

    Returns:
        The scaled values, and the exponents of the powers, int32 with dims of size 1.

    >>> scaled, exponent = unit_scale(torch.tensor([3e200, -1e200], dtype=torch.float64), -1)
    >>> round(float(scaled[0]), 4), int(exponent)
    (0.9798, 666)
    """
    finite = values.to(torch.float64).nan_to_num(nan=0.0, posinf=0.0, neginf=0.0)
    exponent = torch.frexp(finite.abs().amax(dim=dims, keepdim=True)).exponent
    # 2 ** 1022 is the largest power that is used: it brings the smallest numbers far enough.
    exponent = exponent.clamp(min=-1022)
    power = torch.pow(2.0, -exponent.to(torch.float64))
    return (values.to(torch.float64) * power).to(values.dtype), exponent


@check_arguments
def pearson(x: Tensor, y: Tensor, mask: Tensor | None = None) -> Tensor:
    """Compute Pearson's r.

    Args:
        x: Scores [..., N].
        y: Scores [..., N] of the same items.
        mask: bool or int64 [..., N]; see the module.

    Returns:
        float64 [...]; NaN where the correlation does not exist.

    Raises:
        TensorMTError: If the shapes do not broadcast to the same items.

    >>> x = torch.tensor([1.0, 2.0, 3.0, 9.0])
    >>> y = torch.tensor([2.0, 4.0, 6.0, 0.0])
    >>> round(float(pearson(x, y, torch.tensor([True, True, True, False]))), 6)
    1.0
    """
    x, y, weights = broadcast_scores(x, y, mask)
    x, y = (_centred(side.to(torch.float64), weights) for side in (x, y))
    if weights.dtype != torch.bool:
        x, y = (side * weights.to(torch.float64).sqrt() for side in (x, y))
    x, y = (side / torch.linalg.vector_norm(side, dim=-1, keepdim=True) for side in (x, y))
    return (x * y).sum(dim=-1).clamp(-1.0, 1.0)


def _centred(side: Tensor, weights: Tensor) -> Tensor:
    """Subtract the mean of the present items, and scale; a constant side becomes 0, and r NaN."""
    present = weights > 0
    side = unit_scale(side.masked_fill(~present, 0.0), -1)[0]
    mean = (side * weights).sum(dim=-1, keepdim=True) / weights.sum(dim=-1, keepdim=True)
    low = side.masked_fill(~present, torch.inf).amin(dim=-1, keepdim=True)
    high = side.masked_fill(~present, -torch.inf).amax(dim=-1, keepdim=True)
    return unit_scale((side - mean).masked_fill(~present | (low >= high), 0.0), -1)[0]


@check_arguments
def ranks(x: Tensor, mask: Tensor | None = None) -> Tensor:
    """Rank scores in ascending order from 1; ties have their mean rank.

    Args:
        x: Scores [..., N].
        mask: bool or int64 [..., N]; see the module. Masked items rank after all others and do not
            affect their ranks.

    Returns:
        float64 [..., N].

    Raises:
        TensorMTError: If the mask does not broadcast with the scores.

    >>> ranks(torch.tensor([0.5, 0.1, 0.5])).tolist()
    [2.5, 1.0, 2.5]
    """
    weights = full_mask(x, mask)
    values = x.to(torch.float64).masked_fill(weights <= 0, torch.inf).contiguous()
    ordered, order = values.sort(dim=-1)
    up_to = weights.to(torch.int64).gather(-1, order).cumsum(dim=-1)
    up_to = torch.cat([torch.zeros_like(up_to[..., :1]), up_to], dim=-1)
    below = up_to.gather(-1, torch.searchsorted(ordered, values))
    above = up_to.gather(-1, torch.searchsorted(ordered, values, right=True))
    return (below + above + 1).to(torch.float64) / 2


@check_arguments
def spearman(x: Tensor, y: Tensor, mask: Tensor | None = None) -> Tensor:
    """Compute Spearman's ρ, the Pearson correlation of mean ranks.

    Args:
        x: Scores [..., N].
        y: Scores [..., N] of the same items.
        mask: bool or int64 [..., N]; see the module.

    Returns:
        float64 [...]; NaN where the correlation does not exist.

    Raises:
        TensorMTError: If the shapes do not broadcast to the same items.

    >>> x = torch.tensor([1.0, 2.0, 3.0, 4.0])
    >>> round(float(spearman(x, x**3)), 6)
    1.0
    """
    x, y, weights = broadcast_scores(x, y, mask)
    return pearson(ranks(x, weights), ranks(y, weights), weights)
