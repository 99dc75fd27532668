"""Significance of the difference between two systems: paired bootstrap and randomization.

Both resample segments and score sums of statistics, so one matrix product serves all resamples:

    bootstrap        weights [S,N] @ statistics [N,K]: how often each segment is drawn
    randomization    swap [S,N] @ (a - b) + Σ b: which segments are swapped between the systems

(Koehn 2004; Riezler & Maxwell 2005; Clark et al. 2011), with sacrebleu's random generator, seed and
order of random numbers. A p-value is the share of resamples whose difference d* is at least as
large as the observed difference d:

    bootstrap        |d* - mean d*| ≥ |d|, then corrected for few segments (Hesterberg 2015)
    randomization    |d*| ≥ |d|

sacrebleu counts > instead of ≥, so that resamples equal to the observed difference do not count,
and it centres |d*| instead of d*, which makes its bootstrap one-sided: equal systems differ with
p < .05 in 10% of cases. ``sacrebleu_p`` gives its p-values. Holm's (1979) or Benjamini &
Hochberg's (1995) procedure corrects p-values for multiple comparisons.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.metric import Metric
from tensormt.statistics import Statistics

SAMPLES = {"bs": 1000, "ar": 10000}
SEED = 12345
CORRECTIONS = ("none", "holm", "bh")
_MAX_SAMPLES = 10_000_000
_BLOCK = 32  # resamples at a time; a multiple of 32, so that numpy uses all of its random bits


class Comparison(NamedTuple):
    """The comparison of a system with a baseline by one metric.

    Attributes:
        metric: Name of the metric.
        baseline: Name of the baseline.
        system: Name of the other system.
        baseline_score: Corpus score of the baseline.
        score: Corpus score of the system.
        p: Two-sided p-value of the difference.
        p_holm: p-value corrected by Holm for the number of comparisons of the metric.
        mean: Bootstrap mean of the system's score; None with randomization.
        width: Half the width of the 95% bootstrap interval.
        low: Lower end of the interval.
        high: Upper end of the interval.
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


def check_systems(names: Sequence[str]) -> None:
    """Raise unless there are at least two systems to compare."""
    if len(names) < 2:
        raise TensorMTError("one system only: name a baseline and at least one other system")


def compare(
    statistics: Statistics,
    test: str = "bs",
    all_pairs: bool = False,
    samples: int | None = None,
    seed: int = SEED,
    sacrebleu_p: bool = False,
) -> list[Comparison]:
    """Compare systems by their statistics; the first system is the baseline.

    Args:
        statistics: Statistics of at least two systems.
        test: "bs" (paired bootstrap) or "ar" (approximate randomization).
        all_pairs: Compare every system with every other one.
        samples: Number of resamples; None for 1,000 (bootstrap) or 10,000.
        seed: Seed of the random numbers.
        sacrebleu_p: Whether p-values are computed as in sacrebleu.

    Returns:
        A comparison for each metric and pair of systems.

    Raises:
        TensorMTError: If there are fewer than two systems or no segments, or a value is not valid.

    >>> from tensormt.evaluator import Evaluator
    >>> from tensormt.segments import Segments
    >>> outputs = {"A": ["a cat sat", "a dog"], "B": ["a cat", "the dog"]}
    >>> segments = Segments(outputs, [["a cat sat", "the dog ran"]])
    >>> [found] = compare(Evaluator(["chrf"]).evaluate(segments), "ar", samples=99)
    >>> found.system, round(found.score, 2), found.p
    ('B', 47.39, 1.0)
    """
    if test not in SAMPLES:
        raise TensorMTError(f"no test named {test!r}: choose 'bs' or 'ar'")
    names = list(statistics.systems)
    check_systems(names)
    if seed < 0:
        raise TensorMTError(f"seed {seed}: expected 0 or more")
    if not len(statistics):
        raise TensorMTError("no segments to compare: the files are empty")
    count = SAMPLES[test] if samples is None else samples
    if not 1 <= count <= _MAX_SAMPLES:
        raise TensorMTError(f"{count} resamples: expected at least 1 and at most {_MAX_SAMPLES:,}")
    pairs = [
        (a, b)
        for place, a in enumerate(names if all_pairs else names[:1])
        for b in names[place + 1 :]
    ]
    results = []
    for spec, metric in statistics.metrics.items():
        tables = dict(zip(names, statistics.tables[spec].to(torch.float64), strict=True))
        scores = {
            name: float(metric.score(table.sum(0), segment=False)) for name, table in tables.items()
        }
        run = _bootstrap if test == "bs" else _randomize
        found = run(tables, metric, scores, pairs, count, seed, sacrebleu_p)
        corrected = holm([p for p, _ in found])
        for (a, b), (p, interval), p_holm in zip(pairs, found, corrected, strict=True):
            results.append(Comparison(spec, a, b, scores[a], scores[b], p, p_holm, *interval))
    return results


