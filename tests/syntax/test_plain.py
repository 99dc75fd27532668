"""Metrics on trees in plain Python against the batched engine."""

import random
from fractions import Fraction

import bracket_samples
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paths import race

import tensormt as tm
from tensormt.plain import MAX_NODES, MAX_ORDERS, MAX_SEGMENTS
from tensormt.syntax.clipped_precision import BALANCES

seeds = st.integers(0, 2**32)
METRICS = [
    *(tm.STM(depth, balance) for depth, balance in zip((4, 1, 2, 9), BALANCES, strict=True)),
    *(tm.STM(3, balance, lexical=True) for balance in BALANCES),
    *(tm.DSTM(3, balance) for balance in BALANCES),
    *(tm.HWCM(length, balance) for length, balance in zip((4, 1, 2, 9), BALANCES, strict=True)),
    tm.HWCM(3, "f1", rules="yamada"),
    tm.DSTM(4, rules="yamada"),
    tm.TKM(),
    tm.TKM(0.3),
    tm.TKM(lexical=True),
    tm.TKM(0.5, lexical=True),
    tm.DTKM(),
    tm.DTKM(0.4, rules="yamada"),
    tm.Mean([tm.STM(2, "f1"), tm.HWCM(), tm.TKM()]),
]
FROM_HEADS = [
    *(tm.HWCM(3, balance, labels=labels) for balance in BALANCES for labels in (False, True)),
    tm.DSTM(3, "f1"),
    tm.DTKM(),
    tm.DTKM(0.5),
]


def bracketed(seed, most):
    """A batch of hypotheses and some of references, sometimes with equal trees."""
    rng = random.Random(seed)
    size, refs = rng.randint(1, 4), rng.randint(1, 3)
    streams = [bracket_samples.bracketings(rng, size, most) for _ in range(1 + refs)]
    if rng.random() < 0.3:
        streams[-1] = list(streams[0])
    if rng.random() < 0.8:  # a reference for every segment
        streams[1] = bracket_samples.bracketings(rng, size, most, 0.0)
    return [tm.TreeBatch.from_brackets(lines) for lines in streams]


@pytest.mark.on_a_cpu
@pytest.mark.parametrize("metric", METRICS, ids=lambda m: m.signature)
@settings(max_examples=50)
@given(seed=seeds, most=st.sampled_from([3, 8, 20]))
def test_plain_path_equals_engine(metric, seed, most):
    hyp, *refs = bracketed(seed, most)
    race(metric, hyp, refs)


@pytest.mark.parametrize("metric", FROM_HEADS, ids=lambda m: m.signature)
@settings(max_examples=50)
@given(seed=seeds, most=st.sampled_from([3, 8, 20]))
def test_plain_path_equals_engine_on_head_lists(metric, seed, most):
    rng = random.Random(seed)
    size = rng.randint(1, 4)
    streams = [bracket_samples.heads(rng, size, most) for _ in range(rng.randint(2, 4))]
    named = 3 if rng.random() < 0.8 else 2
    hyp, *refs = [tm.TreeBatch.from_heads(*stream[:named]) for stream in streams]
    race(metric, hyp, refs)


@pytest.mark.on_a_cpu
@pytest.mark.parametrize("metric", METRICS[::3], ids=lambda m: m.signature)
@settings(max_examples=20)
@given(seed=seeds)
def test_trees_that_come_as_tensors(metric, seed):
    """Slices of a large batch, as a parser gives it."""
    hyp, *refs = bracketed(seed, 8)
    large = [tm.TreeBatch.concat([batch] * (MAX_SEGMENTS + 1)) for batch in (hyp, *refs)]
    own, *others = [batch[: len(hyp)] for batch in large]
    assert own._flat is not None
    race(metric, own, others)


@settings(max_examples=50)
@given(seeds)
def test_the_first_of_equally_good_references(seed):
    """Small trees of few labels: many references of one score, with different counts."""
    rng = random.Random(seed)
    lines = [
        oracles.brackets(oracles.random_tree(rng, rng.randint(1, 4), ["S", "X"], ["N", "V"], ["a"]))
        for _ in range(5)
    ]
    hyp, *refs = [tm.TreeBatch.from_brackets([line]) for line in lines]
    for metric in METRICS:
        race(metric, hyp, refs)


def test_what_is_too_large_takes_the_engine():
    chain = "(X " * 500 + "(Y y)" + ")" * 500
    wide = "(S " + "(X (N a)) " * (MAX_NODES // 2) + ")"
    for line, metric in ((chain, tm.TKM()), (wide, tm.STM()), (wide, tm.HWCM())):
        batch = tm.TreeBatch.from_brackets([line])
        assert metric._plain_statistics(batch, [batch]) is None
        assert metric(batch, [batch]).tolist() == pytest.approx([1], abs=1e-12)
    few = tm.TreeBatch.from_brackets(["(S (N a) (V b))"])
    for metric in (tm.STM(MAX_ORDERS + 1), tm.HWCM(MAX_ORDERS + 1), tm.TKM(1e-200)):
        assert metric._plain_statistics(few, [few]) is None
        assert metric(few, [few]).tolist() == pytest.approx([1], abs=1e-12)
    many = tm.TreeBatch.from_brackets(["(S (N a) (V b))"] * (MAX_SEGMENTS + 1))
    assert tm.STM()._plain_statistics(many, [many]) is None


def test_large_kernels_are_accurate():
    """Trees near the limit of the plain path, against exact integers of hundreds of bits."""
    rng = random.Random(1)
    trees = [oracles.random_tree(rng, 120, ["S", "X"], ["N", "V"]) for _ in range(2)]
    hyp, ref = (tm.TreeBatch.from_brackets([oracles.brackets(tree)]) for tree in trees)
    assert tm.TKM()._plain_statistics(hyp, [ref]) is not None
    race(tm.TKM(), hyp, [ref])
    one, two = map(oracles.skeleton, trees)
    norm = oracles.kernel(one, one) * oracles.kernel(two, two)
    assert norm > 2**150
    exact = Fraction(oracles.kernel(one, two)) ** 2 / norm
    assert abs(Fraction(tm.TKM()(hyp, [ref]).item()) ** 2 / exact - 1) < 1e-12
    flat = tm.TreeBatch.from_brackets(["(S " + "(X (N a)) " * 190 + ")"])  # K is more than 2¹⁹⁰
    assert tm.TKM()._plain_statistics(flat, [flat]) is not None
    race(tm.TKM(), flat, [flat])


def test_a_plain_call_makes_no_tensors_of_the_trees():
    hyp, ref = (tm.TreeBatch.from_brackets([f"(S (NP (N {w})) (VP (V b)))"]) for w in "ac")
    for metric in METRICS:
        metric(hyp, [ref])
    assert hyp._flat is None
    assert ref._flat is None
