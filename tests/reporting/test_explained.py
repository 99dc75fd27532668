"""`tm.explain` adds up: its items are those of slow oracles, its counts those of the statistics."""

import math
from collections import Counter

import ngram_oracle
import ngram_samples
import oracles
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import tensormt as tm
from tensormt.errors import NoExplanation
from tensormt.metric import Metric

seeds = st.integers(0, 2**32)
MATCHED = {"bleu": 3, "bm": 3}  # the first column of the clipped matches


def batch(trees):
    return tm.TreeBatch.from_brackets([oracles.brackets(tree) for tree in trees])


def dependency(tree):
    return None if tree is None else oracles.from_heads(*oracles.dependencies(tree))


def depth_first(tree):
    """Each node of a constituency tree, in preorder."""
    return [] if tree is None else list(oracles.nodes(tree))


def subtree_at(tree, order):
    """Place → subtree of the order, for the places that have one."""
    return {
        place: oracles.part(node, order)
        for place, node in enumerate(depth_first(tree))
        if oracles.height(node) >= order
    }


def head_places(tree):
    """Words and 0-based heads (None: root) of a constituency tree, by sentence place."""
    words, heads = ([], []) if tree is None else oracles.dependencies(tree)
    return words, [head - 1 if head else None for head in heads]


def chain_at(tree, order):
    words, heads = head_places(tree)
    found = {}
    for place in range(len(words)):
        chain = [place]
        while len(chain) < order and heads[chain[-1]] is not None:
            chain.append(heads[chain[-1]])
        if len(chain) == order:
            found[place] = tuple(words[node] for node in chain)
    return found


def gram_at(tokens, order):
    return dict(enumerate(ngram_oracle.grams(tokens, order)))


def check(found, hyp, refs, at, orders, only=None):
    """One segment's items against dictionaries place → key of the oracle."""
    assert [(m.order, m.place) for m in found.matches] == [
        (order, place) for order in range(1, orders + 1) for place in sorted(at(hyp, order))
    ]
    seen = Counter()
    for match in found.matches:
        key = at(hyp, match.order)[match.place]
        theirs = [at(ref, match.order) for ref in refs]
        places = [sorted(p for p, k in other.items() if k == key) for other in theirs]
        assert match.places == places
        sizes = [len(p) if only in (None, r) else 0 for r, p in enumerate(places)]
        most = max(sizes)
        assert match.reference == (sizes.index(most) if most else None)
        assert match.counted == (seen[match.order, key] < most)
        seen[match.order, key] += 1


@given(seeds, st.sampled_from(["stm", "stm-lexical", "dstm", "hwcm"]))
def test_items_of_trees_are_the_oracles(seed, name):
    hyps, refs = oracles.random_case(seed, most=12)
    metric = {
        "stm": tm.STM(3),
        "stm-lexical": tm.STM(3, lexical=True),
        "dstm": tm.DSTM(3),
        "hwcm": tm.HWCM(3),
    }[name]
    hyp, others = batch(hyps), [batch(stream) for stream in zip(*refs, strict=True)]
    found = tm.explain(metric, hyp, others)
    rows = metric.statistics(hyp, others)
    for segment, row, own, theirs in zip(found, rows.tolist(), hyps, refs, strict=True):
        assert [segment.counts.get(order, 0) for order in (1, 2, 3)] == row[1:4]
        if name == "hwcm":
            check(segment, own, theirs, chain_at, 3)
        elif name == "dstm":
            continue  # sentence order is not preorder: the counts above are checked
        else:
            view = oracles.skeleton if name == "stm" else oracles.lexical
            own, *theirs = (None if tree is None else view(tree) for tree in (own, *theirs))
            check(segment, own, theirs, subtree_at, 3)


@given(seeds, st.sampled_from(["recall", "f1", "brevity"]), st.sampled_from([tm.STM, tm.HWCM]))
def test_balances_count_what_their_statistics_count(seed, balance, kind):
    hyps, refs = oracles.random_case(seed, most=12)
    metric = kind(3, balance=balance)
    hyp, others = batch(hyps), [batch(stream) for stream in zip(*refs, strict=True)]
    found = tm.explain(metric, hyp, others)
    rows = metric.statistics(hyp, others).tolist()
    for segment, row, theirs in zip(found, rows, refs, strict=True):
        assert [segment.counts.get(order, 0) for order in (1, 2, 3)] == row[1:4]
        sources = {m.reference for m in segment.matches if m.counted}
        assert balance == "brevity" or len(sources) <= 1
        assert all(theirs[r] is not None for r in sources)


