"""The five syntactic metrics: golden numbers of the paper, slow oracles, invariants."""

import itertools
import math
import random
import sys
from fractions import Fraction

import oracles
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import tensormt as tm
from tensormt.syntax.kernel_engine import log_kernels

BALANCES = ("precision", "recall", "f1", "brevity")
seeds = st.integers(0, 2**32)


def batch(trees):
    return tm.TreeBatch.from_brackets([oracles.brackets(tree) for tree in trees])


def streams(refs):
    return [batch(stream) for stream in zip(*refs, strict=True)]


def dependency(tree):
    return None if tree is None else oracles.from_heads(*oracles.dependencies(tree))


def words_of_tree(tree):
    return 0 if tree is None else len(list(oracles.nodes(tree)))


def over_views(hyps, refs, view):
    empty = [None if hyp is None else view(hyp) for hyp in hyps]
    return empty, [[None if ref is None else view(ref) for ref in row] for row in refs]


def test_one_batch_serves_kernels_of_all_options():
    """What is kept with a batch is kept for its options, whatever came before."""
    read = tm.TreeBatch.from_brackets
    hyps, refs = ["(S (NP (NN a)) (VP (VB b)))"] * 300, ["(S (NP (NN c)) (VP (VB b)))"] * 300
    metrics = [tm.TKM(), tm.TKM(lexical=True), tm.TKM(decay=0.5), tm.TKM(0.5, lexical=True)]
    fresh = [m(read(hyps), [read(refs)])[0].item() for m in metrics]
    assert fresh == pytest.approx([1.0, 2 / 3, 1.0, fresh[3]])
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [1, 0, 3, 2]):
        hyp, ref = read(hyps), read(refs)
        assert [metrics[k](hyp, [ref])[0].item() for k in order] == [fresh[k] for k in order]


def test_words_beside_other_children_count():
    lines = ["(VP sleeps (ADVP (RB so)))", "(VP barks (ADVP (RB so)))"]
    hyp, ref = (tm.TreeBatch.from_brackets([line]) for line in lines)
    assert tm.TKM()(hyp, [ref]).item() == 1
    assert tm.TKM(lexical=True)(hyp, [ref]).item() == pytest.approx(0.5)


# --- golden numbers ---------------------------------------------------------------------------

FIGURE2_HYP = "(S (NP (PRON I)) (VP (V had) (NP (PRON it))))"
FIGURE2_REF = "(S (NP (PRON I)) (VP (V had) (NP (ART a) (N dog))))"


def test_stm_of_figure_2():
    """Liu & Gildea 2005, Figure 2: 6/7, 3/4, 1/2, mean 0.702."""
    hyp, ref = tm.TreeBatch.from_brackets([FIGURE2_HYP]), tm.TreeBatch.from_brackets([FIGURE2_REF])
    metric = tm.STM(max_depth=3)
    assert metric.statistics(hyp, [ref]).tolist() == [[1, 6, 3, 1, 7, 4, 2]]
    assert round(metric(hyp, [ref]).item(), 3) == 0.702
    assert metric(hyp, [ref]).item() == pytest.approx((6 / 7 + 3 / 4 + 1 / 2) / 3, abs=1e-15)


def test_stm_reads_trees_whose_leaves_are_tags():
    """The figure as it is drawn, tags as leaves: the words are kept with lexical=True."""
    hyp = tm.TreeBatch.from_brackets(["(S (NP PRON) (VP V (NP PRON)))"])
    ref = tm.TreeBatch.from_brackets(["(S (NP PRON) (VP V (NP ART N)))"])
    assert round(tm.STM(max_depth=3, lexical=True)(hyp, [ref]).item(), 3) == 0.702


def test_figure_1_ordering():
    """Figure 1: «I have the dog» has the reference's tree, «A dog I had» has not."""
    ref = tm.TreeBatch.from_brackets(["(S (NP (PRON I)) (VP (V had) (NP (ART a) (N dog))))"])
    one = tm.TreeBatch.from_brackets(["(S (NP (PRON I)) (VP (V have) (NP (ART the) (N dog))))"])
    two = tm.TreeBatch.from_brackets(["(S (NP (ART A) (N dog)) (NP (PRON I)) (VP (V had)))"])
    for depth in range(1, 7):
        assert tm.STM(depth)(one, [ref]).item() == 1
    for depth in range(2, 7):
        assert tm.STM(depth)(two, [ref]).item() < 1
    assert tm.TKM()(one, [ref]).item() == pytest.approx(1, abs=1e-12)
    assert tm.TKM()(two, [ref]).item() < 0.9


