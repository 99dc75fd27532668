"""Hashing against splitmix64 in Python integers; no collisions among neighbours."""

import random

import numpy as np
import torch
from fake_cuda import FakeCuda, to_host
from hypothesis import given
from hypothesis import strategies as st

from tensormt.kernels import hashing


def reference(z):
    """The finaliser of splitmix64 with Python integers."""
    z %= 2**64
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return z ^ (z >> 31)


def test_mix_is_splitmix64():
    """Equal to plain integers, and no collision on a million neighbours."""
    rng = random.Random(1)
    numbers = [rng.getrandbits(64) for _ in range(100)]
    keys = torch.tensor([n - 2**64 if n >= 2**63 else n for n in numbers])
    for device in ("cpu", "cuda"):
        with FakeCuda():
            mixed = to_host(hashing.mix(keys.to(device))).tolist()
        assert [n % 2**64 for n in mixed] == [reference(n) for n in numbers]
    assert len(np.unique(hashing.mix(torch.arange(1_000_000)).numpy())) == 1_000_000


def test_pairs_are_ordered():
    a, b = torch.arange(300)[:, None], torch.arange(300)[None]
    assert len(np.unique(hashing.pair(a, b).numpy())) == 300 * 300


def test_multipliers_are_odd_and_different():
    table = hashing.odd_table(1000, torch.device("cpu"))
    assert torch.equal(table, hashing.odd(torch.arange(1000)))
    assert bool((table & 1).all())
    assert len(set(table.tolist())) == 1000


@given(st.lists(st.binary(max_size=5), max_size=8), st.binary(max_size=3), st.binary(max_size=3))
def test_strings_depend_on_their_content_only(strings, before, after):
    """Equal strings have equal hashes, others do not, wherever they are in the buffer."""
    data = np.frombuffer(before + b"".join(strings) + after, np.uint8)
    offsets = len(before) + np.cumsum([0, *map(len, strings)])
    found = hashing.of_strings(data, offsets.astype(np.int32)).tolist()
    alone = [
        hashing.of_strings(np.frombuffer(s, np.uint8), np.array([0, len(s)])).item()
        for s in strings
    ]
    assert found == alone
    assert len(set(found)) == len(set(strings))
    golden = 0x9E3779B97F4A7C15
    for string, value in zip(strings, found, strict=True):
        total = sum(reference((place << 8) + byte + golden) for place, byte in enumerate(string))
        expected = reference(total * 0xD6E8FEB86659FD93 + len(string) + golden)
        assert value % 2**64 == expected