# For each pair of systems the p-value, and mean, half width, low and high of the interval.
_Found = list[tuple[float, tuple[float | None, ...]]]
_Tables = Mapping[str, Tensor]
_SystemPairs = Sequence[tuple[str, str]]


def _weights(segments: int, samples: int, seed: int) -> Iterator[Tensor]:
    """Draw bootstrap samples: how often each segment is drawn, float64 [block, N]."""
    rng = np.random.default_rng(seed)
    for start in range(0, samples, _BLOCK):
        rows = min(_BLOCK, samples - start)
        drawn = rng.choice(segments, size=(rows, segments), replace=True)
        drawn += np.arange(rows)[:, None] * segments
        counts = np.bincount(drawn.ravel(), minlength=rows * segments)
        yield torch.from_numpy(counts.reshape(rows, segments).astype(np.float64))


def _bootstrap(
    tables: _Tables,
    metric: Metric[Any],
    scores: Mapping[str, float],
    pairs: _SystemPairs,
    n: int,
    seed: int,
    sacrebleu_p: bool,
) -> _Found:
    """Compare pairs of systems by the paired bootstrap."""
    sums = bootstrap_sums(list(tables.values()), n, seed)
    resampled = {
        name: metric.score(rows, segment=False) for name, rows in zip(tables, sums, strict=True)
    }
    found: _Found = []
    for a, b in pairs:
        if sacrebleu_p:
            gaps = (resampled[b] - resampled[a]).abs()
            p = _sacrebleu_p(gaps - gaps.mean(), scores[a], scores[b])
        else:
            p = difference_p_value(resampled[a], resampled[b], scores[a], scores[b], len(tables[a]))
        low, high = percentile_interval(resampled[b])
        mean = float(resampled[b].sort().values.mean())
        found.append((p, (mean, (high - low) / 2, low, high)))
    return found


def bootstrap_sums(tables: Sequence[Tensor], samples: int, seed: int = SEED) -> list[Tensor]:
    """Sum statistics over bootstrap samples of segments.

    Args:
        tables: Statistics [N,K] of the same N segments; K may differ.
        samples: Number of samples S.
        seed: Seed of the random numbers.

    Returns:
        For each table the sums, float64 [S,K].

    >>> [sums] = bootstrap_sums([torch.ones(5, 1)], 3)
    >>> sums.tolist()
    [[5.0], [5.0], [5.0]]
    """
    joined = torch.cat([table.to(torch.float64) for table in tables], 1)
    sums = torch.cat([weights @ joined for weights in _weights(len(joined), samples, seed)])
    return list(torch.split(sums, [table.shape[1] for table in tables], 1))


def percentile_interval(scores: Tensor) -> tuple[float, float]:
    """Compute the 95% percentile interval of bootstrap scores [S].

    >>> percentile_interval(torch.arange(1000.0))
    (25.0, 974.0)
    """
    ordered = scores.sort().values
    edge = len(scores) // 40
    return float(ordered[edge]), float(ordered[len(scores) - edge - 1])


