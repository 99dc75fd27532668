"""Weights of units by the number of references that have them, as bert-score computes them.

idf(u) = ln( (N + 1) / (n(u) + 1) )        N references, of which n(u) have the unit u
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from tensormt.data.tensor_files import load_tensors, save_tensors
from tensormt.errors import TensorMTError
from tensormt.kernels.backend import owners, ranges, search, take
from tensormt.vectors.batch import VectorBatch

_FORMAT = "tensormt reference counts 1"


class ReferenceCounts:
    """In how many references each unit occurs; immutable.

    Args:
        keys: Keys of units, ascending, int64 [n].
        counts: Number of references that have each, int64 [n].
        total: Number N of references.
        kind: What the units are: a name of encoder and units.
    """

    def __init__(self, keys: Tensor, counts: Tensor, total: int, kind: str = "") -> None:
        self.keys, self.counts, self.total, self.kind = keys, counts, total, kind

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
        return ReferenceCounts(keys, counts, self.total + int((lengths > 0).sum()), self.kind)

    def merge(self, other: ReferenceCounts) -> ReferenceCounts:
        """Return the counts of both, of different references."""
        other.check(self.kind)
        keys = torch.unique(torch.cat([self.keys, other.keys]))
        counts = torch.zeros_like(keys)
        for part in (self, other):
            counts[search(keys, part.keys)] += part.counts
        return ReferenceCounts(keys, counts, self.total + other.total, self.kind)

    def check(self, kind: str) -> None:
        """Raise if the units are others."""
        if self.kind != kind:
            raise TensorMTError(f"counts of {self.kind} cannot serve {kind}: count references anew")

    def save(self, path: str | Path) -> None:
        """Write the counts to a safetensors file."""
        about = {"total": self.total, "kind": self.kind}
        save_tensors(path, _FORMAT, {"keys": self.keys, "counts": self.counts}, about)

    @classmethod
    def load(cls, path: str | Path) -> ReferenceCounts:
        """Read what `save` wrote."""
        about, tensors = load_tensors(path, _FORMAT, "counts of references")
        return cls(tensors["keys"], tensors["counts"], about["total"], about["kind"])

    @property
    def facts(self) -> list[object]:
        """What tells these counts from others: names and tensors."""
        return [self.kind, self.total, self.keys, self.counts]

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


def no_counts(kind: str = "") -> ReferenceCounts:
    """Return the counts before any reference."""
    none = torch.zeros(0, dtype=torch.int64)
    return ReferenceCounts(none, none, 0, kind)
