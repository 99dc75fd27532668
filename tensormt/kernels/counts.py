"""The clipped counter: one engine for every kind of key (subtrees, headword chains, n-grams).

    clipped(group) = Σ over keys k of min( count_hyp(k), max over references r of count_r(k) )

A group is a segment, or a segment and an order: the caller numbers them. Every occurrence becomes
one int64, `key bits | side` (side 0 is the hypothesis, 1…R the references); sorting each group puts
equal keys side by side, the run lengths are the counts. The key keeps 62 bits less those of the
side: a group of 100 keys has a false match with probability 10⁻¹⁴. Two things make it faster: the
labels of trees are few, so they are counted in a table; and of the rest only keys that a table of
marks has on both sides are sorted. R + 3 host syncs a call (the numbers of keys on each side, of
runs, and of those that may match).

`occurrences` is the same count seen from each occurrence of the hypothesis, for measures that weigh
matches one by one: an occurrence is a (clipped) match when its rank among equal ones before it is
below the largest count in a reference. `spread` looks at the references alone: how many different
keys stand in exactly 1, 2, …, R of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import islice, product
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from tensormt.kernels import hashing
from tensormt.kernels.backend import FEW, argsort, nonzero, run_edges, runs, sort, sort_groups, take

__all__ = [
    "Keys",
    "Labels",
    "Sides",
    "Tables",
    "clipped",
    "occurrences",
    "orders",
    "spread",
    "totals",
]


class Labels(NamedTuple):
    """What the keys of the first order are made of: the first n keys are names[label], [n].

    names [L] are on the host; these keys have the groups 0…segments-1 to themselves.
    """

    label: Tensor
    names: Tensor
    segments: int


class Keys(NamedTuple):
    """Occurrences of keys: group [n] in 0…G-1, rising, and key [n], both int64.

    `labels` is given where the first order's keys are those of labels.
    """

    group: Tensor
    key: Tensor
    labels: Labels | None = None


def orders(
    segment: Tensor, keys: Sequence[Tensor], present: Sequence[Tensor], labels: Labels
) -> Keys:
    """Keys of D orders from segment [n], rising, and the key [n] of each order.

    `present` says where orders 2…D exist, [n] each; the first order is that of the labels.
    group = order · B + segment, the first order being 0. One host sync (the number of keys).
    """
    if len(keys) == 1:
        return Keys(segment, keys[0], labels)
    cells = nonzero(torch.cat(list(present)))
    later = labels.segments * torch.arange(1, len(keys), device=segment.device)
    group = take((later[:, None] + segment).view(-1), cells)
    key = take(torch.cat(list(keys[1:])), cells)
    return Keys(torch.cat([segment, group]), torch.cat([keys[0], key]), labels)


def totals(keys: Keys, groups: int) -> Tensor:
    """Number of occurrences in each group, int64 [G]."""
    zeros = torch.zeros(groups, dtype=torch.int64, device=keys.group.device)
    return zeros.index_add_(0, keys.group, torch.ones_like(keys.group))


class Sides(NamedTuple):
    """The keys of every side, the first of which is the hypothesis."""

    keys: Sequence[Keys]
    groups: int

    def totals(self, side: int) -> Tensor:
        """Number of occurrences on a side, int64 [G]."""
        return totals(self.keys[side], self.groups)

    def clipped(self, refs: Sequence[int]) -> Tensor:
        """Clipped matches of the hypothesis's keys in some of the other sides, int64 [G]."""
        return clipped(self.keys[0], [self.keys[ref] for ref in refs], self.groups)


class Tables(NamedTuple):
    """The same of few keys, counted by Python's own tables: the calls of a sort take longer.

    One table for every order, side and segment; `sizes` [D,S,B] are their numbers of occurrences.
    """

    tables: list[dict[int, int]]
    sizes: Tensor

    @classmethod
    def of(cls, keys: Keys, orders: int, sides: int, segments: int) -> Tables:
        """From the keys of all sides, whose trees stand side after side."""
        sizes = torch.bincount(keys.group, minlength=orders * sides * segments)
        values = iter(keys.key.tolist())
        tables = [Counter(islice(values, size)) if size else {} for size in sizes.tolist()]
        return cls(tables, sizes.view(orders, sides, segments))

    def totals(self, side: int) -> Tensor:
        """Number of occurrences on a side, int64 [G]."""
        return self.sizes[:, side].reshape(-1)

    def clipped(self, refs: Sequence[int]) -> Tensor:
        """Clipped matches of the hypothesis's keys in some of the other sides, int64 [G]."""
        orders, sides, segments = self.sizes.shape
        found = []
        for order, segment in product(range(orders), range(segments)):
            first = order * sides * segments + segment
            own = self.tables[first]
            most: dict[int, int] = {}
            for ref in refs if own else ():
                other = self.tables[first + ref * segments]
                for key in own.keys() & other.keys():
                    most[key] = max(most.get(key, 0), other[key])
            found.append(sum(min(own[key], count) for key, count in most.items()))
        return torch.from_numpy(np.array(found, np.int64))


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
    """Clipped matches of the hypothesis's keys in the references, int64 [G].

    A first order of few different labels, half of all keys of a tree, is counted without a sort.
    """
    sides = (hyp, *refs)
    number = sum(keys.key.shape[0] for keys in sides)
    if number < FEW:
        return _clipped_by_sorting(sides, groups)
    table = _label_counts(sides)
    if table is None:
        return _clipped_by_sorting(_candidates(sides), groups)
    first = torch.minimum(table[0], table[1:].amax(0)).sum(1)
    segments = first.shape[0]
    if groups == segments:
        return first
    sizes = [keys.labels.label.shape[0] if keys.labels else 0 for keys in sides]
    later = [
        Keys(keys.group[size:] - segments, keys.key[size:])
        for keys, size in zip(sides, sizes, strict=True)
    ]
    return torch.cat([first, _clipped_by_sorting(_candidates(later), groups - segments)])


