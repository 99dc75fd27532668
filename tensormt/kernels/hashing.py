"""64-bit mixing, so that structures of any size become one int64 key.

`mix` is the finaliser of splitmix64 (Steele, Lea & Flood 2014), a bijection whose output bits each
depend on all input bits; `pair` is ordered: pair(a, b) ≠ pair(b, a). Two different structures share
a key with probability 2⁻⁶⁴; the tests compare every key with exact interning.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

__all__ = ["POWER", "mix", "odd", "odd_table", "of_few", "of_strings", "pair"]


def _signed(constant: int) -> int:
    return constant - (1 << 64) if constant >= 1 << 63 else constant


_FIRST = _signed(0xBF58476D1CE4E5B9)
_SECOND = _signed(0x94D049BB133111EB)
_FACTORS = np.array([_FIRST, _SECOND], np.int64).view(np.uint64)
_SHIFTS = np.array([30, 27, 31], np.uint64)
_GOLDEN = _signed(0x9E3779B97F4A7C15)
_ORDER = _signed(0xD6E8FEB86659FD93)
POWER = _signed(0x9FB21C651E98DF25)  # odd: its powers number the places of a sequence


def mix(keys: Tensor) -> Tensor:
    """A bijective scrambling of int64 keys, element by element."""
    if keys.device.type == "cpu":
        # numpy shifts without a sign, and its calls are short: the same bits in less time
        bits = keys.numpy().view(np.uint64)
        bits = ((bits >> _SHIFTS[0]) ^ bits) * _FACTORS[0]
        bits = ((bits >> _SHIFTS[1]) ^ bits) * _FACTORS[1]
        return torch.from_numpy(((bits >> _SHIFTS[2]) ^ bits).view(np.int64))
    # torch shifts int64 arithmetically; the mask makes the shift logical
    keys = (keys >> 30).bitwise_and_((1 << 34) - 1).bitwise_xor_(keys).mul_(_FIRST)
    keys = (keys >> 27).bitwise_and_((1 << 37) - 1).bitwise_xor_(keys).mul_(_SECOND)
    return (keys >> 31).bitwise_and_((1 << 33) - 1).bitwise_xor_(keys)


def pair(first: Tensor, second: Tensor) -> Tensor:
    """One int64 key for each ordered pair of keys (broadcast)."""
    return mix(first * _ORDER + second + _GOLDEN)


def odd(numbers: Tensor) -> Tensor:
    """An odd, scrambled multiplier for each small number from 0."""
    return mix(numbers + _GOLDEN) | 1


@lru_cache(maxsize=8)
def odd_table(size: int, device: torch.device) -> Tensor:
    """`odd` of the numbers 0…size-1, int64 [size]; kept, so it must not be changed."""
    return odd(torch.arange(size, device=device))


def of_strings(data: np.ndarray, offsets: np.ndarray) -> Tensor:
    """Content hashes of n strings: UTF-8 bytes (uint8) and offsets [n+1] to int64 [n].

    A string's hash is mixed from its length and the sum of its mixed (position, byte) pairs.
    """
    lengths = torch.from_numpy(np.diff(offsets).astype(np.int64))
    data = data[offsets[0] : offsets[-1]]
    owner = torch.from_numpy(np.repeat(np.arange(len(lengths)), lengths.numpy()))
    start = torch.from_numpy((offsets[:-1] - offsets[0]).astype(np.int64))
    place = torch.arange(len(data), device="cpu") - start[owner]
    scrambled = mix((place << 8) + torch.from_numpy(data.astype(np.int64)) + _GOLDEN)
    return pair(torch.zeros_like(lengths).index_add_(0, owner, scrambled), lengths)


_MOST_KNOWN = 1 << 16
_known: dict[str, int] = {}


def of_few(strings: Sequence[str]) -> Tensor:
    """`of_strings` of a few strings, int64 [n]; tens of thousands hashed before are remembered."""
    found = [_known.get(text) for text in strings]
    if None in found:
        fresh = [text for text, key in zip(strings, found, strict=True) if key is None]
        data = [text.encode() for text in fresh]
        edges = np.cumsum([0, *map(len, data)])
        keys = of_strings(np.frombuffer(b"".join(data), np.uint8), edges).tolist()
        if len(_known) > _MOST_KNOWN:
            _known.clear()
        _known.update(zip(fresh, keys, strict=True))
        rest = iter(keys)
        found = [next(rest) if key is None else key for key in found]
    return torch.from_numpy(np.array(found, np.int64))
