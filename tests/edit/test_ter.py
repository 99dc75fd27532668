"""TER against sacrebleu: all options, several references, long and empty text, Chinese."""

import random
from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import TER

import tensormt as tm
from tensormt.registry import make
from tensormt.train.text_reward import TextReward

NAMES = ["normalized", "no_punct", "asian_support", "case_sensitive"]
OPTIONS = [dict(zip(NAMES, own, strict=True)) for own in product([False, True], repeat=4)]
WORDS = [
    "a",
    "b",
    "The",
    "the",
    "cat.",
    "cat",
    ",",
    "...",
    "漢字。",
    "字",
    "it's",
    "dog's.",  # a second pass cuts off the possessive, or the first period
    "..5",
    "x-5",
    "Σ.Α",
    "(d)",
]
LINE = st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join)
FILLED = st.lists(st.sampled_from(WORDS), min_size=1, max_size=14).map(" ".join)


def spec(options):
    return ":".join(
        filter(None, ["ter", ",".join(f"{k}={'yes' if v else 'no'}" for k, v in options.items())])
    )


def peer(options, hyps, refs):
    """Segment and corpus scores of sacrebleu, blank references left out."""
    metric = TER(**options)
    own = [[ref for ref in row if ref and ref.strip()] for row in zip(*refs, strict=True)]
    segments = [metric.sentence_score(h, r).score for h, r in zip(hyps, own, strict=True)]
    rows = [
        metric._compute_segment_statistics(
            metric._preprocess_segment(hyp), metric._cache_references([[own] for own in ref])[0]
        )
        for hyp, ref in zip(hyps, own, strict=True)
    ]
    return segments, metric._aggregate_and_compute(rows).score


def check(options, hyps, refs):
    name = spec(options)
    found = tm.score(hyps, refs, metrics=[name])
    segments, corpus = peer(options, hyps, refs)
    assert found.segments[name].tolist() == pytest.approx(segments, abs=1e-9)
    assert found.corpus[name] == pytest.approx(corpus, abs=1e-9)
    metric = make(name)
    hyp, *others = tm.TokenBatch.from_texts([hyps, *refs], *metric.reads.cut)
    rows = metric.statistics(hyp, others, batched=True)
    assert metric.score(rows, segment=True).tolist() == pytest.approx(segments, abs=1e-9)


@pytest.mark.parametrize("options", OPTIONS, ids=spec)
@settings(max_examples=8, deadline=None)  # for each of the 16 combinations
@given(rows=st.lists(st.tuples(LINE, FILLED, LINE), min_size=1, max_size=6))
def test_equal_to_sacrebleu(options, rows):
    """Also where punctuation is all that a reference has: it is present, with length 0."""
    hyps, one, two = (list(column) for column in zip(*rows, strict=True))
    check(options, hyps, [one, two])
    check(options, hyps * 12, [one * 12, two * 12])


def shuffled(rng, words, vocabulary):
    """A text like another: words left out, replaced and shifted."""
    found = [w if rng.random() < 0.85 else rng.choice(vocabulary) for w in words]
    found = [w for w in found if rng.random() < 0.9]
    for _ in range(rng.randrange(4)):
        start, size = rng.randrange(len(found) + 1), rng.randint(1, 5)
        run = found[start : start + size]
        del found[start : start + size]
        place = rng.randint(0, len(found))
        found[place:place] = run
    return found


def test_sentences_with_shifts():
    rng = random.Random(2)
    vocabulary = [f"w{k}" for k in range(60)]
    refs = [rng.choices(vocabulary, k=rng.randint(1, 45)) for _ in range(60)]
    hyps = [" ".join(shuffled(rng, ref, vocabulary)) for ref in refs]
    others = [" ".join(shuffled(rng, ref, vocabulary)) for ref in refs]
    check({}, hyps, [[" ".join(ref) for ref in refs], others])


