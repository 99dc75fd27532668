"""How often every n-gram stands in all references of a test set: the step before NIST, NM and Zipf.

    frequencies = Frequencies(max_order=5)
    for refs in pieces: frequencies.add(refs)          # any pieces, any order, any machine
    frequencies.save("test.safetensors")               # tensors and names, no pickle
    tm.NIST(counts=Frequencies.load("test.safetensors"))

Tables hold one 64-bit key and one int64 count for each different n-gram, sorted by key. New pieces
wait until they outweigh the table and are then merged in, so adding n of them costs n log n.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from tensormt.data.tensors import load_tensors, save_tensors
from tensormt.errors import TensorMTError
from tensormt.given import file_name, given, many, whole
from tensormt.kernels.arrays import argsort, runs, search, sort
from tensormt.ngram.keys import orders
from tensormt.text.tokens import TokenBatch
from tensormt.typed import described

__all__ = ["Frequencies"]

_FORMAT = "tensormt n-gram frequencies 1"


class Frequencies:
    """Counts of the n-grams of all references up to max_order."""

    @given(max_order=whole(1, 100))
    def __init__(self, max_order: int = 5) -> None:
        self.max_order = max_order
        self.words = 0
        self.kind: tuple[str, bool] | None = None
        self._tables: list[tuple[Tensor, Tensor]] | None = None
        self._waiting: list[list[tuple[Tensor, Tensor]]] = [[] for _ in range(max_order)]
        self._ranks: dict[int, tuple[Tensor, Tensor]] = {}

    @given(refs=many(TokenBatch, "a batch of TokenBatch.from_text(lines)"))
    def add(self, refs: Sequence[TokenBatch]) -> Frequencies:
        """Count the n-grams of R streams of references, which may be a piece of the test set."""
        for stream in refs:
            self._agree((stream.tokenize, stream.lowercase))
            self.words += stream.tokens.shape[0]
        found: list[list[Tensor]] = [[] for _ in range(self.max_order)]
        for stream in refs:
            for order, (key, _) in enumerate(orders(stream, self.max_order)):
                found[order].append(key)
        for order, parts in enumerate(found):
            if parts:
                ordered = sort(torch.cat(parts))
                starts, counts = runs(ordered)
                self._waiting[order].append((ordered.index_select(0, starts), counts))
        self._settle(always=False)
        return self

    def merge(self, other: Frequencies) -> Frequencies:
        """Add the counts of another part of the test set, counted elsewhere."""
        if not isinstance(other, Frequencies):
            raise TensorMTError(f"other is {described(other)}, expected Frequencies")
        if other.max_order < self.max_order:
            raise TensorMTError(
                f"frequencies up to order {other.max_order} cannot be added to ones up to "
                f"{self.max_order}: count both with the same max_order"
            )
        if other.kind is not None:
            self._agree(other.kind)
        self.words += other.words
        for order, table in enumerate(other.tables[: self.max_order]):
            self._waiting[order].append(table)
        self._settle(always=False)
        return self

    @property
    def tables(self) -> list[tuple[Tensor, Tensor]]:
        """For each order the different keys (rising) and their counts, both int64."""
        self._settle(always=True)
        assert self._tables is not None
        return self._tables

    def of(self, order: int, keys: Tensor) -> Tensor:
        """The count of each of the keys [m] of an order, int64 [m]; 0 for what was never seen."""
        known, counts = self.tables[order - 1]
        if not known.shape[0]:
            return torch.zeros_like(keys)
        known, counts = known.to(keys.device), counts.to(keys.device)
        # in rising order neighbouring searches walk the same part of the table
        rising = argsort(keys)
        ordered = keys.index_select(0, rising)
        place = search(known, ordered).clamp_max_(known.shape[0] - 1)
        same = known.index_select(0, place) == ordered
        found = counts.index_select(0, place) * same
        return torch.empty_like(keys).scatter_(0, rising, found)

    def rank(self, frequency: Tensor, max_order: int) -> Tensor:
        """Zipf's rank of n-grams of a frequency among all up to max_order, float64 [...].

        Rank 1 is the most frequent; n-grams of equal frequency share the mean of their ranks.
        """
        tables = self.tables
        if max_order not in self._ranks:
            counts = sort(torch.cat([counts for _, counts in tables[:max_order]]))
            starts, _ = runs(counts)
            below = torch.cat([starts, starts.new_tensor([counts.shape[0]])])
            self._ranks[max_order] = (counts[starts], below)
        values, below = (part.to(frequency.device) for part in self._ranks[max_order])
        low = below[search(values, frequency.reshape(-1))]
        high = below[search(values, frequency.reshape(-1), right=True)]
        # high - low n-grams share the frequency, all from high on are more frequent
        rank = (below[-1] - high) + (high - low + 1).double() / 2
        return rank.view(frequency.shape)

    @given(path=file_name)
    def save(self, path: str | Path) -> None:
        """Write the tables to a safetensors file."""
        tensors = {}
        for order, (keys, counts) in enumerate(self.tables, 1):
            tensors[f"keys.{order}"], tensors[f"counts.{order}"] = keys, counts
        about = {"max_order": self.max_order, "words": self.words, "kind": self.kind}
        save_tensors(path, _FORMAT, tensors, about)

    @classmethod
    @given(path=file_name)
    def load(cls, path: str | Path) -> Frequencies:
        """Read what `save` wrote."""
        about, tensors = load_tensors(path, _FORMAT, "n-gram frequencies")
        new = cls(about["max_order"])
        new._tables = [
            (tensors[f"keys.{order}"], tensors[f"counts.{order}"])
            for order in range(1, new.max_order + 1)
        ]
        new.words = about["words"]
        new.kind = None if about["kind"] is None else (about["kind"][0], about["kind"][1])
        return new

    def check(self, batch: TokenBatch) -> None:
        """Raise if the batch was read in another way than the text that was counted."""
        self._agree((batch.tokenize, batch.lowercase))

    def _agree(self, kind: tuple[str, bool]) -> None:
        if self.kind is None:
            self.kind = kind
        if self.kind != kind:
            raise TensorMTError(
                f"frequencies of text read with tokenize={self.kind[0]}, lowercase={self.kind[1]} "
                f"meet text with tokenize={kind[0]}, lowercase={kind[1]}: read both the same way"
            )

    def _settle(self, always: bool) -> None:
        """Merge waiting pieces into the tables, if they outweigh them or if asked."""
        waiting = sum(keys.shape[0] for parts in self._waiting for keys, _ in parts)
        settled = sum(keys.shape[0] for keys, _ in self._tables or [])
        if self._tables is not None and (not waiting if always else waiting <= settled):
            return
        old = self._tables
        if old is None:
            # all tables live where the first keys came from
            places = [keys.device for parts in self._waiting for keys, _ in parts]
            device = places[0] if places else torch.device("cpu")
            empty = torch.zeros(0, dtype=torch.int64, device=device)
            old = [(empty, empty)] * self.max_order
        self._tables = [
            _sum([table, *parts]) for table, parts in zip(old, self._waiting, strict=True)
        ]
        self._waiting = [[] for _ in range(self.max_order)]
        self._ranks = {}


def _sum(parts: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    """One table of several, whose keys may repeat, on the device of the first."""
    device = parts[0][0].device
    filled = [(keys.to(device), counts.to(device)) for keys, counts in parts if keys.shape[0]]
    if len(filled) < 2:
        return filled[0] if filled else parts[0]
    keys = torch.cat([keys for keys, _ in filled])
    order = argsort(keys)
    keys = keys[order]
    starts, number = runs(keys)
    upto = torch.cat([counts for _, counts in filled])[order].cumsum(0)
    upto = upto[starts + number - 1]
    return keys[starts], torch.diff(upto, prepend=upto.new_zeros(1))
