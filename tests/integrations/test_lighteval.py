"""lighteval itself: its tasks, its metrics of samples, its aggregation with a standard error."""

from importlib import import_module
from pathlib import Path

import pytest

import tensormt as tm

pytestmark = pytest.mark.heavy(needs="lighteval")

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
ROWS = [
    {"source": "Der Hund schläft.", "references": ["The dog sleeps.", "The dog is asleep."]},
    {"source": "Die Katze saß auf der Matte.", "references": ["The cat sat on the mat."]},
    {"source": "Hallo", "references": ["Hello", "Hi"]},
]
HYPS = ["A dog sleeps.", "The cat sat on a mat.", "Hello"]


@pytest.mark.filterwarnings("ignore")
def test_corpus_scores_and_standard_errors(monkeypatch):
    from lighteval.logging.info_loggers import MetricsLogger
    from lighteval.metrics import apply_metric
    from lighteval.models.model_output import ModelResponse
    from lighteval.tasks.lighteval_task import LightevalTask

    monkeypatch.syspath_prepend(EXAMPLES)  # in processes that resample, too
    (config,) = import_module("lighteval_metric").TASKS_TABLE
    task = LightevalTask(config)
    docs = [config.prompt_function(row, "translation") for row in ROWS]
    responses = [ModelResponse(text=[hyp]) for hyp in HYPS]
    outputs = apply_metric(responses, docs, task.metrics)
    logger = MetricsLogger()
    for output in outputs:
        logger.log("translation", output)
    logger.aggregate({"translation": task}, bootstrap_iters=10)
    found = logger.metric_aggregated["translation"]
    expected = tm.score(HYPS, [row["references"] for row in ROWS], ["chrf", "ter"], rows=True)
    for name, value in expected.corpus.items():
        assert found[name] == pytest.approx(value, abs=1e-12)
        assert found[f"{name}_stderr"] > 0
    assert [own.higher_is_better for own in task.metrics] == [True, False]
