"""`tm.report`: systems, references and metrics to one HTML file that opens from disk.

gather      one walk over the corpus: texts, statistics, counted items
overview    intervals, significance, buckets, metrics, people
tallies     what one system matches and another does not
drawn       trees and matches of the segments that differ most
page        all of it packed into the file
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tensormt.data.atomic_write import output_path
from tensormt.data.coercion import as_lines, as_list, as_names, as_streams
from tensormt.data.corpus import Corpus
from tensormt.errors import TensorMTError
from tensormt.metric import Metric
from tensormt.options import describe
from tensormt.reporting import overview
from tensormt.reporting.collect import Gathered, gather
from tensormt.reporting.item_counts import Item, tallied
from tensormt.reporting.page import Packed, write
from tensormt.reporting.tree_panel import draw
from tensormt.scoring import Scorer
from tensormt.trees.batch import TreeBatch
from tensormt.trees.sources import PreparsedTrees, TreesAsText
from tensormt.validation import file_name, integer, on_device, optional, string, tensor_of, validate
from tensormt.version import __version__

__all__ = ["TREES_FOR", "build", "report"]

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
    streams = as_streams(refs)
    if not streams:
        raise TensorMTError("no reference given: refs is a list of at least one stream")
    scorer = Scorer(metrics, device=device)
    corpus = Corpus.of_lists(dict(lines), streams, None if docs is None else as_names(docs, "docs"))
    present = np.array([[line is not None for line in own] for own in lines.values()])
    if not isinstance(trees, bool):
        batches = _beside(trees, hyps)
        scorer.trees = PreparsedTrees(batches, [corpus.segments] * (len(hyps) + len(streams)))
    elif trees:
        scorer.trees = TreesAsText()
    elif scorer.needs_trees:
        from tensormt.parser.cache import tree_source

        scorer.trees = tree_source(parser, device)
    return build(gather(scorer, corpus, present=present), path, human or {}, trees_for, title)


def _beside(trees: Any, hyps: Mapping[str, Any]) -> list[TreeBatch]:
    """The trees that lie beside the text: of the systems, then of the references."""
    pair = isinstance(trees, tuple | list) and len(trees) == 2
    if not pair or not isinstance(trees[0], Mapping) or set(trees[0]) != set(hyps):
        raise TensorMTError(
            "trees is True, or ({system: trees}, [trees of each stream of refs]) with the systems "
            f"of hyps: got {describe(trees)}"
        )
    listed = [*(trees[0][name] for name in hyps), *as_list(trees[1], "trees of refs")]
    return [t if isinstance(t, TreeBatch) else TreeBatch.from_brackets(t) for t in listed]


def build(
    gathered: Gathered,
    path: str | PathLike[str],
    human: Mapping[str, Tensor],
    trees_for: int | None = TREES_FOR,
    title: str = "tensormt report",
    progress: Callable[[str], object] = lambda step: None,
) -> Path:
    """Write the page of what was gathered."""
    if not isinstance(human, Mapping):
        raise TensorMTError(f"human is {describe(human)}, expected {{name: scores [S,N]}}")
    for name, table in human.items():
        tensor_of("systems", "segments")(table, f"human[{name!r}]")
        if table.shape != (len(gathered.systems), gathered.segments):
            raise TensorMTError(
                f"human scores {name!r} are {list(table.shape)}: expected "
                f"[{len(gathered.systems)}, {gathered.segments}], systems by segments"
            )
    out, packed = output_path(Path(path)), Packed()
    progress("scores")
    scores = {name: gathered.scores(name) for name in gathered.statistics}
    totals = overview.systems(gathered)
    metrics = [
        {
            "name": name,
            "digits": metric.digits,
            "signature": gathered.scorer.signature(name, len(gathered.refs)),
            "columns": [packed.array(row, "f4") for row in scores[name]],
            **totals[name],
        }
        for name, metric in gathered.scorer.metrics.items()
    ]
    progress("buckets")
    ways = overview.buckets(gathered)
    for way in ways:
        way["index"] = packed.array(way["index"] + 1, "u2")
    progress("metrics")
    meta = {
        "title": title,
        "version": __version__,
        "n": gathered.segments,
        "systems": gathered.systems,
        "outputs": gathered.present.sum(1).tolist(),
        "refs": [packed.texts(lines) for lines in gathered.refs],
        "hyps": [packed.texts(lines) for lines in gathered.hyps],
        "docs": None if gathered.docs is None else packed.texts(gathered.docs),
        "metrics": metrics,
        "samples": overview.samples(gathered),
        "bucketSamples": overview.BUCKET_SAMPLES,
        "buckets": ways,
        "correlations": overview.correlations(scores),
        "people": overview.people(gathered, scores, human),
        "qarla": overview.qarla(gathered),
    }
    progress("matches")
    meta["items"] = _items(tallied(gathered), packed)
    progress("trees")
    meta["drawn"] = _drawn(gathered, largest(scores, trees_for), packed)
    order = list(gathered.scorer.metrics)
    meta["views"] = [
        {
            "name": name,
            "metric": order.index(leaf.metric),
            "kind": leaf.found.kind,
            "orders": [leaf.found.name(k) for k in range(1, len(leaf.found.columns) + 1)],
        }
        for name, (leaf, *_) in gathered.explained([0]).items()
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


def _drawn(gathered: Gathered, segments: list[int], packed: Packed) -> dict[str, Any]:
    """Blocks of cards, and which segments have one."""
    blocks = []
    for start in range(0, len(segments), _AT_ONCE):
        blocks.append(packed.json(draw(gathered, segments[start : start + _AT_ONCE])))
    array = packed.array(np.array(segments, np.uint32), "u4")
    return {"segments": array, "blocks": blocks, "each": _AT_ONCE}
