"""`compute_metrics` of Hugging Face's trainers, with a stand-in for a tokenizer."""

import numpy as np
import pytest

import tensormt as tm
from tensormt.errors import TensorMTError
from tensormt.train.huggingface import compute_metrics

WORDS = ["<pad>", "</s>", "the", "cat", "sat", "down", "ran"]


class Tokenizer:
    """The attributes and methods that are used of a tokenizer."""

    pad_token_id, eos_token_id, all_special_ids = 0, 1, [0, 1]

    def batch_decode(self, rows, skip_special_tokens=False):
        assert skip_special_tokens
        return [" ".join(WORDS[k] for k in row) for row in rows]


class Flat:
    """A source of trees: every word is a noun."""

    fingerprint, kind = "flat", "constituency"

    def __call__(self, lines):
        words = [[f"(NN {word})" for word in (line or "").split()] for line in lines]
        return tm.TreeBatch.from_brackets([f"(S {' '.join(row)})" if row else "" for row in words])


PREDICTED = np.array([[2, 3, 4, 5, 1, 0], [2, 3, 6, 1, 0, 0]])
LABELS = np.array([[2, 3, 4, 5, 1, -100], [2, 3, 6, 5, 1, -100]])
TEXTS = ["the cat sat down", "the cat ran"]
REFS = ["the cat sat down", "the cat ran down"]


def test_scores_are_those_of_the_texts():
    found = compute_metrics(Tokenizer(), ["bleu", tm.ChrF()])((PREDICTED, LABELS))
    expected = tm.score(TEXTS, [REFS], ["bleu", "chrf"]).corpus
    assert found["bleu"] == pytest.approx(expected["bleu"])
    assert found["chrf"] == pytest.approx(expected["chrf"])
    assert found["length"] == 3.5


def test_a_mean_of_token_metrics_beside_a_metric_on_trees_finds_the_parser():
    """Once the parser was searched for by the class of the first input, and not found."""
    metrics = ["chrf+bleu", "stm"]
    found = compute_metrics(Tokenizer(), metrics, parser=Flat())((PREDICTED, LABELS))
    alone = compute_metrics(Tokenizer(), ["stm"], parser=Flat())((PREDICTED, LABELS))
    assert set(found) == {*metrics, "length"}
    assert found["stm"] == alone["stm"] > 0
    assert 0 < found["chrf+bleu"] < 1


def test_given_references_and_further_outputs():
    compute = compute_metrics(
        Tokenizer(), ["bleu"], references=[["the cat sat down"], "the cat ran"]
    )
    prediction = type("EvalPrediction", (), {"predictions": (PREDICTED, None), "label_ids": None})
    assert compute(prediction())["bleu"] == pytest.approx(100)
    with pytest.raises(TensorMTError, match="1 predictions, references for 2"):
        compute((PREDICTED[:1], None))


def test_sources_are_for_metrics_that_read_them():
    sources = ["die cat sat", "der Kater ran"]  # ran is copied, for the reference has it not
    refs = [["the cat sat down"], ["the cat left"]]
    compute = compute_metrics(Tokenizer(), ["copied"], references=refs, sources=sources)
    expected = tm.score(TEXTS, refs, ["copied"], sources=sources, rows=True).corpus["copied"]
    assert compute((PREDICTED, None))["copied"] == pytest.approx(expected) == pytest.approx(1 / 7)
    with pytest.raises(TensorMTError, match="1 predictions, sources for 2"):
        compute_metrics(Tokenizer(), ["copied"], sources=sources)((PREDICTED[:1], LABELS[:1]))


def test_errors_say_what_to_do():
    with pytest.raises(TensorMTError, match=r"predictions are float64 \[2, 3, 4\].*generate=True"):
        compute_metrics(Tokenizer())((np.zeros((2, 3, 4)), LABELS))
    for metrics, names in (([], "none"), (["bleu", "bleu"], "bleu, bleu")):
        with pytest.raises(TensorMTError, match=f"metrics are {names}: pass distinct"):
            compute_metrics(Tokenizer(), metrics)
