"""The summary, whose parts are those of the single functions."""

import json

import pytest
from qarla.text_samples import NAMES, human_scores, judged_set, tensors_of

from tensormt import qarla
from tensormt.errors import TensorMTError
from tensormt.qarla.summary import SummaryOptions, summarize


def test_the_summary_is_made_of_the_measures():
    test_set, human = judged_set(), human_scores()
    tensors = tensors_of(test_set)
    options = SummaryOptions(exclude=("bleu",))
    subsets = {"short": ["poor", "odd"]}
    found = summarize(tensors, test_set.systems, options, subsets, human)
    kings = qarla.king_sets(tensors.am, tensors.mm, **tensors.masks)
    assert found.kings == {name: kings[1 << k].item() for k, name in enumerate(NAMES)}
    best = qarla.best_of(kings)
    assert found.best == {"metrics": [NAMES[k] for k in best.metrics], "king": best.king}
    assert "bleu" not in found.best_without["metrics"]
    assert found.search == "all sets"
    chosen = tensors.take(metrics=best.metrics)
    queens = chosen.queen()
    assert found.queens["poor"] == pytest.approx(queens[:, 0].mean().item())
    assert found.queens["odd"] == pytest.approx(queens[[0, 2], 2].mean().item())
    assert found.jacks["all"] == chosen.jack().item()
    assert found.jacks["short"] <= 1
    assert set(found.ranked_first) >= {*NAMES, "QUEEN(rouge1)"}
    assert found.ranked_first["rouge1"].endswith("/4")
    assert len(found.king_and_correlation["fluency"]["sets"]) <= 31
    assert json.loads(json.dumps(found.__dict__))["cases"] == 3
    with pytest.raises(TensorMTError, match="metric 'x' is not measured"):
        summarize(tensors, test_set.systems, SummaryOptions(include=("x",)), {}, {})
    with pytest.raises(TensorMTError, match="subset 's': there is no system 'x'"):
        summarize(tensors, test_set.systems, SummaryOptions(), {"s": ["x"]}, {})


def test_too_many_metrics_to_enumerate_are_searched_greedily():
    test_set, human = judged_set(), human_scores()
    names = [f"vector-{n}" for n in range(1, 18)]
    tensors = tensors_of(test_set, names)
    found = summarize(tensors, test_set.systems, SummaryOptions(), {}, human)
    assert found.best["king"] == qarla.greedy_set(tensors.am, tensors.mm, **tensors.masks).king
    assert found.king_and_correlation is None
    assert found.search == "greedy"


def test_a_best_set_of_more_metrics_than_can_be_enumerated():
    test_set = judged_set()
    names = [f"vector-{n}" for n in range(1, 23)]
    tensors = tensors_of(test_set, names)
    found = summarize(tensors, test_set.systems, SummaryOptions(include=tuple(names[:18])), {}, {})
    assert set(names[:18]) <= set(found.best["metrics"])
    assert f"QUEEN({'+'.join(found.best['metrics'])})" in found.ranked_first
