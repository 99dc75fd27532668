"""Significance of the difference between two systems: paired bootstrap and randomization.

Both resample segments and score sums of statistics, so one matrix product serves all resamples:

    bootstrap        weights [n,N] @ statistics [N,K]: how often each segment is drawn
    randomization    swap [n,N] @ (a - b) + Σ b: which segments are swapped between the systems

(Koehn 2004; Riezler & Maxwell 2005; Clark et al. 2011), with sacrebleu's random generator, seed and
order of random numbers. A p-value is the share of resamples whose difference d* is at least as
large as the observed difference d:

    bootstrap        |d* - mean d*| ≥ |d|, then corrected for few segments (Hesterberg 2015)
    randomization    |d*| ≥ |d|

sacrebleu counts > instead of ≥, so that resamples equal to the observed difference do not count,
and it centres |d*| instead of d*, which makes its bootstrap one-sided: equal systems differ with
p < .05 in 10% of cases. ``sacrebleu_p`` gives its p-values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tensormt.corrections import correct_p_values
from tensormt.errors import TensorMTError
from tensormt.formulas import round_for_ties
from tensormt.metric import Metric
from tensormt.resampling import (
    SEED,
    bootstrap_scores,
    check_resampling,
    percentile_interval,
    resamples,
)
from tensormt.statistics import Statistics

__all__ = ["Comparison", "check_systems", "compare", "sample_count"]

SAMPLES = {"bs": 1000, "ar": 10000}  # of sacrebleu, for its p-values
LEVEL = 0.05
_BLOCK = 32  # swaps at a time; a multiple of 32, so that numpy uses all of its random bits


class Comparison(NamedTuple):
    """The comparison of a system with a baseline by one metric.

    Scores are over the segments for which both systems have an output and a score by the metric.
    Intervals are 95% bootstrap intervals, None with randomization.

    Attributes:
        metric: Name of the metric.
        baseline: Name of the baseline.
        system: Name of the other system.
        baseline_score: Corpus score of the baseline.
        score: Corpus score of the system.
        p: Two-sided p-value of the difference; NaN if no segment has both scores.
        p_holm: p-value corrected by Holm for the number of p-values of the metric.
        mean: Bootstrap mean of the system's score.
        width: Half the width of the interval of the system's score.
        low: Lower end of the interval.
        high: Upper end of the interval.
        difference: Score of the system minus score of the baseline.
        difference_low: Lower end of the interval of the difference.
        difference_high: Upper end of the interval of the difference.
        verdict: "better" or "worse" than the baseline where p_holm < .05, otherwise "". For error
            rates, lower scores are better.
        wins: Number of segments for which the system has the better segment score.
        ties: Number of segments with equal scores.
        losses: Number of segments for which the baseline has the better score.
    """

    metric: str
    baseline: str
    system: str
    baseline_score: float
    score: float
    p: float
    p_holm: float
    mean: float | None
    width: float | None
    low: float | None
    high: float | None
    difference: float
    difference_low: float | None
    difference_high: float | None
    verdict: str
    wins: int
    ties: int
    losses: int

    @property
    def segments(self) -> int:
        """Number of segments for which both systems have a score."""
        return self.wins + self.ties + self.losses


def check_systems(names: Sequence[str]) -> None:
    """Raise unless there are at least two systems to compare."""
    if len(names) < 2:
        raise TensorMTError("one system only: name a baseline and at least one other system")


def sample_count(statistics: Statistics, test: str = "bs", sacrebleu_p: bool = False) -> int:
    """Return the number of resamples of `compare` if none is given.

    Args:
        statistics: Statistics of the systems.
        test: "bs" or "ar".
        sacrebleu_p: Whether p-values are computed as in sacrebleu, with its number of resamples.
    """
    if sacrebleu_p:
        return SAMPLES[test]
    return resamples(len(statistics.systems), len(statistics))


def compare(
    statistics: Statistics,
    test: str = "bs",
    all_pairs: bool = False,
    samples: int | None = None,
    seed: int = SEED,
    sacrebleu_p: bool = False,
    *,
    resampled: Mapping[str, np.ndarray] | None = None,
) -> list[Comparison]:
    """Compare systems by their statistics; the first system is the baseline.

    Args:
        statistics: Statistics of at least two systems. Two systems are compared on the segments
            for which both have an output and a score by the metric.
        test: "bs" (paired bootstrap) or "ar" (approximate randomization).
        all_pairs: Compare every system with every other one.
        samples: Number of resamples; None: the rule of `tensormt.resampling.resamples`, which
            depends on the numbers of systems and segments, or sacrebleu's number for its p-values.
        seed: Seed of the random numbers.
        sacrebleu_p: Whether p-values are computed as in sacrebleu.
        resampled: What `bootstrap_scores` returned for the same statistics, samples and seed, where
            it is known.

    Returns:
        A comparison for each metric and pair of systems.

    Raises:
        TensorMTError: If there are fewer than two systems or no segments, or a value is not valid.

    >>> from tensormt.evaluator import Evaluator
    >>> from tensormt.segments import Segments
    >>> outputs = {"A": ["a cat sat", "a dog"], "B": ["a cat", "the dog"]}
    >>> segments = Segments(outputs, [["a cat sat", "the dog ran"]])
    >>> [found] = compare(Evaluator(["chrf"]).evaluate(segments), "ar", samples=99)
    >>> found.system, round(found.score, 2), found.p, (found.wins, found.ties, found.losses)
    ('B', 47.39, 1.0, (1, 0, 1))
    """
    if test not in SAMPLES:
        raise TensorMTError(f"no test named {test!r}: choose 'bs' or 'ar'")
    names = list(statistics.systems)
    check_systems(names)
    count = sample_count(statistics, test, sacrebleu_p) if samples is None else samples
    check_resampling(count, seed)
    if not len(statistics):
        raise TensorMTError("no segments to compare: the files are empty")
    pairs = [
        (a, b) for a in range(len(names) if all_pairs else 1) for b in range(a + 1, len(names))
    ]
    if test == "bs" and resampled is None:
        resampled = bootstrap_scores(statistics, count, seed)
    scores = {name: round_for_ties(statistics.segments(name)) for name in statistics.metrics}
    tested: dict[str, list[_Tested]] = {name: [] for name in scores}
    for pair in pairs:
        for metrics in _alike(scores, pair):
            known = ~np.isnan(scores[metrics[0]][list(pair)]).any(0)
            own = statistics.of_metrics(metrics).of_systems(pair)
            own = own.of_segments(np.flatnonzero(known))
            if not (test == "bs" and len(own)):
                drawn = None
            elif resampled is None or len(own) < len(statistics):
                drawn = bootstrap_scores(own, count, seed)
            else:
                drawn = {name: resampled[name][list(pair)] for name in metrics}
            for name, metric in own.metrics.items():
                both = own.tables[name].astype(np.float64)
                found = (
                    _randomize(both, metric, count, seed, sacrebleu_p)
                    if drawn is None
                    else _bootstrap(both, metric, drawn[name], sacrebleu_p)
                )
                tested[name].append(found)
    return [
        _comparison(name, statistics, pair, found, p_holm, scores[name])
        for name, results in tested.items()
        for pair, found, p_holm in zip(
            pairs, results, correct_p_values([own.p for own in results], "holm"), strict=True
        )
    ]


def _alike(scores: Mapping[str, np.ndarray], pair: tuple[int, int]) -> list[list[str]]:
    """Group metrics, by their scores [S,N], that have scores of the same segments of a pair."""
    groups: dict[bytes, list[str]] = {}
    for name, table in scores.items():
        groups.setdefault(np.isnan(table[list(pair)]).tobytes(), []).append(name)
    return list(groups.values())


class _Tested(NamedTuple):
    """Scores of two systems, p-value, and the intervals of the bootstrap."""

    scores: tuple[float, float]
    p: float
    score_interval: tuple[float | None, float | None, float | None, float | None]
    difference_interval: tuple[float | None, float | None]


def _comparison(
    name: str,
    statistics: Statistics,
    pair: tuple[int, int],
    found: _Tested,
    p_holm: float,
    scores: np.ndarray,
) -> Comparison:
    """Put together what was found for a pair; segment scores are [S,N]."""
    a, b = pair
    better = 1 if statistics.metrics[name].higher_is_better else -1
    difference = found.scores[1] - found.scores[0]
    verdict = ""
    if p_holm < LEVEL:
        verdict = "better" if better * difference > 0 else "worse"
    gaps = better * (scores[b] - scores[a])  # NaN where an output or a score is missing
    return Comparison(
        name,
        statistics.systems[a],
        statistics.systems[b],
        *found.scores,
        found.p,
        p_holm,
        *found.score_interval,
        difference,
        *found.difference_interval,
        verdict,
        int((gaps > 0).sum()),
        int((gaps == 0).sum()),
        int((gaps < 0).sum()),
    )


def _scores(tables: np.ndarray, metric: Metric[Any]) -> tuple[float, float]:
    one, other = metric.score(tables.sum(1), segment=False).tolist()
    return one, other


def _bootstrap(
    tables: np.ndarray, metric: Metric[Any], resampled: np.ndarray, sacrebleu_p: bool
) -> _Tested:
    """Compare two systems [2,N,K] by their bootstrap scores [2,n]."""
    (one, other), segments = _scores(tables, metric), tables.shape[1]
    gaps = resampled[1] - resampled[0]
    if sacrebleu_p:
        sizes = np.abs(gaps)
        p = _sacrebleu_p(sizes - sizes.mean(), one, other)
    else:
        p = _correct_for_few(_p_value(np.abs(gaps - gaps.mean()), one, other), segments)
    low, high = percentile_interval(resampled[1])
    mean = float(np.sort(resampled[1]).mean())
    interval = mean, (high - low) / 2, low, high
    return _Tested((one, other), p, interval, percentile_interval(gaps, segments))


def _randomize(
    tables: np.ndarray, metric: Metric[Any], n: int, seed: int, sacrebleu_p: bool
) -> _Tested:
    """Compare two systems [2,N,K] by approximate randomization."""
    none = (None, None, None, None)
    if not tables.shape[1]:  # no segment for which both have a score
        return _Tested((math.nan, math.nan), math.nan, none, none[:2])
    # Every pair starts from the seed, as every system does in sacrebleu.
    rng = np.random.default_rng(seed)
    one, other = _scores(tables, metric)
    a, b = tables
    both, gaps = a.sum(0) + b.sum(0), []
    for start in range(0, n, _BLOCK):
        shape = (min(_BLOCK, n - start), len(a))
        keep = rng.integers(2, size=shape, dtype=bool).astype(np.float64)
        ours = keep @ (a - b) + b.sum(0)
        gaps.append(metric.score(ours, segment=False) - metric.score(both - ours, segment=False))
    p = (_sacrebleu_p if sacrebleu_p else _p_value)(np.abs(np.concatenate(gaps)), one, other)
    return _Tested((one, other), p, none, none[:2])


def _p_value(gaps: np.ndarray, one: float, other: float) -> float:
    """Return the share of resamples at least as large as the observed difference, which counts.

    A tolerance makes differences count that are equal up to rounding.
    """
    observed = abs(one - other) - 1e-10 * max(abs(one), abs(other))
    return (int((gaps >= observed).sum()) + 1) / (len(gaps) + 1)


def _sacrebleu_p(gaps: np.ndarray, one: float, other: float) -> float:
    """Return the share of resamples with a larger difference; one is added to both counts.

    Systems with equal scores have p = 1 (sacrebleu finds no larger difference and gives 1/(n+1)).
    """
    if one == other:
        return 1.0
    return (int((gaps > abs(one - other)).sum()) + 1) / (len(gaps) + 1)


def _correct_for_few(p: float, segments: int) -> float:
    """Correct a two-sided bootstrap p-value for the number of segments n.

    Bootstrap distributions are too narrow by √((n-1)/n) and have the tails of a normal instead of
    Student's t distribution: this is the inverse of Hesterberg's expanded percentile interval.
    """
    from scipy.special import ndtri, stdtr

    if segments < 2:
        return 1.0
    z = -ndtri(p / 2) * math.sqrt((segments - 1) / segments)
    return float(2 * stdtr(segments - 1, -z))