def difference_p_value(
    first: Tensor, second: Tensor, score: float, other: float, segments: int
) -> float:
    """Compute the bootstrap p-value of the difference between two systems.

    Args:
        first: Bootstrap scores of the first system [S].
        second: Bootstrap scores of the second system [S], of the same samples.
        score: Score of the first system.
        other: Score of the second system.
        segments: Number of segments.

    Returns:
        The two-sided p-value, corrected for few segments.
    """
    gaps = second - first
    return _correct_for_few(_p_value((gaps - gaps.mean()).abs(), score, other), segments)


def _randomize(
    tables: _Tables,
    metric: Metric[Any],
    scores: Mapping[str, float],
    pairs: _SystemPairs,
    n: int,
    seed: int,
    sacrebleu_p: bool,
) -> _Found:
    """Compare pairs of systems by approximate randomization."""
    found: _Found = []
    segments = len(next(iter(tables.values())))
    for a, b in pairs:
        # Every pair starts from the seed, as every system does in sacrebleu.
        rng = np.random.default_rng(seed)
        both = tables[a].sum(0) + tables[b].sum(0)
        parts = []
        for start in range(0, n, _BLOCK):
            shape = (min(_BLOCK, n - start), segments)
            keep = torch.from_numpy(rng.integers(2, size=shape, dtype=bool).astype(np.float64))
            parts.append(keep @ (tables[a] - tables[b]) + tables[b].sum(0))
        ours = torch.cat(parts)
        gaps = metric.score(ours, segment=False) - metric.score(both - ours, segment=False)
        p = (_sacrebleu_p if sacrebleu_p else _p_value)(gaps.abs(), scores[a], scores[b])
        found.append((p, (None, None, None, None)))
    return found


def _p_value(gaps: Tensor, one: float, other: float) -> float:
    """Return the share of resamples at least as large as the observed difference, which counts.

    A tolerance makes differences count that are equal up to rounding.
    """
    observed = abs(one - other) - 1e-10 * max(abs(one), abs(other))
    return (int((gaps >= observed).sum()) + 1) / (len(gaps) + 1)


def _sacrebleu_p(gaps: Tensor, one: float, other: float) -> float:
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
    from scipy import stats

    if segments < 2:
        return 1.0
    z = stats.norm.isf(p / 2) * math.sqrt((segments - 1) / segments)
    return float(2 * stats.t.sf(z, segments - 1))


def correct_p_values(values: Sequence[float], method: str) -> list[float]:
    """Correct p-values for multiple comparisons.

    Args:
        values: p-values; NaN is kept and not counted.
        method: "holm", "bh" (Benjamini–Hochberg) or "none".

    Returns:
        Corrected p-values in the same order.

    Raises:
        TensorMTError: If the method is unknown.

    >>> correct_p_values([0.01, 0.5, 0.02], "holm")
    [0.03, 0.5, 0.04]
    """
    if method not in CORRECTIONS:
        raise TensorMTError(f"no correction named {method!r}: use one of {', '.join(CORRECTIONS)}")
    known = [p for p in values if not math.isnan(p)]
    if method == "none" or not known:
        return list(values)
    if method == "holm":
        found = iter(holm(known))
    else:
        from scipy import stats

        found = iter(stats.false_discovery_control(known).tolist())
    return [p if math.isnan(p) else next(found) for p in values]


def holm(values: Sequence[float]) -> list[float]:
    """Correct p-values for multiple comparisons by Holm's step-down procedure.

    >>> holm([0.01, 0.04])
    [0.02, 0.04]
    """
    order = sorted(range(len(values)), key=values.__getitem__)
    corrected, worst = [0.0] * len(values), 0.0
    for rank, place in enumerate(order):
        worst = max(worst, min(1.0, (len(values) - rank) * values[place]))
        corrected[place] = worst
    return corrected
