"""The numbers of the page's upper panels: systems, significance, buckets, metrics, people.

Every interval is a bootstrap over segments, drawn once for all systems and metrics; p-values are
those of `tensormt compare --all-pairs`, corrected by Holm for each metric. Outputs that are missing
have no share in a sum; a pair of systems is compared over the segments that both have.
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
_AGREEMENTS = (0.2, 0.4, 0.6, 0.8)
_DOCUMENTS = 200  # the largest ones
_CASES = 300  # of QARLA
_MODELS = 3  # references of a case, at least
_DRAWS = 10**8  # segments drawn in all: about two seconds


def number(value: float) -> float | None:
    """A number that JSON has: None for NaN and infinity; seven digits."""
    return float(f"{value:.7g}") if math.isfinite(value) else None


def samples(collected: Collected) -> int:
    """Resamples of the corpus: more where many pairs are compared and the corpus is small.

    The least p is 1 / (samples + 1), and Holm multiplies it by the number of pairs.
    """
    pairs = len(collected.systems) * (len(collected.systems) - 1) // 2
    wanted = min(max(SAMPLES, 40 * pairs), 10 * SAMPLES)
    return wanted if wanted * collected.segments <= _DRAWS else SAMPLES


def systems(collected: Collected) -> dict[str, Any]:
    """By metric: corpus scores and intervals of the systems; gap, p and n of the pairs.

    A pair: [a, b, p, p by Holm, score of a − score of b, n], over the segments that both have.
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
        drawn = [metric.score(rows, segment=False) for rows in own]
        gaps, values = [], []
        for (a, b), both in zip(pairs, common, strict=True):
            one, two, few = (drawn[a], scores[a]), (drawn[b], scores[b]), int(both.sum())
            if few < max(collected.present[a].sum(), collected.present[b].sum()):
                chosen = torch.from_numpy(np.nonzero(both)[0])
                one, two = _drawn(metric, [collected.statistics[name][k][chosen] for k in (a, b)])
            gaps.append((one[1] - two[1], few))
            values.append(difference_p_value(one[0], two[0], one[1], two[1], few) if few else 1.0)
        found[name] = {
            "scores": [
                number(score) if n else None
                for score, n in zip(scores, collected.present.sum(1), strict=True)
            ],
            "intervals": [[number(edge) for edge in percentile_interval(rows)] for rows in drawn],
            "pairs": [
                [a, b, number(p), number(corrected), number(gap), few]
                for (a, b), p, corrected, (gap, few) in zip(
                    pairs, values, holm(values), gaps, strict=True
                )
            ],
        }
    return found


def _drawn(metric: Metric[Any], tables: list[Tensor]) -> list[tuple[Tensor, float]]:
    """Scores of systems: drawn [S] times together, and the real one."""
    if not len(tables[0]):
        return [(torch.zeros(1, dtype=torch.float64), 0.0) for _ in tables]
    sums = bootstrap_sums(tables, SAMPLES, SEED)
    return [
        (metric.score(rows, segment=False), float(metric.score(table.sum(0), segment=False)))
        for rows, table in zip(sums, tables, strict=True)
    ]


def buckets(collected: Collected) -> list[dict[str, Any]]:
    """Ways to part the segments, each with labels, the bucket of each segment, and scores."""
    first = [next(filter(None, row)) for row in zip(*collected.refs, strict=True)]
    lengths = np.array([len(text.split()) for text in first])
    ways = [_by_edges("reference length", "words", lengths, _LENGTHS)]
    if collected.depths is not None:
        ways.append(_by_edges("tree depth of the reference", "levels", collected.depths, _DEPTHS))
    if len(collected.refs) > 1:
        alike = np.array([_agreement(row) for row in zip(*collected.refs, strict=True)])
        title = "agreement among references"
        ways.append(_by_edges(title, "mean Dice of words", alike, _AGREEMENTS))
    if collected.docs is not None:
        names, index, counts = np.unique(collected.docs, return_inverse=True, return_counts=True)
        largest = np.argsort(-counts, kind="stable")[:_DOCUMENTS]
        slot = np.full(len(names), len(largest))
        slot[largest] = np.arange(len(largest))
        labels = [str(names[k]) for k in largest]
        labels += ["other documents"] if len(names) > len(largest) else []
        ways.append(("document", "", labels, slot[index]))
    return [_scored(collected, *way) for way in ways if len(set(way[3].tolist())) > 1]


