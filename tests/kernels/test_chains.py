"""Headword-chain keys against exact interning of word sequences."""

from collections import Counter

import oracles
from hypothesis import given
from hypothesis import strategies as st
from tree_samples import random_batch

from tensormt.kernels.chains import chain_keys


@given(st.integers(0, 2**32), st.integers(1, 5))
def test_chain_keys_are_exact_interning(seed, length):
    batch, trees = random_batch(seed, True)
    keys = chain_keys(batch.nodes, batch.labels.hashes, length)
    found = Counter(zip((keys.group // len(trees)).tolist(), keys.key.tolist(), strict=True))
    expected = Counter()
    for tree in trees:
        for n in range(1, length + 1):
            for chain, count in oracles.chains(tree, n).items():
                expected[n - 1, chain] += count
    assert sorted(found.values()) == sorted(expected.values())
    assert len(found) == len(expected)
