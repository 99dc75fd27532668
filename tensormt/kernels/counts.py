"""The clipped counter: one engine for every kind of key (subtrees, headword chains, n-grams).

    clipped(group) = Σ over keys k of min( count_hyp(k), max over references r of count_r(k) )

A group is a segment, or a segment and an order: the caller numbers them. Every occurrence becomes
one int64, `key bits | side` (side 0 is the hypothesis, 1…R the references); sorting each group puts
equal keys side by side, the run lengths are the counts. The key keeps 62 bits less those of the
side: a group of 100 keys has a false match with probability 10⁻¹⁴. Two host syncs a call (the
numbers of runs, and of those that may match).

`occurrences` is the same count seen from each occurrence of the hypothesis, for measures that weigh
matches one by one: an occurrence is a (clipped) match when its rank among equal ones before it is
below the largest count in a reference. `spread` looks at the references alone: how many different
keys stand in exactly 1, 2, …, R of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from tensormt.kernels.arrays import argsort, nonzero, run_edges, runs, sort, sort_groups, take

__all__ = ["Keys", "clipped", "occurrences", "orders", "spread", "totals"]


class Keys(NamedTuple):
    """Occurrences of keys: group [n] in 0…G-1, rising, and key [n], both int64."""

    group: Tensor
    key: Tensor


def orders(
    segment: Tensor, segments: int, keys: Sequence[Tensor], present: Sequence[Tensor]
) -> Keys:
    """Keys of D orders from segment [n], rising, and the key [n] of each order.

    `present` says where orders 2…D exist, [n] each. group = order · B + segment, the first order
    being 0. One host sync (the number of keys).
    """
    if len(keys) == 1:
        return Keys(segment, keys[0])
    cells = nonzero(torch.cat(list(present)))
    later = segments * torch.arange(1, len(keys), device=segment.device)
    group = take((later[:, None] + segment).view(-1), cells)
    key = take(torch.cat(list(keys[1:])), cells)
    return Keys(torch.cat([segment, group]), torch.cat([keys[0], key]))


def totals(keys: Keys, groups: int) -> Tensor:
    """Number of occurrences in each group, int64 [G]."""
    zeros = torch.zeros(groups, dtype=torch.int64, device=keys.group.device)
    return zeros.index_add_(0, keys.group, torch.ones_like(keys.group))


def _pack(sides: Sequence[Keys], bits: int) -> list[Tensor]:
    """Every occurrence as `key bits | side`, int64 of so many bits in all, [n] for each side."""
    side_bits = (len(sides) - 1).bit_length()
    low = (1 << (bits - side_bits)) - 1
    return [((keys.key & low) << side_bits) | side for side, keys in enumerate(sides)]


def _pack_groups(sides: Sequence[Keys], groups: int) -> tuple[Tensor, int]:
    """Every occurrence as `group | key bits | side`, int64 [n], and the bits below the group.

    Where the order of all occurrences is wanted; the group takes its bits from the key, which keeps
    47 with at most 2¹³ groups and 7 references: callers work in chunks of segments.
    """
    bits = 63 - max(groups - 1, 1).bit_length()
    packed = zip(sides, _pack(sides, bits), strict=True)
    return torch.cat([(keys.group << bits) | values for keys, values in packed]), bits


def clipped(hyp: Keys, refs: Sequence[Keys], groups: int) -> Tensor:
    """Clipped matches of the hypothesis's keys in the references, int64 [G]."""
    sides = (hyp, *refs)
    side_bits = len(refs).bit_length()
    packed = [(values, keys.group) for keys, values in zip(sides, _pack(sides, 62), strict=True)]
    ordered, group, breaks = sort_groups(packed, groups)
    edges = run_edges(ordered, breaks)
    value = take(ordered, edges[:-1])
    # a hypothesis run (side 0) stands before the reference runs of its key: at most R follow, and
    # its key's bits are equal to theirs
    near = (value[1:] ^ value[:-1]) >> side_bits == 0
    run = nonzero(near & ((value[:-1] & ((1 << side_bits) - 1)) == 0))
    where, name = take(group, take(edges, run)), take(value, run)
    best = torch.zeros_like(run)
    for step in range(1, len(refs) + 1):
        other = (run + step).clamp_(max=value.shape[0] - 1)
        start = take(edges, other)
        same = ((take(value, other) ^ name) >> side_bits == 0) & (take(group, start) == where)
        count = (take(edges, other + 1) - start) * (same & (other > run))
        best = torch.maximum(best, count)
    zeros = torch.zeros(groups, dtype=torch.int64, device=best.device)
    count = take(edges, run + 1) - take(edges, run)
    return zeros.index_add_(0, where, torch.minimum(count, best))


def occurrences(hyp: Keys, refs: Sequence[Keys], groups: int) -> tuple[Tensor, Tensor]:
    """For each of the n occurrences in the hypothesis: its rank and its counts in the references.

    Returns rank int64 [n], the number of equal occurrences before it (in the order given), and
    counts int64 [R,n], how often its key stands in each reference.
    """
    packed, _ = _pack_groups((hyp, *refs), groups)
    side_bits = len(refs).bit_length()
    order = argsort(packed)
    ordered = packed[order]
    starts, count = runs(ordered)
    value = ordered[starts]
    owner = value >> side_bits
    side = value & ((1 << side_bits) - 1)
    # a hypothesis run (side 0) stands before the reference runs of its key: at most R follow
    table = torch.zeros(len(refs), starts.shape[0], dtype=torch.int64, device=count.device)
    for step in range(1, min(len(refs), value.shape[0] - 1) + 1):
        same = (owner[step:] == owner[:-step]) & (side[:-step] == 0)
        row = (side[step:] - 1).clamp_min(0)
        table[:, :-step].scatter_add_(0, row[None], (count[step:] * same)[None])
    run = torch.zeros_like(order)
    run[starts[1:]] = 1
    run = run.cumsum(0)
    place = torch.empty_like(order)
    place[order] = torch.arange(order.shape[0], device=order.device)
    place = place[: hyp.key.shape[0]]
    run = run[place]
    return place - starts[run], table[:, run]


def spread(refs: Sequence[Keys], groups: int) -> Tensor:
    """Number of different keys that stand in exactly 1, 2, …, R references, int64 [G,R]."""
    none = Keys(refs[0].group[:0], refs[0].key[:0])
    packed, bits = _pack_groups((none, *refs), groups)
    side_bits = len(refs).bit_length()
    ordered = sort(packed)
    starts, _ = runs(ordered)
    owner = ordered[starts] >> side_bits
    first, holders = runs(owner)
    cell = (owner[first] >> (bits - side_bits)) * len(refs) + holders - 1
    histogram = torch.zeros(groups * len(refs), dtype=torch.int64, device=cell.device)
    return histogram.index_add_(0, cell, torch.ones_like(cell)).view(groups, len(refs))
