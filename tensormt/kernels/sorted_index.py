"""Where keys stand among many rising ones: a few steps where a binary search takes twenty.

Keys that are hashes lie evenly, so their upper bits say nearly where they stand: `first` holds, for
each value of the upper bits, the place of the first key that has them (one to two keys share one:
2 to 4 bytes a key), and from there a key is reached by stepping on. No sort of what is asked is
needed, and what lies in the cache stays there. It is made once enough has been asked to pay for it.
Keys that lie unevenly are searched.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from tensormt.kernels.backend import Array, search, take

__all__ = ["SortedIndex"]

_STEPS = 32  # most keys that may share their upper bits
_SHARE = 32  # of the keys, one in so many is searched before the rest is prepared
_BLOCK = 1 << 18  # values of the upper bits that are prepared at a time


class SortedIndex:
    """Different keys, rising, int64 [n], prepared for many questions."""

    def __init__(self, keys: Tensor) -> None:
        self.keys = keys
        bits = max(keys.shape[0].bit_length() - 1, 1)
        self._shift, self._half = 64 - bits, 1 << (bits - 1)
        self._first: Array | None = None  # int32 [2^bits]
        self._steps = 0
        # how much may be searched before; None: all of it
        small = keys.device.type == "cpu" and 0 < keys.shape[0] < 1 << 31
        self._left: int | None = keys.shape[0] // _SHARE if small else None

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
        """Places of what is asked, int64 [m], and whether it is there; n must not be 0."""
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
        ahead = np.flatnonzero(found < wanted)  # whose key stands further on
        for _ in range(self._steps):
            if not len(ahead):
                break
            step = places[ahead] + 1
            there = keys.take(step, mode="clip")
            places[ahead], found[ahead] = step, there
            ahead = ahead[there < wanted[ahead]]
        np.minimum(places, last, out=places)
        return torch.from_numpy(places), torch.from_numpy(found == wanted)