def _label_counts(sides: Sequence[Keys]) -> Tensor | None:
    """Counts of all labels in each segment, int64 [sides,B,L]; None where they would not pay."""
    labels = [keys.labels for keys in sides if keys.labels is not None]
    if len(labels) < len(sides):
        return None
    segments = labels[0].segments
    most = 2 * sum(side.label.shape[0] for side in labels) // max(len(sides) * segments, 1)
    if max(side.names.shape[0] for side in labels) > most:
        return None
    names, ids = np.unique(
        np.concatenate([side.names.numpy() for side in labels]), return_inverse=True
    )
    width = len(names)
    table = torch.zeros(
        len(sides) * segments * width, dtype=torch.int64, device=sides[0].key.device
    )
    joint = torch.split(
        torch.from_numpy(ids).to(table.device), [side.names.shape[0] for side in labels]
    )
    for number, (keys, side) in enumerate(zip(sides, labels, strict=True)):
        row = keys.group[: side.label.shape[0]] + number * segments
        cell = (row * width).add_(take(joint[number], side.label))
        table.index_add_(0, cell, torch.ones_like(cell))
    return table.view(len(sides), segments, width)


def _candidates(sides: Sequence[Keys]) -> list[Keys]:
    """The keys that may stand in the hypothesis, the first side, and in a reference.

    Keys mark their place in a table of at most a million; those whose place the other side has not
    marked cannot match. One host sync a side (the number of keys left).
    """
    size = sum(keys.key.shape[0] for keys in sides)
    cells = 1 << min((2 * size).bit_length(), 20)
    places = [(keys.group * hashing.POWER).add_(keys.key) & (cells - 1) for keys in sides]
    marked = torch.zeros(2, cells, dtype=torch.bool, device=sides[0].key.device)
    in_hyp, in_refs = marked[0], marked[1]
    in_hyp.index_fill_(0, places[0], True)
    for place in places[1:]:
        in_refs.index_fill_(0, place, True)
    found = [nonzero(take(in_refs, places[0]))]
    found += [nonzero(take(in_hyp, place)) for place in places[1:]]
    return [
        Keys(take(keys.group, rows), take(keys.key, rows))
        for keys, rows in zip(sides, found, strict=True)
    ]


def _clipped_by_sorting(sides: Sequence[Keys], groups: int) -> Tensor:
    """`clipped` for any keys; the hypothesis is the first side."""
    side_bits = (len(sides) - 1).bit_length()
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
    for step in range(1, len(sides)):
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
    # a hypothesis run (side 0) stands before the reference runs of its key, of which it is the head
    index = torch.arange(value.shape[0], device=value.device)
    fresh = torch.ones_like(index, dtype=torch.bool)
    torch.ne(owner[1:], owner[:-1], out=fresh[1:])
    head = torch.where(fresh, index, 0).cummax(0).values if value.shape[0] else index
    column = (side == 0).cumsum(0) - 1  # of the hypothesis runs, at most n of them
    cells = len(refs) * hyp.key.shape[0]
    headed = (side > 0) & (take(side, head) == 0)
    cell = (side - 1) * hyp.key.shape[0] + take(column, head)
    table = torch.zeros(cells + 1, dtype=torch.int64, device=count.device)
    table.scatter_(0, torch.where(headed, cell, cells), count)
    run = torch.zeros_like(order)
    run[starts[1:]] = 1
    run = run.cumsum(0)
    place = torch.empty_like(order)
    place[order] = torch.arange(order.shape[0], device=order.device)
    place = place[: hyp.key.shape[0]]
    run = run[place]
    counts = table[:-1].view(len(refs), -1).index_select(1, column[run])
    return place - starts[run], counts


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
