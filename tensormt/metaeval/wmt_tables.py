"""The table of a WMT metrics task: tasks across, metrics down, clusters, and the average.

A task asks every metric one thing of one language pair. Its metrics are tested pair by pair
(one-sided), and sorted by value a metric begins a new cluster where one of the running cluster is
significantly better. Averages over tasks are weighted, correlations taken to 0–1 first; they are
tested by the same draws, summed over tasks.

    wmt22   pairwise accuracy of systems, pairs of all language pairs counted together
    wmt23   the same, and for each language pair Pearson's r of systems and of segments and acc_eq;
            the first weighs as much as there are language pairs
    wmt24   for each language pair soft pairwise accuracy and acc_eq (WMT 2025 too)
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.metaeval.config import SPA, Plan
from tensormt.metaeval.judged_sets import Judged
from tensormt.metaeval.permutation_test import Exchange, exchange
from tensormt.metaeval.runner import Case
from tensormt.metaeval.scores import Scores, means

TABLES = ("wmt22", "wmt23", "wmt24")


@dataclass(frozen=True)
class Task:
    """What a task found: values, clusters and p-values of X metrics."""

    name: str
    weight: float
    lowest: float  # of the statistic: -1 of correlations, 0 of accuracies
    found: Exchange

    @property
    def values(self) -> Tensor:
        """The agreement of each metric, float64 [X]."""
        return self.found.values

    def clusters(self, level: float = 0.05) -> list[int]:
        """The cluster of each metric, from 1."""
        return clusters(self.values, self.found.p(two_sided=False), level)

    def scaled(self) -> Exchange:
        """Values and draws where the statistic goes from 0 to 1."""
        width = 1 - self.lowest
        return Exchange((self.values - self.lowest) / width, self.found.null / width)


@dataclass(frozen=True)
class Table:
    """Tasks over the same metrics, and their average."""

    metrics: list[str]
    tasks: list[Task]

    @property
    def average(self) -> Task:
        """The weighted average over tasks, with its draws."""
        total = sum(task.weight for task in self.tasks)
        parts = [(task.weight / total, task.scaled()) for task in self.tasks]
        values = torch.stack([weight * part.values for weight, part in parts]).sum(dim=0)
        null = torch.stack([weight * part.null for weight, part in parts]).sum(dim=0)
        return Task("average", 1.0, 0.0, Exchange(values, null))


def clusters(values: Tensor, p: Tensor, level: float = 0.05) -> list[int]:
    """Return the cluster of each metric, from 1; p [X,X]: that the first (row) is not better.

    Metrics without a value come last, in a cluster of their own.
    """
    order = sorted(range(len(values)), key=lambda k: (bool(values[k].isnan()), -float(values[k])))
    found, running, rank = [0] * len(values), list[int](), 1
    for k in order:
        missing = bool(values[k].isnan()) and not (running and values[running[0]].isnan())
        if running and (missing or any(float(p[other, k]) <= level for other in running)):
            rank, running = rank + 1, []
        running.append(k)
        found[k] = rank
    return found


def make_table(sets: Sequence[Judged], kind: str, plan: Plan) -> Table:
    """Run the tasks of a WMT year on one or more language pairs, with the metrics all have."""
    if kind not in TABLES:
        raise TensorMTError(f"table {kind!r} is unknown: use one of {', '.join(TABLES)}")
    common = [
        metric.name
        for metric in sets[0].metrics
        if all(metric.name in (own.name for own in judged.metrics) for judged in sets)
    ]
    if len(common) < 2:
        raise TensorMTError(f"{len(common)} metrics in common: a table compares at least 2")
    sets = [
        replace(judged, metrics=[_named(judged.metrics, name) for name in common])
        for judged in sets
    ]
    tasks = []
    if kind != "wmt24":
        found = _pooled_accuracy(sets, plan)
        tasks.append(Task("all, system: accuracy", float(len(sets)), 0.0, found))
    asked = {
        "wmt22": (),
        "wmt23": (("system", "pearson"), ("segment", "pearson"), ("segment", "accuracy_ties")),
        "wmt24": (("system", SPA), ("segment", "accuracy_ties")),
    }[kind]
    for judged in sets:
        for level, statistic in asked:
            # each task draws for itself, so that draws can be summed
            grouping, units = _settings(statistic, plan)
            own = replace(plan, seed=plan.seed + len(tasks), grouping=grouping, units=units)
            asked_of = judged.human_name, judged.human, level, statistic, own
            case = Case(*asked_of, judged.documents, judged.official)
            lowest = -1.0 if statistic == "pearson" else 0.0
            name = f"{judged.name}, {level}: {_SHORT.get(statistic, statistic)}"
            tasks.append(Task(name, 1.0, lowest, case.exchange(judged.metrics)))
    return Table(common, tasks)


_SHORT = {"accuracy_ties": "acc_eq", SPA: "SPA"}


def _settings(statistic: str, plan: Plan) -> tuple[str, str | None]:
    """Grouping and units; pairs can be exchanged in acc_eq only, other tasks keep their own."""
    if statistic == "accuracy_ties":
        return "segment", plan.units if plan.units in ("pairs", "segments") else None
    return "none", None


def _named(metrics: Sequence[Scores], name: str) -> Scores:
    return next(metric for metric in metrics if metric.name == name)


def _pooled_accuracy(sets: Sequence[Judged], plan: Plan) -> Exchange:
    """Accuracy over the pairs of systems of each language pair, counted together."""
    most = max(len(judged.human) for judged in sets)

    def columns(rows: Sequence[Tensor]) -> Tensor:
        table = torch.full((most, len(rows)), torch.nan, dtype=torch.float64)
        for k, row in enumerate(rows):
            table[: len(row), k] = row
        return table

    human = columns([means(own.human) if own.official is None else own.official for own in sets])
    metrics = [
        columns([judged.metrics[x].systems() for judged in sets])
        for x in range(len(sets[0].metrics))
    ]
    return exchange(
        human,
        torch.stack(metrics),
        "accuracy",
        "pooled",
        "both",
        resamples=plan.permutations,
        seed=plan.seed,
    )
