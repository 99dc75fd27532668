"""Corpus scores of rows: those of `tm.score`, with the intervals of the package."""

import pytest

import tensormt as tm
from tensormt.integrations.corpus_scores import CorpusScores
from tensormt.resampling import bootstrap_scores

HYPS = ["a dog sleeps here", "the cat sat on a mat", "x y z"]
REFS = [["a cat sleeps", "the dog sleeps here"], ["the cat sat on the mat"], ["x y w"]]
ROWS = list(zip(HYPS, REFS, strict=True))


@pytest.mark.parametrize("name", ["bleu", "chrf", "nist", "stm:balance=f1", "wer"])
def test_the_scores_of_score(name):
    scores = CorpusScores(name)
    assert scores.corpus(ROWS) == tm.score(HYPS, REFS, [name], rows=True).corpus[name]
    low, high = scores.interval(ROWS)
    assert low <= scores.corpus(ROWS) <= high
    values = bootstrap_scores(scores.statistics(ROWS))[name][0]
    mean = sum(values.tolist()) / len(values)
    variance = sum((value - mean) ** 2 for value in values.tolist()) / (len(values) - 1)
    assert scores.standard_error(ROWS) == pytest.approx(variance**0.5)


def test_texts_are_read_once_for_all_three():
    scores = CorpusScores("chrf")
    assert scores.statistics(ROWS) is scores.statistics([(h, tuple(r)) for h, r in ROWS])
    assert scores.statistics(ROWS[:2]) is not scores.statistics(ROWS)


def test_errors():
    with pytest.raises(tm.TensorMTError, match="no metric named"):
        CorpusScores("chrfx")
    with pytest.raises(tm.TensorMTError, match="no segments"):
        CorpusScores("chrf").corpus([])
