"""Result tables of the WMT metrics tasks: one column per task, clusters of metrics, and an average.

A task is one statistic on one language pair. All pairs of metrics are tested (one-sided). With
metrics sorted by value, a metric starts a new cluster if a metric of the current cluster is
significantly better. Averages over tasks are weighted, after correlations were scaled to 0–1; they
are tested with the permutations of the tasks, added up.

    wmt22   pairwise accuracy of systems, pairs of all language pairs counted together
    wmt23   the same, and for each language pair Pearson's r of systems and of segments and acc_eq;
            the weight of the first is the number of language pairs
    wmt24   for each language pair soft pairwise accuracy and acc_eq (WMT 2025 too)

Most of the time goes into the test of SPA. Its permutations are therefore drawn in steps: all pairs
of metrics have the first 100, and only those pairs have more (300, then all) whose p-value decides
a cluster of a task or of the average and is not clear: its 99.9% interval (Wilson 1927) contains
the level of significance.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.metaeval.config import SPA, Config
from tensormt.metaeval.judged_sets import JudgedSet
from tensormt.metaeval.permutation_test import PairwisePermutation, pairwise_permutation
from tensormt.metaeval.runner import MetaEvaluation
from tensormt.metaeval.scores import Scores, system_means

TABLES = ("wmt22", "wmt23", "wmt24")
# Level and statistic of the tasks of each language pair.
_TASKS: dict[str, tuple[tuple[str, str], ...]] = {
    "wmt22": (),
    "wmt23": (("system", "pearson"), ("segment", "pearson"), ("segment", "accuracy_ties")),
    "wmt24": (("system", SPA), ("segment", "accuracy_ties")),
}
_TITLES = {"accuracy_ties": "acc_eq", SPA: "SPA"}
# Numbers of permutations after which the test of a pair of metrics by SPA may end.
STEPS = (100, 300)
LEVEL = 0.05
_Z = 3.2905  # of a two-sided interval of 99.9%
# Number of known permutations, number of wanted ones, pairs -> the differences of the new ones.
_Draw = Callable[[int, int, Tensor | None], PairwisePermutation]


@dataclass(frozen=True)
class Task:
    """The result of one task: values, clusters and p-values of X metrics.

    Args:
        name: Name of the task.
        weight: Weight in the average.
        lowest: Smallest possible value of the statistic: -1 for correlations, 0 for accuracies.
        found: Values and permutation tests of the metrics.
    """

    name: str
    weight: float
    lowest: float
    found: PairwisePermutation

    @property
    def values(self) -> Tensor:
        """The statistic of each metric, float64 [X]."""
        return self.found.values

    def clusters(self, level: float = LEVEL) -> list[int]:
        """Return the cluster of each metric, from 1; see `clusters`."""
        return clusters(self.values, self.found.p(two_sided=False), level)

    def scaled(self) -> PairwisePermutation:
        """Return values and permutations of the statistic scaled to 0–1."""
        width = 1 - self.lowest
        return PairwisePermutation(
            (self.values - self.lowest) / width, self.found.null / width, self.found.draws
        )


@dataclass(frozen=True)
class WMTTable:
    """The tasks of a WMT year with the same X metrics.

    Args:
        metrics: Names of the metrics.
        tasks: The tasks.
        partial: Names of metrics that are left out because not all language pairs have them.
        clustered: Whether metrics were tested, so that clusters and p-values exist.
    """

    metrics: list[str]
    tasks: list[Task]
    partial: Sequence[str] = ()
    clustered: bool = True

    @property
    def average(self) -> Task:
        """The weighted average over tasks."""
        total = sum(task.weight for task in self.tasks)
        parts = [(task.weight / total, task.scaled()) for task in self.tasks]
        values = torch.stack([weight * part.values for weight, part in parts]).sum(dim=0)
        null = torch.stack([weight * part.null for weight, part in parts]).sum(dim=0)
        counts = [part.draws for _, part in parts if part.draws is not None]
        draws = torch.stack(counts).amin(dim=0) if counts else None
        return Task("average", 1.0, 0.0, PairwisePermutation(values, null, draws))


def clusters(values: Tensor, p: Tensor, level: float = LEVEL) -> list[int]:
    """Assign metrics to clusters of significance.

    Args:
        values: Statistic of each metric [X]; metrics without a value (NaN) form the last cluster.
        p: One-sided p-values [X,X] that the first metric (row) is better than the second.
        level: Level of significance.

    Returns:
        The cluster of each metric, from 1.

    >>> clusters(torch.tensor([0.3, 0.9]), torch.tensor([[1.0, 0.99], [0.01, 1.0]]))
    [2, 1]
    """
    return _clusters(values, p, level)[0]


def _clusters(values: Tensor, p: Tensor, level: float) -> tuple[list[int], dict[int, list[int]]]:
    """Return the cluster of each metric, and the better metrics with which each was compared."""
    order = sorted(range(len(values)), key=lambda k: (bool(values[k].isnan()), -float(values[k])))
    found, current, number = [0] * len(values), list[int](), 1
    compared: dict[int, list[int]] = {}
    for k in order:
        missing = bool(values[k].isnan()) and not (current and values[current[0]].isnan())
        compared[k] = [] if missing else current
        if current and (missing or any(float(p[other, k]) <= level for other in current)):
            number, current = number + 1, []
        current.append(k)
        found[k] = number
    return found, compared


def make_table(
    sets: Sequence[JudgedSet], kind: str, config: Config, *, clustered: bool = True
) -> WMTTable:
    """Compute the tasks of a WMT year on one or more language pairs.

    Args:
        sets: Test sets, one for each language pair; only metrics that all of them have are used.
        kind: "wmt22", "wmt23" or "wmt24".
        config: Permutations, units, seed and sign changes of SPA; the rest is given by the year.
        clustered: Whether all pairs of metrics are tested; False: values only, in a moment.

    Returns:
        The table.

    Raises:
        TensorMTError: If the table is unknown or fewer than 2 metrics are common to all sets.
    """
    if kind not in TABLES:
        raise TensorMTError(f"table {kind!r} is unknown: use one of {', '.join(TABLES)}")
    counts = Counter(
        name for judged in sets for name in dict.fromkeys(own.name for own in judged.metrics)
    )
    common = [name for name, count in counts.items() if count == len(sets)]
    if len(common) < 2:
        raise TensorMTError(f"{len(common)} metrics in common: a table compares at least 2")
    sets = [
        replace(judged, metrics=[_find(judged.metrics, name) for name in common]) for judged in sets
    ]
    if not clustered:
        config = replace(config, permutations=1)  # values are those of the outputs that all have
    tasks: list[Task] = []
    draws: dict[int, _Draw] = {}
    if kind != "wmt24":
        found = _pooled_accuracy(sets, config)
        tasks.append(Task("all, system: accuracy", float(len(sets)), 0.0, found))
    for judged in sets:
        for level, statistic in _TASKS[kind]:
            # Each task has its own seed, so that permutations can be added up.
            grouping, units = _settings(statistic, config)
            seed = config.seed + len(tasks)
            own = replace(config, seed=seed, grouping=grouping, units=units)
            draw = partial(_draw, judged, level, statistic, own)
            if statistic == SPA:
                draws[len(tasks)] = draw
                found = _first_draws(draw, config.permutations)
            else:
                found = draw(0, config.permutations, None)
            lowest = -1.0 if statistic == "pearson" else 0.0
            name = f"{judged.name}, {level}: {_TITLES.get(statistic, statistic)}"
            tasks.append(Task(name, 1.0, lowest, found))
    left_out = [name for name in counts if name not in common]
    return _draw_more(WMTTable(common, tasks, left_out, clustered), draws, config.permutations)


def _draw(
    judged: JudgedSet,
    level: str,
    statistic: str,
    config: Config,
    known: int,
    permutations: int,
    wanted: Tensor | None,
) -> PairwisePermutation:
    """Test all pairs of metrics, or wanted ones, with further permutations."""
    evaluation = MetaEvaluation(
        judged, level, statistic, replace(config, permutations=permutations)
    )
    return evaluation.pairwise_permutation(judged.metrics, known, wanted)


def _first_draws(draw: _Draw, permutations: int) -> PairwisePermutation:
    """Test all pairs of metrics with the permutations of the first step."""
    step = min(STEPS[0], permutations)
    found = draw(0, step, None)
    count = len(found.values)
    null = found.null.new_zeros((permutations, count, count))
    null[:step] = found.null
    draws = torch.full((count, count), step, dtype=torch.int64, device=null.device)
    return PairwisePermutation(found.values, null, draws)


def _draw_more(table: WMTTable, draws: Mapping[int, _Draw], permutations: int) -> WMTTable:
    """Draw permutations of SPA until all p-values that decide a cluster are clear.

    Args:
        table: Table whose SPA tasks have the permutations of the first step.
        draws: Function that draws more, by the index of an SPA task.
        permutations: Number of all permutations.
    """
    steps = [*(step for step in STEPS if step < permutations), permutations]
    while draws:
        done = table.average.found.draws
        assert done is not None
        unclear = _unclear(table, draws) & (done < permutations)
        if not bool(unclear.any()):
            break
        after = done.clone()
        for step, target in pairwise(steps):
            pairs = unclear & (done == step)
            if bool(pairs.any()):
                after[pairs] = target
                for index, draw in draws.items():
                    found = draw(step, target, pairs)
                    null = table.tasks[index].found.null
                    null[step:target] = torch.where(pairs, found.null, null[step:target])
        tasks = [
            replace(task, found=replace(task.found, draws=after)) if k in draws else task
            for k, task in enumerate(table.tasks)
        ]
        table = replace(table, tasks=tasks)
    return table


def _unclear(table: WMTTable, draws: Mapping[int, _Draw]) -> Tensor:
    """Return which p-values decide a cluster but may be on either side of the level, bool [X,X]."""
    count = len(table.metrics)
    unclear = torch.zeros((count, count), dtype=torch.bool)
    for task in (table.average, *(table.tasks[index] for index in draws)):
        p, n = task.found.p(two_sided=False), task.found.draws
        assert n is not None
        spread = _Z * (p * (1 - p) / n + _Z**2 / (4 * n**2)).sqrt()
        centre, scale = p + _Z**2 / (2 * n), 1 + _Z**2 / n
        above = (centre - spread) / scale > LEVEL
        below = (centre + spread) / scale < LEVEL
        for worse, compared in _clusters(task.values, p, LEVEL)[1].items():
            if not compared or bool(below[compared, worse].any()):
                continue  # one metric that is clearly better suffices
            open_pairs = [better for better in compared if not above[better, worse]]
            best = min(open_pairs, key=lambda k: float(p[k, worse]), default=None)
            if (
                best is not None
                and p[best, worse] <= LEVEL
                and n[best, worse] < len(task.found.null)
            ):
                open_pairs = [best]
            unclear[open_pairs, worse] = True
    return unclear | unclear.T


def _settings(statistic: str, config: Config) -> tuple[str, str | None]:
    """Return grouping and units of a task; the units of the configuration apply to acc_eq only."""
    if statistic == "accuracy_ties":
        units = config.units if config.units in ("pairs", "segments") else None
        return "segment", units
    return "none", None


def _find(metrics: Sequence[Scores], name: str) -> Scores:
    return next(metric for metric in metrics if metric.name == name)


def _pooled_accuracy(sets: Sequence[JudgedSet], config: Config) -> PairwisePermutation:
    """Test pairwise accuracy over the pairs of systems of all language pairs."""
    most = max(len(judged.human) for judged in sets)

    def columns(rows: Sequence[Tensor]) -> Tensor:
        table = torch.full((most, len(rows)), torch.nan, dtype=torch.float64)
        for k, row in enumerate(rows):
            table[: len(row), k] = row
        return table

    human = columns(
        [
            system_means(own.human) if own.human_systems is None else own.human_systems
            for own in sets
        ]
    )
    metrics = [
        columns([judged.metrics[x].systems() for judged in sets])
        for x in range(len(sets[0].metrics))
    ]
    return pairwise_permutation(
        human,
        torch.stack(metrics),
        "accuracy",
        "pooled",
        "both",
        resamples=config.permutations,
        seed=config.seed,
    )
