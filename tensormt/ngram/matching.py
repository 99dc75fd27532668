"""Which n-grams of a hypothesis stand in its references, and how often.

Short segments are compared outright. With tokens along the first axis and segments along the last,

    E₁[j,i] = (ref[j] = hyp[i])        Eₙ[j,i] = Eₙ₋₁[j,i] ∧ Eₙ₋₁[j+1,i+1]

are plain byte operations over contiguous segments, without sorting, hashing or sizes that depend on
the data. The column sums of Eₙ count the n-gram that starts at i in the reference; the same with
the hypothesis itself, for j < i only, gives its rank among equal ones. It is a clipped match when
its rank is below its largest count in one reference. Segments of more than 255 tokens, where the
square of the length tells, go through the sorting counter; both give the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from tensormt.irregular import argsort, equal, nonzero
from tensormt.kernels.counts import occurrences
from tensormt.ngram.columns import LONGEST, columns, cut, tailed
from tensormt.ngram.keys import ngrams
from tensormt.ngram.references import References
from tensormt.tokens import TokenBatch

__all__ = ["Matches", "Order", "clipped_matches", "compare", "matches"]


class Order(NamedTuple):
    """The n-grams of one order by their first token i: rank [T-n+1,b] and counts [R,T-n+1,b]."""

    rank: Tensor
    counts: Tensor

    @property
    def matched(self) -> Tensor:
        """Which of them are clipped matches, bool [T-n+1,b]."""
        return self.rank < self.counts.amax(0)

    @property
    def holders(self) -> Tensor:
        """In how many references each stands, int64 [T-n+1,b]."""
        return (self.counts > 0).sum(0)

    @property
    def total(self) -> Tensor:
        """How often each stands in all references together, int64 [T-n+1,b]."""
        return self.counts.sum(0, dtype=torch.int64)


class Matches(NamedTuple):
    """The matches of some segments: their rows [b], first tokens [b], and one Order for each n."""

    rows: Tensor
    starts: Tensor
    orders: list[Order]


def compare(hyp: Tensor, refs: Tensor, widths: Sequence[int], max_order: int) -> list[Order]:
    """Compare tokens hyp [T,b] with R references [Σ(T'+1),b], of one integer type.

    The references stand one below the other, T' = widths[r] rows each and a row of padding. Padding
    is the smallest integer of the type for the hypothesis and the next one for references.
    """
    size, segments = hyp.shape
    dtype = torch.uint8 if max(size, *widths) <= LONGEST else torch.int32
    # row d of the view holds, at i, the token d+1-T places from i: the earlier ones or padding
    earlier = torch.cat([torch.full_like(hyp, torch.iinfo(hyp.dtype).min + 1), hyp])
    shifted = earlier.as_strided((size, size, segments), (segments, segments, 1))
    rank = equal(shifted, hyp[None]).view(torch.uint8)
    same = equal(refs[:, None], hyp[None]).view(torch.uint8)
    orders = []
    for order in range(max_order):
        if order:
            # a shift stays a shift; in the references both sides go one token on
            rank = rank[:, :-1] & rank[:, 1:]
            same = same[:-1, :-1] & same[1:, 1:]
        counts = same.new_empty(len(widths), *same.shape[1:], dtype=dtype)
        row = 0
        for count, width in zip(counts, widths, strict=True):
            # n-grams that would reach into the next reference end at the row of padding
            torch.sum(same[row : row + width], 0, dtype=dtype, out=count)
            row += width + 1
        orders.append(Order(rank.sum(0, dtype=dtype), counts))
    return orders


def clipped_matches(
    hyp: Tensor, hyp_lengths: Tensor, refs: Tensor, ref_lengths: Tensor, max_order: int
) -> Tensor:
    """Clipped n-gram matches of ids hyp [B,T] in refs [B,R,T'], int64 [B,N], without a host sync.

    Lengths are [B] and [B,R]; what lies beyond them is ignored.
    """
    low = torch.iinfo(hyp.dtype).min
    ours = torch.arange(hyp.shape[1], device=hyp.device) < hyp_lengths[:, None]
    theirs = torch.arange(refs.shape[2], device=refs.device) < ref_lengths[:, :, None]
    columns = hyp.masked_fill(~ours, low).t().contiguous()
    others = refs.masked_fill(~theirs, low + 1)
    # one more row below each reference keeps its n-grams apart from the next
    others = torch.nn.functional.pad(others, (0, 1), value=low + 1).flatten(1).t().contiguous()
    found = compare(columns, others, [refs.shape[2]] * refs.shape[1], max_order)
    return torch.stack([order.matched.sum(0) for order in found], 1)


def matches(hyp: TokenBatch, refs: References, max_order: int) -> Iterator[Matches]:
    """The matches of all segments, part by part; every segment is in exactly one part.

    Segments of similar length share a part. One host sync a part (its longest segments).
    """
    tokens = tailed(refs.align(hyp))
    longest = torch.maximum(hyp.lengths, refs.lengths.amax(0))
    order = argsort(longest)
    sizes = longest[order].tolist()
    for low, high in cut(sizes):
        rows = order[low:high]
        if sizes[high - 1] > LONGEST:
            found = _sorted(hyp[rows], [stream[rows] for stream in refs], max_order)
        else:
            others = [
                columns(flat, stream, rows, 1, spare=1)
                for flat, stream in zip(refs.column_tokens, refs, strict=True)
            ]
            widths = [column.shape[0] - 1 for column in others]
            ours = columns(tokens, hyp, rows, 0)
            found = compare(ours, torch.cat(others), widths, max_order)
        yield Matches(rows, hyp.starts[rows], found)


def _sorted(hyp: TokenBatch, refs: list[TokenBatch], max_order: int) -> list[Order]:
    """What `compare` gives, by sorting the n-gram keys: for segments of any length."""
    size = len(hyp)
    width = int(hyp.lengths.max())
    keys = ngrams(hyp, max_order)
    rank, counts = occurrences(keys, [ngrams(ref, max_order) for ref in refs], size * max_order)
    # keys come order by order, each in the order of the text
    place = torch.arange(width, device=hyp.device)[:, None]
    orders = []
    done = 0
    for order in range(1, max_order + 1):
        real = place[: max(width - order + 1, 0)] <= hyp.lengths - order
        cells = nonzero(real.t().contiguous())
        number = cells.shape[0]
        flat = torch.zeros(1 + len(refs), real.numel(), dtype=torch.int64, device=hyp.device)
        flat[0, cells] = rank[done : done + number]
        flat[1:, cells] = counts[:, done : done + number]
        table = flat.view(1 + len(refs), size, real.shape[0]).transpose(1, 2)
        orders.append(Order(table[0], table[1:]))
        done += number
    return orders
