"""Scores of other tools as a metric."""

import math

import numpy as np
import pytest

import tensormt as tm
from tensormt.evaluator import Evaluator
from tensormt.resampling import intervals
from tensormt.segments import Segments
from tensormt.statistics import Statistics
from tensormt.train import TextReward

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


def test_systems_are_compared_on_the_segments_that_both_have():
    """A system that is worse wherever both have a score is not better for lack of others."""
    rng = np.random.default_rng(1)
    base = rng.random(60)
    other = np.where(base > 0.5, base - 0.05, np.nan)
    hyps = {name: ["a b c", "a b"] * 30 for name in ("base", "other", "none")}
    scores = {"base": base, "other": other, "none": [None] * 60}
    stored = tm.Scores("C", scores)
    for options in ({}, {"test": "ar"}, {"sacrebleu_p": True}):
        with pytest.warns(UserWarning, match="outputs have no score of C: its corpus"):
            result = tm.compare(hyps, [["a b c"] * 60], metrics=["bleu", stored], **options)
        bleu, _, worse, none = result.comparisons
        assert bleu.segments == 60
        shared = int((base > 0.5).sum())
        assert (worse.wins, worse.ties, worse.losses) == (0, 0, shared)
        assert worse.difference == pytest.approx(-0.05)
        assert worse.verdict == "worse"
        assert (none.verdict, none.segments) == ("", 0)
        assert math.isnan(none.p)
        assert math.isnan(none.difference)
        assert "nan" not in str(result).partition("none")[2].replace(" nan ", "", 1)
        note = f"C, base and other: {shared}; C, base and none: 0"
        assert result.notes[-1].endswith(note)
    ends = intervals(Evaluator([stored]).evaluate(Segments(hyps, [["a b c"] * 60])))["C"]
    assert ends[1][0] < np.nanmean(other) < ends[1][1]
    assert all(map(math.isnan, ends[2]))


def test_missing_scores_are_counted():
    with pytest.warns(UserWarning, match="^1 of 6 outputs have no score of COMET"):
        tm.score(HYPS, REFS, [tm.Scores("COMET", COMET)])


def test_one_system_needs_no_name():
    assert tm.score(["a"], [["a"]], [tm.Scores("X", [0.25])]).corpus == {"X": 0.25}
    assert tm.score(["a"], [["a"]], [tm.Scores("X", np.array([0.25]))]).corpus == {"X": 0.25}


def test_what_does_not_fit():
    with pytest.raises(tm.TensorMTError, match=r"COMET has no scores of the system 'C'"):
        tm.score({"C": ["a"] * 3, "A": ["a"] * 3}, [["a"] * 3], [tm.Scores("COMET", COMET)])
    for number in (1, 3):
        with pytest.raises(tm.TensorMTError, match=f"X has {number} scores, there are 2 segments"):
            tm.score(["a", "b"], [["a", "b"]], [tm.Scores("X", [1.0] * number)])
    with pytest.raises(tm.TensorMTError, match="COMET has 3 scores of 'A', there are 2 segments"):
        tm.compare(
            {name: lines[:2] for name, lines in HYPS.items()},
            [REFS[0][:2]],
            metrics=[tm.Scores("COMET", COMET)],
        )
    with pytest.raises(tm.TensorMTError, match="name is empty"):
        tm.Scores("", [1.0])
    with pytest.raises(tm.TensorMTError, match="which belong to the outputs of a test set"):
        TextReward(tm.Scores("X", [1.0]))
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
    several = tmp_path / "several.seg.score"
    several.write_text("A\t1\nB\t2\n")
    assert tm.Scores.from_file(several, "X", "A").scores["A"].tolist() == [1.0]
    with pytest.raises(tm.TensorMTError, match=r"has scores by system .A, B.: name the systems"):
        tm.Scores.from_file(several, "X")
