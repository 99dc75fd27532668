"""Inspect itself, with its mock model."""

import runpy
from pathlib import Path

import pytest

import tensormt as tm

pytestmark = pytest.mark.heavy(needs="integrations")

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
HYPS = ["a dog sleeps here", "the cat sat on a mat", "x y z", "one two three four"]
REFS = [["a dog sleeps", "the dog sleeps here"], ["the cat sat on the mat"], ["x y w"], ["one"]]


@pytest.fixture
def evaluated(tmp_path, monkeypatch):
    """A function that runs a task with the mock model, which repeats its input."""
    monkeypatch.setenv("INSPECT_DISPLAY", "none")
    from inspect_ai import eval
    from inspect_ai.model import ModelOutput, get_model

    # the mock model counts tokens with a vocabulary that would be fetched
    monkeypatch.setattr("inspect_ai.model._model.count_text_tokens", len)

    def answer(messages, tools, choice, config):
        return ModelOutput.from_content("mockllm/model", messages[-1].text)

    def run(task):
        model = get_model("mockllm/model", custom_outputs=answer)
        (log,) = eval(task, model=model, log_dir=str(tmp_path))
        assert log.status == "success", log.error
        return log

    return run


def test_scores_and_corpus_metrics(evaluated):
    from inspect_ai import Task
    from inspect_ai.dataset import MemoryDataset, Sample

    from tensormt.integrations.inspect_ai import translation

    metrics = ["chrf", "stm:balance=f1"]
    samples = [Sample(input=hyp, target=own) for hyp, own in zip(HYPS, REFS, strict=True)]

    scorers = [translation(name) for name in metrics]
    log = evaluated(Task(dataset=MemoryDataset(samples), scorer=scorers))
    result = tm.score(HYPS, REFS, metrics, rows=True)
    assert [score.name for score in log.results.scores] == ["chrf", "stm_balance_f1"]
    for score, name in zip(log.results.scores, metrics, strict=True):
        found = {key: value.value for key, value in score.metrics.items()}
        assert found["corpus"] == pytest.approx(result.corpus[name], abs=1e-12)
        assert found["mean"] == pytest.approx(result.segments[name].mean().item(), abs=1e-12)
        assert found["low"] <= found["corpus"] <= found["high"]
        assert 0 < found["stderr"] < found["high"] - found["low"]
        for sample in log.samples:
            value = result.segments[name][HYPS.index(sample.input)].item()
            assert sample.scores[score.name].value == pytest.approx(value, abs=1e-12)


def test_unknown_metrics_are_refused_when_the_scorer_is_made():
    from tensormt.integrations.inspect_ai import translation

    with pytest.raises(tm.TensorMTError, match="no metric named 'chrfx'"):
        translation("chrfx")


def test_the_example(evaluated):
    task = runpy.run_path(str(EXAMPLES / "inspect_task.py"))["german_english"]
    scores = {score.name: score for score in evaluated(task()).results.scores}
    assert scores.keys() == {"chrf", "stm_balance_f1"}
    assert scores["chrf"].metrics["corpus"].value > 0
