"""Pairs of words in their order (skip-bigrams) that segments share with references.

    pairs(T, d) = Σ over distances k = 1 … min(d + 1, T - 1) of T - k

where d words at most stand between the two; every pair is one int64 key, clipped counts say how
many are shared. With single words (ROUGE-SU) each word counts as a pair of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from tensormt.kernels.backend import nonzero, repeat
from tensormt.kernels.counts import Keys, clipped
from tensormt.kernels.matches import Occurrences
from tensormt.ngram.keys import longer
from tensormt.ngram.references import References
from tensormt.text.tokens import TokenBatch

_CELLS = 1 << 21  # pairs at a time


def pair_counts(lengths: Tensor, max_skip: int, singles: bool) -> Tensor:
    """Count the pairs of texts of some lengths, int64 [...]; max_skip -1: any distance."""
    reach = (lengths - 1).clamp_min(0)
    far = reach if max_skip < 0 else reach.clamp_max(max_skip + 1)
    return far * lengths - far * (far + 1) // 2 + (lengths if singles else 0)


def occurrences(batch: TokenBatch, max_skip: int, singles: bool) -> Occurrences:
    """Return all pairs of a batch: order 1 for single words, 1 + distance for pairs."""
    widest = int(batch.lengths.max()) if len(batch) else 0
    far = max(widest - 1, 0) if max_skip < 0 else min(max_skip + 1, max(widest - 1, 0))
    segment, place = repeat(batch.lengths)
    distance = torch.arange(0 if singles else 1, far + 1, device=batch.device)
    cells = nonzero((place[:, None] + distance) < batch.lengths[segment][:, None])
    size = max(len(distance), 1)
    first, step = cells // size, distance[cells % size]
    words = batch.hashes
    single = words[first]
    key = torch.where(step == 0, single, longer(single, words[first + step]))
    return Occurrences(segment[first], step + 1, place[first], key)


def pair_matches(
    hyp: TokenBatch, refs: References, max_skip: int, singles: bool, cells: int = _CELLS
) -> Tensor:
    """Count the pairs that each segment shares with each reference, int64 [R,B]."""
    found = torch.zeros_like(refs.lengths)
    for rows in _slices(hyp, refs, max_skip, cells):
        own, *others = [
            occurrences(batch[rows], max_skip, singles) for batch in (hyp, *refs.streams)
        ]
        size = rows.stop - rows.start
        for number, other in enumerate(others):
            sides = [Keys(side.segment, side.key) for side in (own, other)]
            found[number, rows] = clipped(sides[0], sides[1:], size)
    return found


def _slices(hyp: TokenBatch, refs: References, max_skip: int, cells: int) -> Iterator[slice]:
    """Segments that together have a bounded number of pairs. One host synchronisation."""
    longest = torch.maximum(hyp.lengths, refs.lengths.amax(0))
    sizes = (pair_counts(longest, max_skip, True) * (1 + len(refs))).tolist()
    low = 0
    while low < len(sizes):
        high, total = low + 1, sizes[low]
        while high < len(sizes) and total + sizes[high] <= cells:
            total += sizes[high]
            high += 1
        yield slice(low, high)
        low = high
