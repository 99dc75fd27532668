"""64-bit hashing: structures of any size become one int64 key.

`mix` is the finaliser of splitmix64 (Steele, Lea & Flood 2014), a bijection in which each output
bit depends on all input bits. `pair` is ordered: pair(a, b) ≠ pair(b, a). Two different structures
have the same key with probability 2⁻⁶⁴; the tests compare the keys with exact interning.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from tensormt.kernels.backend import mix, owners, take


def _signed(constant: int) -> int:
    return constant - (1 << 64) if constant >= 1 << 63 else constant


_GOLDEN = _signed(0x9E3779B97F4A7C15)
_ORDER = _signed(0xD6E8FEB86659FD93)
POWER = _signed(0x9FB21C651E98DF25)  # odd: the base of polynomial hashes of sequences


def first(keys: Tensor) -> Tensor:
    """Return int64 keys as the first of a pair: mix(first(a) + b) is pair(a, b)."""
    return keys * _ORDER + _GOLDEN


def pair(one: Tensor, other: Tensor) -> Tensor:
    """Return one int64 key for each ordered pair of int64 keys (broadcast)."""
    return mix(first(one) + other)


def odd(numbers: Tensor) -> Tensor:
    """Return an odd, scrambled int64 multiplier for each number ≥ 0, of the same shape."""
    return mix(numbers + _GOLDEN) | 1


@lru_cache(maxsize=8)
def odd_table(size: int, device: torch.device) -> Tensor:
    """Return `odd` of the numbers 0…size-1, int64 [size]; cached, so do not modify it."""
    return odd(torch.arange(size, device=device))


def of_strings(data: np.ndarray, offsets: np.ndarray) -> Tensor:
    """Return content hashes of n strings, int64 [n].

    `data` are their UTF-8 bytes (uint8), `offsets` [n+1] where each string starts and ends. The
    hash of a string combines its length with the sum of its mixed (position, byte) pairs.
    """
    edges = torch.from_numpy((offsets - offsets[0]).astype(np.int64))
    lengths = edges.diff()
    values = torch.from_numpy(data[offsets[0] : offsets[-1]].astype(np.int64))
    owner = owners(lengths, len(values))
    position = torch.arange(len(values), device="cpu") - take(edges, owner)
    mixed = mix((position << 8) + values + _GOLDEN)
    return pair(torch.zeros_like(lengths).index_add_(0, owner, mixed), lengths)
