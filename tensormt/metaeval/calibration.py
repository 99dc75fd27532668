"""Tie calibration: accuracy where metric scores that differ by at most ε are ties.

Metrics hardly ever tie while people often do, so acc_eq (Deutsch, Foster & Freitag 2023) counts
pairs within ε as ties of the metric, with the one ε for all groups that makes accuracy largest.

    accuracy(ε) = mean over groups and pairs of [|m| ≤ ε and h = 0] + [|m| > ε and hm > 0]

where h and m are the differences of a pair in human and metric scores. Sorting all pairs by |m|
makes accuracy at every possible ε a cumulative sum.
"""

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.metaeval.checks import CHECKED, TABLE, paired

# Pairs that tie calibration sorts at most: some 80 bytes each.
MOST = 1 << 25


@CHECKED
def calibrated_accuracy(
    human: Tensor,
    metric: Tensor,
    mask: Tensor | None = None,
    times: Tensor | None = None,
    pooled: bool = False,
) -> tuple[Tensor, Tensor]:
    """Return the largest mean accuracy over groups that one ε reaches, and the smallest such ε.

    human, metric [..., G, N], mask bool or int64 [..., G, N] -> float64 [...] both. Groups without
    a pair are left out of the mean; times int64 [..., G] is how often each group counts. Pooled,
    all pairs weigh the same, whatever group they are of.
    """
    TABLE(human, "human")
    human, metric, real = paired(human, metric, mask)
    real = real.to(torch.int64)
    items = human.shape[-1]
    if human.shape[-2] * items * (items - 1) // 2 > MOST:
        raise TensorMTError(
            f"{human.shape[-2]} groups of {items} items have too many pairs for tie calibration:"
            " group by segment or by system"
        )
    i, j = torch.triu_indices(items, items, offset=1, device=human.device)
    used = (real[..., i] * real[..., j]).to(torch.float64)
    by_human = (human[..., i] - human[..., j]).sign()
    gap = _gaps(metric, i, j)
    share = used if pooled else used / used.sum(dim=-1, keepdim=True).clamp(min=1)
    if times is not None:
        if times.shape[-1:] != human.shape[-2:-1]:
            raise TensorMTError(
                f"times of shape {list(times.shape)}: expected how often each of "
                f"{human.shape[-2]} groups counts"
            )
        share = share * times[..., None]
    tied = (share * (by_human == 0)).flatten(-2)
    agreed = (share * ((by_human == gap.sign()) & (by_human != 0))).flatten(-2)
    size = gap.abs().masked_fill(used == 0, torch.inf).flatten(-2)
    size, order = size.sort(dim=-1)
    gain = torch.cumsum((tied - agreed).gather(-1, order.expand(tied.shape)), dim=-1)
    right = agreed.sum(dim=-1, keepdim=True) + gain
    # ε may only stand at the last of equal gaps; below the first gap it changes nothing.
    last = torch.ones_like(size, dtype=torch.bool)
    last[..., :-1] = size[..., 1:] != size[..., :-1]
    right = right.masked_fill(~last | size.isinf(), -torch.inf)
    right = torch.cat([agreed.sum(dim=-1, keepdim=True), right], dim=-1)
    size = torch.cat([torch.zeros_like(size[..., :1]), size], dim=-1)
    # Pairs the metric itself ties are ties at any ε, so 0 is the smallest threshold to consider.
    zero_run = (size[..., 1:] == 0).any(dim=-1)
    right[..., 0] = right[..., 0].masked_fill(zero_run, -torch.inf)
    best = right.amax(dim=-1)
    # Sums in another order differ in the last digits: equal accuracies are told by a small margin.
    margin = 1e-12 * share.sum(dim=(-2, -1))
    size = torch.where(right < (best - margin)[..., None], torch.inf, size)
    return best / share.sum(dim=(-2, -1)), size.amin(dim=-1)


def outcomes(human: Tensor, metric: Tensor, epsilon: Tensor | float = 0.0) -> Tensor:
    """Return whether each pair is right at that ε, bool [..., N(N-1)/2]; human, metric [..., N]."""
    i, j = torch.triu_indices(human.shape[-1], human.shape[-1], offset=1, device=human.device)
    gap = _gaps(metric, i, j)
    by_metric = torch.where(gap.abs() <= epsilon, torch.zeros_like(gap), gap).sign()
    return by_metric == (human[..., i] - human[..., j]).sign()


def _gaps(metric: Tensor, i: Tensor, j: Tensor) -> Tensor:
    """Differences of pairs; those that are equal on paper (0.3 - 0.1, 0.2 - 0) are equal.

    They are rounded to 32 bits of the largest score of a table [G,N].
    """
    metric = metric.to(torch.float64)
    largest = metric.nan_to_num(posinf=0.0, neginf=0.0).abs().amax(dim=(-2, -1), keepdim=True)
    unit = torch.ldexp(torch.ones_like(largest), torch.frexp(largest).exponent - 32)
    return ((metric[..., i] - metric[..., j]) / unit).round() * unit
