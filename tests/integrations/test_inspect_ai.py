"""Inspect itself, with its mock model."""

import pytest

import tensormt as tm

pytestmark = pytest.mark.heavy(needs="integrations")

HYPS = ["a dog sleeps here", "the cat sat on a mat", "x y z", "one two three four"]
REFS = [["a dog sleeps", "the dog sleeps here"], ["the cat sat on the mat"], ["x y w"], ["one"]]


def test_scores_and_corpus_metrics(tmp_path, monkeypatch):
    monkeypatch.setenv("INSPECT_DISPLAY", "none")
    from inspect_ai import Task, eval
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ModelOutput, get_model

    # the mock model counts tokens with a vocabulary that would be fetched
    monkeypatch.setattr("inspect_ai.model._model.count_text_tokens", len)
    from tensormt.integrations.inspect_ai import translation

    metrics = ["chrf", "stm:balance=f1"]
    samples = [Sample(input=hyp, target=own) for hyp, own in zip(HYPS, REFS, strict=True)]

    def answer(messages, tools, choice, config):
        return ModelOutput.from_content("mockllm/model", messages[-1].text)

    (log,) = eval(
        Task(dataset=MemoryDataset(samples), scorer=[translation(name) for name in metrics]),
        model=get_model("mockllm/model", custom_outputs=answer),
        log_dir=str(tmp_path),
    )
    assert log.status == "success", log.error
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
