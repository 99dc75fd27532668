"""Mean and Queen against their definitions, and wherever metrics go."""

import copy
import pickle
from itertools import permutations

import pytest
import torch

import tensormt as tm
from tensormt.evaluator import Evaluator
from tensormt.registry import make
from tensormt.segments import Segments
from tensormt.significance import compare
from tensormt.statistics import Totals
from tensormt.train.text_reward import TextReward

HYPS = ["the dog ran away .", "a cat sat on the mat", "nobody came", "x"]
REFS = [
    ["a dog ran off .", "the cat sat on a mat", "no one came", "x y"],
    ["the dog has run away .", "on the mat sat a cat", "nobody was there", "y"],
    ["the dog fled .", "a cat was sitting on the mat", "none came", "x x"],
    [None, "cat on mat", None, None],
]
ERROR_RATES = ("wer", "cer", "per")
SPEC = "chrf+hwcm:max_length=2,balance=f1+bleu"


class Flat:
    """A stand-in for a parser: a sentence is S over tagged words."""

    fingerprint = "flat-1"

    def __call__(self, lines):
        trees = [" ".join(f"(T{len(w)} {w})" for w in (line or "").split()) for line in lines]
        return tm.TreeBatch.from_brackets([f"(S {tree})" if tree else "" for tree in trees])


def parts(spec):
    return spec.split("+")


def scored(specs, **more):
    return tm.score(HYPS, REFS, specs, parser=Flat(), **more)


def test_the_mean_is_that_of_its_members():
    members = parts(SPEC)
    found = scored([SPEC, *members], docs=["d", "e", "d", "e"])
    scale = {name: make(name).scale for name in members}

    def mean(values):
        return sum(value / scale[name] for name, value in values.items()) / len(members)

    for k in range(4):
        expected = mean({name: float(found.segments[name][k]) for name in members})
        assert float(found.segments[SPEC][k]) == pytest.approx(expected, abs=1e-12)
    assert found.corpus[SPEC] == pytest.approx(mean({n: found.corpus[n] for n in members}))
    for own in found.documents.values():
        assert own[SPEC] == pytest.approx(mean({name: own[name] for name in members}))


def queen(specs, hyp, refs):
    """QUEEN of one text by its definition: all triples, one comparison at a time."""

    def x(spec, candidate, reference):
        value = tm.score([candidate], [[reference]], [spec], parser=Flat()).segments[spec]
        sign = -1 if spec in ERROR_RATES else 1
        return float(f"{sign * float(value[0]):.11e}")

    models = [ref for ref in refs if ref]
    passed = total = 0
    for m in models:
        for one, two in permutations(range(len(models)), 2):
            total += 1
            passed += all(x(s, hyp, m) >= x(s, models[one], models[two]) for s in specs)
    return passed / total


@pytest.mark.parametrize("specs", ["chrf+bleu", "chrf+hwcm:balance=f1+stm:balance=f1"])
def test_queen_by_its_definition(specs):
    found = scored([f"queen:{specs}"])
    expected = [
        queen(parts(specs), hyp, refs)
        for hyp, refs in zip(HYPS, zip(*REFS, strict=True), strict=True)
    ]
    assert found.segments[f"queen:{specs}"].tolist() == pytest.approx(expected)
    assert found.corpus[f"queen:{specs}"] == pytest.approx(sum(expected) / 4)


@pytest.mark.parametrize("specs", ["chrf+wer", "wer+per", "cer+rouge:variant=1"])
def test_queen_negates_error_rates(specs):
    """An empty output has the error rate of an empty text, so it is not the best one."""
    hyps = [*HYPS, "", "the dog ran off then", "!"]
    more = [["a", "x", "..."], ["a b", "the dog ran off", "yes !"], ["b a", "a dog ran", "no !"]]
    refs = [[*stream, *own] for stream, own in zip(REFS, [*more, [None] * 3], strict=True)]
    found = tm.score(hyps, refs, [f"queen:{specs}"]).segments[f"queen:{specs}"]
    expected = [
        queen(parts(specs), hyp, own)
        for hyp, own in zip(hyps, zip(*refs, strict=True), strict=True)
    ]
    assert found.tolist() == pytest.approx(expected)
    assert len({round(value, 6) for value in expected}) > 2


def test_few_references_are_refused_with_their_number():
    refs = [list(row) for row in REFS]
    refs[2][1] = refs[3][1] = None
    with pytest.raises(tm.TensorMTError, match="segment 2 has 2 references: QUEEN needs at"):
        tm.score(HYPS, refs, ["queen:chrf+bleu"])


def test_what_has_no_scale_is_refused():
    with pytest.raises(tm.TensorMTError, match="NIST has no upper bound"):
        tm.Mean([tm.BLEU(), tm.NIST()])
    with pytest.raises(tm.TensorMTError, match="NIST has no upper bound"):
        make("chrf+nist")
    with pytest.raises(tm.TensorMTError, match="metrics holds 1, expected at least 2: a metric"):
        tm.Mean([tm.BLEU()])
    with pytest.raises(tm.TensorMTError, match=r"metrics\[0\] is 'bleu', expected a metric"):
        tm.Mean(["bleu", "chrf"])
    with pytest.raises(tm.TensorMTError, match="no metric named ''"):
        make("chrf+")
    assert scored(["queen:chrf+nist"]).segments["queen:chrf+nist"].shape == (4,)


@pytest.mark.parametrize("spec", [SPEC, "queen:chrf+stm", "chrf+hwcm:max_length=1", "blend"])
def test_chunks_resume_and_processes_change_nothing(spec):
    """Sums kept in a file and scored by another object, as resuming and workers do."""
    whole = scored([spec])
    for size in (1, 3):
        evaluator, totals = Evaluator([spec], Flat()), Totals()
        corpus = Segments({"": HYPS}, REFS)
        for _, found in evaluator.run(corpus, size):
            totals.add(found)
        fresh = pickle.loads(pickle.dumps(make(spec)))
        total = Totals.from_json(totals.to_json()).corpus_scores({spec: fresh}, "")[spec]
        assert total == pytest.approx(whole.corpus[spec], abs=1e-12)


def test_bootstrap_rewards_and_batches():
    spec = "chrf+stm:max_depth=2,balance=f1"
    outputs = {"a": HYPS, "b": [line or "" for line in REFS[0]]}
    (result,) = compare(Evaluator([spec], Flat()).evaluate(Segments(outputs, REFS)), samples=50)
    assert 0 <= result.p <= 1
    reward = TextReward(make(spec), Flat())
    refs = [[ref for ref in row if ref] for row in zip(*REFS, strict=True)]
    assert torch.allclose(reward(HYPS, refs), scored([spec]).segments[spec])
    trees = Flat()
    metric = tm.Mean([tm.STM(2, "f1"), tm.HWCM(2, "f1")])
    assert metric(trees(HYPS), [trees(REFS[0])]).shape == (4,)  # one batch serves both
    again = copy.copy(metric)
    assert again.metrics[0] is not metric.metrics[0]


def test_counts_of_all_references_are_gathered_for_members():
    spec = "queen:nist+chrf"
    whole = scored([spec])
    parts = [tm.score(HYPS[k:], [r[k:] for r in REFS], [spec]) for k in (0,)]
    assert torch.equal(parts[0].segments[spec], whole.segments[spec])
    metric = make("chrf+bm:weighting=zipf")
    assert metric.needs_fit
    tm.score(HYPS, REFS, [metric])
    assert metric.needs_fit  # what was counted stays with the run
