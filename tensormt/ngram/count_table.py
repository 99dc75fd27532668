"""Tally: how often each of many keys was seen, in 9 bytes a key.

    keys    int64 [n], rising          8 bytes
    counts  uint8 [n]                  1 byte; 255 stands for a count that `large` knows
    large   keys and counts, int64     16 bytes for each of the few that were seen 255 times or more

Tallies add up by merging sorted keys: what the smaller one brings is searched in the larger one and
put between its keys, so an addition needs no sort and little more memory than its result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from tensormt.kernels.backend import argsort, count_values, nonzero, runs, search, sort, take
from tensormt.kernels.sorted_index import SortedIndex

_TOP = 255


@dataclass(frozen=True)
class CountTable:
    """Counts of different keys; immutable."""

    keys: Tensor
    counts: Tensor
    large_keys: Tensor
    large_counts: Tensor

    @classmethod
    def none(cls, device: torch.device) -> CountTable:
        """A tally of nothing."""
        empty = torch.zeros(0, dtype=torch.int64, device=device)
        return cls(empty, empty.to(torch.uint8), empty, empty)

    @classmethod
    def of(cls, keys: Tensor) -> CountTable:
        """Count keys int64 [m] in any order."""
        ordered = sort(keys)
        starts, counts = runs(ordered)
        return cls.table(take(ordered, starts), counts)

    @classmethod
    def of_rows(cls, keys: Tensor, real: Tensor) -> list[CountTable]:
        """Count those keys of each row of a table, int64 [N,n], that are real, bool [N,n].

        One sort and three host synchronisations for all rows, for devices.
        """
        number, size = keys.shape
        if not size:
            return [cls.none(keys.device)] * number
        last = torch.iinfo(torch.int64).max  # what is not real comes last in its row
        ordered = torch.sort(keys.masked_fill(~real, last), dim=1).values
        fresh = torch.ones_like(real)
        torch.ne(ordered[:, 1:], ordered[:, :-1], out=fresh[:, 1:])
        edges = nonzero(fresh)
        kinds = take(ordered.view(-1), edges)
        counts = torch.diff(edges, append=edges.new_full((1,), number * size))
        row, known = edges // size, kinds != last
        large = nonzero((counts >= _TOP) & known)
        groups = (row, torch.where(known, row, number), take(row, large))
        numbers = torch.stack([count_values(group, number + 1) for group in groups]).tolist()
        short = counts.clamp_max(_TOP).to(torch.uint8)
        large_keys, large_counts = take(kinds, large), take(counts, large)
        found, start, first = [], 0, 0
        for every, own, more in list(zip(*numbers, strict=True))[:number]:
            some, few = slice(start, start + own), slice(first, first + more)
            found.append(cls(kinds[some], short[some], large_keys[few], large_counts[few]))
            start, first = start + every, first + more
        return found

    @classmethod
    def table(cls, keys: Tensor, counts: Tensor) -> CountTable:
        """From different keys, rising, and their counts, int64 [n] both."""
        large = nonzero(counts >= _TOP)
        short = counts.clamp_max(_TOP).to(torch.uint8)
        return cls(keys, short, take(keys, large), take(counts, large))

    def __len__(self) -> int:
        return self.keys.shape[0]

    @property
    def full_counts(self) -> Tensor:
        """The counts of all keys, int64 [n]."""
        counts = self.counts.to(torch.int64)
        return counts.index_copy_(0, nonzero(self.counts == _TOP), self.large_counts)

    @property
    def size(self) -> int:
        """Bytes in memory, without what a look-up adds."""
        return sum(part.numel() * part.element_size() for part in self._parts)

    def __getstate__(self) -> dict[str, Tensor]:
        return dict(zip(("keys", "counts", "large_keys", "large_counts"), self._parts, strict=True))

    @property
    def _parts(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return self.keys, self.counts, self.large_keys, self.large_counts

    def to(self, device: torch.device) -> CountTable:
        """The same tally on a device."""
        if device == self.keys.device:
            return self
        return CountTable(*(part.to(device) for part in self._parts))

    @cached_property
    def _lookups(self) -> tuple[SortedIndex, SortedIndex]:
        """Of all keys, and of the large ones."""
        return SortedIndex(self.keys), SortedIndex(self.large_keys)

    def look_up(self, keys: Tensor) -> Tensor:
        """The counts of keys int64 [m] in any order; 0 for one that was never seen."""
        if not len(self):
            return torch.zeros_like(keys)
        whole, large = self._lookups
        place, known = whole.find(keys)
        found = take(self.counts, place).to(torch.int64).mul_(known)
        if self.large_keys.shape[0]:
            place, _ = large.find(keys)
            found = torch.where(found == _TOP, take(self.large_counts, place), found)
        return found

    def plus(self, other: CountTable) -> CountTable:
        """The sum of two tallies on one device."""
        more, less = (self, other) if len(self) >= len(other) else (other, self)
        if not len(less):
            return more
        place = search(more.keys, less.keys)
        known = take(more.keys, place.clamp_max(len(more) - 1)) == less.keys
        both, fresh = nonzero(known), nonzero(~known)

        # keys of both: the bytes add up, and what no longer fits a byte becomes large
        at = take(place, both)
        left, right = take(more.counts, at), take(less.counts, both)
        total = left.to(torch.int16) + right
        large = nonzero(total >= _TOP)
        at_large, left, right = take(at, large), take(left, large), take(right, large)
        named = take(more.keys, at_large)
        parts = [(more.large_keys, more.large_counts), (less.large_keys, less.large_counts)]
        for side in (left, right):
            rows = nonzero(side < _TOP)
            parts.append((take(named, rows), take(side, rows).to(torch.int64)))
        counts = more.counts.index_copy(0, at, total.clamp_max(_TOP).to(torch.uint8))

        # keys of the smaller one alone go between those of the larger one
        slot = take(place, fresh) + torch.arange(fresh.shape[0], device=fresh.device)
        size = len(more) + fresh.shape[0]
        old = torch.ones(size, dtype=torch.bool, device=slot.device).index_fill_(0, slot, False)
        merged = []
        for of_more, of_less in ((more.keys, less.keys), (counts, less.counts)):
            cells = torch.empty(size, dtype=of_more.dtype, device=slot.device)
            cells.index_copy_(0, slot, take(of_less, fresh))
            merged.append(cells.masked_scatter_(old, of_more))
        return CountTable(merged[0], merged[1], *_sum(parts))


def histogram(tables_by_order: Sequence[CountTable]) -> tuple[Tensor, Tensor]:
    """How many keys of all tallies have the counts 0…254, int64 [255], and the others, rising."""
    numbers = [torch.bincount(tally.counts, minlength=_TOP + 1)[:_TOP] for tally in tables_by_order]
    return torch.stack(numbers).sum(0), sort(
        torch.cat([tally.large_counts for tally in tables_by_order])
    )


def _sum(parts: Sequence[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    """One table of a few keys (rising) and counts of several, whose keys may repeat."""
    keys = torch.cat([keys for keys, _ in parts])
    order = argsort(keys)
    keys = take(keys, order)
    starts, number = runs(keys)
    upto = take(torch.cat([counts for _, counts in parts]), order).cumsum(0)
    upto = take(upto, starts + number - 1)
    return take(keys, starts), torch.diff(upto, prepend=upto.new_zeros(1))
