"""How often every n-gram stands in all references of a test set: the step before NIST, NM and Zipf.

    frequencies = Frequencies(max_order=5)
    for refs in pieces: frequencies.add(refs)          # any pieces, any order, any machine
    frequencies.save("test.safetensors")               # tensors and names, no pickle
    tm.NIST(counts=Frequencies.load("test.safetensors"))

A table takes 9 bytes for each different n-gram (count_table.py), and 2 to 4 more once it is looked
up (kernels/sorted_index.py). New n-grams wait, 8 bytes for each occurrence, until they are a
quarter of the table (or a million) and are then sorted and merged in, order by order, so adding n
of them costs n log n. At the peak, while they are merged in, counting takes about 20 bytes a
different n-gram of all orders together (bench/memory.py: 19 to 24 over 10⁴ to 10⁶ segments, 935 MiB
for 51 million n-grams).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from tensormt.data.tensor_files import load_tensors, save_tensors
from tensormt.errors import TensorMTError
from tensormt.kernels.backend import on_cpu, runs, search, take
from tensormt.ngram.count_table import CountTable, histogram
from tensormt.ngram.keys import orders, rows
from tensormt.options import describe
from tensormt.text.tokens import TokenBatch
from tensormt.validation import file_name, integer, list_of, validate

_LEAST = 1 << 20  # n-grams that may wait before they are merged in
_FORMAT = "tensormt n-gram frequencies 1"


class Frequencies:
    """Counts of the n-grams of all references up to max_order."""

    @validate(max_order=integer(1, 100))
    def __init__(self, max_order: int = 5) -> None:
        self.max_order = max_order
        self.words = 0
        self.complete = False  # whether all references that are scored are known to be counted
        self.kind: tuple[str, bool] | None = None
        self._tables_by_order: list[CountTable] = []
        self._waiting: list[list[Tensor]] = [[] for _ in range(max_order)]
        self._ranks: dict[int, tuple[Tensor, Tensor]] = {}

    @classmethod
    def of_references(cls, refs: Sequence[TokenBatch], max_order: int) -> Frequencies:
        """Count all references that are scored with these counts."""
        new = cls(max_order).add(refs)
        new.complete = True
        return new

    @validate(refs=list_of(TokenBatch, "a batch of TokenBatch.from_text(lines)"))
    def add(self, refs: Sequence[TokenBatch]) -> Frequencies:
        """Count the n-grams of R streams of references, which may be a piece of the test set."""
        for stream in refs:
            self._agree((stream.tokenize, stream.lowercase))
            self.words += stream.tokens.shape[0]
        if refs and not on_cpu(refs[0].tokens):
            self._take(CountTable.of_rows(*rows(TokenBatch.concat(refs), self.max_order)))
            return self
        for stream in refs:
            for order, (key, _) in enumerate(orders(stream, self.max_order)):
                self._waiting[order].append(key)
        self._settle(always=False)
        return self

    def _take(self, tables: list[CountTable]) -> None:
        """Add the counts of each order."""
        if self._tables_by_order:
            pairs = zip(self._tables_by_order, tables, strict=True)
            tables = [own.plus(more.to(own.keys.device)) for own, more in pairs]
        self._tables_by_order, self._ranks = tables, {}

    def merge(self, other: Frequencies) -> Frequencies:
        """Add the counts of another part of the test set, counted elsewhere."""
        if not isinstance(other, Frequencies):
            raise TensorMTError(f"other is {describe(other)}, expected Frequencies")
        if other.max_order < self.max_order:
            raise TensorMTError(
                f"frequencies up to order {other.max_order} cannot be added to ones up to "
                f"{self.max_order}: count both with the same max_order"
            )
        if other.kind is not None:
            self._agree(other.kind)
        self.words += other.words
        self._settle(always=True)
        self._take(other.tables_by_order[: self.max_order])
        return self

    @property
    def tables_by_order(self) -> list[CountTable]:
        """For each order the counts of its n-grams, by key."""
        self._settle(always=True)
        return self._tables_by_order

    @property
    def tables(self) -> list[tuple[Tensor, Tensor]]:
        """For each order the different keys (rising) and their counts, both int64."""
        return [(tally.keys, tally.full_counts) for tally in self.tables_by_order]

    @property
    def size(self) -> int:
        """Bytes that the tables take in memory, without what a look-up adds."""
        return sum(tally.size for tally in self.tables_by_order)

    @property
    def facts(self) -> list[object]:
        """What tells these counts from others: names and tensors."""
        return [self.words, self.kind, *(tensor for table in self.tables for tensor in table)]

    def to(self, device: torch.device | str) -> Frequencies:
        """The same counts on a device."""
        new = Frequencies(self.max_order)
        new.words, new.kind = self.words, self.kind
        new._tables_by_order = [tally.to(torch.device(device)) for tally in self.tables_by_order]
        return new

    def of(self, order: int, keys: Tensor) -> Tensor:
        """The count of each of the keys [m] of an order, int64 [m]; 0 for what was never seen."""
        return self.tables_by_order[order - 1].to(keys.device).look_up(keys)

    def rank(self, frequency: Tensor, max_order: int) -> Tensor:
        """Zipf's rank of n-grams of a frequency among all up to max_order, float64 [...].

        Rank 1 is the most frequent; n-grams of equal frequency share the mean of their ranks.
        """
        tables_by_order = self.tables_by_order
        if max_order not in self._ranks:
            number, large = histogram(tables_by_order[:max_order])
            values = torch.arange(number.shape[0], device=number.device)
            starts, more = runs(large)
            values = torch.cat([values, take(large, starts)])
            number = torch.cat([number, more])
            below = torch.cat([number.new_zeros(1), number.cumsum(0)])
            self._ranks[max_order] = (values, below)
        values, below = (part.to(frequency.device) for part in self._ranks[max_order])
        low = below[search(values, frequency.reshape(-1))]
        high = below[search(values, frequency.reshape(-1), right=True)]
        # high - low n-grams share the frequency, all from high on are more frequent
        rank = (below[-1] - high) + (high - low + 1).double() / 2
        return rank.view(frequency.shape)

    @validate(path=file_name)
    def save(self, path: str | Path) -> None:
        """Write the tables to a safetensors file."""
        tensors = {}
        for order, (keys, counts) in enumerate(self.tables, 1):
            tensors[f"keys.{order}"], tensors[f"counts.{order}"] = keys, counts
        about = {"max_order": self.max_order, "words": self.words, "kind": self.kind}
        save_tensors(path, _FORMAT, tensors, about)

    @classmethod
    @validate(path=file_name)
    def load(cls, path: str | Path) -> Frequencies:
        """Read what `save` wrote."""
        about, tensors = load_tensors(path, _FORMAT, "n-gram frequencies")
        new = cls(about["max_order"])
        new._tables_by_order = [
            CountTable.table(tensors[f"keys.{order}"], tensors[f"counts.{order}"])
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
        """Merge waiting n-grams into the tables, if they are many or if asked."""
        waiting = sum(keys.shape[0] for parts in self._waiting for keys in parts)
        settled = sum(map(len, self._tables_by_order))
        if self._tables_by_order and (
            not waiting if always else waiting < max(settled // 4, _LEAST)
        ):
            return
        if not self._tables_by_order:
            # all tables live where the first keys came from
            places = [keys.device for parts in self._waiting for keys in parts]
            none = CountTable.none(places[0] if places else torch.device("cpu"))
            self._tables_by_order = [none] * self.max_order
        for order, parts in enumerate(self._waiting):
            if parts:
                own = self._tables_by_order[order]
                keys = torch.cat([keys.to(own.keys.device) for keys in parts])
                parts.clear()
                self._tables_by_order[order] = own.plus(CountTable.of(keys))
        self._ranks = {}
