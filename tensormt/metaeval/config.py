"""Configuration and results of a meta-evaluation.

`Config` says which levels, statistics, intervals and tests are computed. `Row` is the correlation
of one metric with one human score, `PairwiseTest` the difference of two metrics with its p-value.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tensormt.errors import TensorMTError
from tensormt.metaeval import grouping
from tensormt.metaeval.judged_sets import JudgedSet
from tensormt.metaeval.scores import LEVELS
from tensormt.metaeval.spa import PERMUTATIONS

SPA = "spa"
ALL_STATISTICS = (*grouping.STATISTICS, SPA)
TESTS = ("permutation", "williams")


@dataclass(frozen=True)
class Config:
    """What a meta-evaluation computes.

    Args:
        levels: Levels at which scores are compared (`tensormt.metaeval.scores.LEVELS`).
        statistics: Names of statistics (`ALL_STATISTICS`).
        grouping: Which items are compared with each other below system level
            (`tensormt.metaeval.grouping.GROUPINGS`).
        least_gap: Pairs whose human scores differ by less are left out.
        resamples: Number of bootstrap resamples; 0: no intervals.
        confidence: Level of confidence intervals.
        draw: What the bootstrap resamples: "segments", "systems" or both.
        fisher: Whether analytic p-values and intervals of correlations are computed.
        test: "permutation" or "williams".
        permutations: Number of random permutations of a test.
        units: What the permutation test swaps between two metrics; None: the default of the level.
        two_sided: Whether p-values are two-sided.
        correction: Correction of p-values for multiple tests: "none", "holm" or "bh".
        spa_permutations: Number of sign changes of soft pairwise accuracy; 0: normal approximation.
        seed: Seed of the random numbers.

    >>> Config(statistics=("tau_b",), grouping="segment").levels
    ('segment', 'system')
    """

    levels: tuple[str, ...] = ("segment", "system")
    statistics: tuple[str, ...] = ("pearson", "spearman", "tau_b")
    grouping: str = "none"
    least_gap: float = 0.0
    resamples: int = 0
    confidence: float = 0.95
    draw: tuple[str, ...] = ("segments",)
    fisher: bool = False
    test: str = "permutation"
    permutations: int = 1000
    units: str | None = None
    two_sided: bool = True
    correction: str = "none"
    spa_permutations: int = PERMUTATIONS
    seed: int = 12345


@dataclass(frozen=True)
class Row:
    """The correlation of one metric with one human score.

    Args:
        metric: Name of the metric.
        signature: Signature of the metric.
        human: Name of the human score.
        level: Level at which scores are compared.
        statistic: Name of the statistic.
        value: Value of the statistic; NaN if it does not exist.
        low: Lower end of the confidence interval, if one was computed.
        high: Upper end of the confidence interval.
        p: Analytic p-value of no correlation.
        epsilon: Calibrated threshold of ties, for the statistic "accuracy_ties".
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
    """A test of the difference between two metrics.

    Args:
        first: Name of the first metric.
        second: Name of the second metric.
        human: Name of the human score.
        level: Level at which scores are compared.
        statistic: Name of the statistic.
        difference: Value of the first metric minus that of the second.
        p: p-value of the difference.
        p_corrected: p-value corrected for the number of pairs.
    """

    first: str
    second: str
    human: str
    level: str
    statistic: str
    difference: float
    p: float
    p_corrected: float | None = None


def check_config(config: Config, sets: Sequence[JudgedSet]) -> None:
    """Raise a TensorMTError for what cannot be computed, before anything is computed."""
    for level in config.levels:
        if level not in LEVELS:
            raise TensorMTError(f"level {level!r} is unknown: use one of {', '.join(LEVELS)}")
    for statistic in config.statistics:
        if statistic != SPA:
            below_system = any(level in ("segment", "document") for level in config.levels)
            grouping.check_statistic(
                statistic, config.grouping if below_system else "none", config.least_gap
            )
    if config.test not in TESTS:
        raise TensorMTError(f"test {config.test!r} is unknown: use one of {', '.join(TESTS)}")
    for judged in sets:
        if bool(judged.human.isnan().all()):
            raise TensorMTError(
                f"human score {judged.human_name!r} has no values: choose another one"
            )
