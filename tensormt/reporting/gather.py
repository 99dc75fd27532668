"""One walk over a corpus: texts, statistics, and the items that were counted as matched.

Chunk by chunk each text is read once for all metrics. Texts and scores of all segments are kept, as
the page shows them; of the matches a flat table for each metric (key, order, segment, system,
place), from which `tallies` counts what one system matches and another does not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tensormt.data.corpora import Chunk, Corpus
from tensormt.errors import NoExplanation, TensorMTError
from tensormt.explanation import Explanation
from tensormt.reading import Trees
from tensormt.reporting.matched import CHUNK
from tensormt.scoring import Scorer
from tensormt.texts import Texts

__all__ = ["Gathered", "Tally", "gather"]


@dataclass
class Tally:
    """The counted items of one metric, arrays [n]."""

    kind: str
    parts: list[tuple[np.ndarray, ...]] = field(default_factory=list)

    def add(self, found: Explanation, start: int, system: int) -> None:
        """Take in the counted items of a chunk that starts at a segment."""
        items = found.items
        if items is None:
            return
        chosen = items.counted.cpu().numpy()
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
    tallies: dict[str, Tally]  # by metric, for those that explain their items
    depths: np.ndarray | None  # of the first reference's tree, int [N]
    chunks: Callable[[Sequence[int]], Chunk]  # some segments once more

    @property
    def segments(self) -> int:
        """N."""
        return len(self.refs[0])

    def scores(self, metric: str) -> np.ndarray:
        """Segment scores, float64 [S,N]."""
        tables = self.statistics[metric]
        made = self.scorer.metrics[metric]
        return np.stack([made.score(table, segment=True).numpy() for table in tables])

    def explained(self, segments: Sequence[int]) -> tuple[Texts, dict[str, list[Explanation]]]:
        """Some segments read again: their texts, and what each metric matched, by system."""
        chunk = self.chunks(segments)
        streams = [*chunk.hyps.values(), *chunk.refs]
        texts = _texts(self.scorer, streams, chunk, segments)
        found = {}
        for name, metric in self.scorer.metrics.items():
            hyps, refs = texts.sides(metric.reads, len(self.systems))
            try:
                found[name] = [metric.explain(hyp, refs) for hyp in hyps]
            except NoExplanation:
                continue
        return texts, found


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
) -> Gathered:
    """Walk over the corpus; `names` are what the systems are called on the page."""
    if not corpus.segments:
        raise TensorMTError("no segments to report on: the files are empty")
    scorer.count(corpus)
    count, kinds = len(corpus.systems), scorer.metrics
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
                rows[name][number].append(metric.statistics(hyp, others).cpu())
                if name in silent:
                    continue
                try:
                    found = metric.explain(hyp, others)
                    tallies.setdefault(name, Tally(found.kind)).add(found, chunk.start, number)
                except NoExplanation:
                    silent.add(name)
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
        {name: tally for name, tally in tallies.items() if tally.parts},
        np.concatenate(depths) if depths else None,
        chosen,
    )


def _depths(trees: Any) -> np.ndarray:
    """Levels of every tree, int64 [B]; 0 for no tree."""
    nodes = trees.nodes
    most = torch.zeros(nodes.trees, dtype=torch.int64, device=nodes.parent.device)
    deepest: np.ndarray = most.scatter_reduce(0, nodes.segment, nodes.depth, "amax").cpu().numpy()
    return deepest
