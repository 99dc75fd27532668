"""What a meta-evaluation is asked, and what it answers: plain records.

A `Plan` says which levels, statistics, intervals and tests; a `Row` is the agreement of one metric
with one human score, a `PairwiseTest` the difference of two metrics with its p.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.metaeval import grouping
from tensormt.metaeval.scores import LEVELS
from tensormt.metaeval.spa import PERMUTATIONS

SPA = "spa"
STATISTICS = (*grouping.STATISTICS, SPA)
# no system scores that people published
NONE: Mapping[str, Tensor | None] = MappingProxyType({})
TESTS = ("permutation", "williams")


@dataclass(frozen=True)
class Plan:
    """What is computed; intervals and tests cost ``resamples`` tables each."""

    levels: tuple[str, ...] = ("segment", "system")
    statistics: tuple[str, ...] = ("pearson", "spearman", "tau_b")
    grouping: str = "none"
    least_gap: float = 0.0
    resamples: int = 0  # of the bootstrap
    confidence: float = 0.95
    draw: tuple[str, ...] = ("segments",)
    fisher: bool = False  # intervals and p-values from theory
    test: str = "permutation"
    permutations: int = 1000
    units: str | None = None
    two_sided: bool = True
    correction: str = "none"
    spa_permutations: int = PERMUTATIONS
    seed: int = 12345


@dataclass(frozen=True)
class Row:
    """How well one metric agrees with one human score; low and high bound the interval.

    p is of no correlation at all (theory), epsilon the calibrated threshold of ties.
    """

    metric: str
    signature: str
    human: str
    level: str
    statistic: str
    value: float
    low: float | None = None
    high: float | None = None
    p: float | None = None
    epsilon: float | None = None


@dataclass(frozen=True)
class PairwiseTest:
    """The agreement of the first metric minus that of the second, its p, and p corrected."""

    first: str
    second: str
    human: str
    level: str
    statistic: str
    difference: float
    p: float
    p_corrected: float | None = None


def check(plan: Plan, human: Mapping[str, Tensor]) -> None:
    """Refuse what cannot be computed, before anything is."""
    for level in plan.levels:
        if level not in LEVELS:
            raise TensorMTError(f"level {level!r} is unknown: use one of {', '.join(LEVELS)}")
    for statistic in plan.statistics:
        if statistic != SPA:
            below = any(level in ("segment", "document") for level in plan.levels)
            grouping.check(statistic, plan.grouping if below else "none", plan.least_gap)
    if plan.test not in TESTS:
        raise TensorMTError(f"test {plan.test!r} is unknown: use one of {', '.join(TESTS)}")
    for name, table in human.items():
        if bool(torch.isnan(table).all()):
            raise TensorMTError(f"human score {name!r} has no value at all: choose another")
