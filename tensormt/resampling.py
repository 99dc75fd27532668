"""Bootstrap resampling of segments: scores of resampled corpora, and intervals of corpus scores.

A resample is a vector of weights, how often each of the N segments is drawn, so one matrix product
gives the sums of all statistics, and `Metric.score` their corpus scores (Koehn 2004):

    weights [n,N] @ statistics [N,K] → score → [n]

The random generator, its seed and the order of the random numbers are sacrebleu's. All functions
and commands use the same number of resamples for the same systems and segments (`resamples`), so
they give the same intervals and p-values.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator

import numpy as np

from tensormt.errors import TensorMTError, TensorMTWarning
from tensormt.statistics import Statistics

__all__ = ["SEED", "bootstrap_scores", "intervals", "percentile_interval", "resamples"]

SEED = 12345
_LEAST = 10_000  # resamples: the standard error of p = .05 is .002
_EACH = 1_000  # for each pair of systems: 50 resamples are behind Holm's smallest threshold, .05/m
_DRAWS = 2 * 10**8  # segments drawn in total; more take minutes
_MAX_SAMPLES = 10_000_000
_CELLS = 2**21  # weights in memory at a time


def resamples(systems: int, segments: int) -> int:
    """Return the number of resamples for tests between systems.

    It is 10,000, or 1,000 for each of the m pairs of systems if that is more: the p-value that
    Holm's correction raises to .05, .05/m, then rests on at least 50 resamples. If more than
    2 · 10⁸ segments would be drawn, it is as many thousands as stay below, but at least 1,000 and
    40 · m, so that a corrected p-value below .05 can be reached.

    Args:
        systems: Number of systems.
        segments: Number of segments.

    >>> resamples(2, 2000), resamples(10, 2000), resamples(3, 100_000)
    (10000, 45000, 2000)
    """
    pairs = math.comb(systems, 2)
    affordable = _DRAWS // max(segments, 1) // 1000 * 1000
    return max(min(max(_LEAST, _EACH * pairs), affordable), 1000, 40 * pairs)


def check_resampling(samples: int, seed: int) -> None:
    """Raise unless the number of resamples and the seed can be used."""
    if seed < 0:
        raise TensorMTError(f"seed {seed}: expected 0 or more")
    if not 1 <= samples <= _MAX_SAMPLES:
        raise TensorMTError(
            f"{samples} resamples: expected at least 1 and at most {_MAX_SAMPLES:,}"
        )


def bootstrap_weights(segments: int, samples: int, seed: int) -> Iterator[np.ndarray]:
    """Draw bootstrap samples: how often each segment is drawn, float64 [block,N]."""
    rng = np.random.default_rng(seed)
    block = max(1, min(1024, _CELLS // segments))
    for start in range(0, samples, block):
        rows = min(block, samples - start)
        drawn = rng.choice(segments, size=(rows, segments), replace=True)
        drawn += np.arange(rows)[:, None] * segments
        counts = np.bincount(drawn.ravel(), minlength=rows * segments)
        yield counts.reshape(rows, segments).astype(np.float64)


def bootstrap_scores(
    statistics: Statistics, samples: int | None = None, seed: int = SEED
) -> dict[str, np.ndarray]:
    """Compute corpus scores of bootstrap samples, the same samples for all systems and metrics.

    Args:
        statistics: Statistics of S systems on at least one segment.
        samples: Number of samples n; None for the rule of `resamples`.
        seed: Seed of the random numbers.

    Returns:
        By metric, float64 [S,n].

    Raises:
        TensorMTError: If there are no segments, or a value is not valid.

    >>> from tensormt.evaluator import Evaluator
    >>> from tensormt.segments import Segments
    >>> found = Evaluator(["chrf"]).evaluate(Segments({"A": ["a cat"]}, [["a cat"]]))
    >>> bootstrap_scores(found, 3)
    {'chrf': array([[100., 100., 100.]])}
    """
    systems, segments = len(statistics.systems), len(statistics)
    if not segments:
        raise TensorMTError("no segments to resample: the files are empty")
    count = resamples(systems, segments) if samples is None else samples
    check_resampling(count, seed)
    tables = [statistics.tables[name].astype(np.float64) for name in statistics.metrics]
    by_segment = [table.swapaxes(0, 1).reshape(segments, -1) for table in tables]
    joined = np.concatenate(by_segment, 1)  # [N,ΣSK]
    ends = np.cumsum([table.shape[1] for table in by_segment])[:-1]
    parts: list[list[np.ndarray]] = []
    for weights in bootstrap_weights(segments, count, seed):
        sums = np.split(weights @ joined, ends, 1)
        parts.append(
            [
                metric.score(own.reshape(len(own), systems, -1), segment=False)
                for metric, own in zip(statistics.metrics.values(), sums, strict=True)
            ]
        )
    columns = (np.concatenate(blocks).T for blocks in zip(*parts, strict=True))
    return dict(zip(statistics.metrics, columns, strict=True))


def intervals(
    statistics: Statistics, samples: int | None = None, seed: int = SEED
) -> dict[str, list[tuple[float, float]]]:
    """Compute 95% bootstrap intervals of the corpus scores of all systems and metrics.

    Args:
        statistics: Statistics of S systems.
        samples: Number of resamples; None for the rule of `resamples`.
        seed: Seed of the random numbers.

    Returns:
        By metric, the lower and the upper end for each system.

    Raises:
        TensorMTError: If there are no segments, or a value is not valid.

    >>> from tensormt.evaluator import Evaluator
    >>> from tensormt.segments import Segments
    >>> segments = Segments({"A": ["a cat", "the dog"]}, [["a cat sat", "the dog"]])
    >>> [(low, high)] = intervals(Evaluator(["chrf"]).evaluate(segments))["chrf"]
    >>> round(low, 2), round(high, 2)
    (48.57, 100.0)
    """
    found = bootstrap_scores(statistics, samples, seed)
    return {name: [percentile_interval(row) for row in rows] for name, rows in found.items()}


def warn_of_one_segment(segments: int) -> None:
    """Warn if scores are over a single segment: nothing is known of how they vary."""
    if segments == 1:
        warnings.warn(
            TensorMTWarning(
                "scores over one segment only: intervals have no width, and p-values mean nothing"
            ),
            stacklevel=3,
        )


def percentile_interval(scores: np.ndarray, segments: int | None = None) -> tuple[float, float]:
    """Compute the 95% percentile interval of bootstrap scores.

    Args:
        scores: Scores, or differences of scores, of bootstrap samples [n].
        segments: Number of segments, to widen the interval as Hesterberg (2015) does for few of
            them: the bootstrap distribution is too narrow by √((N-1)/N), and has the tails of a
            normal instead of Student's t distribution. None: the plain interval.

    >>> percentile_interval(np.arange(1000.0))
    (25.0, 974.0)
    >>> percentile_interval(np.arange(1000.0), 20)
    (15.0, 984.0)
    """
    ordered = np.sort(scores[~np.isnan(scores)])  # NaN: no drawn segment has a score
    size = len(ordered)
    if not size:
        return math.nan, math.nan
    edge = size // 40 if segments is None else int(size * _tail(segments))
    return float(ordered[edge]), float(ordered[size - edge - 1])


def _tail(segments: int) -> float:
    """Share of the bootstrap distribution beyond each end of an expanded 95% interval."""
    from scipy.special import ndtr, stdtrit

    if segments < 2:
        return 0.0
    return float(ndtr(math.sqrt(segments / (segments - 1)) * stdtrit(segments - 1, 0.025)))
