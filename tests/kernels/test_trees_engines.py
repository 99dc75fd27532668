"""The engines: counts against Counter, keys against interning, the kernel against integers."""

import math
import random
from collections import Counter
from dataclasses import replace

import oracles
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import tensormt as tm
from tensormt.kernels import counts, hashing, tree_kernel
from tensormt.kernels.chains import chain_keys
from tensormt.kernels.counts import Keys, Labels, clipped, totals
from tensormt.kernels.subtrees import subtree_keys
from tensormt.text.dictionary import Dictionary

seeds = st.integers(0, 2**32)


def keys_of(pairs):
    groups, keys = zip(*sorted(pairs, key=lambda p: p[0]), strict=True) if pairs else ((), ())
    return Keys(
        torch.tensor(groups, dtype=torch.int64), hashing.mix(torch.tensor(keys, dtype=torch.int64))
    )


@given(seeds, st.integers(1, 12), st.integers(1, 9))
def test_clipped_counts_equal_counters(seed, groups, references):
    rng = random.Random(seed)

    def occurrences():
        return [(rng.randrange(groups), rng.randrange(8)) for _ in range(rng.randrange(60))]

    hyp, refs = occurrences(), [occurrences() for _ in range(references)]
    counters = [Counter(ref) for ref in refs]
    expected = [0] * groups
    for (group, key), count in Counter(hyp).items():
        expected[group] += min(count, max(ref[group, key] for ref in counters))
    assert clipped(keys_of(hyp), [keys_of(ref) for ref in refs], groups).tolist() == expected
    sizes = Counter(group for group, _ in hyp)
    assert totals(keys_of(hyp), groups).tolist() == [sizes[group] for group in range(groups)]


@given(seeds, st.integers(1, 12), st.integers(1, 4), st.integers(1, 40))
def test_labels_are_counted_as_keys_are(seed, segments, references, kinds):
    """The first order by a table of labels, the rest by sorting: as if labels were unknown."""
    rng = random.Random(seed)
    names = hashing.mix(torch.arange(60))

    def side():
        known = names[rng.sample(range(60), kinds)]
        first = sorted(rng.randrange(segments) for _ in range(rng.randrange(80)))
        label = torch.tensor([rng.randrange(kinds) for _ in first], dtype=torch.int64)
        later = keys_of([(segments + rng.randrange(segments), rng.randrange(9)) for _ in range(50)])
        return Keys(
            torch.cat([torch.tensor(first, dtype=torch.int64), later.group]),
            torch.cat([known[label], later.key]),
            Labels(label, known, segments),
        )

    hyp, refs = side(), [side() for _ in range(references)]
    bare = [Keys(keys.group, keys.key) for keys in (hyp, *refs)]
    few = clipped(hyp, refs, 2 * segments).tolist()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counts, "FEW", 0)  # few keys go the way of many
        assert clipped(hyp, refs, 2 * segments).tolist() == few
        assert clipped(bare[0], bare[1:], 2 * segments).tolist() == few


def test_counts_pass_2_to_the_24():
    """One more than float32 can count."""
    size = 2**24 + 1
    many = Keys(torch.zeros(size, dtype=torch.int64), torch.full((size,), 7))
    assert clipped(many, [many], 1).tolist() == [size]
    assert totals(many, 1).tolist() == [size]


def random_batch(seed, dependency):
    rng = random.Random(seed)
    trees = [oracles.random_tree(rng, rng.randint(1, 30)) for _ in range(8)]
    batch = tm.TreeBatch.from_brackets([oracles.brackets(tree) for tree in trees])
    if dependency:
        return batch.dependencies(), [oracles.from_heads(*oracles.dependencies(t)) for t in trees]
    return batch, [oracles.skeleton(tree) for tree in trees]


@given(seeds, st.integers(1, 5), st.booleans())
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


@given(seeds, st.integers(1, 5))
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


def test_known_collisions_of_a_weaker_hash_are_apart():
    """A trial that used one multiplier for labels and places merged trees such as these."""
    lines = ["(A (B b) (C c))", "(A (C c) (B b))", "(B (A a) (C c))", "(A (B (C c)))", "(A (B b))"]
    batch = tm.TreeBatch.from_brackets(lines)
    roots = batch.production[:, 0].tolist()
    assert len(set(roots)) == len(lines) - 1  # the last two share the production A → B
    keys = subtree_keys(batch.nodes, batch.labels.hashes, 3)
    assert len(set(keys.key[keys.group >= 2 * len(lines)].tolist())) == 1


@given(seeds, st.sampled_from([1, 3, 40]), st.sampled_from([1, 10, 200]))
def test_groups_and_bands_change_nothing(seed, band, group):
    """Few pairs at a time, the deepest first, give the kernels of all pairs at once."""
    batch, _ = random_batch(seed, False)
    turned = batch[::-1]
    for one, two in ((batch, turned), (batch, batch)):
        a, b = (tree_kernel.side(t.nodes, t.labels.hashes) for t in (one, two))
        together = tree_kernel.log_kernel(a, b, 0.7)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tree_kernel, "_BAND", band)
            patch.setattr(tree_kernel, "_GROUP", group)
            apart = tree_kernel.log_kernel(a, b, 0.7)
        assert torch.allclose(together, apart, rtol=1e-12, atol=1e-12)


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
