"""Reranking against plain Python with sacrebleu's scores."""

import math
import random
import warnings

import pytest
import sacrebleu

import tensormt as tm
from tensormt.errors import TensorMTError

WORDS = "a the dog cat sat ran away home . ,".split()
PEERS = {
    "bleu": lambda hyp, ref: sacrebleu.sentence_bleu(hyp, [ref]).score,
    "chrf": lambda hyp, ref: sacrebleu.sentence_chrf(hyp, [ref]).score,
    "ter": lambda hyp, ref: sacrebleu.sentence_ter(hyp, [ref]).score,
}


def lists(seed, segments=4, blank=True):
    """Ragged lists of texts, some of them blank or repeated."""
    rng = random.Random(seed)

    def line():
        return " ".join(rng.choices(WORDS, k=rng.randint(0 if blank else 1, 6)))

    found = [[line() for _ in range(rng.randint(1, 5))] for _ in range(segments)]
    for own in found:
        own.append(rng.choice(own))
        if not any(own):
            own.append("a")
    return found


def oracle(peer, candidates, pool, weights):
    """Expected scores in the order of the candidates."""
    real = [(ref, weight) for ref, weight in zip(pool, weights, strict=True) if ref.strip()]
    total = sum(weight for _, weight in real)
    return [sum(w * peer(hyp, ref) for ref, w in real) / total for hyp in candidates]


@pytest.mark.parametrize("metric", PEERS)
@pytest.mark.parametrize("seed", range(6))
def test_expected_scores_are_those_of_sacrebleu(metric, seed):
    candidates, rng = lists(seed), random.Random(seed)
    pools = [candidates, lists(seed + 100)][seed % 2]
    weights = logs = None
    shares = [[1.0] * len(pool) for pool in pools]
    if seed % 3:
        shares = [[rng.random() + 0.01 for _ in pool] for pool in pools]
        weights = shares if seed % 3 == 1 else None
        if weights is None:
            logs = [[math.log(value) - 700 for value in own] for own in shares]
    found = tm.rerank(
        candidates,
        metric,
        None if pools is candidates else pools,
        weights=weights,
        log_probabilities=logs,
    )
    for k, own in enumerate(candidates):
        expected = oracle(PEERS[metric], own, pools[k], shares[k])
        assert sorted(found.indices[k]) == list(range(len(own)))
        assert found.texts[k] == [own[place] for place in found.indices[k]]
        ours = [expected[place] for place in found.indices[k]]
        assert found.scores[k] == pytest.approx(ours, rel=1e-9, abs=1e-9)
        order = sorted(ours, reverse=metric != "ter")
        assert ours == pytest.approx(order, rel=1e-9, abs=1e-9)
    assert found.best == [own[0] for own in found.texts]
    assert len(found) == len(candidates)
    assert (
        found.signature.split("|")[0]
        == tm.score(["a"], [["a"]], [metric]).signatures[metric].split("|")[0]
    )


def test_ties_keep_their_order_and_chunks_do_not_matter():
    assert tm.rerank([["a b", "a b", "b a b"]], "bleu").indices[0][:2] == [0, 1]
    candidates = lists(3, 9)
    whole = tm.rerank(candidates, "chrf")
    seen = []
    assert tm.rerank(candidates, "chrf", pairs=7, progress=seen.append) == whole
    assert sum(seen) == 9
    assert len(seen) > 3


def test_trees_means_and_equal_numbers():
    """As `TextReward.utility`, which takes equally many samples."""
    from tensormt.train import TextReward, nbest

    samples = [["a dog ran", "the dog ran", "ran"], ["a cat sat", "cat", "the cat sat"]]
    for spec in ("stm:balance=f1", "chrf+hwcm:balance=f1"):
        table = TextReward(spec, "default").utility(samples)
        expected = nbest(table, 3)
        found = tm.rerank(samples, spec)
        assert found.indices == expected.indices.tolist()
        assert found.scores[1] == pytest.approx(expected.scores[1].tolist(), rel=1e-9)


def test_a_segment_of_blank_texts_keeps_its_order():
    found = tm.rerank([["", " "], ["a", ""]], "ter")
    assert found.indices == [[0, 1], [0, 1]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"candidates": [["a"], []]}, "segment 2 has 0 candidates: expected at least 1"),
        ({"candidates": ["a"]}, "candidates are lists of texts, one for each segment"),
        ({"candidates": [[1]]}, "candidates of segment 1, number 1: expected a string"),
        ({"candidates": [["a"]], "references": []}, "1 segments of candidates, 0 of references"),
        ({"candidates": [["a"]], "weights": [[1, 2]]}, "segment 1 has 2 weights for 1 texts"),
        ({"candidates": [["a"]], "weights": [["x"]]}, "segment 1 has weights that are not numbers"),
        ({"candidates": [["a"]], "weights": [[-1]]}, "has -1 among its weights: expected numbers"),
        ({"candidates": [["a"]], "weights": [[0]]}, "segment 1 has weights that are all zero"),
        ({"candidates": [["a"]], "weights": []}, "weights of 0 segments for 1"),
        ({"candidates": [["a"]], "log_probabilities": [[math.inf]]}, "has inf among its log_prob"),
        (
            {"candidates": [["a"]], "log_probabilities": [[0]], "weights": [[1]]},
            "weights and log_probabilities are both given",
        ),
        ({"candidates": [["a"]], "metric": "nist"}, "NIST needs all references of a test set"),
        ({"candidates": [["a"]], "metric": "copied"}, "Copied needs the source"),
        ({"candidates": [["a"]], "metric": "blue"}, "blue"),
    ],
)
def test_what_is_wrong_is_said(arguments, message):
    with pytest.raises(TensorMTError, match=message):
        tm.rerank(**arguments)


def test_scores_that_are_no_numbers_are_an_error():
    class Broken(tm.BLEU):
        def _score(self, rows, segment):
            return super()._score(rows, segment) * math.nan

    with pytest.raises(TensorMTError, match="segment 1 has a score of BLEU"):
        tm.rerank([["a dog", "a cat"]], Broken())


def test_metrics_that_choose_short_candidates_are_warned_of():
    for metric in ("offtarget", "stm", "rouge:balance=precision"):
        with pytest.warns(UserWarning, match="does not fall when parts of an output are left out"):
            tm.rerank([["a b", "a"]], metric)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tm.rerank([["a b", "a"]], "ter")


ZH = ["猫坐在垫子上。", "今天天气很好。", "今天天气真好。", "今天的天气很好。"]


@pytest.mark.parametrize("metric", ["wer", "ter", "rouge", "bleu"])
def test_scripts_that_the_metric_cannot_cut_are_warned_of(metric):
    """All scores are equal, and the first candidate wins."""
    with pytest.warns(UserWarning, match=r"texts are in a script .*CJK"):
        assert tm.rerank([ZH], metric).best == ZH[:1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tm.rerank([ZH], "chrf").best != ZH[:1]
        assert tm.rerank([ZH], "bleu", lang="zh").best != ZH[:1]
    with pytest.warns(UserWarning, match="^4 of 12 outputs are empty$"):
        tm.rerank([["a", "b", ""]] * 4, "bleu")
