"""Discordant and tied pairs of two rankings in O(N log² N), without enumerating all pairs.

With items sorted by human score, ties by metric score, a pair is discordant exactly if it is an
inversion of the metric's ranks. Inversions are counted bit by bit, from the highest bit of the
ranks: among items whose higher bits are equal, each 0 adds the number of 1s before it; a stable
sort by the bits processed so far keeps such items together. Every step processes all rows of a
batch at once.

Items have integer weights: a pair counts as often as the product of both weights, so an item of
weight 0 is ignored. A bootstrap resample is a row of weights, and no item is paired with a copy of
itself. On a CPU, many items in long rows without weights are passed to scipy, which is faster for
them.
"""

import torch
from torch import Tensor

from tensormt.kernels.backend import on_cpu

# Number of items per row from which scipy is faster, and of all rows from which that outweighs the
# second that importing scipy.stats takes.
LONG, MANY = 1000, 1 << 19


def dense(values: Tensor, real: Tensor) -> Tensor:
    """Return the rank of values [R,N] in each row, equal for ties, the last if masked; int64."""
    values = values.to(torch.float64).masked_fill(~real, torch.inf).contiguous()
    places = torch.searchsorted(values.sort(dim=-1).values, values)
    return places.masked_fill(~real, values.shape[-1] - 1)


def inversions(ranks: Tensor, weight: Tensor) -> Tensor:
    """Count the pairs i < j with ranks[i] > ranks[j] in every row, int64 [R].

    ranks int64 [R,N], below N; weight int64 [R,N].
    """
    total = torch.zeros(len(ranks), dtype=torch.int64, device=ranks.device)
    for bit in reversed(range((ranks.shape[-1] - 1).bit_length())):
        above = ranks >> (bit + 1)
        ones = ((ranks >> bit) & 1) * weight
        before = ones.cumsum(dim=-1) - ones
        start = torch.searchsorted(above, above)
        total += ((before - before.gather(-1, start)) * (weight - ones)).sum(dim=-1)
        order = (ranks >> bit).sort(dim=-1, stable=True).indices
        ranks, weight = ranks.gather(-1, order), weight.gather(-1, order)
    return total


def tied_pairs(ordered: Tensor, weight: Tensor) -> Tensor:
    """Count the pairs of equal values in sorted rows [R,N], int64 [R]; weight int64 [R,N]."""
    before = weight.cumsum(dim=-1) - weight
    since = before - before.gather(-1, torch.searchsorted(ordered, ordered))
    return (since * weight).sum(dim=-1)


def compare_orders(
    first: Tensor, second: Tensor, weight: Tensor, many: int = MANY
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Count the discordant pairs and those tied in the first, the second and both, int64 [R] each.

    first, second: scores [R,N]; weight [R,N]: bool (a mask) or int64 (how often each item counts);
    many: number of scores from which long rows are passed to scipy.
    """
    items = first.shape[-1]
    long = items >= LONG and first.numel() >= many
    if long and weight.dtype == torch.bool and on_cpu(first):
        rows = [_compare_long(*row) for row in zip(first, second, weight, strict=True)]
        discordant, by_first, by_second, both = torch.tensor(rows, dtype=torch.int64).unbind(-1)
        return discordant, by_first, by_second, both
    real, weight = weight > 0, weight.to(torch.int64)
    left, right = dense(first, real), dense(second, real)
    # Masked items have the last rank on both sides: after all others, they invert nothing.
    joined, order = (left * items + right).sort(dim=-1)
    along = weight.gather(-1, order)
    right, order = right.sort(dim=-1)
    return (
        inversions((joined % items).contiguous(), along),
        tied_pairs((joined // items).contiguous(), along),
        tied_pairs(right, weight.gather(-1, order)),
        tied_pairs(joined, along),
    )


def _compare_long(first: Tensor, second: Tensor, real: Tensor) -> tuple[int, int, int, int]:
    """`compare_orders` of one row: scipy's tau-b times its denominator is C - D."""
    from scipy.stats import kendalltau

    kept = real[real][None]
    left, right = (dense(side[real][None], kept) for side in (first, second))
    count = left.shape[-1]
    joined = left * count + right
    by_first, by_second, both = _tied(left), _tied(right), _tied(joined)
    pairs = count * (count - 1) // 2
    ordered = pairs - by_first - by_second + both
    if not ordered:
        return 0, by_first, by_second, both
    tau = kendalltau(left[0].numpy(), right[0].numpy(), method="asymptotic").statistic
    balance = round(tau * (pairs - by_first) ** 0.5 * (pairs - by_second) ** 0.5)
    return (ordered - balance) // 2, by_first, by_second, both


def _tied(values: Tensor) -> int:
    """Count the pairs of equal values [1,N]."""
    times = torch.unique(values, return_counts=True)[1]
    return int((times * (times - 1) // 2).sum())
