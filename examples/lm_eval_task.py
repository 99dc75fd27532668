"""A translation task of lm-evaluation-harness with metrics of this package, and two references.

    pip install lm-eval && python examples/lm_eval_task.py

The model repeats its input; put a model of the harness in its place.
"""

from typing import Any

from datasets import Dataset
from lm_eval import evaluator
from lm_eval.api.model import LM
from lm_eval.api.task import ConfigurableTask

from tensormt.integrations.lm_eval import metric_list, process_results

METRICS = ["chrf", "stm:balance=f1"]
ROWS = {
    "source": ["the dog sleep", "a cat sees the bird", "my house is small"],
    "refs": [
        ["the dog sleeps", "the dog is asleep"],
        ["a cat sees a bird"],
        ["my house is small"],
    ],
}


class Repeats(LM):
    """A model that answers with the prompt."""

    def generate_until(self, requests: Any, **more: Any) -> list[str]:
        return [request.args[0] for request in requests]

    def loglikelihood(self, requests: Any, **more: Any) -> Any:
        raise NotImplementedError

    def loglikelihood_rolling(self, requests: Any, **more: Any) -> Any:
        raise NotImplementedError


def run() -> dict[str, float]:
    """The results of the task."""
    task = ConfigurableTask(
        config={
            "task": "toy",
            "custom_dataset": lambda **options: {"test": Dataset.from_dict(ROWS)},
            "test_split": "test",
            "doc_to_text": "{{source}}",
            "doc_to_target": "refs",
            "output_type": "generate_until",
            "generation_kwargs": {"until": ["\n"]},
            "metric_list": metric_list(*METRICS),
            "process_results": process_results("refs", *METRICS),
        }
    )
    found = evaluator.evaluate(lm=Repeats(), task_dict={"toy": task})
    results: dict[str, float] = found["results"]["toy"]
    return results


if __name__ == "__main__":
    for name, value in run().items():
        if name.startswith("tensormt") and isinstance(value, float):
            print(f"{name:36} {value:.3f}")
