"""Matched items and node pairs against plain loops."""

import math
import random

import oracles
import torch
from hypothesis import given
from hypothesis import strategies as st
from tree_samples import random_batch

from tensormt.kernels import tree_kernel
from tensormt.kernels.matches import Occurrences, items, node_pairs

seeds = st.integers(0, 2**32)


def random_items(rng):
    """(segment, order, place, key) of the items of three segments, and the same as tensors."""
    rows = [
        (segment, rng.randint(1, 2), place, rng.randrange(4))
        for segment in range(3)
        for place in range(rng.randrange(9))
    ]
    columns = torch.tensor(rows, dtype=torch.int64).view(-1, 4).unbind(1)
    return rows, Occurrences(*columns)


@given(seeds, st.integers(1, 3), st.booleans())
def test_items_equal_plain_loops(seed, references, one_each):
    rng = random.Random(seed)
    hyp, own = random_items(rng)
    refs, others = zip(*(random_items(rng) for _ in range(references)), strict=True)
    only = [rng.randrange(references) for _ in range(3)] if one_each else None
    found = items(own, others, None if only is None else torch.tensor(only))

    def name(row):
        return row[0], row[1], row[3]

    for k, row in enumerate(hyp):
        counts = [sum(name(other) == name(row) for other in ref) for ref in refs]
        assert found.counts[:, k].tolist() == counts
        giving = [c if only is None or only[row[0]] == r else 0 for r, c in enumerate(counts)]
        rank = sum(name(other) == name(row) for other in hyp[:k])
        assert found.counted[k] == (rank < max(giving))
        assert found.reference[k] == (giving.index(max(giving)) if max(giving) else -1)
    for r, ref in enumerate(refs):
        left, right = found.equal(r)
        pairs = sorted(zip(left.tolist(), right.tolist(), strict=True))
        assert pairs == [
            (k, j) for k, row in enumerate(hyp) for j, o in enumerate(ref) if name(o) == name(row)
        ]


@given(seeds, st.sampled_from([1.0, 0.5]))
def test_node_pairs_sum_to_the_kernel(seed, decay):
    """Every pair of nodes with equal productions, in order of segments, with its value."""
    batch, trees = random_batch(seed, False)
    turned = batch[::-1]
    a, b = (tree_kernel.side(t.nodes, t.labels.hashes) for t in (batch, turned))
    found = node_pairs(a, b, (batch.nodes.offsets[:-1], turned.nodes.offsets[:-1]), decay)
    assert found.segment.tolist() == sorted(found.segment.tolist())
    listed = {
        (segment, x, y): value
        for segment, x, y, value in zip(
            found.segment.tolist(),
            found.hyp.tolist(),
            found.ref.tolist(),
            found.log.tolist(),
            strict=True,
        )
    }
    expected = {}
    for segment, (one, two) in enumerate(zip(trees, trees[::-1], strict=True)):
        for x, left in enumerate(oracles.nodes(one)):
            for y, right in enumerate(oracles.nodes(two)):
                value = oracles.kernel_of_pair(left, right, decay)
                if value:
                    expected[segment, x, y] = math.log(value)
    assert listed.keys() == expected.keys()
    assert all(math.isclose(listed[k], expected[k], abs_tol=1e-12) for k in expected)
