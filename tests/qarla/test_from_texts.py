"""From texts to a bed and its report: every part against the functions it is made of."""

import json
from importlib.util import find_spec

import pytest
import torch

from tensormt import qarla
from tensormt.errors import TensorMTError
from tensormt.evaluator import Evaluator
from tensormt.ngram.bleu import BLEU
from tensormt.qarla import plots
from tensormt.qarla import summary as report
from tensormt.qarla.from_texts import similarity_tensors_from_segments
from tensormt.segments import Segments
from tensormt.text.tokens import TokenBatch

MODELS = [
    [
        "the cat sat on the mat .",
        "a cat was sitting on the mat .",
        "the cat sits on a mat .",
        "there is a cat on the mat .",
    ],
    ["it rained all day .", "the rain fell all day .", "all day it rained ."],
    ["nobody knew .", "no one knew .", "nobody knew it .", "it was not known ."],
]
OUTPUTS = [
    ["cat the mat", "day", "nobody"],
    ["the cat sat on a mat .", "it rained the whole day .", ""],
    ["a dog ran", None, "nobody knew that ."],
]
NAMES = ["rouge1", "vector", "vector-2", "sentence-recall", "bleu"]


def tensors_of(segments, names=NAMES):
    metrics = {"bleu": BLEU(max_order=2)} if "bleu" in names else None
    return similarity_tensors_from_segments(segments, names, metrics and Evaluator(metrics))


@pytest.fixture
def test_set():
    human = torch.tensor([[1.0, 2.0, 1.0], [4.0, 5.0, 0.0], [2.0, torch.nan, 3.0]])
    outputs = dict(zip(["poor", "good", "odd"], OUTPUTS, strict=True))
    human = {"fluency": human.to(torch.float64).numpy()}
    return Segments.from_rows(outputs, MODELS, documents=["d"] * 3, human=human)


@pytest.fixture
def human(test_set):
    return {"fluency": torch.from_numpy(test_set.human["fluency"])}


def test_the_bed_holds_every_pair(test_set):
    tensors = tensors_of(test_set)
    assert tensors.am.shape == (3, 3, 4, 5)
    assert tensors.peer_mask.tolist() == [[True] * 3, [True, True, False], [True] * 3]
    assert tensors.model_mask.sum(dim=1).tolist() == [4, 3, 4]
    metric = BLEU(max_order=2)

    def bleu(candidate, reference):
        return metric(TokenBatch.from_text([candidate]), [TokenBatch.from_text([reference])]).item()

    for t in range(3):
        peers = [OUTPUTS[s][t] for s in range(3)]
        for i, peer in enumerate(peers):
            for j, model in enumerate(MODELS[t]):
                expected = bleu(peer, model) if peer else 0.0
                assert tensors.am[t, i, j, 4].item() == pytest.approx(expected)
            for j, other in enumerate(peers):
                expected = bleu(peer, other) if peer and other else 0.0
                assert tensors.aa[t, i, j, 4].item() == pytest.approx(expected)
        for i, model in enumerate(MODELS[t]):
            for j, other in enumerate(MODELS[t]):
                assert tensors.mm[t, i, j, 4].item() == pytest.approx(bleu(model, other))
    assert tensors.am[0, 0, 0, 0].item() == pytest.approx(3 / 6)


def test_wrong_names(test_set):
    with pytest.raises(TensorMTError, match="'vector-x': expected a number of terms"):
        tensors_of(test_set, ["vector-x"])


def test_report_is_made_of_the_measures(test_set, human):
    tensors = tensors_of(test_set)
    options = report.SummaryOptions(exclude=("bleu",))
    subsets = {"short": ["poor", "odd"]}
    found = report.summarize(tensors, test_set.systems, options, subsets, human)
    kings = qarla.king_sets(tensors.am, tensors.mm, **tensors.masks)
    assert found.kings == {name: kings[1 << k].item() for k, name in enumerate(NAMES)}
    best = qarla.best_of(kings)
    assert found.best == {"metrics": [NAMES[k] for k in best.metrics], "king": best.king}
    assert "bleu" not in found.best_without["metrics"]
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
        report.summarize(tensors, test_set.systems, report.SummaryOptions(include=("x",)), {}, {})
    with pytest.raises(TensorMTError, match="subset 's': there is no system 'x'"):
        report.summarize(tensors, test_set.systems, report.SummaryOptions(), {"s": ["x"]}, {})


def test_too_many_metrics_to_enumerate_are_searched_greedily(test_set, human):
    names = [f"vector-{n}" for n in range(1, 18)]
    tensors = tensors_of(test_set, names)
    found = report.summarize(tensors, test_set.systems, report.SummaryOptions(), {}, human)
    assert found.best["king"] == qarla.greedy_set(tensors.am, tensors.mm, **tensors.masks).king
    assert found.king_and_correlation is None


def test_plots_are_files(test_set, human, tmp_path):
    tensors = tensors_of(test_set)
    found = report.summarize(tensors, test_set.systems, report.SummaryOptions(), {}, human)
    if find_spec("matplotlib") is None:
        with pytest.raises(TensorMTError, match=r"pip install 'tensormt\[report\]'"):
            plots.save_plots(found, tmp_path)
        return
    files = plots.save_plots(found, tmp_path / "figures")
    assert [file.name for file in files] == ["king.png", "jack.png", "king-fluency.png"]
    assert all(file.read_bytes().startswith(b"\x89PNG") for file in files)