# Table 7. The paper's parser (Collins 1999) leaves the final full stop beside the last word, and
# takes `home` as an adverb of the verb phrase; both are written so here.
TABLE7_HYP = """(S (NP (NNS Diplomats)) (VP (MD will) (VP (VB be) (PP (IN aboard) (NP (DT the)
    (NN plane))) (S (VP (TO to) (VP (VB return) (RB home) (. .)))))))"""
TABLE7_REFS = (
    """(S (NP (NNS Diplomats)) (VP (VBP are) (S (VP (TO to) (VP (VB come) (RB back) (RB home)
    (PP (IN aboard) (NP (DT the) (JJ fifth) (NN plane) (. .))))))))""",
    """(S (NP (JJ Diplomatic) (NN staff)) (VP (MD would) (VP (VB go) (RB home) (PP (IN in)
    (NP (DT a) (JJ fifth) (NN plane) (. .))))))""",
    """(S (NP (JJ Diplomatic) (NN staff)) (VP (MD will) (VP (VB take) (NP (DT the) (JJ fifth)
    (NN plane)) (RB home) (. .))))""",
)


def test_hwcm_of_table_7():
    """Table 7: 8/10 words and 2/9 chains of two, 0.511; the chains are the two the paper names."""
    hyp = tm.TreeBatch.from_brackets([TABLE7_HYP])
    refs = [tm.TreeBatch.from_brackets([ref]) for ref in TABLE7_REFS]
    metric = tm.HWCM(max_length=2)
    assert metric.statistics(hyp, refs).tolist() == [[1, 8, 2, 10, 9]]
    assert round(metric(hyp, refs).item(), 3) == 0.511

    def pairs(trees):
        (words,), (heads,) = trees.dependencies().to_heads()
        return {(words[head - 1], word) for word, head in zip(words, heads, strict=True) if head}

    common = pairs(hyp) & set().union(*map(pairs, refs))
    assert common == {("aboard", "plane"), ("plane", "the")}


def test_chains_of_the_red_pen():
    """Section 2.1: have→I, have→pen, pen→a, pen→red."""
    tree = "(S (NP (PRP I)) (VP (VBP have) (NP (DT a) (JJ red) (NN pen))))"
    (words,), (heads,) = tm.TreeBatch.from_brackets([tree]).dependencies().to_heads()
    chains = [(words[head - 1], word) for word, head in zip(words, heads, strict=True) if head]
    assert chains == [("have", "I"), ("pen", "a"), ("pen", "red"), ("have", "pen")]


# --- slow oracles -----------------------------------------------------------------------------


@given(seeds, st.sampled_from(BALANCES), st.booleans(), st.integers(1, 5))
def test_stm_equals_oracle(seed, balance, lexical, depth):
    hyps, refs = oracles.random_case(seed)
    views = over_views(hyps, refs, oracles.lexical if lexical else oracles.skeleton)
    sizes = {id(v): len(oracles.words_of(t)) for v, t in zip(views[0], hyps, strict=True)}
    for row, trees in zip(views[1], refs, strict=True):
        sizes.update({id(v): len(oracles.words_of(t)) for v, t in zip(row, trees, strict=True)})
    expected, corpus = oracles.fractions(
        *views, oracles.subtrees, depth, balance, 0.0, lambda t: 0 if t is None else sizes[id(t)]
    )
    metric = tm.STM(depth, balance, lexical)
    check(metric, hyps, refs, expected, corpus)


@given(seeds, st.sampled_from(BALANCES), st.integers(1, 5))
def test_dstm_equals_oracle(seed, balance, depth):
    hyps, refs = oracles.random_case(seed)
    views = over_views(hyps, refs, dependency)
    expected, corpus = oracles.fractions(
        *views, oracles.subtrees, depth, balance, 0.0, words_of_tree
    )
    check(tm.DSTM(depth, balance), hyps, refs, expected, corpus)


@given(seeds, st.sampled_from(BALANCES), st.integers(1, 5))
def test_hwcm_equals_oracle(seed, balance, length):
    hyps, refs = oracles.random_case(seed)
    views = over_views(hyps, refs, dependency)
    expected, corpus = oracles.fractions(
        *views,
        oracles.chains,
        length,
        balance,
        1e-3,
        words_of_tree,
    )
    check(tm.HWCM(length, balance), hyps, refs, expected, corpus)


def check(metric, hyps, refs, expected, corpus):
    hyp, others = batch(hyps), streams(refs)
    assert metric(hyp, others).tolist() == pytest.approx(expected, abs=1e-12)
    assert metric.corpus(hyp, others).item() == pytest.approx(corpus, abs=1e-12)


