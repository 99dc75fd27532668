"""One walk over a corpus: texts, statistics, and the items that were counted as matched.

Chunk by chunk each text is read once for all metrics. Texts and scores of all segments are kept, as
the page shows them; of the matches a flat table for each metric (key, order, segment, system,
place), from which `tallies` counts what one system matches and another does not.

An output that is missing (None, not an empty line) is left out: its row of statistics is 0, its
score NaN, and every n says how many there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from tensormt.data.corpus import Chunk, Corpus
from tensormt.errors import NoExplanation, SegmentError, TensorMTError
from tensormt.explanation import Explanation
from tensormt.inputs import Trees
from tensormt.metric import Metric
from tensormt.prepared import Texts
from tensormt.reporting.explained import CHUNK
from tensormt.scoring import Scorer

__all__ = ["Gathered", "Leaf", "Tally", "gather"]

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
class Tally:
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
class Gathered:
    """What the page is made of: N segments, S systems, R references, X metrics."""

    scorer: Scorer
    systems: list[str]
    hyps: list[list[str]]  # [S][N]
    refs: list[list[str]]  # [R][N], "" where there is none
    docs: list[str] | None
    statistics: dict[str, list[Tensor]]  # by metric, of each system [N,K]
    present: np.ndarray  # bool [S,N]: the system has an output
    tallies: dict[str, Tally]  # by leaf, for metrics that explain their items
    depths: np.ndarray | None  # of the first reference's tree, int [N]
    chunks: Callable[[Sequence[int]], Chunk]  # some segments once more

    @property
    def segments(self) -> int:
        """N."""
        return len(self.refs[0])

    def scores(self, metric: str) -> np.ndarray:
        """Segment scores, float64 [S,N]; NaN where there is no output."""
        tables = self.statistics[metric]
        made = self.scorer.metrics[metric]
        scores = np.stack([made.score(table, segment=True).numpy() for table in tables])
        return np.where(self.present, scores, np.nan)

    def explained(self, segments: Sequence[int]) -> dict[str, list[Leaf]]:
        """Some segments read again: what each metric matched, by leaf and system."""
        chunk = self.chunks(segments)
        streams = [*chunk.hyps.values(), *chunk.refs]
        texts = _texts(self.scorer, streams, chunk, segments)
        found: dict[str, list[Leaf]] = {}
        for name, metric in self.scorer.metrics.items():
            hyps, refs = texts.sides(metric.reads, len(self.systems))
            try:
                for hyp in hyps:
                    for leaf in _leaves(name, metric, metric.explain(hyp, refs)):
                        found.setdefault(leaf.name, []).append(leaf)
            except NoExplanation:
                continue
        return found


def _texts(scorer: Scorer, streams: Any, chunk: Chunk, segments: Sequence[int]) -> Texts:
    """The texts of single segments, with their trees where these lie beside the text."""
    batches = getattr(scorer.trees, "batches", None)
    if batches is None:
        return scorer.texts(streams, chunk)
    rows = torch.tensor(list(segments), dtype=torch.int64, device="cpu")
    return Texts(streams, [batch[rows] for batch in batches], scorer.device)


def gather(
    scorer: Scorer,
    corpus: Corpus,
    names: Sequence[str] | None = None,
    size: int = CHUNK,
    progress: Callable[[int], object] = lambda count: None,
    present: np.ndarray | None = None,
) -> Gathered:
    """Walk over the corpus; `names` are what the systems are called on the page.

    present bool [S,N]: where the systems have an output, None for everywhere.
    """
    if not corpus.segments:
        raise TensorMTError("no segments to report on: the files are empty")
    scorer.count(corpus)
    count, kinds = len(corpus.systems), scorer.metrics
    if present is None:
        present = np.ones((count, corpus.segments), bool)
    many = count * corpus.segments > _LETTERS
    raw_hyps: list[list[str]] = [[] for _ in range(count)]
    raw_refs: list[list[str | None]] = [[] for _ in range(corpus.references)]
    hyps, refs = [list[str]() for _ in raw_hyps], [list[str]() for _ in raw_refs]
    docs: list[str] | None = [] if corpus.has_docs else None
    rows: dict[str, list[list[Tensor]]] = {name: [[] for _ in raw_hyps] for name in kinds}
    tallies: dict[str, Tally] = {}
    silent: set[str] = set()
    depths: list[np.ndarray] = []
    for chunk in corpus.chunks(min(size, CHUNK)):
        texts = scorer.texts([*chunk.hyps.values(), *chunk.refs], chunk)
        for name, metric in kinds.items():
            batches, others = texts.sides(metric.reads, count)
            for number, hyp in enumerate(batches):
                shown = present[number, chunk.start : chunk.start + len(chunk), None]
                try:
                    table = metric.statistics(hyp, others).cpu()
                except SegmentError as error:
                    raise error.after(chunk.start) from None
                rows[name][number].append(table * torch.from_numpy(shown))
                if name in silent:
                    continue
                try:
                    leaves = list(_leaves(name, metric, metric.explain(hyp, others)))
                except NoExplanation:
                    silent.add(name)
                    continue
                for leaf in leaves:
                    if leaf.found.items is None or (many and leaf.found.characters):
                        continue
                    orders = range(1, len(leaf.found.columns) + 1)
                    named = [leaf.found.name(order) for order in orders]
                    tally = tallies.setdefault(leaf.name, Tally(name, leaf.found.kind, named))
                    tally.add(leaf.found, chunk.start, number)
        if scorer.needs_trees:
            depths.append(_depths(texts.read(Trees("dependency"))[count]))
        for number in range(count):
            raw_hyps[number] += list(chunk.hyps.values())[number]
            hyps[number] += texts.lines(number)
        for number, lines in enumerate(chunk.refs):
            raw_refs[number] += lines
            refs[number] += texts.lines(count + number)
        if docs is not None and chunk.docs is not None:
            docs += chunk.docs
        progress(len(chunk))

    def chosen(segments: Sequence[int]) -> Chunk:
        own = {
            name: [lines[i] for i in segments]
            for name, lines in zip(corpus.systems, raw_hyps, strict=True)
        }
        return Chunk(0, own, [[lines[i] for i in segments] for lines in raw_refs], None)

    return Gathered(
        scorer,
        list(names or corpus.systems),
        hyps,
        refs,
        docs,
        {name: [torch.cat(parts) for parts in found] for name, found in rows.items()},
        present,
        tallies,
        np.concatenate(depths) if depths else None,
        chosen,
    )


def _depths(trees: Any) -> np.ndarray:
    """Levels of every tree, int64 [B]; 0 for no tree."""
    nodes = trees.nodes
    most = torch.zeros(nodes.trees, dtype=torch.int64, device=nodes.parent.device)
    deepest: np.ndarray = most.scatter_reduce(0, nodes.segment, nodes.depth, "amax").cpu().numpy()
    return deepest