@pytest.mark.heavy(needs="minutes")
def test_long_text_and_the_beam():
    """More than 64 words, and paths that leave the beam about the diagonal."""
    rng = random.Random(3)
    hyps, refs = [], []
    for words, kinds in ((150, 400), (110, 30), (80, 8)):
        ref = [f"w{rng.randrange(kinds)}" for _ in range(words)]
        hyps += [" ".join(ref[words // 2 :] + ref[: words // 2]), " ".join(ref[:9])]
        refs += [" ".join(ref)] * 2
    check({}, hyps, [refs])


def test_chinese():
    hyps, refs = ["我们在北京见面。"], [["我们明天在北京，见面！"]]
    for options in OPTIONS:
        check(options, hyps, refs)
    name = "ter:normalized=yes,asian_support=yes"
    assert tm.score(hyps, refs, metrics=[name]).corpus[name] < 50


def test_references_are_normalized_twice():
    """As in sacrebleu: an output that equals its reference may have errors."""
    line = "We saw the neighbour's."
    for options in OPTIONS:
        check(options, [line, "a b"], [[line, "a b"]])
    name = "ter:normalized=yes"
    assert tm.score([line], [[line]], metrics=[name]).corpus[name] == pytest.approx(100 / 3)
    metric, lines = tm.TER(normalized=True), [line, "JOHN'S house", "THE NEIGHBOUR'S."]
    # cut by another tokeniser, or in the other case: not as sacrebleu has it, so left as it is
    for way in (("none", True), (metric.tokenize, False)):
        batch = tm.TokenBatch.from_text(lines, *way)
        for batched in (None, True):
            assert metric.statistics(batch, [batch], batched=batched)[:, 1].tolist() == [0, 0, 0]
    batch = tm.TokenBatch.from_text(lines, metric.tokenize, True)
    plain, engine = (metric.statistics(batch, [batch], batched=batched) for batched in (None, True))
    assert plain.tolist() == engine.tolist() == [[1, 2, 6], [1, 0, 3], [1, 2, 4]]


def test_empty_output():
    check({}, ["", "a"], [["a b", "a"]])
    assert tm.score([""], [["a b"]], metrics=["ter"]).corpus["ter"] == 100


def test_references_without_a_word():
    """sacrebleu: as many edits as words, length 0."""
    for hyp in ("a b", ""):
        check({"no_punct": True}, [hyp, "c"], [["...", "c"]])
        check({"no_punct": True}, [hyp], [["..."], ["a"]])


def test_mean_length_of_references():
    refs = [["a b c d"], ["a b"], ["x"]]
    check({}, ["a b z"], refs)
    check({}, ["a b z"], refs[::-1])


def test_signature_and_scale():
    metric = tm.TER()
    assert metric.signature.startswith("TER|case:lc|tok:tercom|norm:no|punct:yes|asian:no|")
    assert (metric.scale, metric.digits, metric.higher_is_better) == (100.0, 2, False)
    assert metric.on_unit_scale(torch.tensor([25.0, 300.0])).tolist() == [0.75, 0.0]
    assert TextReward(metric).grpo()(completions=["a b c d"], references=[["a b c x"]]) == [0.75]


def test_explain():
    [found] = tm.explain("ter", ["home the dog ran Z"], [["the dog ran home today now"]])
    assert [str(edit) for edit in found.edits] == [
        "shift at 1 to 5: home",
        "deletion at 5: today",
        "substitution at 5: z → now",
    ]
    assert [match.text for match in found.matches if match.counted] == ["home", "the", "dog", "ran"]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(LINE, FILLED, LINE), min_size=1, max_size=4))
def test_as_many_edits_explained_as_counted(rows):
    metric = tm.TER(no_punct=True)
    streams = [list(column) for column in zip(*rows, strict=True)]
    hyp, *refs = tm.TokenBatch.from_texts(streams, metric.tokenize)
    found = [len(own.edits) for own in tm.explain(metric, hyp, refs)]
    assert found == metric.statistics(hyp, refs)[:, 1].tolist()
