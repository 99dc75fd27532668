"""Tie calibration: pairwise accuracy in which metric scores that differ by at most ε are tied.

Human scores have many ties, while metric scores have almost none. acc_eq (Deutsch, Foster & Freitag
2023) therefore counts pairs within ε as ties of the metric, with the single ε for all groups that
maximizes accuracy:

    accuracy(ε) = mean over groups and pairs of [|m| ≤ ε and h = 0] + [|m| > ε and hm > 0]

where h and m are the differences of a pair in human and metric scores. If all pairs are sorted by
|m|, the accuracy at every possible ε is a cumulative sum.
"""

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.metaeval.checks import TABLE, broadcast_scores, check_arguments, common_shape
from tensormt.metaeval.correlation import unit_scale

# Maximum number of pairs that are sorted: each takes about 80 bytes.
MAX_PAIRS = 1 << 25


@check_arguments
def calibrated_accuracy(
    human: Tensor,
    metric: Tensor,
    mask: Tensor | None = None,
    times: Tensor | None = None,
    pooled: bool = False,
) -> tuple[Tensor, Tensor]:
    """Compute the pairwise accuracy at the threshold of ties that maximizes it.

    Args:
        human: Human scores [..., G, N] of G groups of N items.
        metric: Metric scores [..., G, N].
        mask: bool [..., G, N] (which items are present) or int64 (how often each item counts).
        times: int64 [..., G], how often each group counts; None: once.
        pooled: Whether all pairs have the same weight, instead of all groups. Groups without a
            pair are left out of the mean over groups.

    Returns:
        Accuracy and the smallest threshold ε that reaches it, both float64 [...]; NaN where no
        group has a pair.

    Raises:
        TensorMTError: If the shapes do not match, or the groups have too many pairs.

    >>> human = torch.tensor([[1.0, 1.0, 2.0, 3.0]])
    >>> accuracy, epsilon = calibrated_accuracy(human, torch.tensor([[0.1, 0.2, 0.5, 0.9]]))
    >>> round(float(accuracy), 4), round(float(epsilon), 4)
    (1.0, 0.1)
    """
    TABLE(human, "human")
    human, metric, weights = broadcast_scores(human, metric, mask)
    weights = weights.to(torch.int64)
    items = human.shape[-1]
    if items < 2:
        shape = common_shape(human.shape[:-2], () if times is None else times.shape[:-1])
        none = human.new_full(shape, torch.nan, dtype=torch.float64)
        return none, none.clone()
    if human.shape[-2] * items * (items - 1) // 2 > MAX_PAIRS:
        raise TensorMTError(
            f"{human.shape[-2]} groups of {items} items have too many pairs for tie calibration:"
            " group by segment or by system"
        )
    i, j = torch.triu_indices(items, items, offset=1, device=human.device)
    used = (weights[..., i] * weights[..., j]).to(torch.float64)
    human_sign = (human[..., i] - human[..., j]).sign()
    gap = _pair_differences(metric, i, j)
    share = used if pooled else used / used.sum(dim=-1, keepdim=True).clamp(min=1)
    if times is not None:
        if times.shape[-1:] != human.shape[-2:-1]:
            raise TensorMTError(
                f"times of shape {list(times.shape)}: expected how often each of "
                f"{human.shape[-2]} groups counts"
            )
        share = share * times[..., None]
    tied = (share * (human_sign == 0)).flatten(-2)
    agreed = (share * ((human_sign == gap.sign()) & (human_sign != 0))).flatten(-2)
    size = gap.abs().masked_fill(used == 0, torch.inf).flatten(-2)
    size, order = size.sort(dim=-1)
    gain = torch.cumsum((tied - agreed).gather(-1, order.expand(tied.shape)), dim=-1)
    right = agreed.sum(dim=-1, keepdim=True) + gain
    # Among equal differences only the last is a valid ε: all of them become ties together.
    last = torch.ones_like(size, dtype=torch.bool)
    last[..., :-1] = size[..., 1:] != size[..., :-1]
    right = right.masked_fill(~last | size.isinf(), -torch.inf)
    right = torch.cat([agreed.sum(dim=-1, keepdim=True), right], dim=-1)
    size = torch.cat([torch.zeros_like(size[..., :1]), size], dim=-1)
    # Pairs with equal metric scores are ties at any ε, so ε = 0 already includes them.
    zero_run = (size[..., 1:] == 0).any(dim=-1)
    right[..., 0] = right[..., 0].masked_fill(zero_run, -torch.inf)
    best = right.amax(dim=-1)
    # Sums in a different order differ in the last digits, so equality is tested with a tolerance.
    total = share.sum(dim=(-2, -1))
    size = torch.where(right < (best - 1e-12 * total)[..., None], torch.inf, size)
    epsilon = size.amin(dim=-1).masked_fill(total == 0, torch.nan)
    # Rounding errors of the sums must not lead above 1.
    return (best / total).clamp(max=1.0), epsilon


def pair_outcomes(human: Tensor, metric: Tensor, epsilon: Tensor | float = 0.0) -> Tensor:
    """Return whether the metric orders each pair correctly at a threshold ε.

    Args:
        human: Human scores [..., N].
        metric: Metric scores [..., N].
        epsilon: Metric scores that differ by at most this are tied.

    Returns:
        bool [..., N(N-1)/2].

    >>> pair_outcomes(torch.tensor([[1.0, 2.0, 2.0]]), torch.tensor([[1.0, 3.0, 2.5]]), 0.5)
    tensor([[True, True, True]])
    """
    i, j = torch.triu_indices(human.shape[-1], human.shape[-1], offset=1, device=human.device)
    gap = _pair_differences(metric, i, j)
    metric_sign = torch.where(gap.abs() <= epsilon, torch.zeros_like(gap), gap).sign()
    return metric_sign == (human[..., i] - human[..., j]).sign()


def _pair_differences(metric: Tensor, i: Tensor, j: Tensor) -> Tensor:
    """Compute differences of pairs, rounded to 32 bits of the largest score of a table [G,N].

    Differences that are mathematically equal (0.3 - 0.1 and 0.2 - 0) are then equal.
    """
    scaled, exponent = unit_scale(metric.to(torch.float64), -2, -1)
    gap = ((scaled[..., i] - scaled[..., j]) * 2.0**32).round() / 2.0**32
    return torch.ldexp(gap, exponent)
