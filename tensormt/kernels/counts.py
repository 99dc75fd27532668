"""Clipped multi-reference counts of int64 keys of any kind (subtrees, headword chains, n-grams).

    clipped(group) = Σ over keys k of min( count_hyp(k), max over references r of count_r(k) )

A group is a segment, or a segment and an order: the caller numbers them. Every occurrence becomes
one int64, `key bits | side` (side 0 is the hypothesis, 1…R the references). Sorting each group
brings equal keys together, and run lengths are the counts. The key keeps 62 bits minus those of the
side: a group of 100 keys has a false match with probability 10⁻¹⁴. Two steps reduce the work. Trees
have few different labels, so labels are counted in a table; and of the other keys only those that
may occur both in the hypothesis and in a reference are sorted. R + 3 host synchronisations per
call, and R + 1 more where keys are preselected.

`occurrences` gives the same counts for each occurrence in the hypothesis, for metrics that weight
single matches: an occurrence is a (clipped) match if its rank, the number of equal occurrences
before it, is below its largest count in any one reference. `spread` counts the different keys that
occur in exactly 1, 2, …, R references.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from tensormt.kernels import hashing
from tensormt.kernels.backend import argsort, nonzero, run_edges, runs, sort, sort_groups, take


class Labels(NamedTuple):
    """The labels behind the keys of the first order: the first n keys are names[label].

    label int64 [n]; names int64 [L], on the host; segments: the number of segments B. The keys of
    the first order are in groups 0…B-1, and no others are.
    """

    label: Tensor
    names: Tensor
    segments: int


class Keys(NamedTuple):
    """Occurrences of keys: group int64 [n], ascending, from 0 to G-1, and key int64 [n].

    `labels` is given if the keys of the first order are hashes of labels.
    """

    group: Tensor
    key: Tensor
    labels: Labels | None = None


def orders(
    segment: Tensor, keys: Sequence[Tensor], present: Sequence[Tensor], labels: Labels
) -> Keys:
    """Combine the keys of D orders; group = order · B + segment, counting orders from 0.

    Args:
        segment: int64 [n], ascending.
        keys: the keys of each order, int64 [n] each.
        present: which keys of the orders 2…D exist, bool [n] each; those of the first order all do.
        labels: the labels of the first order.

    Costs one host synchronisation (the number of keys).
    """
    if len(keys) == 1:
        return Keys(segment, keys[0], labels)
    cells = nonzero(torch.cat(list(present)))
    later = labels.segments * torch.arange(1, len(keys), device=segment.device)
    group = take((later[:, None] + segment).view(-1), cells)
    key = take(torch.cat(list(keys[1:])), cells)
    return Keys(torch.cat([segment, group]), torch.cat([keys[0], key]), labels)


def totals(keys: Keys, groups: int) -> Tensor:
    """Count the occurrences in each group, int64 [G]."""
    zeros = torch.zeros(groups, dtype=torch.int64, device=keys.group.device)
    return zeros.index_add_(0, keys.group, torch.ones_like(keys.group))


class Sides(NamedTuple):
    """The keys of the hypothesis, which comes first, and of all references."""

    keys: Sequence[Keys]
    groups: int

    def totals(self, side: int) -> Tensor:
        """Count the occurrences of one side in each group, int64 [G]."""
        return totals(self.keys[side], self.groups)

    def clipped(self, refs: Sequence[int]) -> Tensor:
        """Count the clipped matches of the hypothesis in some of the references, int64 [G]."""
        return clipped(self.keys[0], [self.keys[ref] for ref in refs], self.groups)


def _pack(sides: Sequence[Keys], bits: int) -> list[Tensor]:
    """Pack every occurrence as `key bits | side` into int64 of this many bits, [n] per side."""
    side_bits = (len(sides) - 1).bit_length()
    low = (1 << (bits - side_bits)) - 1
    return [((keys.key & low) << side_bits) | side for side, keys in enumerate(sides)]


def _pack_groups(sides: Sequence[Keys], groups: int) -> tuple[Tensor, int]:
    """Pack every occurrence as `group | key bits | side`, int64 [n]; also the bits below the group.

    Used where the order of all occurrences is needed. The group takes bits from the key, which
    keeps 47 with at most 2¹³ groups and 7 references: callers process segments in chunks.
    """
    bits = 63 - max(groups - 1, 1).bit_length()
    packed = zip(sides, _pack(sides, bits), strict=True)
    return torch.cat([(keys.group << bits) | values for keys, values in packed]), bits


def clipped(hyp: Keys, refs: Sequence[Keys], groups: int) -> Tensor:
    """Count the clipped matches of the hypothesis's keys in the references, int64 [G].

    A first order of few different labels, half of all keys of a tree, is counted without sorting.
    """
    sides = (hyp, *refs)
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
    """Count all labels in each segment, int64 [sides,B,L]; None if a table would not be faster."""
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
    """Keep the keys that may occur both in the hypothesis, the first side, and in a reference.

    A Bloom filter with one hash function and up to a million cells: a key whose cell is not set by
    the other side cannot match. One host synchronisation per side (the number of keys kept).
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
    """`clipped` for keys of any kind; the hypothesis is the first side."""
    side_bits = (len(sides) - 1).bit_length()
    packed = [(values, keys.group) for keys, values in zip(sides, _pack(sides, 62), strict=True)]
    ordered, group, breaks = sort_groups(packed, groups)
    edges = run_edges(ordered, breaks)
    value = take(ordered, edges[:-1])
    # A run of the hypothesis (side 0) precedes the runs of the same key in the references: at most
    # R runs follow it, and their key bits are equal.
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
    """Return the rank of each of the n occurrences in the hypothesis and its reference counts.

    rank int64 [n]: the number of equal occurrences before it, in the order given; counts int64
    [R,n]: how often its key occurs in each reference. The groups may be in any order.
    """
    packed, _ = _pack_groups((hyp, *refs), groups)
    side_bits = len(refs).bit_length()
    order = argsort(packed)
    ordered = packed[order]
    starts, count = runs(ordered)
    value = ordered[starts]
    owner = value >> side_bits
    side = value & ((1 << side_bits) - 1)
    # a run of the hypothesis (side 0) is the head of the runs of the same key that follow it
    index = torch.arange(value.shape[0], device=value.device)
    fresh = torch.ones_like(index, dtype=torch.bool)
    torch.ne(owner[1:], owner[:-1], out=fresh[1:])
    head = torch.where(fresh, index, 0).cummax(0).values if value.shape[0] else index
    column = (side == 0).cumsum(0) - 1  # of the runs of the hypothesis, at most n
    cells = len(refs) * hyp.key.shape[0]
    headed = (side > 0) & (take(side, head) == 0)
    cell = (side - 1) * hyp.key.shape[0] + column
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
    """Count the different keys that occur in exactly 1, 2, …, R references, int64 [G,R]."""
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
