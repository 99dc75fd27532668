"""Data of the overview panels: systems, significance, buckets, and correlations.

Intervals are bootstrap intervals over segments, with the same samples for all systems and metrics.
p-values are those of `tensormt compare --all-pairs`, with Holm's correction for each metric.
Missing outputs do not contribute to sums; two systems are compared on the segments that both have.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tensormt.metaeval.correlation import pearson, spearman
from tensormt.metaeval.grouping import correlate, correlate_systems
from tensormt.metaeval.pairs import count_pairs
from tensormt.metric import Metric
from tensormt.qarla.from_texts import similarity_tensors_from_segments
from tensormt.qarla.summary import SummaryOptions, summarize
from tensormt.reporting.collect import Collected
from tensormt.significance import (
    SEED,
    bootstrap_sums,
    difference_p_value,
    holm,
    percentile_interval,
)

SAMPLES, BUCKET_SAMPLES = 1000, 200
_LENGTHS = (10, 20, 30, 50)
_DEPTHS = (6, 9, 12, 15)
_SIMILARITIES = (0.2, 0.4, 0.6, 0.8)
_DOCUMENTS = 200  # number of documents that are shown, the largest ones
_CASES = 300  # maximum number of cases of QARLA
_MODELS = 3  # minimum number of references of a case
_DRAWS = 10**8  # maximum number of segments drawn for more samples: about two seconds


def json_number(value: float) -> float | None:
    """Round a number to seven digits for JSON; None for NaN and infinity.

    >>> json_number(0.123456789), json_number(math.nan)
    (0.1234568, None)
    """
    return float(f"{value:.7g}") if math.isfinite(value) else None


def samples(collected: Collected) -> int:
    """Return the number of bootstrap samples: more if many pairs of a small corpus are compared.

    The smallest p-value is 1 / (samples + 1), and Holm multiplies it by the number of pairs.
    """
    pairs = len(collected.systems) * (len(collected.systems) - 1) // 2
    wanted = min(max(SAMPLES, 40 * pairs), 10 * SAMPLES)
    return wanted if wanted * collected.segments <= _DRAWS else SAMPLES


def systems(collected: Collected) -> dict[str, Any]:
    """Compute corpus scores and intervals of systems, and test all pairs of systems.

    Args:
        collected: The data of a summary.

    Returns:
        By metric, "scores" [S], "intervals" [S] and "pairs": [a, b, p, p by Holm, score of a −
        score of b, n] over the n segments that both systems have.
    """
    size, draws = len(collected.systems), samples(collected)
    names = list(collected.statistics)
    tables = [table for name in names for table in collected.statistics[name]]
    sums = bootstrap_sums(tables, draws, SEED)
    pairs = list(combinations(range(size), 2))
    common = [collected.present[a] & collected.present[b] for a, b in pairs]
    found = {}
    for place, name in enumerate(names):
        metric = collected.evaluator.metrics[name]
        scores = [
            float(metric.score(table.sum(0), segment=False)) for table in collected.statistics[name]
        ]
        own = sums[place * size : (place + 1) * size]
        resampled = [metric.score(rows, segment=False) for rows in own]
        gaps, values = [], []
        for (a, b), both in zip(pairs, common, strict=True):
            one, two, few = (resampled[a], scores[a]), (resampled[b], scores[b]), int(both.sum())
            if few < max(collected.present[a].sum(), collected.present[b].sum()):
                chosen = torch.from_numpy(np.nonzero(both)[0])
                one, two = _bootstrap_scores(
                    metric, [collected.statistics[name][k][chosen] for k in (a, b)]
                )
            gaps.append((one[1] - two[1], few))
            values.append(difference_p_value(one[0], two[0], one[1], two[1], few) if few else 1.0)
        found[name] = {
            "scores": [
                json_number(score) if n else None
                for score, n in zip(scores, collected.present.sum(1), strict=True)
            ],
            "intervals": [
                [json_number(edge) for edge in percentile_interval(rows)] for rows in resampled
            ],
            "pairs": [
                [a, b, json_number(p), json_number(corrected), json_number(gap), few]
                for (a, b), p, corrected, (gap, few) in zip(
                    pairs, values, holm(values), gaps, strict=True
                )
            ],
        }
    return found


def _bootstrap_scores(metric: Metric[Any], tables: list[Tensor]) -> list[tuple[Tensor, float]]:
    """Return the bootstrap scores [samples] and the score of each of some systems [n,K]."""
    if not len(tables[0]):
        return [(torch.zeros(1, dtype=torch.float64), 0.0) for _ in tables]
    sums = bootstrap_sums(tables, SAMPLES, SEED)
    return [
        (metric.score(rows, segment=False), float(metric.score(table.sum(0), segment=False)))
        for rows, table in zip(sums, tables, strict=True)
    ]


def buckets(collected: Collected) -> list[dict[str, Any]]:
    """Partition the segments in several ways and score every bucket.

    Args:
        collected: The data of a summary.

    Returns:
        For each partition its title, unit, labels of buckets, number of outputs, scores, and the
        bucket of each segment.
    """
    first = [next(filter(None, row)) for row in zip(*collected.refs, strict=True)]
    lengths = np.array([len(text.split()) for text in first])
    partitions = [_by_edges("reference length", "words", lengths, _LENGTHS)]
    if collected.depths is not None:
        partitions.append(
            _by_edges("tree depth of the reference", "levels", collected.depths, _DEPTHS)
        )
    if len(collected.refs) > 1:
        similar = np.array(
            [_reference_similarity(row) for row in zip(*collected.refs, strict=True)]
        )
        title = "agreement among references"
        partitions.append(_by_edges(title, "mean Dice of words", similar, _SIMILARITIES))
    if collected.docs is not None:
        names, index, counts = np.unique(collected.docs, return_inverse=True, return_counts=True)
        largest = np.argsort(-counts, kind="stable")[:_DOCUMENTS]
        slot = np.full(len(names), len(largest))
        slot[largest] = np.arange(len(largest))
        labels = [str(names[k]) for k in largest]
        labels += ["other documents"] if len(names) > len(largest) else []
        partitions.append(("document", "", labels, slot[index]))
    return [_scored(collected, *own) for own in partitions if len(set(own[3].tolist())) > 1]


# Title, unit, labels of buckets, and the bucket of each segment, int64 [N].
_Partition = tuple[str, str, list[str], np.ndarray]


def _by_edges(title: str, unit: str, values: np.ndarray, edges: tuple[float, ...]) -> _Partition:
    """Partition segments by a number [N]; NaN is in no bucket (-1)."""
    integral = values.dtype.kind == "i"
    labels = [f"below {edges[0]}"]
    for low, high in pairwise(edges):
        labels.append(f"{low}–{high - 1}" if integral else f"{low} to {high}")
    labels.append(f"{edges[-1]} and more")
    index = np.where(np.isnan(values), -1, np.digitize(values, edges))
    return title, unit, labels, index.astype(np.int64)


def _reference_similarity(texts: tuple[str, ...]) -> float:
    """Return the mean Dice coefficient of the words of all pairs of references; NaN for one."""
    words = [set(text.lower().split()) for text in texts if text]
    pairs = list(combinations(words, 2))
    if not pairs:
        return math.nan
    return sum(2 * len(a & b) / (len(a) + len(b)) for a, b in pairs) / len(pairs)


def _scored(
    collected: Collected, title: str, unit: str, labels: list[str], index: np.ndarray
) -> dict[str, Any]:
    """Compute scores and intervals of all systems in every bucket that is not empty."""
    kept = [k for k in range(len(labels)) if (index == k).any()]
    renumbered = np.full(len(labels) + 1, -1)
    renumbered[kept] = np.arange(len(kept))
    rows: dict[str, list[Any]] = {name: [] for name in collected.statistics}
    sizes = []
    for k in kept:
        chosen = torch.from_numpy(np.nonzero(index == k)[0])
        sizes.append(collected.present[:, index == k].sum(1).tolist())
        names = list(collected.statistics)
        tables = [table[chosen] for name in names for table in collected.statistics[name]]
        sums = iter(bootstrap_sums(tables, BUCKET_SAMPLES, SEED))
        for name in names:
            metric, cells = collected.evaluator.metrics[name], []
            for table, n in zip(collected.statistics[name], sizes[-1], strict=True):
                score = float(metric.score(table[chosen].sum(0), segment=False))
                edges = percentile_interval(metric.score(next(sums), segment=False))
                cells.append([json_number(value) if n else None for value in (score, *edges)])
            rows[name].append(cells)
    labels = [labels[k] for k in kept]
    return {
        "title": title,
        "unit": unit,
        "labels": labels,
        "n": sizes,
        "scores": rows,
        "index": renumbered[index],
    }


def correlations(scores: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Compute the Pearson and Spearman correlations between the metrics' segment scores [S,N]."""
    tables = [torch.from_numpy(table[~np.isnan(table)]) for table in scores.values()]
    found: dict[str, Any] = {"metrics": list(scores), "n": len(tables[0])}
    for name, measure in (("pearson", pearson), ("spearman", spearman)):
        found[name] = [[json_number(float(measure(a, b))) for b in tables] for a in tables]
    return found


