"""Clipped matches of samples with a pool of samples, in time almost linear in their number.

Comparing all pairs of samples takes quadratic time. For metrics of clipped matches, aggregates of
each n-gram g of the pool are sufficient:

    all others as references   the two largest counts of g in a sample: the largest count among the
                               others is the second largest for the sample that has the largest
    their average              c̄(g) = Σ over references r of weight(r) · count_r(g); a hypothesis
                               with count c(g) has min(c(g), c̄(g)) matches (reference aggregation,
                               DeNero et al. 2009, Vamvas & Sennrich 2024)

A stable sort of the n-gram keys of a segment makes equal keys adjacent, ordered by sample; the rest
are sums over runs, whose number is bounded by the shape, so there is no synchronization.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from tensormt.kernels.backend import mix
from tensormt.kernels.lengths import closest
from tensormt.kernels.ngrams import Order
from tensormt.ngram.keys import longer
from tensormt.ngram.match_table import MatchTable

_NONE = torch.iinfo(torch.int64).max  # key of positions without an n-gram


class PooledMatches(MatchTable):
    """A match table of which only clipped matches and lengths are known.

    Args:
        matched: Clipped matches of every order, [b,N].
        lengths: Lengths of the hypotheses, int64 [b].
        reference: Reference lengths, [b].
    """

    def __init__(self, matched: Tensor, lengths: Tensor, reference: Tensor) -> None:
        nothing = Order(matched[:0], matched[None, :0])
        refs = _Lengths(reference[None], (reference[None] > 0).sum(0))
        super().__init__([nothing] * matched.shape[1], lengths, refs, lambda: lengths[None, :0])
        object.__setattr__(self, "_pool", (matched, reference))
        self._pool: tuple[Tensor, Tensor]

    @property
    def matched(self) -> Tensor:
        """Clipped matches of each order, [b,N]; not integers if counts are averages."""
        return self._pool[0]

    @property
    def closest(self) -> Tensor:
        """The reference length of each column, [b]."""
        return self._pool[1]


@dataclass
class _Lengths:
    """Lengths and number of the references of a pool."""

    lengths: Tensor
    number: Tensor

    def diversity(self, max_order: int) -> Tensor:
        raise NotImplementedError("a pool has no n-grams of single references")


class _Sorted(NamedTuple):
    """N-grams [B,n] of one order sorted by key, then sample; runs are numbered from 0."""

    place: Tensor  # original position
    key: Tensor  # number of the run of equal keys
    run: Tensor  # number of the run of equal keys of one sample
    rank: Tensor  # position within that run


def matches_with_others(ids: Tensor, lengths: Tensor, max_order: int) -> PooledMatches:
    """Compute matches of every sample with all others as its references.

    Args:
        ids: Ids of K samples per segment, [B,K,T].
        lengths: Their lengths, int64 [B,K].
        max_order: Largest order of n-grams.

    Returns:
        Matches of B·K columns.
    """
    matched = []
    for keys in _orders(ids, lengths, max_order):
        order = _sorted(keys)
        ones = torch.ones_like(order.run)
        count = torch.zeros_like(ones).scatter_add(1, order.run, ones).gather(1, order.run)
        largest = _most(count, order.key)
        # if several samples have the largest count, only the first one uses the second largest
        holder = torch.where(count == largest, order.run, _NONE)
        holder = torch.full_like(ones, _NONE).scatter_reduce(1, order.key, holder, "amin")
        first = order.run == holder.gather(1, order.key)
        second = _most(torch.where(first, 0, count), order.key)
        match = order.rank < torch.where(first, second, largest)
        matched.append(_back(match.to(torch.int64), order, keys))
    # the closest length among the others, searched among all possible lengths
    size = torch.arange(ids.shape[2] + 1, device=ids.device)
    held = torch.zeros(len(ids), len(size), dtype=torch.int64, device=ids.device)
    held = held.scatter_add(1, lengths, torch.ones_like(lengths))[:, None]
    held = held - (size == lengths[..., None]).to(torch.int64)
    reference = closest(lengths, torch.where(held > 0, size, 0))
    return PooledMatches(
        torch.stack(matched, -1).flatten(0, 1), lengths.flatten(), reference.flatten()
    )


def matches_with_average(
    ids: Tensor,
    lengths: Tensor,
    refs: Tensor,
    ref_lengths: Tensor,
    weights: Tensor,
    max_order: int,
) -> PooledMatches:
    """Compute matches of hypotheses with the average of references.

    Args:
        ids: Ids of hypotheses, [B,H,T].
        lengths: Their lengths, int64 [B,H].
        refs: Ids of references, [B,R,T'].
        ref_lengths: Their lengths, int64 [B,R].
        weights: Weights of the references, float64 [B,R], also for the average length.
        max_order: Largest order of n-grams.

    Returns:
        Matches of B·H columns.
    """
    hyps = ids.shape[1]
    width = max(ids.shape[2], refs.shape[2])
    sides = [torch.nn.functional.pad(k, (0, width - k.shape[2])) for k in (ids, refs)]
    pool, sizes = torch.cat(sides, 1), torch.cat([lengths, ref_lengths], 1)
    share = torch.cat([weights.new_zeros(lengths.shape), weights], 1)
    matched = []
    for keys in _orders(pool, sizes, max_order):
        order = _sorted(keys)
        worth = share[..., None].expand(keys.shape).flatten(1).gather(1, order.place)
        total = torch.zeros_like(worth).scatter_add(1, order.key, worth).gather(1, order.key)
        match = (total - order.rank).clamp(0, 1)
        matched.append(_back(match, order, keys)[:, :hyps])
    real = weights * (ref_lengths > 0)
    mean = (real * ref_lengths).sum(1) / real.sum(1).clamp_min(torch.finfo(real.dtype).tiny)
    reference = mean[:, None].expand(lengths.shape)
    return PooledMatches(
        torch.stack(matched, -1).flatten(0, 1), lengths.flatten(), reference.flatten()
    )


def _orders(ids: Tensor, lengths: Tensor, max_order: int) -> Iterator[Tensor]:
    """For each order, the keys of the n-grams that start at each position, int64 [B,K,T-n+1]."""
    words = mix(ids.to(torch.int64))
    keys = words
    for order in range(max_order):
        if order:
            keys = longer(keys[..., :-1], words[..., order:])
        place = torch.arange(keys.shape[2], device=ids.device)
        yield torch.where(place < lengths[..., None] - order, keys, _NONE)


def _sorted(keys: Tensor) -> _Sorted:
    """The n-grams of keys [B,K,m], sorted."""
    flat = keys.flatten(1)
    ordered, place = flat.sort(dim=1, stable=True)
    sample = place // max(keys.shape[2], 1)
    first = torch.ones_like(ordered, dtype=torch.bool)
    first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    start = first.clone()
    start[:, 1:] |= sample[:, 1:] != sample[:, :-1]
    index = torch.arange(flat.shape[1], device=keys.device).expand_as(flat)
    begin = torch.where(start, index, 0).cummax(1).values
    return _Sorted(place, first.cumsum(1) - 1, start.cumsum(1) - 1, index - begin)


def _most(values: Tensor, runs: Tensor) -> Tensor:
    """For each of the non-negative values [B,n] the largest of its run, [B,n]."""
    found = torch.zeros_like(values).scatter_reduce(1, runs, values, "amax")
    return found.gather(1, runs)


def _back(match: Tensor, order: _Sorted, keys: Tensor) -> Tensor:
    """Sorted matches [B,n] summed over each sample's n-grams, [B,K]."""
    found = torch.zeros_like(match).scatter(1, order.place, match).view(keys.shape)
    return torch.where(keys == _NONE, 0, found).sum(-1)