@given(seeds)
def test_items_of_ngrams_are_the_oracles(seed):
    hyps, refs = ngram_samples.corpus(seed, 4, 3)
    hyp, others = ngram_samples.read(hyps, refs)
    for metric in (tm.BLEU(3, tokenize="none"), tm.BM(3, tokenize="none")):
        found = tm.explain(metric, hyp, others)
        rows = metric.statistics(hyp, others).tolist()
        for segment, row, own, theirs in zip(found, rows, hyps, refs, strict=True):
            assert [segment.counts.get(order, 0) for order in (1, 2, 3)] == row[3:6]
            check(segment, own, theirs, gram_at, 3)


def chrf_grams(text, letters, words):
    """Place → gram of each order, characters before words."""
    cut = []
    for word in text.split():
        cut += [word[:-1], word[-1]] if len(word) > 1 and word[-1] in ".," else [word]
    plain = "".join(text.split())
    return [gram_at(plain, n) for n in range(1, letters + 1)] + [
        gram_at(cut, n) for n in range(1, words + 1)
    ]


def chrf_text(rng, least=0):
    kinds = ["a", "ab", "aab", "ba.", "b,", "cab", "é", "日本", "bb."]
    return " ".join(rng.choice(kinds) for _ in range(rng.randint(least, 8)))


@given(st.randoms(use_true_random=False), st.sampled_from([(3, 0), (2, 2), (6, 2)]))
def test_characters_and_words_of_chrf_are_the_oracles(rng, orders):
    hyps = [chrf_text(rng) for _ in range(3)]
    refs = [[chrf_text(rng) for _ in range(3)], [chrf_text(rng, 1) for _ in range(3)]]
    metric = tm.ChrF(*orders)
    hyp, *others = (tm.TokenBatch.from_text(lines, "none") for lines in (hyps, *refs))
    rows = metric.statistics(hyp, others).tolist()
    for i, segment in enumerate(tm.explain(metric, hyp, others)):
        number = range(1, sum(orders) + 1)
        assert [segment.counts.get(order, 0) for order in number] == rows[i][3::3]
        scores = [
            float(metric(hyp[i], [other[i]])) if ref[i] else -1
            for ref, other in zip(refs, others, strict=True)
        ]
        best = scores.index(max(scores))
        own, *theirs = (chrf_grams(text[i], *orders) for text in (hyps, *refs))
        assert len(segment.matches) == sum(map(len, own))
        seen = Counter()
        for match in segment.matches:
            gram = own[match.order - 1][match.place]
            assert match.text == ("" if match.order <= orders[0] else " ").join(gram)
            for other, places in zip(theirs, match.places, strict=True):
                assert places == [p for p, g in other[match.order - 1].items() if g == gram]
            held = len(match.places[best])
            assert match.counted == (seen[match.order, gram] < held)
            assert match.reference == (best if held else None)
            seen[match.order, gram] += 1


@settings(max_examples=20)
@given(seeds)
def test_a_mean_has_the_explanations_of_its_members(seed):
    hyps, refs = oracles.random_case(seed, most=10)
    members = [tm.STM(2, balance="f1"), tm.HWCM(2, balance="f1"), tm.TKM(0.5)]
    hyp, others = batch(hyps), [batch(stream) for stream in zip(*refs, strict=True)]
    found = tm.explain(tm.Mean(members), hyp, others)
    for k, metric in enumerate(members):
        assert [segment.members[k].found for segment in found] == tm.explain(metric, hyp, others)
        assert all(math.isclose(segment.members[k].weight, 1 / 3) for segment in found)
    assert [member.name for member in found[0].members] == [
        "STM-2 F1",
        "HWCM-2 F1",
        "TKM decay=0.5",
    ]


def test_text_is_read_as_the_metric_reads_it():
    hyps, refs = ["the dog ran", "a cat"], [["the dog runs", "a cat"], ["", "the cat"]]
    found = tm.explain("chrf+bleu:tokenize=none", hyps, refs)
    batches = [tm.TokenBatch.from_text(lines, "none") for lines in (hyps, *refs)]
    for k, metric in enumerate((tm.ChrF(), tm.BLEU(tokenize="none"))):
        assert [s.members[k].found for s in found] == tm.explain(metric, batches[0], batches[1:])
        assert math.isclose(found[0].members[k].weight, 1 / 200)
    with pytest.raises(NoExplanation, match=r"chrF, BLEU .* explain one of them"):
        tm.explain("queen:chrf+bleu", hyps, [*refs, refs[0]])


