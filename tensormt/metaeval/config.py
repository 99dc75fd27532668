"""Configuration and results of a meta-evaluation.

`Config` says which levels, statistics, intervals and tests are computed. `Row` is the correlation
of one metric with one human score, `PairwiseTest` the difference of two metrics with its p-value.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tensormt.errors import TensorMTError
from tensormt.metaeval import grouping
from tensormt.metaeval.checks import MAX_RESAMPLES
from tensormt.metaeval.judged_sets import JudgedSet
from tensormt.metaeval.scores import LEVELS
from tensormt.metaeval.spa import PERMUTATIONS
from tensormt.validation import integer, number, one_of

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
            (`tensormt.metaeval.grouping.GROUPINGS`); "segment" is what WMT uses.
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

    >>> config = Config(statistics=("tau_b",))
    >>> config.levels, config.grouping
    (('segment', 'system'), 'segment')
    """

    levels: tuple[str, ...] = ("segment", "system")
    statistics: tuple[str, ...] = ("pearson", "spearman", "tau_b")
    grouping: str = "segment"
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

    def grouping_at(self, level: str) -> str | None:
        """Return the grouping at a level; None: systems are compared, which have no groups."""
        return None if level in ("system", "mean") else self.grouping


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
        grouping: Which items were compared with each other; None: systems.
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
    grouping: str | None = None


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
        grouping: Which items were compared with each other; None: systems.
    """

    first: str
    second: str
    human: str
    level: str
    statistic: str
    difference: float
    p: float
    p_corrected: float | None = None
    grouping: str | None = None


def check_config(config: Config, sets: Sequence[JudgedSet] = ()) -> None:
    """Raise a TensorMTError for what cannot be computed, before anything is computed.

    Args:
        config: What is to be computed.
        sets: Test sets, where they are known.
    """
    integer(0, MAX_RESAMPLES)(config.resamples, "resamples")
    integer(1, MAX_RESAMPLES)(config.permutations, "permutations")
    integer(0, MAX_RESAMPLES)(config.spa_permutations, "spa_permutations")
    number(0, 1, above=True)(config.confidence, "confidence")
    if config.confidence == 1:
        raise TensorMTError("confidence is 1, expected a number below 1: choose one such as 0.95")
    for level in config.levels:
        if level not in LEVELS:
            raise TensorMTError(f"level {level!r} is unknown: use one of {', '.join(LEVELS)}")
    for statistic in config.statistics:
        if statistic != SPA:
            below_system = any(level in ("segment", "document") for level in config.levels)
            grouping.check_statistic(
                statistic, config.grouping if below_system else "none", config.least_gap
            )
    one_of(grouping.GROUPINGS)(config.grouping, "grouping")
    if config.test not in TESTS:
        raise TensorMTError(f"test {config.test!r} is unknown: use one of {', '.join(TESTS)}")
    for judged in sets:
        if bool(judged.human.isnan().all()):
            raise TensorMTError(
                f"human score {judged.human_name!r} has no values: choose another one"
            )


def check_test(config: Config) -> None:
    """Raise a TensorMTError if metrics cannot be compared as the configuration says.

    Args:
        config: Levels, statistics, test and units.
    """
    for level in config.levels:
        groups = config.grouping_at(level)
        for statistic in config.statistics:
            if statistic == SPA and groups is not None:
                continue  # of systems only, it is not computed at this level
            if config.test == "williams":
                if statistic != "pearson" or groups not in (None, "none"):
                    raise TensorMTError(
                        "Williams' test is for Pearson correlations of all items together: use the"
                        " statistic pearson and the grouping none, or the permutation test",
                        options="statistic grouping",
                    )
            elif level == "system" and statistic != SPA and config.units not in (None, "systems"):
                raise TensorMTError(
                    f"units {config.units!r}: a corpus score belongs to a system; use units"
                    " 'systems', or level 'mean' for means of segment scores",
                    options="units level",
                )