Way = tuple[str, str, list[str], np.ndarray]


def _by_edges(title: str, unit: str, values: np.ndarray, edges: tuple[float, ...]) -> Way:
    whole = values.dtype.kind == "i"
    labels = [f"below {edges[0]}"]
    for low, high in pairwise(edges):
        labels.append(f"{low}–{high - 1}" if whole else f"{low} to {high}")
    labels.append(f"{edges[-1]} and more")
    index = np.where(np.isnan(values), -1, np.digitize(values, edges))
    return title, unit, labels, index.astype(np.int64)


def _agreement(texts: tuple[str, ...]) -> float:
    """Mean Dice coefficient of the word sets of all pairs of references; NaN for one alone."""
    words = [set(text.lower().split()) for text in texts if text]
    pairs = list(combinations(words, 2))
    if not pairs:
        return math.nan
    return sum(2 * len(a & b) / (len(a) + len(b)) for a, b in pairs) / len(pairs)


def _scored(
    collected: Collected, title: str, unit: str, labels: list[str], index: np.ndarray
) -> dict[str, Any]:
    """Scores and intervals of all systems in every bucket that holds a segment."""
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
                cells.append([number(value) if n else None for value in (score, *edges)])
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
    """Pearson and Spearman between the segment scores [S,N] of all metrics."""
    tables = [torch.from_numpy(table[~np.isnan(table)]) for table in scores.values()]
    found: dict[str, Any] = {"metrics": list(scores), "n": len(tables[0])}
    for name, measure in (("pearson", pearson), ("spearman", spearman)):
        found[name] = [[number(float(measure(a, b))) for b in tables] for a in tables]
    return found


def people(collected: Collected, scores: Mapping[str, np.ndarray]) -> list[dict[str, Any]]:
    """Agreement of each metric with each kind of human score [S,N]; NaN is no score."""
    rows = []
    for title, judged in collected.corpus.human.items():
        table = torch.from_numpy(judged)
        for name, values in scores.items():
            own = torch.from_numpy(values)
            real = ~table.isnan() & ~own.isnan()
            pairs = count_pairs(table.T.nan_to_num(), own.T.nan_to_num(), real.T)
            ordered, ties = int(pairs.ordered.sum()), int(pairs.metric_ties.sum())
            share = (int(pairs.concordant.sum()) + ties / 2) / max(ordered + ties, 1)
            metric = collected.evaluator.metrics[name]
            corpus = metric.score(collected.statistics[name].sum(1), segment=False)
            means = torch.where(real, table, math.nan).nanmean(1)
            rows.append(
                {
                    "human": title,
                    "metric": name,
                    "n": int(real.sum()),
                    "pearson": number(float(correlate(table, own))),
                    "pairs": ordered + ties,
                    "share": number(share) if ordered + ties else None,
                    "systems": int((~means.isnan()).sum()),
                    "system": number(float(correlate_systems(means, corpus))),
                }
            )
    return rows


def qarla(collected: Collected) -> dict[str, Any] | None:
    """KING, QUEEN and JACK over segments with three references or more; None where they lack."""
    evaluator = collected.evaluator
    rows = [k for k, refs in enumerate(collected.corpus.reference_rows()) if len(refs) >= _MODELS][
        :_CASES
    ]
    if not rows or len(collected.systems) < 2:
        return None
    tensors = similarity_tensors_from_segments(
        collected.corpus[rows], list(evaluator.metrics), evaluator
    )
    report = summarize(tensors, collected.systems, SummaryOptions(), {}, {})
    return {
        "cases": report.cases,
        "kings": {name: number(value) for name, value in report.kings.items()},
        "best": {"metrics": report.best["metrics"], "king": number(report.best["king"])},
        "queens": {name: number(value) for name, value in report.queens.items()},
        "jack": number(report.jacks["all"]),
    }