def test_long_and_short_segments_count_alike():
    """Statistics take two ways, by length; explanations equal both."""
    words = [f"w{i * i % 7}" for i in range(400)]
    lines = [" ".join(words), "w1 w2 w4", " ".join(words[:30])]
    refs = [" ".join(words[50:]), "w4 w2 w1 w2", " ".join(words[20:50])]
    hyp, ref = (tm.TokenBatch.from_text(side, "none") for side in (lines, refs))
    metric = tm.BLEU(tokenize="none")
    rows = metric.statistics(hyp, [ref]).tolist()
    for segment, row in zip(tm.explain(metric, hyp, [ref]), rows, strict=True):
        assert [segment.counts.get(order, 0) for order in range(1, 5)] == row[3:7]


@given(seeds, st.sampled_from([1.0, 0.5]), st.booleans())
def test_shares_of_node_pairs_sum_to_the_kernel(seed, decay, lexical):
    hyps, refs = oracles.random_case(seed, most=10)
    metric = tm.TKM(decay, lexical=lexical)
    hyp, others = batch(hyps), [batch(stream) for stream in zip(*refs, strict=True)]
    view = oracles.lexical if lexical else oracles.skeleton
    for segment, own, theirs in zip(tm.explain(metric, hyp, others), hyps, refs, strict=True):
        for number, ref in enumerate(theirs):
            expected = {}
            if own is not None and ref is not None:
                for x, left in enumerate(depth_first(view(own))):
                    for y, right in enumerate(depth_first(view(ref))):
                        common = oracles.kernel_of_pair(left, right, decay)
                        if common:
                            expected[x, y] = common
            pairs = {(p.place, p.other): p.share for p in segment.pairs if p.reference == number}
            assert pairs.keys() == expected.keys()
            assert all(math.isclose(pairs[k], v, rel_tol=1e-9) for k, v in expected.items())
            log = float(metric.log_kernel(hyp, others[number])[hyps.index(own)])
            assert math.isclose(segment.kernel(number), math.exp(log), rel_tol=1e-9)


@settings(max_examples=20)
@given(seeds)
def test_dependency_kernel_shares_sum_to_the_kernel(seed):
    hyps, refs = oracles.random_case(seed, most=10)
    metric = tm.DTKM()
    hyp, others = batch(hyps), [batch(stream) for stream in zip(*refs, strict=True)]
    found = tm.explain(metric, hyp, others)
    for number, ref in enumerate(others):
        logs = metric.log_kernel(hyp, ref).tolist()
        for segment, log in zip(found, logs, strict=True):
            assert math.isclose(segment.kernel(number), math.exp(log), rel_tol=1e-9)


def test_texts_of_items():
    hyp = tm.TreeBatch.from_brackets(["(S (NP (DT the) (NN dog)) (VP (VBD ran)))"])
    [chains] = tm.explain("hwcm", hyp, [hyp])
    assert "ran → dog → the" in [match.text for match in chains.matches if match.order == 3]
    [subtrees] = tm.explain("stm", hyp, [hyp])
    assert subtrees.matches[-1].text == "(S (NP DT NN) (VP VBD))"
    tokens = tm.TokenBatch.from_text(["The dog ran."])
    [grams] = tm.explain("bleu", tokens, [tokens])
    assert grams.matches[-1].text == "The dog ran ."


def test_many_segments_go_in_chunks():
    lines = ["a b c", "c b a"] * 700
    hyp, ref = (tm.TokenBatch.from_text(side, "none") for side in (lines, lines[::-1]))
    metric = tm.BLEU(2, tokenize="none")
    found = tm.explain(metric, hyp, [ref])
    rows = metric.statistics(hyp, [ref])
    counts = [[segment.counts.get(1, 0), segment.counts.get(2, 0)] for segment in found]
    assert torch.equal(torch.tensor(counts), rows[:, 3:5])


def test_a_metric_that_cannot_say_it():
    class Silent(tm.BLEU):
        _explain = Metric._explain

    tokens = tm.TokenBatch.from_text(["a"])
    with pytest.raises(NoExplanation, match="BLEU does not say"):
        tm.explain(Silent(), tokens, [tokens])
    with pytest.raises(tm.TensorMTError, match=r"expected a list of R batches: pass \[refs\]"):
        tm.explain("bleu", tokens, tokens)
    with pytest.raises(tm.TensorMTError, match="compares trees"):
        tm.explain("stm", tokens, [tokens])
    with pytest.raises(tm.TensorMTError, match="align"):
        tm.explain("bleu", tokens, [tm.TokenBatch.from_text(["a", "b"])])
