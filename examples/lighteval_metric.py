"""Metrics of the package in lighteval: corpus scores of generated text.

    lighteval accelerate "model_name=…" "translation" --custom-tasks examples/lighteval_metric.py

lighteval collects the output and the references of every sample and calls `compute_corpus` with all
of them, and again for every resample of its standard error.
"""

from dataclasses import dataclass

from lighteval.metrics.metrics_corpus import CorpusLevelComputation
from lighteval.metrics.sample_preparator import GenerativeCorpusMetricInput, GenerativePreparator
from lighteval.metrics.utils.metric_utils import CorpusLevelMetric
from lighteval.tasks.lighteval_task import LightevalTaskConfig
from lighteval.tasks.requests import Doc, SamplingMethod

from tensormt.evaluator import Evaluator
from tensormt.registry import make
from tensormt.segments import Segments


@dataclass
class CorpusScore(CorpusLevelComputation):
    """The corpus score of a metric; parses are kept between resamples."""

    spec: str
    parser: str = "default"

    def __post_init__(self) -> None:
        self.evaluator = Evaluator([self.spec], self.parser)

    def __reduce__(self) -> tuple:
        """Processes that resample open a parser of their own."""
        return CorpusScore, (self.spec, self.parser)

    def compute_corpus(self, items: list[GenerativeCorpusMetricInput]) -> float:
        """Score all samples."""
        hyps = [item.preds[0] for item in items]
        segments = Segments.from_rows({"": hyps}, [item.golds for item in items])
        return float(self.evaluator.fit(segments).evaluate(segments).corpus(self.spec)[0])


def metric(spec: str) -> CorpusLevelMetric:
    """A metric of lighteval by its name with options, such as "stm:balance=f1"."""
    return CorpusLevelMetric(
        metric_name=spec,
        higher_is_better=make(spec).higher_is_better,
        category=SamplingMethod.GENERATIVE,
        sample_level_fn=GenerativePreparator(),
        corpus_level_fn=CorpusScore(spec),
    )


def prompt(row: dict, task_name: str = "") -> Doc:
    """A row with source and references as lighteval asks for it."""
    return Doc(
        task_name=task_name,
        query=f"Translate into English: {row['source']}\n",
        choices=row["references"],
        gold_index=list(range(len(row["references"]))),
    )


TASKS_TABLE = [
    LightevalTaskConfig(
        name="translation",
        prompt_function=prompt,
        hf_repo="json",  # the columns source and references; name your data set here
        hf_subset="default",
        metrics=[metric("chrf"), metric("ter")],
        generation_size=256,
        stop_sequence=["\n"],
    )
]
