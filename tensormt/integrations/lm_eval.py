"""Metrics of lm-evaluation-harness, by name, with corpus scores and standard errors.

    register("chrf", "stm:balance=f1")       # in the Python file beside the task's YAML

    metric_list:
      - metric: tensormt_chrf
      - metric: tensormt_chrf_stderr         # after its metric: shown beside it in the table
      - metric: tensormt_stm_balance_f1

The harness resamples texts for the standard error of the metrics that it knows, and has none for
others; here it comes from the statistics. Several references for a text need `process_results`,
for the harness itself turns the scores of several targets into 0 or 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from lm_eval.api.registry import is_higher_better, register_aggregation, register_metric

from tensormt.errors import TensorMTError
from tensormt.integrations.corpus_scores import CorpusScores
from tensormt.train.chat_format import completion_text, reference_texts
from tensormt.train.naming import identifier

__all__ = ["metric_list", "process_results", "register"]

Item = tuple[str, tuple[str, ...]]

_scores = lru_cache(maxsize=64)(CorpusScores)


@dataclass(frozen=True)
class _Aggregation:
    """The function from the items of all documents to a number; equal ones can be registered."""

    metric: str
    parser: Any
    error: bool

    def __call__(self, items: Sequence[Any]) -> float:
        if not all(isinstance(item, tuple | list) and len(item) == 2 for item in items):
            raise TensorMTError(
                f"{self.metric}: the harness passes 0 or 1 for each document where targets are "
                "lists: set process_results of the task, see tensormt.integrations.lm_eval"
            )
        scores = _scores(self.metric, self.parser)
        return scores.standard_error(items) if self.error else scores.corpus(items)


def _item(references: Sequence[Any], predictions: Sequence[Any], **options: Any) -> Item:
    """What the harness keeps of a document: its text and references."""
    return completion_text(predictions[0]), tuple(reference_texts(references[0]))


def register(*metrics: str, parser: Any = "default") -> list[str]:
    """Register metrics, each with its standard error, with lm-evaluation-harness.

    Args:
        metrics: Names with options, such as "stm:balance=f1".
        parser: Source of trees, as for `tm.score`.

    Returns:
        The names for `metric_list` of a task.

    Raises:
        TensorMTError: If a metric or the parser is not valid.

    >>> register("chrf")
    ['tensormt_chrf', 'tensormt_chrf_stderr']
    """
    names = []
    for metric in metrics:
        higher = _scores(metric, parser).metric.higher_is_better
        for error in (False, True):
            name = identifier("tensormt", metric) + "_stderr" * error
            register_aggregation(name)(_Aggregation(metric, parser, error))
            register_metric(metric=name, aggregation=name, higher_is_better=higher and not error)(
                _item
            )
            names.append(name)
    return names


def metric_list(*metrics: str, parser: Any = "default") -> list[dict[str, Any]]:
    """Register metrics and return `metric_list` for a task that is configured in Python.

    Args:
        metrics: Names with options, such as "stm:balance=f1".
        parser: Source of trees, as for `tm.score`.

    >>> [each["metric"] for each in metric_list("chrf")]
    ['tensormt_chrf', 'tensormt_chrf_stderr']
    """
    names = register(*metrics, parser=parser)
    return [
        {"metric": name, "aggregation": name, "higher_is_better": is_higher_better(name)}
        for name in names
    ]


def process_results(
    references: str | Callable[[Mapping[str, Any]], Any], *metrics: str, parser: Any = "default"
) -> Callable[[Mapping[str, Any], Sequence[Any]], dict[str, Item]]:
    """Return `process_results` of a task whose documents have several references.

    Args:
        references: Column with the references of a document, or a function of the document.
        metrics: Names with options, such as "stm:balance=f1".
        parser: Source of trees, as for `tm.score`.

    >>> found = process_results("refs", "chrf")({"refs": ["a dog", "the dog"]}, ["a dog"])
    >>> found["tensormt_chrf"]
    ('a dog', ('a dog', 'the dog'))
    """
    names = register(*metrics, parser=parser)

    def process(document: Mapping[str, Any], results: Sequence[Any]) -> dict[str, Item]:
        row = references(document) if callable(references) else document[references]
        item = _item([row], results)
        return dict.fromkeys(names, item)

    return process
