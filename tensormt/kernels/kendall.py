"""Ties and inversions of two orders without looking at all pairs: N log² N in place of N².

Sorted by people's scores, ties by the metric's, a pair is discordant exactly where the metric's
ranks fall. Falls are counted bit by bit, from the highest bit of the ranks: among items whose
higher bits agree, each 0 adds the 1s that stand before it; a stable sort by the bits seen so far
keeps such items together. Every step works on all rows of a batch at once.

Items have whole weights: a pair counts as often as the product of both, an item of weight 0 not at
all. So a resample is a row of weights, and no item is ever paired with a copy of itself. On the
processor, long rows without weights go to scipy, which is faster there.
"""

import torch
from torch import Tensor

# Items in a row from which scipy is faster than the batch.
LONG = 1000


def round_for_ties(values: Tensor) -> Tensor:
    """Round to 40 bits, about twelve digits, whatever the scale.

    Scores that are equal on paper may differ in the last bits with the order of a sum; where an
    order or a tie is asked for, that must not decide.
    """
    mantissa, exponent = torch.frexp(values)
    return torch.ldexp(torch.round(mantissa * 2.0**40) / 2.0**40, exponent)


def dense(values: Tensor, real: Tensor) -> Tensor:
    """Number the values of each row in rising order, ties alike, masked ones last; int64 [R,N]."""
    values = values.to(torch.float64).masked_fill(~real, torch.inf).contiguous()
    places = torch.searchsorted(values.sort(dim=-1).values, values)
    return places.masked_fill(~real, values.shape[-1] - 1)


def inversions(ranks: Tensor, weight: Tensor) -> Tensor:
    """Count the pairs i < j with ranks[i] > ranks[j] in every row, int64 [R].

    ranks [R,N] < N, weight int64 [R,N].
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
    first: Tensor, second: Tensor, weight: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the discordant pairs and those tied in the first, the second and both, int64 [R].

    first, second [R,N]; weight [R,N] bool (which items are real) or int64 (how often each counts).
    """
    items = first.shape[-1]
    if items >= LONG and weight.dtype == torch.bool and first.device.type == "cpu":
        rows = [_compare_long(*row) for row in zip(first, second, weight, strict=True)]
        discordant, by_first, by_second, both = torch.tensor(rows, dtype=torch.int64).unbind(-1)
        return discordant, by_first, by_second, both
    real, weight = weight > 0, weight.to(torch.int64)
    left, right = dense(first, real), dense(second, real)
    # Masked items hold the last rank on both sides: behind every real one, they invert nothing.
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
    """The same of one row: scipy's tau-b times its denominator is concordant minus discordant."""
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
    times = torch.unique(values, return_counts=True)[1]
    return int((times * (times - 1) // 2).sum())
