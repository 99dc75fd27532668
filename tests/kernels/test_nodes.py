"""Attributes of nodes against recursion over nested tuples."""

import random

import oracles
import torch
from hypothesis import given
from hypothesis import strategies as st
from tree_samples import random_batch

from tensormt.kernels.nodes import Nodes, sum_children


def tensor(numbers):
    return torch.tensor(numbers, dtype=torch.int64)


def test_nodes_without_given_depth_or_position():
    """Pointer jumping gives the depths that a recursion gives, siblings count in node order."""
    rng = random.Random(4)
    parent = [-1] + [rng.randrange(i) for i in range(1, 60)] + [-1, 60, 61, 60]
    depth = [0] * len(parent)
    for node, above in enumerate(parent):
        depth[node] = 1 + (depth[above] if above >= 0 else 0)
    nodes = Nodes(tensor(parent), tensor(parent), tensor(parent), tensor([0, 60, 60, 64]), 60)
    assert nodes.depth.tolist() == depth
    position = [
        sum(other == above for other in parent[:node]) if above >= 0 else 0
        for node, above in enumerate(parent)
    ]
    assert nodes.position.tolist() == position
    assert nodes.segment.tolist() == [0] * 60 + [2] * 4
    height = [1] * len(parent)
    for node in reversed(range(len(parent))):
        if parent[node] >= 0:
            height[parent[node]] = max(height[parent[node]], height[node] + 1)
    assert nodes.height.tolist() == height
    assert nodes.arity.tolist() == [parent.count(node) for node in range(len(parent))]
    assert nodes.inner.tolist() == sorted(set(parent) - {-1})
    assert [sorted(level.tolist()) for level in nodes.levels] == [
        [node for node, own in enumerate(depth) if own == level]
        for level in range(1, max(depth) + 1)
    ]


@given(st.integers(0, 2**32))
def test_productions_are_exact_interning(seed):
    batch, trees = random_batch(seed, False)
    keys = batch.nodes.productions(batch.labels.hashes).tolist()
    expected = [
        (node[0], *(child[0] for child in node[1])) if node[1] else None
        for tree in trees
        for node in oracles.nodes(tree)
    ]
    assert all((key == 0) == (own is None) for key, own in zip(keys, expected, strict=True))
    assert len(set(keys)) == len(set(expected))
    assert len(set(zip(keys, expected, strict=True))) == len(set(keys))


@given(st.integers(0, 2**32), st.integers(0, 8), st.integers(0, 8))
def test_rows_and_join_undo_each_other(seed, first, second):
    nodes = random_batch(seed, True)[0].nodes
    low, high = sorted((first, second))
    parts = [nodes.rows(0, low), nodes.rows(low, high), nodes.rows(high, 8)]
    again = Nodes.join(parts)
    for name in ("parent", "label", "word", "offsets", "depth", "position"):
        assert torch.equal(getattr(again, name), getattr(nodes, name)), name


def test_sums_over_children():
    nodes = Nodes(tensor([-1, 0, 0, 1, -1]), tensor([0] * 5), tensor([0] * 5), tensor([0, 4, 5]), 4)
    assert sum_children(nodes, tensor([1, 2, 4, 8, 16])).tolist() == [6, 8, 0, 0, 0]
    assert sum_children(nodes, tensor([1, 2, 4, 8, 16]), roots=True).tolist() == [6, 8, 0, 0, 0, 17]