def human_correlations(
    collected: Collected, scores: Mapping[str, np.ndarray]
) -> list[dict[str, Any]]:
    """Correlate each metric with each human score.

    Args:
        collected: The data of a report, with human scores.
        scores: Segment scores by metric, [S,N].

    Returns:
        One row per human score and metric: Pearson's r of segments and of systems, and the share of
        pairs of outputs of one segment with the same order, where ties of the metric count half.
    """
    rows = []
    for title, judged in collected.corpus.human.items():
        table = torch.from_numpy(judged)
        for name, values in scores.items():
            own = torch.from_numpy(values)
            present = ~table.isnan() & ~own.isnan()
            pairs = count_pairs(table.T.nan_to_num(), own.T.nan_to_num(), present.T)
            ordered, ties = int(pairs.ordered.sum()), int(pairs.metric_ties.sum())
            share = (int(pairs.concordant.sum()) + ties / 2) / max(ordered + ties, 1)
            metric = collected.evaluator.metrics[name]
            corpus = metric.score(collected.statistics[name].sum(1), segment=False)
            means = torch.where(present, table, math.nan).nanmean(1)
            rows.append(
                {
                    "human": title,
                    "metric": name,
                    "n": int(present.sum()),
                    "pearson": json_number(float(correlate(table, own))),
                    "pairs": ordered + ties,
                    "share": json_number(share) if ordered + ties else None,
                    "systems": int((~means.isnan()).sum()),
                    "system": json_number(float(correlate_systems(means, corpus))),
                }
            )
    return rows


def qarla(collected: Collected) -> dict[str, Any] | None:
    """Compute KING, QUEEN and JACK with all metrics of the summary.

    Args:
        collected: The data of a summary.

    Returns:
        The measures over the first segments with at least three references; None if there are no
        such segments or fewer than two systems.
    """
    evaluator, references = collected.evaluator, collected.corpus.reference_rows()
    rows = [k for k, own in enumerate(references) if len(own) >= _MODELS][:_CASES]
    if not rows or len(collected.systems) < 2:
        return None
    tensors = similarity_tensors_from_segments(
        collected.corpus[rows], list(evaluator.metrics), evaluator
    )
    summary = summarize(tensors, collected.systems, SummaryOptions(), {}, {})
    return {
        "cases": summary.cases,
        "kings": {name: json_number(value) for name, value in summary.kings.items()},
        "best": {"metrics": summary.best["metrics"], "king": json_number(summary.best["king"])},
        "queens": {name: json_number(value) for name, value in summary.queens.items()},
        "jack": json_number(summary.jacks["all"]),
    }