@settings(max_examples=30)
@given(seeds, st.sampled_from((1.0, 0.5, 0.25)), st.sampled_from(("tags", "words", "dependency")))
def test_kernels_equal_oracle(seed, decay, trees):
    hyps, refs = oracles.random_case(seed, most=60)
    view = {"tags": oracles.skeleton, "words": oracles.lexical, "dependency": dependency}[trees]
    metric = tm.DTKM(decay) if trees == "dependency" else tm.TKM(decay, lexical=trees == "words")
    views = over_views(hyps, refs, view)
    exact = Fraction(decay)
    expected = [
        0.0
        if hyp is None
        else max(oracles.cosine(hyp, ref, exact) for ref in row if ref is not None)
        for hyp, row in zip(*views, strict=True)
    ]
    hyp, others = batch(hyps), streams(refs)
    assert metric(hyp, others).tolist() == pytest.approx(expected, rel=1e-9, abs=1e-300)
    mean = sum(expected) / len(expected)
    assert metric.corpus(hyp, others).item() == pytest.approx(mean, rel=1e-9, abs=1e-300)


def test_tkm_of_250_words():
    """A long sentence: the exact K needs integers of hundreds of bits."""
    sys.setrecursionlimit(20000)
    rng = random.Random(7)
    hyp = oracles.random_tree(rng, 250, labels=["S", "NP"], tags=["NN", "DT"])
    ref = oracles.random_tree(rng, 250, labels=["S", "NP"], tags=["NN", "DT"])
    a, b = oracles.skeleton(hyp), oracles.skeleton(ref)
    across, own, other = oracles.kernel(a, b), oracles.kernel(a, a), oracles.kernel(b, b)
    assert own > 2**150
    metric = tm.TKM()
    exact = Fraction(across) ** 2 / (own * other)
    score = metric(batch([hyp]), [batch([ref])]).item()
    assert math.isfinite(score)
    assert score > 0
    assert abs(Fraction(score) ** 2 / exact - 1) < 1e-9
    again = batch([hyp])
    assert log_kernels(metric, again, again).item() == pytest.approx(math.log(own), rel=1e-12)


def test_tkm_of_a_chain_of_2000_nodes():
    """C(x, y) of a unary chain is the number of nodes below: K is a sum of small integers."""
    size = 2000
    long = "(X " * (size - 1) + "(Y y)" + ")" * (size - 1)
    short = "(X " * 999 + "(Y y)" + ")" * 999
    metric = tm.TKM()

    def exact(m, n):
        """K of chains with m and n inner nodes: X→Y at the bottom, X→X above it."""
        total = 0
        below = [0] * (n + 1)
        for i in range(1, m + 1):
            here = [0] * (n + 1)
            for j in range(1, n + 1):
                here[j] = 1 + below[j - 1] if (i == 1) == (j == 1) else 0
            total += sum(here)
            below = here
        return total

    a, b = tm.TreeBatch.from_brackets([long]), tm.TreeBatch.from_brackets([short])
    expected = exact(size - 1, 999) / math.sqrt(exact(size - 1, size - 1) * exact(999, 999))
    assert metric(a, [b]).item() == pytest.approx(expected, rel=1e-9)


# --- invariants -------------------------------------------------------------------------------

METRICS = [
    tm.STM(),
    tm.STM(3, "f1"),
    tm.STM(3, "brevity", lexical=True),
    tm.TKM(),
    tm.TKM(0.4, lexical=True),
    tm.HWCM(),
    tm.HWCM(2, "recall"),
    tm.DSTM(),
    tm.DSTM(2, "f1"),
    tm.DTKM(),
]


@pytest.mark.parametrize("metric", METRICS, ids=lambda m: m.signature)
@settings(max_examples=12)
@given(seed=seeds)
def test_batches_agree_with_single_segments(metric, seed):
    """Batch size, padding and segment order change no count and no score."""
    hyps, refs = oracles.random_case(seed, most=20, segments=6)
    hyp, others = batch(hyps), streams(refs)
    rows = metric.statistics(hyp, others)
    for place in range(len(hyps)):
        single = metric.statistics(hyp[place], [ref[place] for ref in others])
        assert torch.allclose(single[0], rows[place], rtol=0, atol=1e-12)
    order = list(range(len(hyps)))
    random.Random(seed).shuffle(order)
    moved = metric.statistics(hyp[order], [ref[order] for ref in others])
    assert torch.allclose(moved, rows[order], rtol=0, atol=1e-12)
    padded = tm.TreeBatch.concat([hyp, batch([oracles.random_tree(random.Random(seed), 90)])])
    again = metric.statistics(padded[: len(hyps)], others)
    assert torch.allclose(again, rows, rtol=0, atol=1e-12)


