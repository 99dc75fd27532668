"""Hugging Face's evaluate itself loads the file."""

import pytest

import tensormt as tm
from tensormt.integrations import EVALUATE

pytestmark = pytest.mark.heavy(needs="integrations")

HYPS = ["a dog sleeps here", "the cat sat on a mat", "x y z"]
REFS = [["a cat sleeps", "the dog sleeps here"], ["the cat sat on the mat"], ["x y w"]]


def load(tmp_path, monkeypatch, name):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    import evaluate

    return evaluate.load(EVALUATE, name, cache_dir=str(tmp_path))


def test_values_are_those_of_score(tmp_path, monkeypatch):
    metrics = ["chrf", "bleu:effective_order=true", "stm:balance=f1"]
    loaded = load(tmp_path, monkeypatch, ",".join(metrics))
    found = loaded.compute(predictions=HYPS, references=REFS)
    assert found == dict(tm.score(HYPS, REFS, metrics, rows=True).corpus)
    one = [row[0] for row in REFS]
    assert loaded.compute(predictions=HYPS, references=one) == dict(
        tm.score(HYPS, [one], metrics).corpus
    )


def test_batches(tmp_path, monkeypatch):
    loaded = load(tmp_path, monkeypatch, "chrf")
    loaded.add(prediction=HYPS[0], reference=REFS[0])
    loaded.add_batch(predictions=HYPS[1:], references=REFS[1:])
    assert loaded.compute() == dict(tm.score(HYPS, REFS, ["chrf"], rows=True).corpus)


def test_unknown_metrics_are_refused_when_loaded(tmp_path, monkeypatch):
    with pytest.raises(tm.TensorMTError, match="no metric named 'chrfx'"):
        load(tmp_path, monkeypatch, "chrfx")
