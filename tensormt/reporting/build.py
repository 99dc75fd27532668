"""`tm.report`: a comparison of systems as one HTML file that opens without a server.

collect      one pass over the corpus: texts, statistics, matched items
overview     intervals, significance, buckets, correlations with metrics and human scores
item_counts  items that one system matches and another does not
tree_panel   trees and matches of the segments in which systems differ most
page         the file
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tensormt.data.atomic_write import output_path
from tensormt.data.coercion import as_lines, as_names, as_streams
from tensormt.data.error_spans import Ratings
from tensormt.errors import TensorMTError
from tensormt.evaluator import Evaluator
from tensormt.metric import Metric
from tensormt.options import describe
from tensormt.registry import REPORT_METRICS
from tensormt.reporting import overview
from tensormt.reporting.collect import Collected, collect, stored_scores_alone
from tensormt.reporting.item_counts import Item, items_by_difference
from tensormt.reporting.page import PackedBlocks, write_page
from tensormt.reporting.report_path import ReportPath
from tensormt.reporting.tree_panel import segment_cards
from tensormt.reporting.word_buckets import BUCKET_SAMPLES
from tensormt.resampling import SEED, resamples
from tensormt.scoring import read_trees
from tensormt.segments import Segments
from tensormt.stored_scores import StoredInput
from tensormt.trees.batch import TreeBatch
from tensormt.validation import file_name, integer, on_device, optional, string, tensor_of, validate
from tensormt.version import __version__

TREES_FOR = 2000  # number of segments whose trees are shown: those with the largest differences
_BLOCK = 50  # such segments in one block of the file

Lines = Sequence[str | None] | TreeBatch


@validate(
    path=file_name,
    device=optional(on_device),
    trees_for=optional(integer()),
    title=string,
)
def report(
    hyps: Mapping[str, Sequence[str | None]],
    refs: Sequence[Sequence[str | None]] | None,
    metrics: Sequence[str | Metric[Any]] = REPORT_METRICS,
    path: str | PathLike[str] = "report.html",
    parser: Any = "default",
    device: str | torch.device | None = None,
    *,
    trees: bool | tuple[Mapping[str, Lines], Sequence[Lines]] = False,
    docs: Sequence[str] | None = None,
    sources: Sequence[str | None] | None = None,
    human: Mapping[str, Tensor] | None = None,
    ratings: Ratings | None = None,
    trees_for: int | None = TREES_FOR,
    title: str = "tensormt report",
) -> ReportPath:
    """Write a report that compares systems as an HTML file.

    Args:
        hyps: The outputs of each system, N segments each; None: the system has no output there.
        refs: R streams of N references; None or blank: no such reference. None instead of streams:
            there are no references, and all metrics are scores of other tools (`tm.Scores`).
        metrics: Metrics, or their names as on the command line.
        path: The file.
        parser: Parser, or its name, for metrics that read trees.
        device: Device of the computation; None: the default device.
        trees: True if all texts are bracketed trees; or the trees of the texts, as a pair of
            {system: N trees} and R streams of N trees. False: a parser makes the trees.
        docs: Document id of each segment.
        sources: Source text of each segment; None: not known.
        human: Human scores by name, float64 [S,N]; NaN where there is no score.
        ratings: Errors that people marked in the outputs (`tensormt.data.error_spans`).
        trees_for: Number of segments whose trees are shown; None: all.
        title: Title of the page.

    Returns:
        The file; a notebook shows the report itself.

    Raises:
        TensorMTError: If the inputs do not align, a metric is unknown, or the file cannot be
            written; most of this is checked before anything is computed.

    >>> path = report({"A": ["a dog ran"], "B": ["the dog"]}, [["the dog ran"]], ["bleu"])
    >>> path.read_text(encoding="utf-8").startswith("<!doctype html>")
    True
    """
    output_path(Path(path))  # raises before the computation
    if not isinstance(hyps, Mapping) or not hyps:
        raise TensorMTError("hyps is {system: list of segments}: give at least one system")
    lines = {str(name): as_lines(own, f"hyps[{name!r}]") for name, own in hyps.items()}
    none: list[str | None] = [None] * len(next(iter(lines.values())))
    streams = [none] if refs is None else as_streams(refs)
    segments = Segments(lines, streams, None if docs is None else as_names(docs, "docs"))
    segments = replace(
        segments,
        human=_human(human or {}, len(lines), len(segments)),
        sources=None if sources is None else as_lines(sources, "sources"),
    )
    evaluator = Evaluator(metrics, read_trees(trees, segments, parser), device)
    if refs is None and not stored_scores_alone(evaluator):
        raise TensorMTError(
            "refs is None: only scores of other tools (tm.Scores) need no reference"
        )
    if ratings is not None and list(ratings.spans) != list(lines):
        raise TensorMTError(
            f"ratings of {', '.join(ratings.spans)}, the outputs are those of {', '.join(lines)}: "
            "read them with read_ratings(paths, hyps)"
        )
    return build(collect(evaluator, segments, ratings=ratings), path, trees_for, title)


def _human(human: Any, systems: int, segments: int) -> dict[str, np.ndarray]:
    """Check human scores by name, and convert them to float64 [S,N]."""
    if not isinstance(human, Mapping):
        raise TensorMTError(f"human is {describe(human)}, expected {{name: scores [S,N]}}")
    for name, table in human.items():
        tensor_of("systems", "segments")(table, f"human[{name!r}]")
        if table.shape != (systems, segments):
            raise TensorMTError(
                f"human scores {name!r} are {list(table.shape)}: expected "
                f"[{systems}, {segments}], systems by segments"
            )
    return {str(name): table.double().cpu().numpy() for name, table in human.items()}


def build(
    collected: Collected,
    path: str | PathLike[str],
    trees_for: int | None = TREES_FOR,
    title: str = "tensormt report",
    progress: Callable[[str], object] = lambda step: None,
) -> ReportPath:
    """Write the report of collected data.

    Args:
        collected: The data.
        path: The file.
        trees_for: Number of segments whose trees are shown; None: all.
        title: Title of the page.
        progress: Called with the name of each step.

    Returns:
        The file.

    Raises:
        TensorMTError: If the file cannot be written.
    """
    out, packed = output_path(Path(path)), PackedBlocks()
    progress("scores")
    scores = {name: collected.scores(name) for name in collected.statistics}
    totals = overview.systems(collected)
    signatures = collected.evaluator.signatures(len(collected.refs))
    metrics = [
        {
            "name": name,
            "digits": metric.digits,
            "higher": metric.higher_is_better,
            "signature": signatures[name],
            "stored": isinstance(metric.reads, StoredInput),
            "summary": metric.summary,
            "columns": [packed.array(row, "f4") for row in scores[name]],
            **totals[name],
        }
        for name, metric in collected.evaluator.metrics.items()
    ]
    human = collected.corpus.human
    progress("buckets")
    buckets = overview.buckets(collected)
    for partition in buckets:
        partition["index"] = packed.array(partition["index"] + 1, "u2")
    words = overview.word_buckets(collected)
    for partition in words:
        partition["missed"] = [packed.array(own, "u4") for own in partition["missed"]]
    progress("metrics")
    meta = {
        "title": title,
        "version": __version__,
        "n": collected.segments,
        "systems": collected.systems,
        "outputs": collected.present.sum(1).tolist(),
        "refs": [packed.texts(lines) for lines in collected.refs if any(map(any, collected.refs))],
        "texts": any(map(any, collected.hyps)),
        "hyps": [packed.texts(lines) for lines in collected.hyps],
        "docs": None if collected.docs is None else packed.texts(collected.docs),
        "sources": _sources(collected, packed),
        "errors": _errors(collected, packed),
        "agreement": [] if collected.agreement is None else collected.agreement.rows(),
        "metrics": metrics,
        "human": [_human_column(name, table, packed) for name, table in human.items()],
        "samples": resamples(len(collected.systems), collected.segments),
        "seed": SEED,
        "bucketSamples": BUCKET_SAMPLES,
        "buckets": [*buckets, *words],
        "correlations": overview.correlations(scores),
        "people": overview.human_correlations(collected, scores),
        "qarla": overview.qarla(collected),
    }
    progress("matches")
    meta["items"] = _items(items_by_difference(collected), packed)
    progress("trees")
    errors = {name for name, own in collected.evaluator.metrics.items() if not own.higher_is_better}
    chosen = most_different_segments(scores, trees_for, errors)
    meta["drawn"] = _cards(collected, chosen, packed)
    order = list(collected.evaluator.metrics)
    meta["views"] = [
        {
            "name": name,
            "metric": order.index(matches.metric),
            "kind": matches.explanation.kind,
            "orders": matches.explanation.names(),
        }
        for name, (matches, *_) in collected.explain([0]).items()
    ]
    write_page(out, title, meta, packed)
    return ReportPath(path)


def _sources(collected: Collected, packed: PackedBlocks) -> dict[str, Any] | None:
    """Pack the source texts; None if no segment has one."""
    sources = collected.corpus.sources
    return packed.texts([text or "" for text in sources]) if sources and any(sources) else None


def _errors(collected: Collected, packed: PackedBlocks) -> list[dict[str, Any]] | None:
    """Pack the errors of each system, a line of JSON for each segment; "" where nobody rated."""
    if collected.ratings is None:
        return None

    def line(spans: Sequence[Sequence[Any]] | None) -> str:
        return "" if spans is None else json.dumps(spans, ensure_ascii=False)

    return [packed.texts([line(own) for own in rows]) for rows in collected.ratings.spans.values()]


def _human_column(name: str, table: np.ndarray, packed: PackedBlocks) -> dict[str, Any]:
    """Pack human scores [S,N], with as many digits as tell them apart, two at most."""
    known = table[~np.isnan(table)]
    digits = next((d for d in (0, 1) if np.array_equal(np.round(known, d), known)), 2)
    columns = [packed.array(row, "f4") for row in table]
    return {"name": name, "digits": digits, "higher": True, "columns": columns}


def _items(items: list[Item], packed: PackedBlocks) -> list[dict[str, Any]]:
    """Return the texts, counts and segments of items, grouped by metric and order."""
    groups: dict[tuple[str, int], list[Item]] = {}
    for item in items:
        groups.setdefault((item.metric, item.order), []).append(item)
    found = []
    # Character n-grams come last: they are the least informative.
    for (metric, order), members in sorted(
        groups.items(), key=lambda group: group[1][0].kind == "character"
    ):
        steps = [np.diff(item.segments, prepend=0) for item in members]
        found.append(
            {
                "metric": metric,
                "name": members[0].name,
                "kind": members[0].kind,
                "order": order,
                "texts": [item.text for item in members],
                "counts": [item.counts for item in members],
                "sizes": [len(item.segments) for item in members],
                "steps": packed.array(np.concatenate(steps), "u4"),
            }
        )
    return found


def most_different_segments(
    scores: Mapping[str, np.ndarray], count: int | None, errors: Collection[str] = ()
) -> list[int]:
    """Return the segments in which systems differ most in any metric.

    Differences are measured in standard deviations of the metric's segment scores. For a single
    system the segments with the worst scores are returned.

    Args:
        scores: Segment scores by metric, [S,N].
        count: Number of segments; None: all.
        errors: Metrics of which lower scores are better.

    Returns:
        Numbers of the segments in ascending order.

    >>> most_different_segments({"m": np.array([[0.1, 0.5, 0.9], [0.1, 0.6, 0.2]])}, 1)
    [2]
    """
    size = next(iter(scores.values())).shape[1]
    if count is None or count >= size:
        return list(range(size))
    largest = np.zeros(size)
    for name, given in scores.items():
        table = -given if name in errors else given
        spread = max(float(np.nanstd(table)), 1e-12)
        low, high = np.fmin.reduce(table), np.fmax.reduce(table)
        gap = high - low if len(table) > 1 else np.nanmax(table) - table[0]
        largest = np.fmax(largest, gap / spread)
    chosen: list[int] = sorted(np.argsort(-largest, kind="stable")[:count].tolist())
    return chosen


def _cards(collected: Collected, segments: list[int], packed: PackedBlocks) -> dict[str, Any]:
    """Pack the cards of some segments in blocks, and the numbers of these segments."""
    blocks = []
    for start in range(0, len(segments), _BLOCK):
        blocks.append(packed.json(segment_cards(collected, segments[start : start + _BLOCK])))
    array = packed.array(np.array(segments, np.uint32), "u4")
    return {"segments": array, "blocks": blocks, "each": _BLOCK}
