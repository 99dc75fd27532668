"""Subtree keys against exact interning of nested tuples."""

from collections import Counter

import oracles
from hypothesis import given
from hypothesis import strategies as st
from tree_samples import random_batch

import tensormt as tm
from tensormt.kernels.subtrees import subtree_keys


@given(st.integers(0, 2**32), st.integers(1, 5), st.booleans())
def test_subtree_keys_are_exact_interning(seed, depth, dependency):
    """Two subtrees have one key exactly where they are equal, per segment and depth."""
    batch, trees = random_batch(seed, dependency)
    keys = subtree_keys(batch.nodes, batch.labels.hashes, depth)
    found = Counter(zip(keys.group.tolist(), keys.key.tolist(), strict=True))
    expected = Counter()
    for segment, tree in enumerate(trees):
        for n in range(1, depth + 1):
            for part, count in oracles.subtrees(tree, n).items():
                expected[(n - 1) * len(trees) + segment, part] = count
    assert sorted(found.values()) == sorted(expected.values())
    by_group, by_part = {}, {}
    for (group, _), count in found.items():
        by_group.setdefault(group, []).append(count)
    for (group, _), count in expected.items():
        by_part.setdefault(group, []).append(count)
    assert {g: sorted(c) for g, c in by_group.items()} == {g: sorted(c) for g, c in by_part.items()}
    kinds = {(group // len(trees), part) for group, part in expected}
    assert len({(group // len(trees), key) for group, key in found}) == len(kinds)


def test_known_collisions_of_a_weaker_hash_are_apart():
    """A hash with one multiplier for labels and positions merged trees such as these."""
    lines = ["(A (B b) (C c))", "(A (C c) (B b))", "(B (A a) (C c))", "(A (B (C c)))", "(A (B b))"]
    batch = tm.TreeBatch.from_brackets(lines)
    roots = batch.production[:, 0].tolist()
    assert len(set(roots)) == len(lines) - 1  # the last two share the production A → B
    keys = subtree_keys(batch.nodes, batch.labels.hashes, 3)
    assert len(set(keys.key[keys.group >= 2 * len(lines)].tolist())) == 1
