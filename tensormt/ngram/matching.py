"""The matches of a whole batch, part by part.

Segments of similar length are laid out as columns and compared outright (kernels/ngrams.py);
segments of more than 255 tokens, where the square of the length tells, go through the sorting
counter. Both give the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import torch
from torch import Tensor

from tensormt.errors import SegmentError
from tensormt.kernels.backend import nonzero, on_cpu
from tensormt.kernels.counts import occurrences
from tensormt.kernels.length_buckets import columns, parts, tailed
from tensormt.kernels.ngrams import LONGEST, Order, compare
from tensormt.ngram.base import NgramMetric
from tensormt.ngram.keys import ngrams
from tensormt.ngram.match_table import MatchTable
from tensormt.ngram.references import References
from tensormt.text.tokens import TokenBatch

MAX_NGRAMS = 1 << 25  # n-grams of long segments at a time, about 50 bytes each


class _Rows:
    """The facts of some rows of the references."""

    def __init__(self, refs: References, rows: slice | Tensor) -> None:
        self._refs, self._rows = refs, rows
        self.lengths, self.number = refs.lengths[:, rows], refs.number[rows]

    def diversity(self, max_order: int) -> Tensor:
        """Different n-grams over all n-grams of the references, float64 [b,N]."""
        return self._refs.diversity(max_order)[self._rows]


def matches(
    hyp: TokenBatch, refs: References, max_order: int, longest: int = LONGEST
) -> Iterator[tuple[slice | Tensor, MatchTable]]:
    """Yield the segments of a part, int64 [b] or a slice, and their comparison, part by part.

    Segments of similar length form a part; every segment is in exactly one. Those with more than
    `longest` tokens are sorted, all others compared token by token; at most LONGEST.
    """
    tokens = tailed(refs.align(hyp))
    sizes = torch.maximum(hyp.lengths, refs.lengths.amax(0))
    for rows, size in _affordable(
        parts(sizes, len(refs), longest), sizes, (1 + len(refs)) * max_order, longest
    ):
        lengths, starts = hyp.lengths[rows], hyp.starts[rows]
        if size > longest:
            found = _sorted(hyp[rows], [stream[rows] for stream in refs], max_order)
        else:
            own = columns(tokens, starts, lengths, 0, longest=size)
            found = compare(own, refs.columns(rows, size), max_order)
        hashes = partial(_hashes, hyp, starts, lengths, found[0].rank.shape[0])
        by_shape = not on_cpu(lengths)
        yield rows, MatchTable(found, lengths, _Rows(refs, rows), hashes, by_shape, from_text=True)


def _affordable(
    found: Iterable[tuple[slice | Tensor, int]], sizes: Tensor, each: int, longest: int
) -> Iterator[tuple[slice | Tensor, int]]:
    """Split parts of long segments, so that memory for their n-grams suffices.

    `each` is the number of n-grams for a token: of every order, in every text of the segment.
    """
    for rows, size in found:
        if isinstance(rows, slice) or size <= longest or len(rows) * size * each <= MAX_NGRAMS:
            yield rows, size
            continue
        for row in torch.split(rows, 1):
            own = int(sizes[row])
            if own * each > MAX_NGRAMS:
                raise SegmentError(
                    int(row) + 1,
                    f"has {own:,} tokens with up to {own * each:,} n-grams, more than the "
                    f"{MAX_NGRAMS:,} that are compared at once: choose a smaller max_order, or cut "
                    "the segment",
                )
            yield row, own


def joint_statistics(
    metrics: Sequence[NgramMetric], hyp: TokenBatch, refs: Sequence[TokenBatch]
) -> list[Tensor]:
    """Statistics [B,K] of each of several metrics that read alike, by one table of matches."""
    # what the highest order finds serves the others
    first = sorted(range(len(metrics)), key=lambda k: -metrics[k].max_order)
    hyp, ready = metrics[0].in_case(hyp, refs)
    frequencies = [metric.frequencies(ready) for metric in metrics]
    kinds = [torch.int64 if metric.integer else torch.float64 for metric in metrics]
    found = [
        torch.empty(len(hyp), metric.width, dtype=kind, device=hyp.device)
        for metric, kind in zip(metrics, kinds, strict=True)
    ]
    for some, table in matches(hyp, ready, metrics[first[0]].max_order):
        for k in first:
            found[k][some] = metrics[k].count(table.up_to(metrics[k].max_order), frequencies[k])
    return found


def _hashes(hyp: TokenBatch, starts: Tensor, lengths: Tensor, longest: int) -> Tensor:
    """Content hashes of the tokens of some segments as columns [T,b]."""
    return columns(tailed(hyp.hashes, longest), starts, lengths, 0, longest=longest)


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
