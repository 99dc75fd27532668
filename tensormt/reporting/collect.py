"""Data of the report: one pass over a corpus collects texts, statistics and matched items.

Each text of a chunk is prepared once for all metrics. Texts and statistics of all segments are
kept. Of the matches, a flat table for each metric is kept (key, order, segment, system, place), in
which `item_counts` finds the items that one system matches and another does not.

Missing outputs (None, not an empty line) are left out: their statistics are 0, their scores NaN,
and every n on the page counts the outputs that exist.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from tensormt.data.corpus import Corpus
from tensormt.data.error_spans import Ratings
from tensormt.errors import NoExplanation, TensorMTError
from tensormt.evaluator import Evaluator
from tensormt.explanation import Explanation
from tensormt.inputs import Trees
from tensormt.metric import Metric
from tensormt.prepared import PreparedTexts
from tensormt.reporting.error_agreement import ErrorAgreement
from tensormt.reporting.explained import CHUNK
from tensormt.reporting.word_buckets import WordTable
from tensormt.segments import Segments
from tensormt.statistics import Statistics
from tensormt.stored_scores import StoredInput
from tensormt.text_warnings import TextWarnings
from tensormt.trees.batch import TreeBatch

_MAX_CHARACTER_OUTPUTS = 20_000  # with more outputs, character n-grams are not counted
_MIN_CHARACTERS = 3  # shorter character n-grams are not counted


class MetricMatches(NamedTuple):
    """What one metric matched, which is shown by itself or as a member of a mean.

    Attributes:
        metric: Name of the metric on the page.
        name: The same name, or for a member "blend: chrF".
        weight: Weight of the member's score in that of the metric on the page.
        own: The metric or member itself.
        columns: Its statistics among those of the metric on the page; None: all.
        explanation: What it matched.
    """

    metric: str
    name: str
    weight: float
    own: Metric[Any]
    columns: list[int] | None
    explanation: Explanation

    def select(self, statistics: Tensor) -> Tensor:
        """Return its own statistics among those of the metric on the page, [n,K]."""
        return statistics if self.columns is None else statistics[:, self.columns]

    def members(self) -> Iterator[MetricMatches]:
        """Iterate over the members of a mean, recursively; another metric yields only itself."""
        if not self.explanation.parts:
            yield self
        for part in self.explanation.parts:
            columns = list(part.columns)
            if self.columns is not None:
                columns = [self.columns[k] for k in columns]
            yield from MetricMatches(
                self.metric,
                f"{self.name}: {part.name}",
                self.weight * part.weight,
                part.metric,
                columns,
                part.found,
            ).members()


@dataclass
class ItemCounts:
    """The matched items of one metric.

    Args:
        metric: Name of the metric on the page.
        kind: Kind of the items (`tensormt.explanation`).
        names: Names of the items of each order.
        parts: Arrays of the chunks; see `arrays`.
    """

    metric: str
    kind: str
    names: list[str]
    parts: list[tuple[np.ndarray, ...]] = field(default_factory=list)

    def add(self, found: Explanation, start: int, system: int) -> None:
        """Add the matched items of a chunk.

        Args:
            found: Explanation of the chunk.
            start: Number of the first segment of the chunk.
            system: Number of the system.
        """
        items = found.items
        if items is None:
            return
        wanted = items.counted
        if found.characters:
            wanted = wanted & (items.hyp.order >= _MIN_CHARACTERS)
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
        """Return key, order, segment, system and place of all items, [n] each."""
        return tuple(np.concatenate(part) for part in zip(*self.parts, strict=True))


@dataclass
class Collected:
    """The data of a report on N segments, S systems and R references.

    Args:
        evaluator: The fitted metrics.
        systems: Names of the systems on the page [S].
        corpus: All segments, as they were read.
        hyps: Texts of the systems on the page [S][N]; for trees, their words.
        refs: Texts of the references [R][N]; "" where there is none.
        evaluated: Statistics of all segments.
        item_counts: Matched items by metric or member, if it can explain them.
        depths: Depth of the tree of the first reference, int64 [N]; None without trees.
        words: Words of all texts.
        tagged: Words of all trees, with their parts of speech; None without constituency trees.
        ratings: Errors that people marked, if known.
        agreement: How often these meet words that metrics did not match.
    """

    evaluator: Evaluator
    systems: list[str]
    corpus: Segments
    hyps: list[list[str]]
    refs: list[list[str]]
    evaluated: Statistics
    item_counts: dict[str, ItemCounts]
    depths: np.ndarray | None
    words: WordTable
    tagged: WordTable | None
    ratings: Ratings | None = None
    agreement: ErrorAgreement | None = None

    @property
    def docs(self) -> list[str] | None:
        """Document of every segment, if known."""
        return self.corpus.documents

    @property
    def statistics(self) -> Mapping[str, Tensor]:
        """Statistics by metric, [S,N,K]."""
        return {name: torch.from_numpy(t) for name, t in self.evaluated.tables.items()}

    @property
    def present(self) -> np.ndarray:
        """Where systems have an output, bool [S,N]."""
        return self.evaluated.present

    @property
    def segments(self) -> int:
        """Number of segments N."""
        return len(self.corpus)

    def scores(self, metric: str) -> np.ndarray:
        """Return the segment scores of a metric, float64 [S,N]; NaN where there is no output."""
        return self.evaluated.segments(metric)

    def explain(self, segments: Sequence[int]) -> dict[str, list[MetricMatches]]:
        """Return what was matched in some segments, by metric or member, for each system."""
        texts = self.evaluator.prepare(self.corpus[segments])
        found: dict[str, list[MetricMatches]] = {}
        for name in self.evaluator.metrics:
            for matches in _explain(self.evaluator, texts, name) or ():
                found.setdefault(matches.name, []).append(matches)
        return found

    def trees(self, segments: Sequence[int]) -> list[TreeBatch]:
        """Return the trees of some segments, of every system and then of every reference."""
        return self.evaluator.prepare(self.corpus[segments]).tree_batches()


def _explain(evaluator: Evaluator, texts: PreparedTexts, name: str) -> list[MetricMatches] | None:
    """Return what a metric (or its members) matched, system by system; None if it cannot say."""
    metric = evaluator.metrics[name]
    try:
        found = evaluator.explain(texts, name)
    except NoExplanation:
        return None
    roots = (MetricMatches(name, name, 1.0, metric, None, each) for each in found)
    return [matches for root in roots for matches in root.members()]


def collect(
    evaluator: Evaluator,
    corpus: Corpus | Segments,
    names: Sequence[str] | None = None,
    size: int = CHUNK,
    progress: Callable[[int], object] = lambda count: None,
    ratings: Ratings | None = None,
) -> Collected:
    """Evaluate a corpus and collect the data of the report.

    Args:
        evaluator: Metrics with their source of trees.
        corpus: The corpus; outputs that are None are left out.
        names: Names of the systems on the page; None: those of the corpus.
        size: Number of segments per chunk.
        progress: Called with the number of segments of each chunk when it is done.
        ratings: Errors that people marked in the outputs; their scores become human scores.

    Returns:
        The data.

    Raises:
        TensorMTError: If there are no segments.

    >>> corpus = Segments({"a": ["a cat"]}, [["a cat sat"]])
    >>> sorted(collect(Evaluator(["bleu"]), corpus).item_counts)
    ['bleu']
    """
    if not len(corpus):
        raise TensorMTError("no segments to report on: the files are empty")
    evaluator = evaluator.fit(corpus)
    count = len(corpus.systems)
    skip_characters = count * len(corpus) > _MAX_CHARACTER_OUTPUTS
    parts: list[Segments] = []
    statistics: list[Statistics] = []
    shown: list[list[str]] = [[] for _ in range(count + corpus.reference_count)]
    item_counts: dict[str, ItemCounts] = {}
    unexplained: set[str] = set()
    depths: list[np.ndarray] = []
    seen = TextWarnings(evaluator.metrics)
    words, tagged, tokenize = WordTable(), WordTable(), _tokenizer(evaluator)
    agreement = None if ratings is None else ErrorAgreement(list(ratings.spans.values()))
    for segments in _chunks(evaluator, corpus, min(size, CHUNK)):
        texts = evaluator.prepare(segments)
        statistics.append(evaluator.evaluate(segments, texts))
        seen.add(segments, statistics[-1])
        for name in evaluator.metrics:
            explained = None if name in unexplained else _explain(evaluator, texts, name)
            if explained is None:
                unexplained.add(name)
                continue
            members = len(explained) // max(count, 1)  # of each system in turn
            for place, matches in enumerate(explained):
                found = matches.explanation
                if agreement is not None:
                    system = place // members
                    own = texts.lines(system)
                    agreement.add(matches.name, found, system, own, segments.number(0))
                if found.items is None or (skip_characters and found.characters):
                    continue
                if found.partners:  # each word has a partner of its own: nothing to count together
                    continue
                counts = item_counts.setdefault(
                    matches.name, ItemCounts(name, found.kind, found.names())
                )
                counts.add(found, segments.number(0), place // members)
        words.add(texts.token_batches(tokenize, False), segments.number(0))
        if evaluator.reads_trees:
            depths.append(_depths(Trees("dependency").batches(texts)[count]))
            trees = texts.tree_batches()
            if trees[count].kind == "constituency":
                tagged.add(trees, segments.number(0))
        for number, lines in enumerate(shown):
            lines += texts.lines(number)
        parts.append(segments)
        progress(len(segments))
    seen.warn()
    whole = Segments.concat(parts)
    if ratings is not None:
        whole = replace(whole, human={**whole.human, **ratings.scores})
    return Collected(
        evaluator,
        list(names or corpus.systems),
        whole,
        shown[:count],
        shown[count:],
        Statistics.concat(statistics),
        item_counts,
        np.concatenate(depths) if depths else None,
        words,
        tagged if tagged else None,
        ratings,
        agreement,
    )


def stored_scores_alone(evaluator: Evaluator) -> bool:
    """Return whether all metrics are scores of other tools, which read no text."""
    return all(isinstance(metric.reads, StoredInput) for metric in evaluator.metrics.values())


def _chunks(evaluator: Evaluator, corpus: Corpus | Segments, size: int) -> Iterator[Segments]:
    """Iterate over the chunks of a corpus; scores of other tools need no reference."""
    if not stored_scores_alone(evaluator) or not isinstance(corpus, Segments):
        yield from corpus.chunks(size)
        return
    for start in range(0, len(corpus), size):
        yield corpus[start : start + size]


def _tokenizer(evaluator: Evaluator) -> str:
    """Return the tokeniser of the first metric that reads words; 13a if there is none."""
    names = (metric.reads.word_tokenizer for metric in evaluator.metrics.values())
    return next(filter(None, names), "13a")


def _depths(trees: Any) -> np.ndarray:
    """Return the depth of every tree, int64 [B]; 0 if there is no tree."""
    nodes = trees.nodes
    most = torch.zeros(nodes.trees, dtype=torch.int64, device=nodes.parent.device)
    deepest: np.ndarray = most.scatter_reduce(0, nodes.segment, nodes.depth, "amax").cpu().numpy()
    return deepest
