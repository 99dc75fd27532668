"""Which n-grams of a hypothesis stand in its references, and how often: by comparison.

With tokens along the first axis and segments along the last,

    E₁[j,i] = (ref[j] = hyp[i])        Eₙ[j,i] = Eₙ₋₁[j,i] ∧ Eₙ₋₁[j+1,i+1]

are plain byte operations over contiguous segments, without sorting, hashing, sizes that depend on
the data, or a host sync. The column sums of Eₙ count the n-gram that starts at i in the reference;
the same with the hypothesis itself, for j < i only, gives its rank among equal ones. It is a
clipped match when its rank is below its largest count in one reference.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from tensormt.kernels.backend import bytes_equal, rows_added, rows_any

__all__ = ["LONGEST", "Order", "clipped_matches", "compare", "different", "share"]

# longest segment whose counts fit one byte
LONGEST = 255


class Order(NamedTuple):
    """The n-grams of one order by their first token i: rank [T-n+1,b] and counts [R,T-n+1,b]."""

    rank: Tensor
    counts: Tensor

    @property
    def matched(self) -> Tensor:
        """Which of them are clipped matches, bool [T-n+1,b]."""
        return self.rank < self.counts.amax(0)

    @property
    def held(self) -> Tensor:
        """Which of them stand in a reference, bool [T-n+1,b]."""
        return self.counts.amax(0).clamp_max(1).to(torch.uint8).view(torch.bool)

    @property
    def holders(self) -> Tensor:
        """In how many references each stands, [T-n+1,b]; bytes where they are few."""
        few = self.counts.shape[0] < 256
        return self.counts.clamp_max(1).sum(0, dtype=torch.uint8 if few else torch.int64)

    @property
    def total(self) -> Tensor:
        """How often each stands in all references together, int64 [T-n+1,b]."""
        return self.counts.sum(0, dtype=torch.int64)


def compare(hyp: Tensor, refs: Tensor, max_order: int) -> list[Order]:
    """Compare tokens hyp [T,b] with refs [R,T',b] of the same integer type.

    Padding is the smallest integer of the type for the hypothesis and the next one for references,
    whose last row must be padding.
    """
    size, segments = hyp.shape
    number, width, _ = refs.shape
    dtype = _counter(max(size, width - 1))
    # row d of the view holds, at i, the token d+1-T places from i: the earlier ones or padding
    earlier = torch.cat([torch.full_like(hyp, torch.iinfo(hyp.dtype).min + 1), hyp])
    shifted = earlier.as_strided((size, size, segments), (segments, segments, 1))
    rank = bytes_equal(shifted, hyp)
    same = bytes_equal(refs.reshape(number * width, 1, segments), hyp)
    orders = []
    for order in range(max_order):
        if order:
            # a shift stays a shift; in the references both sides go one token on
            rank = rank[:, :-1] & rank[:, 1:]
            same = same[:-1, :-1] & same[1:, 1:]
        # n-grams that would reach into the next reference end at the row of padding
        counts = [rows_added(same[k * width : (k + 1) * width], dtype) for k in range(number)]
        orders.append(Order(rows_added(rank, dtype), torch.stack(counts)))
    return orders


def _counter(length: int) -> torch.dtype:
    """The type that holds how often an n-gram stands in a text of a length."""
    return torch.uint8 if length <= LONGEST else torch.int32


def different(refs: Tensor, lengths: Tensor, max_order: int) -> Tensor:
    """Different n-grams of references [R,T+1,b] together, int64 [b,N]; lengths [R,b].

    The last row and what lies beyond a reference is padding, as for the references of `compare`.
    They are all n-grams but those that stood before, in the same reference or in an earlier one.
    """
    number, width, segments = refs.shape
    size, low = width - 1, torch.iinfo(refs.dtype).min
    dtype = _counter(size)
    # before a token stand those of its own reference and of all earlier ones
    none = refs.new_full((max(size - 1, 0), segments), low + 1)
    text = torch.cat([none, refs.reshape(number * width, segments)])
    repeated = torch.zeros(max_order, segments, dtype=torch.int64, device=refs.device)
    for r, own in enumerate(refs[:, :-1]):
        reach = r * width + size - 1
        if reach <= 0:
            continue
        # row d of the view holds, at i, the token reach - d places before i
        earlier = text.as_strided((reach, size, segments), (segments, segments, 1))
        # as a hypothesis a reference takes the other padding, which equals nothing
        same = bytes_equal(earlier, torch.where(own == low + 1, low, own))
        for order in range(max_order):
            if order:
                same = same[:, :-1] & same[:, 1:]
            repeated[order] += rows_added(rows_any(same), dtype)
    orders = torch.arange(max_order, device=refs.device)[:, None, None]
    return ((lengths - orders).clamp_min(0).sum(1) - repeated).t()


def share(part: Tensor, whole: Tensor) -> Tensor:
    """part / whole of counts, float64; 1 where there is nothing to share."""
    return torch.where(whole > 0, part.double() / whole.clamp_min(1), 1.0)


def clipped_matches(
    hyp: Tensor, hyp_lengths: Tensor, refs: Tensor, ref_lengths: Tensor, max_order: int
) -> Tensor:
    """Clipped n-gram matches of ids hyp [B,T] in refs [B,R,T'], int64 [B,N], without a host sync.

    Lengths are [B] and [B,R]; what lies beyond them is ignored.
    """
    low = torch.iinfo(hyp.dtype).min
    # one more row below each reference keeps its n-grams apart from the next
    others = torch.nn.functional.pad(refs, (0, 1))
    hyp_mask = torch.arange(hyp.shape[1], device=hyp.device) < hyp_lengths[:, None]
    ref_mask = torch.arange(others.shape[2], device=refs.device) < ref_lengths[:, :, None]
    columns = hyp.masked_fill(~hyp_mask, low).t().contiguous()
    others = others.masked_fill(~ref_mask, low + 1).permute(1, 2, 0).contiguous()
    found = compare(columns, others, max_order)
    return torch.stack([order.matched.sum(0) for order in found], 1)
