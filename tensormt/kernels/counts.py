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

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from tensormt.kernels import hashing
from tensormt.kernels.backend import argsort, count_values, nonzero, runs, sort, sort_groups, take


class Labels(NamedTuple):
    """The labels behind the keys of the first order: the first n keys are names[label].

    label int64 [n]; names int64 [L], on the host; segments: the number of segments B. The keys of
    the first order are in groups 0…B-1, and no others are.
    """

    label: Tensor
    names: Tensor
    segments: int


class Keys(NamedTuple):
    """Occurrences of keys: group int64 [n], from 0 to G-1, and key int64 [n].

    `labels` is given if the keys of the first order are hashes of labels. `side` is 0 for a
    hypothesis, 1…R for its references: one number where all keys are of one side, with ascending
    groups, or else int64 [n].
    """

    group: Tensor
    key: Tensor
    labels: Labels | None = None
    side: Tensor | int = 0

    def cells(self, size: int) -> Tensor:
        """Return side · size + group, int64 [n]: one number for a side and a group."""
        if isinstance(self.side, int):
            return self.group + self.side * size
        return torch.add(self.group, self.side, alpha=size)

    def rows(self, start: int, stop: int | None = None) -> Keys:
        """Return the keys start…stop-1, without labels."""
        side = self.side if isinstance(self.side, int) else self.side[start:stop]
        return Keys(self.group[start:stop], self.key[start:stop], None, side)

    def at(self, index: Tensor) -> Keys:
        """Return the keys at an index int64 [m], without labels."""
        side = self.side if isinstance(self.side, int) else take(self.side, index)
        return Keys(take(self.group, index), take(self.key, index), None, side)


def orders(segment: Tensor, keys: Sequence[Tensor], present: Tensor | None, labels: Labels) -> Keys:
    """Combine the keys of D orders; group = order · B + segment, counting orders from 0.

    Args:
        segment: int64 [n], ascending.
        keys: the keys of each order, int64 [n] each.
        present: which keys of the orders 2…D exist, bool [(D-1)·n]; those of the first order all
            do. None if there is no other order.
        labels: the labels of the first order.

    Costs one host synchronisation (the number of keys).
    """
    if present is None:
        return Keys(segment, keys[0], labels)
    cells = nonzero(present)
    size = labels.segments
    later = torch.arange(size, len(keys) * size, max(size, 1), device=segment.device)
    group = take((later[:, None] + segment).view(-1), cells)
    key = take(torch.cat(list(keys[1:])), cells)
    return Keys(torch.cat([segment, group]), torch.cat([keys[0], key]), labels)