@pytest.mark.parametrize("metric", METRICS, ids=lambda m: m.signature)
@settings(max_examples=12)
@given(seed=seeds)
def test_self_match_and_reference_order(metric, seed):
    hyps, refs = oracles.random_case(seed, most=20)
    trees = [hyp or ("S", [("NN", ["dog"]), ("VB", ["run"])]) for hyp in hyps]
    trees = [("S", [("NN", ["a"]), tree]) for tree in trees]  # a production in every tree
    hyp, others = batch(trees), streams(refs)
    ones = torch.ones(len(trees), dtype=torch.float64)
    assert torch.allclose(metric(hyp, [*others, hyp]), ones, rtol=0, atol=1e-12)
    assert metric.corpus(hyp, [hyp]).item() == pytest.approx(1, abs=1e-12)
    assert (metric(hyp, others) <= 1).all()
    if "f1" not in metric.signature and "recall" not in metric.signature:
        # the kernel's sums are rounded in the order of their terms
        margin = 1e-12 if "TKM" in metric.name else 0.0
        turned = metric(hyp, others[::-1])
        assert torch.allclose(metric(hyp, others), turned, rtol=0, atol=margin)


def test_many_chunks_equal_one_by_one():
    """More segments than one chunk: chunks join in order."""
    rng = random.Random(3)
    hyps = [oracles.random_tree(rng, rng.randint(1, 6)) for _ in range(4500)]
    refs = [[oracles.random_tree(rng, rng.randint(1, 6))] for _ in range(4500)]
    hyp, others = batch(hyps), streams(refs)
    for metric in (tm.STM(), tm.HWCM(2, "f1"), tm.TKM()):
        rows = metric.statistics(hyp, others)
        for start in (0, 2047, 4090):
            part = slice(start, start + 5)
            expected = metric.statistics(hyp[part], [others[0][part]])
            assert torch.allclose(rows[part], expected, rtol=0, atol=1e-12)


def test_threads_change_nothing():
    hyps, refs = oracles.random_case(11, most=60, segments=40)
    hyp, others = batch(hyps), streams(refs)
    try:
        results = []
        for threads in (1, 2):
            torch.set_num_threads(threads)
            results.append([metric.statistics(hyp, others) for metric in METRICS])
    finally:
        torch.set_num_threads(1)
    for one, two in zip(*results, strict=True):
        assert torch.allclose(one, two, rtol=0, atol=1e-12)


@given(seeds)
def test_more_references_never_lower_a_clipped_count(seed):
    hyps, refs = oracles.random_case(seed, most=20)
    hyp, others = batch(hyps), streams(refs)
    extra = batch([oracles.random_tree(random.Random(seed), 9) for _ in hyps])
    for metric in (tm.STM(), tm.HWCM(), tm.DSTM()):
        fewer = metric.statistics(hyp, others)
        assert (metric.statistics(hyp, [*others, extra]) >= fewer).all()


def test_empty_hypothesis_scores_zero():
    hyp = tm.TreeBatch.from_brackets(["", "(NN dog)"])
    ref = tm.TreeBatch.from_brackets(["(S (NN a) (VB b))", "(NN dog)"])
    for metric in METRICS:
        score = metric(hyp, [ref])
        assert score[0] == 0
        assert torch.isfinite(score).all()
    nothing = tm.TreeBatch.from_brackets([""])
    for metric in METRICS:
        assert metric.corpus(nothing, [ref[0]]) == 0
        assert metric(hyp[:0], [ref[:0]]).shape == (0,)


def test_a_tree_without_a_production_has_kernel_zero():
    single = tm.TreeBatch.from_brackets(["(NN dog)"])
    assert tm.TKM()(single, [single]).item() == 0
    assert tm.TKM().log(single, [single]).item() == -math.inf
    assert tm.TKM(lexical=True)(single, [single]).item() == 1


def test_documents_sum_their_segments():
    hyps, refs = oracles.random_case(5, most=12, segments=9)
    hyp, others = batch(hyps), streams(refs)
    ids = ["b" if place % 2 else "a" for place in range(len(hyps))]
    for metric in METRICS:
        scores = metric.documents(hyp, others, ids)
        for name in set(ids):
            rows = [place for place, other in enumerate(ids) if other == name]
            expected = metric.corpus(hyp[rows], [ref[rows] for ref in others]).item()
            assert scores[name] == pytest.approx(expected, abs=1e-12)


# --- bad input --------------------------------------------------------------------------------


