"""Whether the difference between two systems means anything: paired bootstrap and randomisation.

Both resample segments and score sums of statistics, so one matrix product serves all resamples:

    bootstrap        weights [S,N] @ statistics [N,K]: how often each segment is drawn
    randomisation    swap [S,N] @ (a - b) + Σ b: which segments change sides

(Koehn 2004; Riezler & Maxwell 2005; Clark et al. 2011), with sacrebleu's generator, seed and order
of draws. A p-value is the share of resamples whose difference is at least as large as the real one:

    bootstrap        |d* - mean d*| ≥ |d|, then corrected for few segments (Hesterberg 2015)
    randomisation    |d*| ≥ |d|

sacrebleu counts > in place of ≥, so that resamples equal to what was seen count for nothing, and
centres |d*| in place of d*, which makes its bootstrap one-sided: systems that are equal differ with
p < .05 in 10% of cases. Its p-values are there by name (``sacrebleu_p``). Holm's (1979) or
Benjamini & Hochberg's (1995) correction for several comparisons.
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
_MOST = 10_000_000  # resamples that may be asked for
_BLOCK = 32  # resamples at a time; a multiple of 32 keeps numpy's stream of random bits unbroken


class Comparison(NamedTuple):
    """A system against another: scores, mean and half width of the 95% interval, p-values.

    `mean`, `width`, `low` and `high` are of the bootstrap (None with randomisation).
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
        test: "bs" (paired bootstrap) or "ar" (approximate randomisation).
        all_pairs: Compare every system with every other one.
        samples: Number of resamples; None for 1,000 (bootstrap) or 10,000.
        seed: Seed of the random numbers.
        sacrebleu_p: Count p-values as sacrebleu does.

    Returns:
        A comparison for each metric and pair of systems.

    Raises:
        TensorMTError: If there are fewer than two systems or no segments, or a value is not valid.
    """
    if test not in SAMPLES:
        raise TensorMTError(f"no test named {test!r}: choose 'bs' or 'ar'")
    names = list(statistics.systems)
    if len(names) < 2:
        raise TensorMTError("one system only: name a baseline and at least one other system")
    if seed < 0:
        raise TensorMTError(f"seed {seed}: expected 0 or more")
    if not len(statistics):
        raise TensorMTError("no segments to compare: the files are empty")
    count = SAMPLES[test] if samples is None else samples
    if not 1 <= count <= _MOST:
        raise TensorMTError(f"{count} resamples: expected at least 1 and at most {_MOST:,}")
    pairs = [
        (a, b)
        for place, a in enumerate(names if all_pairs else names[:1])
        for b in names[place + 1 :]
    ]
    results = []
    for spec, metric in statistics.metrics.items():
        found = statistics.tables[spec].to(torch.float64)
        tables = dict(zip(names, found, strict=True))
        scores = {
            name: float(metric.score(table.sum(0), segment=False)) for name, table in tables.items()
        }
        draw = _bootstrap if test == "bs" else _randomise
        drawn = draw(tables, metric, scores, pairs, count, seed, sacrebleu_p)
        corrected = holm([p for p, _ in drawn])
        for (a, b), (p, spread), p_holm in zip(pairs, drawn, corrected, strict=True):
            results.append(Comparison(spec, a, b, scores[a], scores[b], p, p_holm, *spread))
    return results


Found = list[tuple[float, tuple[float | None, ...]]]
Tables = Mapping[str, Tensor]
Pairs = Sequence[tuple[str, str]]


def _weights(segments: int, samples: int, seed: int) -> Iterator[Tensor]:
    """How often each segment is drawn, float64 [block, N]."""
    rng = np.random.default_rng(seed)
    for start in range(0, samples, _BLOCK):
        rows = min(_BLOCK, samples - start)
        drawn = rng.choice(segments, size=(rows, segments), replace=True)
        drawn += np.arange(rows)[:, None] * segments
        counts = np.bincount(drawn.ravel(), minlength=rows * segments)
        yield torch.from_numpy(counts.reshape(rows, segments).astype(np.float64))


def _bootstrap(
    tables: Tables,
    metric: Metric[Any],
    scores: Mapping[str, float],
    pairs: Pairs,
    n: int,
    seed: int,
    sacrebleu_p: bool,
) -> Found:
    sums = resampled(list(tables.values()), n, seed)
    drawn = {
        name: metric.score(rows, segment=False) for name, rows in zip(tables, sums, strict=True)
    }
    found: Found = []
    for a, b in pairs:
        if sacrebleu_p:
            gaps = (drawn[b] - drawn[a]).abs()
            p = _sacrebleu_p(gaps - gaps.mean(), scores[a], scores[b])
        else:
            p = gap_p_value(drawn[a], drawn[b], scores[a], scores[b], len(tables[a]))
        low, high = interval(drawn[b])
        found.append((p, (float(drawn[b].sort().values.mean()), (high - low) / 2, low, high)))
    return found


def resampled(tables: Sequence[Tensor], samples: int, seed: int = SEED) -> list[Tensor]:
    """Sums of statistics [N,K] over the same bootstrap samples, float64 [S,K] for each table."""
    joined = torch.cat([table.to(torch.float64) for table in tables], 1)
    sums = torch.cat([weights @ joined for weights in _weights(len(joined), samples, seed)])
    return list(torch.split(sums, [table.shape[1] for table in tables], 1))


def interval(drawn: Tensor) -> tuple[float, float]:
    """The 95% interval of a score drawn [S] times."""
    ordered = drawn.sort().values
    edge = len(drawn) // 40
    return float(ordered[edge]), float(ordered[len(drawn) - edge - 1])


def gap_p_value(drawn: Tensor, others: Tensor, score: float, other: float, segments: int) -> float:
    """p of the gap between two systems whose scores were drawn [S] times together."""
    gaps = others - drawn
    return _of_few(_p_value((gaps - gaps.mean()).abs(), score, other), segments)


def _randomise(
    tables: Tables,
    metric: Metric[Any],
    scores: Mapping[str, float],
    pairs: Pairs,
    n: int,
    seed: int,
    sacrebleu_p: bool,
) -> Found:
    found: Found = []
    segments = len(next(iter(tables.values())))
    for a, b in pairs:
        # every pair draws from the seed, as sacrebleu does for every system
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
    """Share of resamples with a gap at least as large as the real one, which itself counts.

    Gaps that are equal on paper differ by rounding: a margin lets them count.
    """
    real = abs(one - other) - 1e-10 * max(abs(one), abs(other))
    return (int((gaps >= real).sum()) + 1) / (len(gaps) + 1)


def _sacrebleu_p(gaps: Tensor, one: float, other: float) -> float:
    """Share of resamples with a larger gap; one is added to both counts.

    Systems with equal scores have p = 1 (sacrebleu counts no larger gap there and says 1/(n+1)).
    """
    if one == other:
        return 1.0
    return (int((gaps > abs(one - other)).sum()) + 1) / (len(gaps) + 1)


def _of_few(p: float, segments: int) -> float:
    """Correct a two-sided bootstrap p for the number of segments n.

    The spread of a bootstrap is too narrow by √((n-1)/n), and its tails are a normal's in place of
    Student's t: Hesterberg's expanded percentile interval, read backwards.
    """
    from scipy import stats

    if segments < 2:
        return 1.0
    z = stats.norm.isf(p / 2) * math.sqrt((segments - 1) / segments)
    return float(2 * stats.t.sf(z, segments - 1))


def corrected(values: Sequence[float], method: str) -> list[float]:
    """Correct p-values for their number: "holm", "bh" (Benjamini–Hochberg) or "none"."""
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
    """Holm's step-down correction of p-values for several comparisons."""
    order = sorted(range(len(values)), key=values.__getitem__)
    corrected, worst = [0.0] * len(values), 0.0
    for rank, place in enumerate(order):
        worst = max(worst, min(1.0, (len(values) - rank) * values[place]))
        corrected[place] = worst
    return corrected
