"""`tm.report`: systems, references and metrics to one HTML file that opens from disk.

collect     one pass over the corpus: texts, statistics, counted items
overview    intervals, significance, buckets, metrics, people
item_counts what one system matches and another does not
tree_panel  trees and matches of the segments that differ most
page        all of it packed into the file
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tensormt.data.atomic_write import output_path
from tensormt.data.coercion import as_lines, as_list, as_names, as_streams
from tensormt.errors import TensorMTError
from tensormt.evaluator import Evaluator
from tensormt.metric import Metric
from tensormt.options import describe
from tensormt.reporting import overview
from tensormt.reporting.collect import Collected, collect
from tensormt.reporting.item_counts import Item, tallied
from tensormt.reporting.page import Packed, write
from tensormt.reporting.tree_panel import draw
from tensormt.segments import Segments
from tensormt.trees.batch import TreeBatch
from tensormt.trees.sources import PreparsedTrees, TreesAsText
from tensormt.validation import file_name, integer, on_device, optional, string, tensor_of, validate
from tensormt.version import __version__

TREES_FOR = 2000  # segments whose trees are drawn: those with the largest differences
_AT_ONCE = 50  # of them in one block of the file

Lines = Sequence[str | None] | TreeBatch


@validate(
    path=file_name,
    device=optional(on_device),
    trees_for=optional(integer()),
    title=string,
)
def report(
    hyps: Mapping[str, Sequence[str | None]],
    refs: Sequence[Sequence[str | None]],
    metrics: Sequence[str | Metric[Any]] = ("bleu", "stm", "hwcm"),
    path: str | PathLike[str] = "report.html",
    parser: Any = "default",
    device: str | torch.device | None = None,
    *,
    trees: bool | tuple[Mapping[str, Lines], Sequence[Lines]] = False,
    docs: Sequence[str] | None = None,
    human: Mapping[str, Tensor] | None = None,
    trees_for: int | None = TREES_FOR,
    title: str = "tensormt report",
) -> Path:
    """Write a page about systems, hyps {system: N segments}, against R reference streams.

    None is a segment without an output: it is left out, and the page says how many there are.
    `trees`: True where all texts are bracketings, or ({system: trees}, R of trees) beside the text.
    `docs`: a document id for each segment. `human`: scores of people by name, float64 [S,N], NaN
    where there is none. `trees_for`: how many segments have their trees drawn, None for all.

    >>> path = report({"A": ["a dog ran"], "B": ["the dog"]}, [["the dog ran"]], ["bleu"])
    >>> path.read_text(encoding="utf-8").startswith("<!doctype html>")
    True
    """
    output_path(Path(path))  # before the work
    if not isinstance(hyps, Mapping) or not hyps:
        raise TensorMTError("hyps is {system: list of segments}: give at least one system")
    lines = {str(name): as_lines(own, f"hyps[{name!r}]") for name, own in hyps.items()}
    segments = Segments(lines, as_streams(refs), None if docs is None else as_names(docs, "docs"))
    segments = replace(segments, human=_human(human or {}, len(lines), len(segments)))
    source = parser
    if not isinstance(trees, bool):
        source = PreparsedTrees(_beside(trees, hyps), segments)
    elif trees:
        source = TreesAsText()
    evaluator = Evaluator(metrics, source, device)
    return build(collect(evaluator, segments), path, trees_for, title)


def _human(human: Any, systems: int, segments: int) -> dict[str, np.ndarray]:
    """Human scores by name, float64 [S,N], if they fit."""
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


def _beside(trees: Any, hyps: Mapping[str, Any]) -> list[Any]:
    """The trees that lie beside the text: of the systems, then of the references."""
    pair = isinstance(trees, tuple | list) and len(trees) == 2
    if not pair or not isinstance(trees[0], Mapping) or set(trees[0]) != set(hyps):
        raise TensorMTError(
            "trees is True, or ({system: trees}, [trees of each stream of refs]) with the systems "
            f"of hyps: got {describe(trees)}"
        )
    return [*(trees[0][name] for name in hyps), *as_list(trees[1], "trees of refs")]


def build(
    collected: Collected,
    path: str | PathLike[str],
    trees_for: int | None = TREES_FOR,
    title: str = "tensormt report",
    progress: Callable[[str], object] = lambda step: None,
) -> Path:
    """Write the page of what was collected."""
    out, packed = output_path(Path(path)), Packed()
    progress("scores")
    scores = {name: collected.scores(name) for name in collected.statistics}
    totals = overview.systems(collected)
    signatures = collected.evaluator.signatures(len(collected.refs))
    metrics = [
        {
            "name": name,
            "digits": metric.digits,
            "signature": signatures[name],
            "columns": [packed.array(row, "f4") for row in scores[name]],
            **totals[name],
        }
        for name, metric in collected.evaluator.metrics.items()
    ]
    progress("buckets")
    ways = overview.buckets(collected)
    for way in ways:
        way["index"] = packed.array(way["index"] + 1, "u2")
    progress("metrics")
    meta = {
        "title": title,
        "version": __version__,
        "n": collected.segments,
        "systems": collected.systems,
        "outputs": collected.present.sum(1).tolist(),
        "refs": [packed.texts(lines) for lines in collected.refs],
        "hyps": [packed.texts(lines) for lines in collected.hyps],
        "docs": None if collected.docs is None else packed.texts(collected.docs),
        "metrics": metrics,
        "samples": overview.samples(collected),
        "bucketSamples": overview.BUCKET_SAMPLES,
        "buckets": ways,
        "correlations": overview.correlations(scores),
        "people": overview.people(collected, scores),
        "qarla": overview.qarla(collected),
    }
    progress("matches")
    meta["items"] = _items(tallied(collected), packed)
    progress("trees")
    meta["drawn"] = _drawn(collected, largest(scores, trees_for), packed)
    order = list(collected.evaluator.metrics)
    meta["views"] = [
        {
            "name": name,
            "metric": order.index(leaf.metric),
            "kind": leaf.found.kind,
            "orders": [leaf.found.name(k) for k in range(1, len(leaf.found.columns) + 1)],
        }
        for name, (leaf, *_) in collected.explained([0]).items()
    ]
    write(out, title, meta, packed)
    return Path(path)


def _items(items: list[Item], packed: Packed) -> list[dict[str, Any]]:
    """By metric and order: texts, counts and segments of the items."""
    groups: dict[tuple[str, int], list[Item]] = {}
    for item in items:
        groups.setdefault((item.leaf, item.order), []).append(item)
    found = []
    # characters behind all others: they tell the least
    for (leaf, order), members in sorted(
        groups.items(), key=lambda group: group[1][0].kind == "character"
    ):
        steps = [np.diff(item.segments, prepend=0) for item in members]
        found.append(
            {
                "metric": leaf,
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


def largest(scores: Mapping[str, np.ndarray], count: int | None) -> list[int]:
    """The segments where systems differ most in any metric, by rising number; None: all.

    Differences are taken in standard deviations of the metric's segment scores. Of a single system
    those with the lowest scores are taken.
    """
    size = next(iter(scores.values())).shape[1]
    if count is None or count >= size:
        return list(range(size))
    reach = np.zeros(size)
    for table in scores.values():
        spread = max(float(np.nanstd(table)), 1e-12)
        low, high = np.fmin.reduce(table), np.fmax.reduce(table)  # of the outputs that are there
        gap = high - low if len(table) > 1 else np.nanmax(table) - table[0]
        reach = np.fmax(reach, gap / spread)
    chosen: list[int] = sorted(np.argsort(-reach, kind="stable")[:count].tolist())
    return chosen


def _drawn(collected: Collected, segments: list[int], packed: Packed) -> dict[str, Any]:
    """Blocks of cards, and which segments have one."""
    blocks = []
    for start in range(0, len(segments), _AT_ONCE):
        blocks.append(packed.json(draw(collected, segments[start : start + _AT_ONCE])))
    array = packed.array(np.array(segments, np.uint32), "u4")
    return {"segments": array, "blocks": blocks, "each": _AT_ONCE}
