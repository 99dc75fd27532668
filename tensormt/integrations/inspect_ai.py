"""A scorer of Inspect (inspect-ai): a score for each sample, and the score of the corpus.

    Task(dataset=…, solver=generate(), scorer=[translation("chrf"), translation("stm:balance=f1")])

The targets of a sample are its references. Samples are scored together as they come
(train/batcher.py). Scorers have the names of their metrics, so that several stand side by side in
a log; the metrics of each are `corpus`, which is `tm.score`'s, `stderr`, and the ends of its 95%
interval, `low` and `high`; the mean of the samples is `mean`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from inspect_ai.scorer import Metric as InspectMetric
from inspect_ai.scorer import SampleScore, Score, Scorer, mean, scorer
from inspect_ai.scorer import metric as inspect_metric

from tensormt.integrations.corpus_scores import CorpusScores, Rows
from tensormt.train.batcher import batched
from tensormt.train.naming import identifier

__all__ = ["translation"]

_scores = lru_cache(maxsize=64)(CorpusScores)


def _rows(samples: Sequence[Any]) -> Rows:
    """Texts and references of scored samples."""
    scores = [sample.score for sample in samples]
    return [(score.answer or "", tuple((score.metadata or {})["references"])) for score in scores]


def _corpus_metric(name: str, compute: Callable[[Any, Rows], float]) -> Any:
    """A factory of metrics over all samples, registered under a name."""

    def factory(metric: str = "chrf", parser: str | None = "default") -> InspectMetric:
        def computed(scores: list[SampleScore]) -> float:
            rows = _rows(scores)
            return compute(_scores(metric, parser), rows) if rows else float("nan")

        return computed

    return inspect_metric(name=name)(factory)


_METRICS = [
    _corpus_metric("corpus", lambda scores, rows: scores.corpus(rows)),
    _corpus_metric("stderr", lambda scores, rows: scores.standard_error(rows)),
    _corpus_metric("low", lambda scores, rows: scores.interval(rows)[0]),
    _corpus_metric("high", lambda scores, rows: scores.interval(rows)[1]),
]


def translation(
    metric: str = "chrf", parser: str | None = "default", *, wait: float = 0.002
) -> Scorer:
    """Return a scorer of Inspect.

    Args:
        metric: Name with options, such as "stm:balance=f1".
        parser: Name or path of a parser, for metrics on trees.
        wait: Seconds that a first sample waits for others, which are scored with it.

    Raises:
        TensorMTError: If the metric or the parser is not valid.
    """
    scores = _scores(metric, parser)

    def segments(texts: list[str], refs: list[list[str]]) -> list[float]:
        statistics = scores.statistics(list(zip(texts, refs, strict=True)))
        found: list[float] = statistics.segments(scores.name)[0].tolist()
        return found

    score = batched(segments, wait)
    made = [factory(metric, parser) for factory in _METRICS]

    def translated() -> Scorer:
        async def scored(state: Any, target: Any) -> Score:
            text, refs = state.output.completion, list(target)
            value = await score(text, refs)
            return Score(value=value, answer=text, metadata={"references": refs})

        return scored

    return scorer(metrics=[*made, mean()], name=identifier(metric))(translated)()
