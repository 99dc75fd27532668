"""The matches of a whole batch, part by part.

Segments of similar length are laid out as columns and compared outright (compare.py); segments of
more than 255 tokens, where the square of the length tells, go through the sorting counter. Both
give the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from tensormt.kernels.arrays import argsort, nonzero
from tensormt.kernels.columns import columns, cut, tailed
from tensormt.kernels.counts import occurrences
from tensormt.kernels.ngrams import LONGEST, Order, compare
from tensormt.ngram.keys import ngrams
from tensormt.ngram.references import References
from tensormt.text.tokens import TokenBatch

__all__ = ["Matches", "matches"]


class Matches(NamedTuple):
    """The matches of some segments: their rows [b], first tokens [b], and one Order for each n."""

    rows: Tensor
    starts: Tensor
    orders: list[Order]


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
            ours = columns(tokens, hyp.starts[rows], hyp.lengths[rows], 0)
            found = compare(ours, refs.columns(rows), max_order)
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
