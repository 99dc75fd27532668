"""Ties and inversions of two orders without looking at all pairs: N log² N in place of N².

Sorted by people's scores, ties by the metric's, a pair is discordant exactly where the metric's
ranks fall. Falls are counted bit by bit, from the highest bit of the ranks: among items whose
higher bits agree, each 0 adds the 1s that stand before it; a stable sort by the bits seen so far
keeps such items together. Every step works on all rows of a batch at once.
"""

import torch
from torch import Tensor


def dense(values: Tensor, real: Tensor) -> Tensor:
    """Number the values of each row in rising order, ties alike, masked ones last; int64 [R,N]."""
    values = values.to(torch.float64).masked_fill(~real, torch.inf).contiguous()
    places = torch.searchsorted(values.sort(dim=-1).values, values)
    return places.masked_fill(~real, values.shape[-1] - 1)


def inversions(ranks: Tensor) -> Tensor:
    """Count the pairs i < j with ranks[i] > ranks[j] in every row, int64 [R]; ranks [R,N] < N."""
    total = torch.zeros(len(ranks), dtype=torch.int64, device=ranks.device)
    for bit in reversed(range((ranks.shape[-1] - 1).bit_length())):
        above = ranks >> (bit + 1)
        ones = (ranks >> bit) & 1
        before = ones.cumsum(dim=-1) - ones
        start = torch.searchsorted(above, above)
        total += ((before - before.gather(-1, start)) * (1 - ones)).sum(dim=-1)
        order = (ranks >> bit).sort(dim=-1, stable=True).indices
        ranks = ranks.gather(-1, order)
    return total


def tied_pairs(ordered: Tensor, real: Tensor) -> Tensor:
    """Count the pairs of equal values in sorted rows [R,N], int64 [R].

    real bool [R,N] marks the places, all in front, that hold real items.
    """
    place = torch.arange(ordered.shape[-1], device=ordered.device)
    since = place - torch.searchsorted(ordered, ordered)
    return (since * real).sum(dim=-1)


def compare_orders(
    first: Tensor, second: Tensor, real: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the discordant pairs and those tied in the first, the second and both, int64 [R].

    first, second [R,N], real bool [R,N].
    """
    items = first.shape[-1]
    left, right = dense(first, real), dense(second, real)
    # Masked items hold the last rank on both sides: behind every real one, they invert nothing.
    both = (left * items + right).sort(dim=-1).values
    front = torch.arange(items, device=first.device) < real.sum(dim=-1, keepdim=True)
    return (
        inversions((both % items).contiguous()),
        tied_pairs((both // items).contiguous(), front),
        tied_pairs(right.sort(dim=-1).values, front),
        tied_pairs(both, front),
    )