class Sides(NamedTuple):
    """The keys of a hypothesis and of its R references, in S = 1 + R sides and G groups.

    `keys` has one item for each side, or a single one for all of them.
    """

    keys: Sequence[Keys]
    number: int
    groups: int

    @classmethod
    def of(cls, sides: Sequence[Keys], groups: int) -> Sides:
        """From the keys of each side, the hypothesis first."""
        keys = [keys._replace(side=number) for number, keys in enumerate(sides)]
        return cls(keys, len(keys), groups)

    @classmethod
    def of_joint(cls, keys: Keys, number: int, groups: int) -> Sides:
        """From the keys of one batch that has the B segments of all sides, one after the other."""
        assert keys.labels is not None
        size = max(keys.labels.segments // number, 1)
        block = keys.group // size  # order · S + side
        order = block // number
        side = torch.sub(block, order, alpha=number)
        group = torch.sub(keys.group, block.sub_(order), alpha=size)
        labels = keys.labels._replace(segments=size)
        return cls([Keys(group, keys.key, labels, side)], number, groups)

    def totals(self, number: int) -> Tensor:
        """Count the occurrences of the first so many sides in each group, int64 [number,G]."""
        if len(self.keys) == self.number:
            return torch.stack([totals(keys, self.groups) for keys in self.keys[:number]])
        cells = self.keys[0].cells(self.groups)
        return count_values(cells, self.number * self.groups).view(self.number, -1)[:number]

    def clipped(self) -> Tensor:
        """Count the clipped matches of the hypothesis in the references, int64 [G]."""
        return self._matches(lambda hyp, refs: torch.minimum(hyp, refs.amax(0)))

    def clipped_each(self) -> Tensor:
        """Count the clipped matches of the hypothesis in each reference alone, int64 [R,G]."""
        return self._matches(torch.minimum)

    def _matches(self, match: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
        """Sum the matches of all keys of each group, [...,G].

        `match` gives them [...,K] from the counts in the hypothesis [K] and references [R,K]. A
        first order of few different labels, half of all keys of a tree, is counted in a table.
        """
        table = self._label_counts()
        if table is None:
            return self._sorted_matches(match, self.keys, self.groups)
        first = match(table[0], table[1:]).sum(-1)
        segments = first.shape[-1]
        if self.groups == segments:
            return first
        later = [keys.rows(keys.labels.label.shape[0]) for keys in self.keys if keys.labels]
        later = [keys._replace(group=keys.group - segments) for keys in later]
        return torch.cat([first, self._sorted_matches(match, later, self.groups - segments)], -1)

    def _label_counts(self) -> Tensor | None:
        """Count all labels in each segment, int64 [S,B,L]; None if a table would not be faster."""
        labels = [keys.labels for keys in self.keys if keys.labels is not None]
        if len(labels) < len(self.keys):
            return None
        segments = labels[0].segments
        most = 2 * sum(part.label.shape[0] for part in labels) // max(self.number * segments, 1)
        if max(part.names.shape[0] for part in labels) > most:
            return None
        ids, width = _common_ids(labels)
        device = self.keys[0].key.device
        table = torch.zeros(self.number * segments * width, dtype=torch.int64, device=device)
        for keys, label in zip(self.keys, ids, strict=True):
            cell = keys.rows(0, label.shape[0]).cells(segments).mul_(width).add_(label)
            table.index_add_(0, cell, torch.ones_like(cell))
        return table.view(self.number, segments, width)

    def _sorted_matches(
        self, match: Callable[[Tensor, Tensor], Tensor], keys: Sequence[Keys], groups: int
    ) -> Tensor:
        """`_matches` for keys of any kind: equal keys of a group are adjacent after a sort."""
        found = _candidates(keys)
        side_bits = (self.number - 1).bit_length()
        sides = [((part.key << side_bits).bitwise_or_(part.side), part.group) for part in found]
        ordered, group = sort_groups(sides, groups)
        size = ordered.shape[0]
        if not size:
            shape = match(ordered, ordered.expand(self.number - 1, 0)).shape
            return ordered.new_zeros(*shape[:-1], groups)
        key = ordered >> side_bits
        fresh = (key[1:] != key[:-1]).logical_or_(group[1:] != group[:-1])
        number = torch.zeros_like(group)  # of the different keys, of which there are at most n
        torch.cumsum(fresh, 0, out=number[1:])
        cell = number.add(ordered & ((1 << side_bits) - 1), alpha=size)
        counts = count_values(cell, self.number * size).view(self.number, size)
        owner = torch.zeros_like(group).scatter_(0, number, group)
        matched = match(counts[0], counts[1:])
        zeros = matched.new_zeros(*matched.shape[:-1], groups)
        return zeros.index_add_(-1, owner, matched)


def totals(keys: Keys, groups: int) -> Tensor:
    """Count the occurrences in each group, int64 [G]."""
    return count_values(keys.group, groups)


def clipped(hyp: Keys, refs: Sequence[Keys], groups: int) -> Tensor:
    """Count the clipped matches of the hypothesis's keys in the references, int64 [G]."""
    return Sides.of([hyp, *refs], groups).clipped()


def _common_ids(labels: Sequence[Labels]) -> tuple[list[Tensor], int]:
    """Number the labels of several dictionaries in common: ids [n] of each, and how many."""
    if len(labels) == 1:
        return [labels[0].label], labels[0].names.shape[0]
    names, ids = np.unique(
        np.concatenate([part.names.numpy() for part in labels]), return_inverse=True
    )
    joint = torch.from_numpy(ids).to(labels[0].label.device)
    parts = torch.split(joint, [part.names.shape[0] for part in labels])
    return [take(own, part.label) for own, part in zip(parts, labels, strict=True)], len(names)


def _candidates(sides: Sequence[Keys]) -> list[Keys]:
    """Keep the keys that may occur both in the hypothesis and in a reference.

    A Bloom filter with one hash function and up to a million cells: a key whose cell is not set by
    the other side cannot match. One host synchronisation for each item (the number of keys kept).
    """
    size = sum(keys.key.shape[0] for keys in sides)
    cells = 1 << min((2 * size).bit_length(), 20)
    # the hypothesis has the first half of the cells, references the second
    marked = torch.zeros(2 * cells, dtype=torch.bool, device=sides[0].key.device)
    places = []
    for keys in sides:
        place = (keys.group * hashing.POWER).add_(keys.key).bitwise_and_(cells - 1)
        places.append(place.add_(keys.side > 0, alpha=cells))
        marked.index_fill_(0, places[-1], True)
    found = [nonzero(take(marked, place.bitwise_xor_(cells))) for place in places]
    return [keys.at(rows) for keys, rows in zip(sides, found, strict=True)]


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
