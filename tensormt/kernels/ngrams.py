"""Counts and ranks of the n-grams of a hypothesis in its references, by direct comparison.

With tokens along the first axis and segments along the last,

    E₁[j,i] = (ref[j] = hyp[i])        Eₙ[j,i] = Eₙ₋₁[j,i] ∧ Eₙ₋₁[j+1,i+1]

are byte operations over contiguous segments, without sorting, hashing, data-dependent sizes or host
synchronisation. The column sums of Eₙ count the n-gram that starts at i in the reference; the same
for the hypothesis against itself, restricted to j < i, gives its rank among equal n-grams. An
n-gram is a clipped match if its rank is below its largest count in any one reference.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from tensormt.kernels.backend import bytes_equal

# the longest segment whose n-gram counts fit into one byte
LONGEST = 255


class Order(NamedTuple):
    """The n-grams of one order, indexed by their first token.

    rank [T-n+1,b]: number of equal n-grams before it in the hypothesis; counts [R,T-n+1,b]: its
    count in each reference. Both are uint8, int32 or int64.
    """

    rank: Tensor
    counts: Tensor

    @property
    def matched(self) -> Tensor:
        """Which n-grams are clipped matches, bool [T-n+1,b]."""
        return self.rank < self.counts.amax(0)

    @property
    def held(self) -> Tensor:
        """Which n-grams occur in at least one reference, bool [T-n+1,b]."""
        return self.counts.amax(0).to(torch.bool)

    @property
    def holders(self) -> Tensor:
        """Number of references in which each n-gram occurs, uint8 or int64 [T-n+1,b]."""
        dtype = torch.uint8 if self.counts.shape[0] < 256 else torch.int64
        return self.counts.clamp_max(1).sum(0, dtype=dtype)

    @property
    def total(self) -> Tensor:
        """Number of occurrences of each n-gram in all references together, int64 [T-n+1,b]."""
        return self.counts.sum(0, dtype=torch.int64)


def compare(hyp: Tensor, refs: Tensor, max_order: int) -> list[Order]:
    """Compare tokens hyp [T,b] with refs [R,T',b] of the same integer dtype.

    Padding is the smallest integer of the dtype in the hypothesis and the next one in references.
    Returns one `Order` for each n from 1 to N.
    """
    size, segments = hyp.shape
    dtype = _counter(max(size, refs.shape[1] - 1))
    # at [d,i] the view holds the token T-d places before i, or padding
    earlier = torch.cat([torch.full_like(hyp, torch.iinfo(hyp.dtype).min + 1), hyp])
    shifted = earlier.as_strided((size, size, segments), (segments, segments, 1))
    rank = bytes_equal(shifted, hyp)
    same = bytes_equal(refs[:, :, None], hyp)
    orders = []
    for order in range(max_order):
        if order:
            # the distance d is constant along an n-gram; in references j and i both advance
            rank = rank[:, :-1] & rank[:, 1:]
            same = same[:, :-1, :-1] & same[:, 1:, 1:]
        orders.append(Order(rank.sum(0, dtype=dtype), same.sum(1, dtype=dtype)))
    return orders


def _counter(length: int) -> torch.dtype:
    """The dtype of n-gram counts in a text of this length."""
    return torch.uint8 if length <= LONGEST else torch.int32


def different(refs: Tensor, lengths: Tensor, max_order: int) -> Tensor:
    """Count the different n-grams of all references of a segment, int64 [b,N].

    refs [R,T+1,b] are padded as for `compare`, lengths int64 [R,b]. The different n-grams are all
    n-grams except those that occurred before, in the same or in an earlier reference.
    """
    number, width, segments = refs.shape
    size, low = width - 1, torch.iinfo(refs.dtype).min
    dtype = _counter(size)
    none = refs.new_full((max(size - 1, 0), segments), low + 1)
    text = torch.cat([none, refs.reshape(number * width, segments)])
    repeated = torch.zeros(max_order, segments, dtype=torch.int64, device=refs.device)
    for r, own in enumerate(refs[:, :-1]):
        reach = r * width + size - 1
        if reach <= 0:
            continue
        # at [d,i] the view holds the token reach - d places before i, in this reference or before
        earlier = text.as_strided((reach, size, segments), (segments, segments, 1))
        # padding as in a hypothesis: it equals nothing
        same = bytes_equal(earlier, torch.where(own == low + 1, low, own))
        for order in range(max_order):
            if order:
                same = same[:, :-1] & same[:, 1:]
            repeated[order] += same.amax(0).sum(0, dtype=dtype)
    orders = torch.arange(max_order, device=refs.device)[:, None, None]
    return ((lengths - orders).clamp_min(0).sum(1) - repeated).t()


def share(part: Tensor, whole: Tensor) -> Tensor:
    """Return part / whole of counts (broadcast), float64; 1 where the whole is 0."""
    return torch.where(whole > 0, part.double() / whole.clamp_min(1), 1.0)


def clipped_matches(
    hyp: Tensor, hyp_lengths: Tensor, refs: Tensor, ref_lengths: Tensor, max_order: int
) -> Tensor:
    """Count clipped n-gram matches, int64 [B,N], without host synchronisation.

    Token ids hyp [B,T] and refs [B,R,T'], with lengths [B] and [B,R]; ids beyond the lengths are
    ignored.
    """
    low = torch.iinfo(hyp.dtype).min
    # an additional row of padding separates each reference from the next
    others = torch.nn.functional.pad(refs, (0, 1))
    hyp_mask = torch.arange(hyp.shape[1], device=hyp.device) < hyp_lengths[:, None]
    ref_mask = torch.arange(others.shape[2], device=refs.device) < ref_lengths[:, :, None]
    columns = hyp.masked_fill(~hyp_mask, low).t().contiguous()
    others = others.masked_fill(~ref_mask, low + 1).permute(1, 2, 0).contiguous()
    found = compare(columns, others, max_order)
    return torch.stack([order.matched.sum(0) for order in found], 1)
