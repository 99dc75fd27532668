"""One pass over a corpus: texts, statistics, and the items that were counted as matched.

Each text of a chunk is prepared once for all metrics. Texts and statistics of all segments are
kept, and of the matches a flat table for each metric (key, order, segment, system, place), from
which `item_counts` finds what one system matches and another does not.

An output that is missing (None, not an empty line) is left out: its row of statistics is 0, its
score NaN, and every n says how many there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from tensormt.data.corpus import Corpus
from tensormt.errors import NoExplanation, TensorMTError
from tensormt.evaluator import Evaluator
from tensormt.explanation import Explanation
from tensormt.inputs import Trees
from tensormt.metric import Metric
from tensormt.prepared import PreparedTexts
from tensormt.reporting.explained import CHUNK
from tensormt.segments import Segments
from tensormt.statistics import Statistics

_LETTERS = 20_000  # outputs whose character n-grams are tallied: a hundred times their words
_SHORTEST = 3  # characters of an n-gram worth a tally


class Leaf(NamedTuple):
    """What one metric matched, by itself or as a member of the mean that the page shows.

    `name`: "stm", or "blend: chrF"; its score counts `weight` times in that of `metric`; `columns`
    are its statistics among those of that metric, None for all.
    """

    metric: str
    name: str
    weight: float
    own: Metric[Any]
    columns: list[int] | None
    found: Explanation

    def rows(self, statistics: Tensor) -> Tensor:
        """The leaf's own statistics among those of the metric on the page."""
        return statistics if self.columns is None else statistics[:, self.columns]


def _leaves(
    name: str, metric: Metric[Any], found: Explanation, of: Leaf | None = None
) -> Iterator[Leaf]:
    """The explanation itself, or those of the members."""
    here = of or Leaf(name, name, 1.0, metric, None, found)
    if not found.parts:
        yield here
    for part in found.parts:
        columns = list(part.columns)
        if here.columns is not None:
            columns = [here.columns[k] for k in columns]
        title = f"{here.name}: {part.name}"
        member = Leaf(name, title, here.weight * part.weight, part.metric, columns, part.found)
        yield from _leaves(name, part.metric, part.found, member)


@dataclass
class ItemCounts:
    """The counted items of one leaf, arrays [n]."""

    metric: str
    kind: str
    names: list[str]  # of the items of each order
    parts: list[tuple[np.ndarray, ...]] = field(default_factory=list)

    def add(self, found: Explanation, start: int, system: int) -> None:
        """Take in the counted items of a chunk that starts at a segment."""
        items = found.items
        if items is None:
            return
        wanted = (
            items.counted & (items.hyp.order >= _SHORTEST) if found.characters else items.counted
        )
        chosen = wanted.cpu().numpy()
        segment, order, place, key = (part.cpu().numpy()[chosen] for part in items.hyp)
        self.parts.append(
            (
                key,
                order.astype(np.int16),
                (segment + start).astype(np.int32),
                np.full(len(key), system, np.int16),
                place.astype(np.int32),
            )
        )

    def arrays(self) -> tuple[np.ndarray, ...]:
        """Key, order, segment, system, place of all."""
        return tuple(np.concatenate(part) for part in zip(*self.parts, strict=True))


