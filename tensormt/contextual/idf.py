"""Weights of units by the number of references that have them, as bert-score computes them.

idf(u) = ln( (N + 1) / (n(u) + 1) )        N references, of which n(u) have the unit u
"""

from __future__ import annotations

import torch
from torch import Tensor

from tensormt.kernels.backend import owners, ranges, search, take
from tensormt.vectors.batch import VectorBatch


class ReferenceCounts:
    """In how many references each unit occurs; immutable.

    Args:
        keys: Keys of units, ascending, int64 [n].
        counts: Number of references that have each, int64 [n].
        total: Number N of references.
    """

    def __init__(self, keys: Tensor, counts: Tensor, total: int) -> None:
        self.keys, self.counts, self.total = keys, counts, total

    def add(self, batch: VectorBatch, kind: str) -> ReferenceCounts:
        """Return the counts with the references of one more batch; a blank text does not count."""
        units = batch.source.units(kind)
        lengths = units.lengths[batch.rows]
        index = ranges(units.starts[batch.rows], lengths)
        pairs = torch.stack([owners(lengths), units.key[index]], 1)[units.real[index]]
        keys, number = self._numbered(pairs[:, 1])
        once = torch.unique(pairs[:, 0] * max(len(keys), 1) + number) % max(len(keys), 1)
        counts = torch.bincount(once, minlength=len(keys))
        counts[search(keys, self.keys)] += self.counts
        return ReferenceCounts(keys, counts, self.total + int((lengths > 0).sum()))

    def _numbered(self, found: Tensor) -> tuple[Tensor, Tensor]:
        """All known keys with those found, and the number of each of the latter."""
        keys = torch.unique(torch.cat([self.keys.to(found.device), found]))
        return keys, search(keys, found)

    def weights(self, keys: Tensor) -> Tensor:
        """Return the weights of units by their keys, int64 [...] -> float64 [...]."""
        known, counts = self.keys.to(keys.device), self.counts.to(keys.device)
        flat = keys.reshape(-1)
        count = torch.zeros_like(flat)
        if len(known):
            place = search(known, flat).clamp(max=len(known) - 1)
            count = take(counts, place).where(take(known, place) == flat, 0)
        return torch.log((self.total + 1) / (count + 1).double()).view(keys.shape)


def no_counts() -> ReferenceCounts:
    """Return the counts before any reference."""
    none = torch.zeros(0, dtype=torch.int64)
    return ReferenceCounts(none, none, 0)
