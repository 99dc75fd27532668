"""lm-evaluation-harness itself, with a model that says what the test wants."""

import runpy
from pathlib import Path

import pytest

import tensormt as tm

pytestmark = pytest.mark.heavy(needs="integrations")

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
HYPS = ["a dog sleeps here", "the cat sat on a mat", "x y z", "one two three four"]
REFS = [
    ["a dog sleeps", "the dog sleeps here"],
    ["the cat sat on the mat"],
    ["x y w"],
    ["one two three five", "one two three four"],
]
METRICS = ["chrf", "stm:balance=f1", "wer"]


def evaluated(monkeypatch, **config):
    """The results of the harness for one task."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    from datasets import Dataset
    from lm_eval import evaluator
    from lm_eval.api.model import LM
    from lm_eval.api.task import ConfigurableTask

    class Echo(LM):
        def generate_until(self, requests, **more):
            return [HYPS[int(request.args[0])] for request in requests]

        def loglikelihood(self, requests, **more):
            raise NotImplementedError

        loglikelihood_rolling = loglikelihood

    rows = {"number": [str(k) for k in range(4)], "refs": REFS, "ref": [row[0] for row in REFS]}
    task = ConfigurableTask(
        config={
            "task": "toy",
            "custom_dataset": lambda **options: {"test": Dataset.from_dict(rows)},
            "test_split": "test",
            "doc_to_text": "{{number}}",
            "output_type": "generate_until",
            "generation_kwargs": {"until": ["\n"]},
            **config,
        }
    )
    return evaluator.evaluate(lm=Echo(), task_dict={"toy": task}, bootstrap_iters=1000)


def check(found, refs):
    results = found["results"]["toy"]
    expected = tm.score(HYPS, refs, METRICS, rows=True).corpus
    for metric, value in expected.items():
        name = "tensormt_" + metric.replace(":", "_").replace("=", "_")
        assert results[f"{name},none"] == pytest.approx(value, abs=1e-12)
        error = results[f"{name}_stderr,none"]
        assert 0 < error < 100  # its name is where the harness' table looks for it


def test_one_reference(monkeypatch):
    from tensormt.integrations.lm_eval import metric_list

    listed = metric_list(*METRICS)
    assert listed == metric_list(*METRICS)  # again: the same functions
    found = evaluated(monkeypatch, doc_to_target="{{ref}}", metric_list=listed)
    check(found, [row[:1] for row in REFS])
    higher = found["higher_is_better"]["toy"]
    assert (higher["tensormt_chrf"], higher["tensormt_wer"]) == (True, False)


def test_several_references(monkeypatch):
    from tensormt.integrations.lm_eval import metric_list, process_results

    found = evaluated(
        monkeypatch,
        doc_to_target="refs",
        metric_list=metric_list(*METRICS),
        process_results=process_results("refs", *METRICS),
    )
    check(found, REFS)


def test_several_targets_without_process_results_are_refused(monkeypatch):
    from tensormt.integrations.lm_eval import metric_list

    with pytest.raises(tm.TensorMTError, match="process_results"):
        evaluated(monkeypatch, doc_to_target="refs", metric_list=metric_list("chrf"))


def test_unknown_metrics_are_refused_when_they_are_registered():
    from tensormt.integrations.lm_eval import register

    with pytest.raises(tm.TensorMTError, match="no metric named 'chrfx'"):
        register("chrfx")


def test_the_example():
    example = runpy.run_path(str(EXAMPLES / "lm_eval_task.py"))
    rows = example["ROWS"]
    expected = tm.score(rows["source"], rows["refs"], example["METRICS"], rows=True).corpus
    found = example["run"]()
    assert found["tensormt_chrf,none"] == pytest.approx(expected["chrf"], abs=1e-12)
    assert found["tensormt_chrf_stderr,none"] > 0
