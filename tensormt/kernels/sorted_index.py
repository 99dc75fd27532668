"""Look-up in a large sorted array of hashes: a few steps where a binary search takes twenty.

Hashes are uniformly distributed, so their upper bits nearly determine their index (interpolation
search). `_first` holds, for each value of the upper bits, the index of the first key with these
bits; one to two keys share a value, which costs 2 to 4 bytes per key. From there a linear scan
reaches the key. Queries need not be sorted and the table stays in the cache. It is built once
enough keys were asked for to make up for its cost. Keys that are not distributed evenly are found
by binary search.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from tensormt.kernels.backend import Array, on_cpu, search, take

_STEPS = 32  # the largest number of keys that may share their upper bits
_SHARE = 32  # one in so many keys is found by binary search before the table is built
_BLOCK = 1 << 18  # entries of the table that are computed at a time


class SortedIndex:
    """An index of different keys, int64 [n], ascending.

    share: n / share queries are answered by binary search before the table is built.
    """

    def __init__(self, keys: Tensor, share: int = _SHARE) -> None:
        self.keys = keys
        bits = max(keys.shape[0].bit_length() - 1, 1)
        self._shift, self._half = 64 - bits, 1 << (bits - 1)
        self._first: Array | None = None  # int32 [2^bits]
        self._steps = 0
        # queries left before the table is built; None: it is never built, or was
        usable = on_cpu(keys) and 0 < keys.shape[0] < 1 << 31
        self._left: int | None = keys.shape[0] // share if usable else None

    def _prepare(self) -> None:
        keys, self._left = self.keys.numpy(), None
        first = np.empty(2 * self._half + 1, np.int32)
        first[-1] = len(keys)
        for start in range(-self._half, self._half, _BLOCK):
            edges = np.arange(start, min(start + _BLOCK, self._half)) << self._shift
            first[start + self._half :][: len(edges)] = np.searchsorted(keys, edges)
        self._steps = int(np.diff(first).max())
        if self._steps <= _STEPS:
            self._first = first

    def find(self, asked: Tensor) -> tuple[Tensor, Tensor]:
        """Return the indices of queries int64 [m] and whether they exist, int64 and bool [m].

        The index of a query that does not exist is any valid one. n must not be 0.
        """
        if self._left is not None:
            self._left -= asked.shape[0]
            if self._left < 0:
                self._prepare()
        last = self.keys.shape[0] - 1
        if self._first is None:
            place = search(self.keys, asked).clamp_max_(last)
            return place, take(self.keys, place) == asked
        keys, wanted = self.keys.numpy(), asked.numpy()
        places = self._first[(wanted >> self._shift) + self._half].astype(np.int64)
        found = keys.take(places, mode="clip")
        ahead = np.flatnonzero(found < wanted)
        for _ in range(self._steps):
            if not len(ahead):
                break
            step = places[ahead] + 1
            there = keys.take(step, mode="clip")
            places[ahead], found[ahead] = step, there
            ahead = ahead[there < wanted[ahead]]
        np.minimum(places, last, out=places)
        return torch.from_numpy(places), torch.from_numpy(found == wanted)