@dataclass
class Collected:
    """What the page is made of: N segments, S systems, R references, X metrics."""

    evaluator: Evaluator
    systems: list[str]  # as they are shown
    corpus: Segments  # all segments, as they were read
    hyps: list[list[str]]  # [S][N], as they are shown: of trees, their words
    refs: list[list[str]]  # [R][N], "" where there is none
    found: Statistics
    item_counts: dict[str, ItemCounts]  # by leaf, for metrics that explain their items
    depths: np.ndarray | None  # of the first reference's tree, int [N]

    @property
    def docs(self) -> list[str] | None:
        """Document of every segment, where known."""
        return self.corpus.documents

    @property
    def statistics(self) -> Mapping[str, Tensor]:
        """By metric, [S,N,K]."""
        return self.found.tables

    @property
    def present(self) -> np.ndarray:
        """Where systems have an output, bool [S,N]."""
        present: np.ndarray = self.found.present.numpy()
        return present

    @property
    def segments(self) -> int:
        """N."""
        return len(self.corpus)

    def scores(self, metric: str) -> np.ndarray:
        """Segment scores, float64 [S,N]; NaN where there is no output."""
        scores: np.ndarray = self.found.segments(metric).numpy()
        return scores

    def explained(self, segments: Sequence[int]) -> dict[str, list[Leaf]]:
        """What each metric matched in some segments, by leaf and system."""
        texts = self.evaluator.prepare(self.corpus[segments])
        found: dict[str, list[Leaf]] = {}
        for name in self.evaluator.metrics:
            for leaf in _explained(self.evaluator, texts, name) or ():
                found.setdefault(leaf.name, []).append(leaf)
        return found


def _explained(evaluator: Evaluator, texts: PreparedTexts, name: str) -> list[Leaf] | None:
    """What a metric matched, leaf by leaf, for each system; None if it does not say it."""
    metric = evaluator.metrics[name]
    try:
        found = evaluator.explain(texts, name)
    except NoExplanation:
        return None
    return [leaf for each in found for leaf in _leaves(name, metric, each)]


def collect(
    evaluator: Evaluator,
    corpus: Corpus | Segments,
    names: Sequence[str] | None = None,
    size: int = CHUNK,
    progress: Callable[[int], object] = lambda count: None,
) -> Collected:
    """Evaluate a corpus and collect what the page shows.

    Args:
        evaluator: Metrics with their source of trees.
        corpus: The corpus; outputs that are None are left out and counted.
        names: What the systems are called on the page.
        size: Segments at a time.
        progress: Called with the number of segments that are done.
    """
    if not len(corpus):
        raise TensorMTError("no segments to report on: the files are empty")
    evaluator = evaluator.fit(corpus)
    count = len(corpus.systems)
    many = count * len(corpus) > _LETTERS
    parts: list[Segments] = []
    statistics: list[Statistics] = []
    shown: list[list[str]] = [[] for _ in range(count + corpus.reference_count)]
    item_counts: dict[str, ItemCounts] = {}
    silent: set[str] = set()
    depths: list[np.ndarray] = []
    for segments in corpus.chunks(min(size, CHUNK)):
        texts = evaluator.prepare(segments)
        statistics.append(evaluator.evaluate(segments, texts))
        for name in evaluator.metrics:
            leaves = None if name in silent else _explained(evaluator, texts, name)
            if leaves is None:
                silent.add(name)
                continue
            each = len(leaves) // max(count, 1)  # leaves come system by system
            for place, leaf in enumerate(leaves):
                if leaf.found.items is None or (many and leaf.found.characters):
                    continue
                orders = range(1, len(leaf.found.columns) + 1)
                titles = [leaf.found.name(order) for order in orders]
                counts = item_counts.setdefault(
                    leaf.name, ItemCounts(name, leaf.found.kind, titles)
                )
                counts.add(leaf.found, segments.number(0), place // each)
        if evaluator.reads_trees:
            depths.append(_depths(Trees("dependency").batches(texts)[count]))
        for number, lines in enumerate(shown):
            lines += texts.lines(number)
        parts.append(segments)
        progress(len(segments))
    return Collected(
        evaluator,
        list(names or corpus.systems),
        Segments.concat(parts),
        shown[:count],
        shown[count:],
        Statistics.concat(statistics),
        item_counts,
        np.concatenate(depths) if depths else None,
    )


def _depths(trees: Any) -> np.ndarray:
    """Levels of every tree, int64 [B]; 0 for no tree."""
    nodes = trees.nodes
    most = torch.zeros(nodes.trees, dtype=torch.int64, device=nodes.parent.device)
    deepest: np.ndarray = most.scatter_reduce(0, nodes.segment, nodes.depth, "amax").cpu().numpy()
    return deepest
