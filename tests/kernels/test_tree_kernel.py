"""The tree kernel against integers, in one piece and in many."""

import math
from dataclasses import replace

import oracles
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tree_samples import random_batch

import tensormt as tm
from tensormt.kernels import tree_kernel
from tensormt.text.dictionary import Dictionary

seeds = st.integers(0, 2**32)


@given(seeds, st.booleans())
def test_kernel_is_symmetric_and_exact(seed, dependency):
    batch, trees = random_batch(seed, dependency)
    metric = tm.DTKM() if dependency else tm.TKM()
    turned = batch[::-1]
    there, back = metric.log_kernel(batch, turned), metric.log_kernel(turned, batch)
    assert torch.allclose(there, back.flip(0).flip(0), rtol=1e-12, atol=1e-12)
    expected = [oracles.kernel(a, b) for a, b in zip(trees, trees[::-1], strict=True)]
    logs = [math.log(value) if value else -math.inf for value in expected]
    assert there.tolist() == pytest.approx(logs, rel=1e-12, abs=1e-12)


@given(seeds, st.sampled_from([1, 3, 40]), st.sampled_from([1, 10, 200]))
def test_groups_and_bands_change_nothing(seed, band, group):
    """Few pairs at a time, the deepest first, give the kernels of all pairs at once."""
    batch, _ = random_batch(seed, False)
    turned = batch[::-1]
    for one, two in ((batch, turned), (batch, batch)):
        a, b = (tree_kernel.side(t.nodes, t.labels.hashes) for t in (one, two))
        together = tree_kernel.log_kernel(a, b, 0.7)
        apart = tree_kernel.log_kernel(a, b, 0.7, band=band, group=group)
        assert torch.allclose(together, apart, rtol=1e-12, atol=1e-12)


@given(seeds)
def test_pairs_of_parts(seed):
    """All kernels of three batches in one call are those of each two."""
    batches = [random_batch(seed, False)[0], random_batch(seed + 1, False)[0]]
    batches.append(batches[0][::-1])
    sides = [tree_kernel.side(b.nodes, b.labels.hashes) for b in batches]
    whole = tm.TreeBatch.concat(batches)
    chosen = [(0, 0), (1, 1), (2, 2), (0, 1), (2, 0)]
    pairs = tree_kernel.side(whole.nodes, whole.labels.hashes).pairs(3, chosen)
    found = tree_kernel.log_kernel(*pairs, 0.7).view(len(chosen), -1)
    expected = [tree_kernel.log_kernel(sides[a], sides[b], 0.7) for a, b in chosen]
    assert torch.allclose(found, torch.stack(expected), rtol=1e-12, atol=1e-12)


@given(seeds)
def test_large_numbers_change_nothing(seed):
    """Segment, production and place that do not fit one number are sorted in two steps."""
    batch, _ = random_batch(seed, False)
    wide = replace(batch.nodes, width=1 << 19)
    near, far = (tree_kernel.side(nodes, batch.labels.hashes) for nodes in (batch.nodes, wide))
    assert torch.equal(near.key, far.key)
    assert torch.equal(near.node, far.node)
    assert torch.equal(
        tree_kernel.log_kernel(near, near, 0.7), tree_kernel.log_kernel(far, far, 0.7)
    )


LEXICAL = [
    "(S (NP (DT the) (NN dog)) (VP barks (ADVP (RB loudly))))",
    "(S (NP (DT the) (NN dog)) (VP (VBZ barks) (ADVP (RB loudly))))",
    "(S (NP (NP (NP the))) (VP NP (NP NP)))",
    "",
    "(NN dog)",
    "(VP sleeps (ADVP (RB so)))",
    "(VP barks (ADVP (RB so)))",
]


def test_words_need_no_nodes_to_be_leaves():
    """The kernel of trees with their words beside them is that of trees that hold them as nodes."""
    batch = tm.TreeBatch.from_brackets(LEXICAL)
    grown = batch.lexicalized()
    for shift in range(len(LEXICAL)):
        order = [*range(shift, len(LEXICAL)), *range(shift)]
        sides = [
            tree_kernel.side(trees.nodes, trees.labels.hashes, words)
            for one, words in ((batch, batch.words.hashes), (grown, None))
            for trees in (one, one[order])
        ]
        beside, within = (tree_kernel.log_kernel(*pair, 0.7) for pair in (sides[:2], sides[2:]))
        assert beside.tolist() == pytest.approx(within.tolist(), rel=1e-14)
        assert shift != 1 or beside[0] > math.log(5)  # the dog and what is below it


def test_words_above_children_are_first_children():
    """Padded tensors may give a word to a node that has children: it stands before them."""
    labels, words = Dictionary(["X", "a", "b"]), Dictionary(["a", "b"])

    def made(child, word):
        label, parent = torch.tensor([[0, child]]), torch.tensor([[-1, 0]])
        held = torch.tensor([[word, -1]])
        return tm.TreeBatch(label, parent, held, torch.tensor([2]), labels, words)

    one, two = made(1, 1), made(2, 0)  # X → b a, X → a b
    read = tm.TreeBatch.from_brackets(["(X b (a c))"])
    metric = tm.TKM(lexical=True)
    assert metric(one, [two]).item() == 0
    assert metric(one, [one]).item() == 1
    assert metric(one, [read]).item() == pytest.approx(1 / math.sqrt(3))


def test_too_many_pairs_are_refused_before_memory_is_asked():
    """100,000 equal productions are 10¹⁰ pairs: the error names the segment and both numbers."""
    depth = 100_000
    lines = ["(X (Y y))", "(X " * depth + "(Y y)" + ")" * depth]
    batch = tm.TreeBatch.from_brackets(lines)
    with pytest.raises(tm.TensorMTError, match=r"segment 2 has 9,999,800,002 pairs.*134,217,728"):
        tm.TKM()(batch, [batch])
    side = tree_kernel.side(batch.nodes, batch.labels.hashes)
    with pytest.raises(tm.TensorMTError, match="segment 12 has"):
        tree_kernel.log_kernel(side, side, 1.0, first=11)
