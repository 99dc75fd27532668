"""Scores of other tools as a metric."""

import math

import numpy as np
import pytest

import tensormt as tm
from tensormt.evaluator import Evaluator
from tensormt.resampling import intervals
from tensormt.segments import Segments
from tensormt.statistics import Statistics

HYPS = {"A": ["a dog", "a cat", "a cow"], "B": ["the dog", "the cat", "x"]}
REFS = [["a dog", "a cat", "the cow"]]
COMET = {"A": [0.9, 0.8, 0.1], "B": [0.5, None, 0.3]}


def test_a_corpus_has_the_mean_of_the_scores_that_exist():
    found = tm.score(HYPS, REFS, ["bleu", tm.Scores("COMET", COMET)], docs=["x", "x", "y"])
    assert found["A"].segments["COMET"].tolist() == COMET["A"]
    assert found["A"].corpus["COMET"] == pytest.approx(0.6)
    assert found["B"].corpus["COMET"] == pytest.approx(0.4)
    assert math.isnan(found["B"].segments["COMET"][1])
    assert found["A"].documents["x"]["COMET"] == pytest.approx(0.85)
    assert "|scores:stored|corpus:mean|" in found["A"].signatures["COMET"]
    assert found["A"].corpus["bleu"] == tm.score(HYPS["A"], REFS, ["bleu"]).corpus["bleu"]


def test_chunks_take_their_own_scores():
    evaluator = Evaluator([tm.Scores("COMET", COMET)])
    segments = Segments(HYPS, REFS)
    whole = evaluator.evaluate(segments)
    parts = Statistics.concat([found for _, found in evaluator.run(segments, 2)])
    assert np.array_equal(whole.tables["COMET"], parts.tables["COMET"])
    later = [found for _, found in evaluator.run(segments, 2, start=2)]
    assert np.array_equal(later[0].tables["COMET"], whole.tables["COMET"][:, 2:])


def test_the_same_bootstrap_and_tests():
    found = Evaluator([tm.Scores("COMET", COMET)]).evaluate(Segments(HYPS, REFS))
    ends = intervals(found)["COMET"]
    assert len(ends) == 2
    result = tm.compare(HYPS, REFS, metrics=["chrf", tm.Scores("ERR", COMET, False)])
    assert "lower is better: ERR" in str(result)
    best = {each.metric: each for each in result.comparisons}["ERR"]
    assert (best.wins, best.losses) == (1, 1)


def test_one_system_needs_no_name():
    assert tm.score(["a"], [["a"]], [tm.Scores("X", [0.25])]).corpus == {"X": 0.25}
    assert tm.score(["a"], [["a"]], [tm.Scores("X", np.array([0.25]))]).corpus == {"X": 0.25}


def test_what_does_not_fit():
    with pytest.raises(tm.TensorMTError, match=r"COMET has no scores of the system 'C'"):
        tm.score({"C": ["a"], "A": ["a"]}, [["a"]], [tm.Scores("COMET", COMET)])
    with pytest.raises(tm.TensorMTError, match="segment 2 has no score: X has 1 scores"):
        tm.score(["a", "b"], [["a", "b"]], [tm.Scores("X", [1.0])])
    with pytest.raises(tm.TensorMTError, match="scores of X are numbers"):
        tm.Scores("X", ["a"])
    with pytest.raises(tm.TensorMTError, match="must be finite"):
        tm.Scores("X", [math.inf])
    batch = tm.TokenBatch.from_text(["a"])
    with pytest.raises(tm.TensorMTError, match="not on batches"):
        tm.Scores("X", [1.0])(batch, [batch])


def test_from_file(tmp_path):
    path = tmp_path / "comet.txt"
    path.write_text("0.5\n0.7\n")
    found = tm.Scores.from_file(path, "COMET")
    assert tm.score(["a", "b"], [["a", "b"]], [found]).corpus["COMET"] == pytest.approx(0.6)
    error = tm.Scores.from_file(path, "ERR", higher_is_better=False)
    assert not error.higher_is_better