def test_misaligned_batches():
    one, two = tm.TreeBatch.from_brackets(["(A b)"]), tm.TreeBatch.from_brackets(["(A b)"] * 2)
    for metric in METRICS:
        with pytest.raises(
            tm.TensorMTError, match="reference 2 has 2 segments, the hypothesis has 1"
        ):
            metric(one, [one, two])
        with pytest.raises(tm.TensorMTError, match="no reference given"):
            metric(one, [])


def test_segment_without_reference():
    hyp = tm.TreeBatch.from_brackets(["(A b)", "(A b)"])
    ref = tm.TreeBatch.from_brackets(["(A b)", ""])
    for metric in METRICS:
        with pytest.raises(tm.TensorMTError, match="segment 2 has no reference"):
            metric(hyp, [ref, ref])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tm.STM(0), "max_depth is 0"),
        (
            lambda: tm.HWCM(balance="both"),
            "balance is 'both', expected precision, recall, f1 or brevity",
        ),
        (lambda: tm.TKM(decay=0), "decay is 0"),
        (lambda: tm.TKM(decay="x"), "decay is 'x'"),
        (lambda: tm.HWCM(True), "max_length is True"),
        (lambda: tm.DTKM(decay=1.5), "decay is 1.5"),
        (lambda: tm.DSTM(rules="nobody"), "no head rules named 'nobody'"),
    ],
)
def test_bad_options(make, message):
    with pytest.raises(tm.TensorMTError, match=message):
        make()


def test_stm_refuses_dependency_trees():
    trees = tm.TreeBatch.from_heads([["a"]], [[0]])
    with pytest.raises(tm.TensorMTError, match="holds dependency trees"):
        tm.STM()(trees, [trees])


def test_signatures():
    assert (
        tm.STM().signature == f"STM|depth:4|balance:precision|lexical:no|version:{tm.__version__}"
    )
    assert tm.DTKM(0.5).signature == f"DTKM|decay:0.5|rules:collins|version:{tm.__version__}"
    assert "length:2" in tm.HWCM(2).signature
    assert "decay:0.12345671" in tm.TKM(0.12345671).signature


@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize("balance", ["recall", "f1"])
def test_ties_between_references_do_not_depend_on_their_order(balance, batched):
    """Equal scores with different counts: corpus scores and explanations are those of any order."""
    hyps = ["(S (A a) (B b) (C c))", ""] * (60 if batched else 1)
    refs = [
        ["(S (A a) (X x) (Y y))", "(S (A a))"] * (60 if batched else 1),
        ["(S (A a) (B b) (X x) (X x) (X x) (X x))", "(S (A a) (B b))"] * (60 if batched else 1),
        ["(S (B b) (X x) (Z z))", "(S (X x))"] * (60 if batched else 1),
    ]
    hyp, others = tm.TreeBatch.from_brackets(hyps), [tm.TreeBatch.from_brackets(r) for r in refs]
    for metric in (tm.STM(2, balance), tm.HWCM(2, balance), tm.DSTM(2, balance)):
        rows = [
            metric.statistics(hyp, list(some), batched=batched).tolist()
            for some in itertools.permutations(others)
        ]
        assert all(row == rows[0] for row in rows)
        for some in itertools.permutations(others):
            found = metric.explain(hyp, list(some))
            best = [some[k].to_brackets()[b] for b, k in enumerate(found.best.tolist())]
            alone = metric.statistics(hyp, [tm.TreeBatch.from_brackets(best)])
            assert alone.tolist() == rows[0]


def test_memory_for_deep_trees_is_known_before_it_is_asked_for():
    deep = tm.TreeBatch.from_brackets(["(S " * 100_000 + "(X a)" + ")" * 100_000])
    assert tm.STM(4)(deep, [deep]).item() == 1
    with pytest.raises(
        tm.TensorMTError, match=r"segment 1 has trees of 200,002 nodes, with up to 20"
    ):
        tm.STM(1000)(deep, [deep])


@pytest.mark.parametrize("kind", [tm.STM, tm.DSTM, tm.HWCM])
def test_orders_that_no_tree_reaches_cost_nothing(kind):
    trees = tm.TreeBatch.from_brackets(["(S (NP (A a) (B b)) (VP (C c)))", "(X x)"] * 30)
    assert kind(30).statistics(trees, [trees], batched=True)[:, 1:9].tolist() == (
        torch.cat([kind(8).statistics(trees, [trees], batched=True)[:, 1:9]]).tolist()
    )
    assert kind(1000, "f1")(trees, [trees]).tolist() == [1.0] * 60
