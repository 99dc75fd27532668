"""A whole meta-evaluation: every metric against every human score, at every level asked for.

One `Row` per metric, human score, level and statistic, with a bootstrap interval if wanted; one
`Contest` per pair of metrics, with the p of a permutation test.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.metaeval.levels import agreement, system_agreement
from tensormt.metaeval.resample import TableStatistic, bootstrap, permutation
from tensormt.metaeval.scores import LEVELS, Scores, agreement_at, draws_at, tables_at


@dataclass(frozen=True)
class Plan:
    """What is computed; intervals and tests cost ``resamples`` tables each."""

    levels: tuple[str, ...] = ("segment", "system")
    statistics: tuple[str, ...] = ("pearson", "spearman", "tau_b")
    grouping: str = "none"
    resamples: int = 0
    confidence: float = 0.95
    units: str = "both"
    seed: int = 12345


@dataclass(frozen=True)
class Row:
    """How well one metric agrees with one human score; low and high bound the interval."""

    metric: str
    signature: str
    human: str
    level: str
    statistic: str
    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Contest:
    """The agreement of the first metric minus that of the second, and its p (two-sided)."""

    first: str
    second: str
    human: str
    level: str
    statistic: str
    difference: float
    p: float


def measure(
    human: Mapping[str, Tensor],
    metrics: Sequence[Scores],
    plan: Plan,
    documents: tuple[Tensor, int],
) -> list[Row]:
    """Compare each metric with each table of human scores, float64 [S,N]."""
    _check(plan, human)
    rows = []
    for name, table in human.items():
        for level in plan.levels:
            for statistic in plan.statistics:
                for scores in metrics:
                    place = (level, table, scores, statistic, plan.grouping, documents)
                    value, low, high = float(agreement_at(*place)), None, None
                    if plan.resamples:
                        draws, units = draws_at(*place)
                        interval = bootstrap(
                            draws,
                            len(table),
                            units,
                            resamples=plan.resamples,
                            level=plan.confidence,
                            seed=plan.seed,
                        )
                        low, high = interval.low, interval.high
                    rows.append(
                        Row(scores.name, scores.signature, name, level, statistic, value, low, high)
                    )
    return rows


def contests(
    human: Mapping[str, Tensor],
    metrics: Sequence[Scores],
    plan: Plan,
    documents: tuple[Tensor, int],
) -> list[Contest]:
    """Test every pair of metrics; at system level on the means of standardised segment scores."""
    _check(plan, human)
    found = []
    for name, table in human.items():
        for level in plan.levels:
            sides = [tables_at(level, table, scores, documents) for scores in metrics]
            for statistic in plan.statistics:
                for i, j in combinations(range(len(metrics)), 2):
                    result = permutation(
                        sides[i][0],
                        sides[i][1],
                        sides[j][1],
                        _of_tables(level, statistic, plan.grouping),
                        units=plan.units,
                        resamples=plan.resamples or 1000,
                        seed=plan.seed,
                    )
                    pair = metrics[i].name, metrics[j].name
                    found.append(Contest(*pair, name, level, statistic, result.value, result.p))
    return found


def _of_tables(level: str, statistic: str, grouping: str) -> TableStatistic:
    if level == "system":
        return lambda human, metric: system_agreement(
            human.nanmean(dim=-1), metric.nanmean(dim=-1), statistic
        )
    return lambda human, metric: agreement(human, metric, statistic, grouping)


def _check(plan: Plan, human: Mapping[str, Tensor]) -> None:
    for level in plan.levels:
        if level not in LEVELS:
            raise TensorMTError(f"level {level!r} is unknown: use one of {', '.join(LEVELS)}")
    for name, table in human.items():
        if bool(torch.isnan(table).all()):
            raise TensorMTError(f"human score {name!r} has no value at all: choose another")
