"""Data of the overview panels: systems, significance, buckets, and correlations.

Intervals are bootstrap intervals over segments, with the same samples for all systems and metrics.
p-values are those of `tensormt compare`, corrected by Holm for all pairs of systems by each metric.
Missing outputs do not contribute to sums; two systems are compared on the segments that both have.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import torch

from tensormt.metaeval.correlation import pearson, spearman
from tensormt.metaeval.grouping import correlate, correlate_systems
from tensormt.metaeval.pairs import count_pairs
from tensormt.qarla.from_texts import similarity_tensors_from_segments
from tensormt.qarla.summary import SummaryOptions, summarize
from tensormt.reporting.collect import Collected
from tensormt.reporting.word_buckets import BUCKET_SAMPLES
from tensormt.resampling import bootstrap_scores, intervals, percentile_interval
from tensormt.significance import compare
from tensormt.stored_scores import StoredInput

_LENGTHS = (10, 20, 30, 50)
_DEPTHS = (6, 9, 12, 15)
_SIMILARITIES = (0.2, 0.4, 0.6, 0.8)
_DOCUMENTS = 200  # number of documents that are shown, the largest ones
_CASES = 300  # maximum number of cases of QARLA
_MODELS = 3  # minimum number of references of a case


def json_number(value: float) -> float | None:
    """Round a number to seven digits for JSON; None for NaN and infinity.

    >>> json_number(0.123456789), json_number(math.nan)
    (0.1234568, None)
    """
    return float(f"{value:.7g}") if math.isfinite(value) else None


def systems(collected: Collected) -> dict[str, Any]:
    """Compute corpus scores and intervals of systems, and test all pairs of systems.

    Args:
        collected: The data of a summary.

    Returns:
        By metric, "scores" [S], "scored" [S], the numbers of outputs with a score, "intervals" [S]
        and "pairs": [a, b, p, p by Holm, score of a − score of b, n, wins, ties and losses of a]
        over the n segments for which both systems have a score, and "ends", the 95% intervals of
        these differences. p is None if n = 0.
    """
    statistics = collected.evaluated
    resampled = bootstrap_scores(statistics)
    numbers = {name: number for number, name in enumerate(statistics.systems)}
    compared = compare(statistics, all_pairs=True, resampled=resampled) if len(numbers) > 1 else ()
    return {
        name: {
            "scores": [json_number(score) for score in statistics.corpus(name).tolist()],
            "scored": (~np.isnan(statistics.segments(name))).sum(1).tolist(),
            "intervals": [
                [json_number(end) for end in percentile_interval(row)] for row in resampled[name]
            ],
            "pairs": [
                [
                    numbers[pair.baseline],
                    numbers[pair.system],
                    json_number(pair.p),
                    json_number(pair.p_holm),
                    json_number(pair.baseline_score - pair.score),
                    pair.segments,
                    pair.losses,
                    pair.ties,
                    pair.wins,
                ]
                for pair in compared
                if pair.metric == name
            ],
            "ends": [
                [_negated(pair.difference_high), _negated(pair.difference_low)]
                for pair in compared
                if pair.metric == name
            ],
        }
        for name in statistics.metrics
    }


def _negated(value: float | None) -> float | None:
    return None if value is None else json_number(-value)


def buckets(collected: Collected) -> list[dict[str, Any]]:
    """Partition the segments in several ways and score every bucket.

    Args:
        collected: The data of a summary.

    Returns:
        For each partition its title, unit, labels of buckets, number of outputs, scores, and the
        bucket of each segment.
    """
    first = [next(filter(None, row), "") for row in zip(*collected.refs, strict=True)]
    lengths = np.array([len(text.split()) for text in first])
    partitions = [_by_edges("reference length", "words", lengths, _LENGTHS)] if any(first) else []
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


def word_buckets(collected: Collected) -> list[dict[str, Any]]:
    """Score the words of the outputs by frequency and, where there are trees, by part of speech.

    Args:
        collected: The data of a summary.

    Returns:
        For each partition its title, unit, labels of buckets, numbers of reference words, and
        "words": F1, its interval, precision and recall of each system in each bucket. "missed" has
        for each system and segment a bit for each bucket of which the output lacks a word.
    """
    systems, present = len(collected.systems), collected.present
    found = [collected.words.by_frequency(systems, present)] if collected.words else []
    if collected.tagged is not None:
        found.append(collected.tagged.by_part_of_speech(systems, present))
    for partition in found:
        rows = partition.pop("rows")
        partition["words"] = [[[json_number(v) for v in own] for own in row] for row in rows]
    return [partition for partition in found if len(partition["labels"]) > 1]


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
        chosen = collected.evaluated.of_segments(np.nonzero(index == k)[0])
        sizes.append(chosen.present.sum(1).tolist())
        for name, ends in intervals(chosen, BUCKET_SAMPLES).items():
            scores = chosen.corpus(name).tolist()
            rows[name].append(
                [
                    [json_number(value) if n else None for value in (score, *own)]
                    for score, own, n in zip(scores, ends, sizes[-1], strict=True)
                ]
            )
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
    """Compute the Pearson and Spearman correlations between the metrics' segment scores [S,N].

    Outputs without a score by one of the metrics are left out.
    """
    known = ~np.any([np.isnan(table) for table in scores.values()], axis=0)
    tables = [torch.from_numpy(table[known]) for table in scores.values()]
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
        Error rates are negated.
    """
    rows = []
    for title, judged in collected.corpus.human.items():
        table = torch.from_numpy(judged)
        for name, values in scores.items():
            metric = collected.evaluator.metrics[name]
            better = 1 if metric.higher_is_better else -1
            own = better * torch.from_numpy(values)
            present = ~table.isnan() & ~own.isnan()
            pairs = count_pairs(table.T.nan_to_num(), own.T.nan_to_num(), present.T)
            ordered, ties = int(pairs.ordered.sum()), int(pairs.metric_ties.sum())
            share = (int(pairs.concordant.sum()) + ties / 2) / max(ordered + ties, 1)
            corpus = better * metric.score(collected.statistics[name].sum(1), segment=False)
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
    own = {
        name: metric
        for name, metric in collected.evaluator.metrics.items()
        if not isinstance(
            metric.reads, StoredInput
        )  # which cannot compare references with each other
    }
    references = collected.corpus.reference_rows()
    rows = [k for k, texts in enumerate(references) if len(texts) >= _MODELS][:_CASES]
    if not rows or not own or len(collected.systems) < 2:
        return None
    evaluator = collected.evaluator.with_metrics(own)
    tensors = similarity_tensors_from_segments(collected.corpus[rows], list(own), evaluator)
    summary = summarize(tensors, collected.systems, SummaryOptions(), {}, {})
    return {
        "cases": summary.cases,
        "kings": {name: json_number(value) for name, value in summary.kings.items()},
        "best": {"metrics": summary.best["metrics"], "king": json_number(summary.best["king"])},
        "queens": {name: json_number(value) for name, value in summary.queens.items()},
        "jack": json_number(summary.jacks["all"]),
    }
