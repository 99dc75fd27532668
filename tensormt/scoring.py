"""Text in, scores out: several systems against the same references, any metrics, chunk by chunk.

    corpus → chunk → tokens and trees, made once for all metrics and systems
           → statistics of each segment → segment scores, and sums for documents and corpus

NIST, NM and Zipf weights need counts over all references first: one pass over the references gives
them, so chunks of any size score alike. Memory holds one chunk and the sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from tensormt.data.corpora import Chunk, Corpus
from tensormt.errors import TensorMTError
from tensormt.metric import Metric
from tensormt.ngram.base import NgramMetric, TestSetMetric
from tensormt.ngram.references import References
from tensormt.registry import make
from tensormt.text.tokens import TokenBatch
from tensormt.trees.batch import TreeBatch

__all__ = ["CHUNK", "Result", "Scorer", "Sums", "score"]

GIVEN = "given"  # in signatures: the trees came with the text, no parser made them
CHUNK = 2000  # segments: what fits a CPU's cache, and a good batch for a parser

Lines = Sequence[str | None] | TreeBatch
Forest = Callable[[Sequence[str | None]], TreeBatch]
Statistics = dict[str, dict[str, Tensor]]  # by system, by metric: [B,K]

_BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}


class Material:
    """Streams of one chunk as the metrics read them: each tokenisation and parse made once."""

    def __init__(
        self, streams: Sequence[Sequence[str | None]], forest: Forest | None, device: torch.device
    ) -> None:
        self.streams, self.forest, self.device = streams, forest, device
        self._made: dict[str, Any] = {}

    def tokens(self, tokenize: str) -> list[TokenBatch]:
        """The streams as tokens."""
        if tokenize not in self._made:
            made = TokenBatch.from_texts(self.streams, tokenize)
            self._made[tokenize] = [batch.to(self.device) for batch in made]
        batches: list[TokenBatch] = self._made[tokenize]
        return batches

    def references(self, tokenize: str) -> References:
        """The streams as references, counted once."""
        key = f"references {tokenize}"
        if key not in self._made:
            self._made[key] = References(self.tokens(tokenize))
        references: References = self._made[key]
        return references

    def put_trees(self, trees: list[TreeBatch]) -> None:
        """Use trees at hand for the streams."""
        self._made["trees"] = trees

    def trees(self) -> list[TreeBatch]:
        """The streams as trees."""
        if "trees" not in self._made:
            if self.forest is None:
                raise TensorMTError("no parser: metrics on trees need one, or trees at hand")
            flat = [line for stream in self.streams for line in stream]
            trees, size = self.forest(flat).to(self.device), len(self.streams[0])
            self._made["trees"] = [
                trees[k * size : (k + 1) * size] for k in range(len(self.streams))
            ]
        batches: list[TreeBatch] = self._made["trees"]
        return batches


class Scorer:
    """Metrics by their specifications, ready for the chunks of one corpus."""

    def __init__(
        self,
        specs: Sequence[str],
        forest: Forest | None = None,
        parser_name: str | None = None,
        device: str | torch.device | None = None,
        bracketed: bool = False,
    ) -> None:
        """`forest` makes trees of text; `bracketed`: the text is bracketings already."""
        if not specs or isinstance(specs, str):
            raise TensorMTError("metrics is a list of at least one name, such as ['bleu']")
        self.metrics: dict[str, Metric[Any]] = {spec: make(spec) for spec in specs}
        self.forest, self.parser_name, self.bracketed = forest, parser_name, bracketed
        self.given: list[TreeBatch] | None = None  # trees beside the text: hypotheses, references
        self.device = torch.device(device or "cpu")

    @property
    def needs_trees(self) -> bool:
        """Whether one of the metrics compares trees."""
        return any(not isinstance(metric, NgramMetric) for metric in self.metrics.values())

    def count(self, corpus: Corpus, size: int = CHUNK) -> None:
        """Count the n-grams of all references, where a metric needs it."""
        wanting = [
            metric
            for metric in self.metrics.values()
            if isinstance(metric, TestSetMetric) and metric.needs_table
        ]
        if not wanting:
            return
        for chunk in corpus.chunks(size, hyps=False):
            refs = self._material(chunk.refs, chunk.start)
            for metric in wanting:
                metric.fit(refs.tokens(metric.tokenize))

    def _material(self, streams: Sequence[Sequence[str | None]], start: int) -> Material:
        if not self.bracketed:
            return Material(streams, self.forest, self.device)
        source = "in a file of trees, "
        trees = [TreeBatch.from_brackets(stream, source, start + 1) for stream in streams]
        material = Material([sentences(batch) for batch in trees], None, self.device)
        material.put_trees([batch.to(self.device) for batch in trees])
        return material

    def statistics(self, chunk: Chunk) -> Statistics:
        """Statistics of every system and metric, [B,K]."""
        refs = self._material(chunk.refs, chunk.start)
        if self.bracketed:
            there = torch.stack([batch.lengths > 0 for batch in refs.trees()]).any(0).tolist()
            if not all(there):
                number = chunk.start + there.index(False) + 1
                raise TensorMTError(f"segment {number} has no reference: its trees are empty")
        found: Statistics = {}
        rows = slice(chunk.start, chunk.start + len(chunk))
        beside = [batch[rows].to(self.device) for batch in self.given or ()]
        if beside:
            refs.put_trees(beside[1:])
        for system, lines in chunk.hyps.items():
            hyp = self._material([lines], chunk.start)
            if beside:
                hyp.put_trees(beside[:1])
            found[system] = {
                spec: self._measure(metric, hyp, refs).cpu()
                for spec, metric in self.metrics.items()
            }
        return found

    def _measure(self, metric: Metric[Any], hyp: Material, refs: Material) -> Tensor:
        if isinstance(metric, NgramMetric):
            tokens = hyp.tokens(metric.tokenize)[0]
            return metric.statistics(tokens, refs.references(metric.tokenize))
        return metric.statistics(hyp.trees()[0], refs.trees())

    def signature(self, spec: str, references: int) -> str:
        """What reproduces a score: metric, options, number of references, parser, version."""
        facts: dict[str, object] = {"refs": references}
        if not isinstance(self.metrics[spec], NgramMetric):
            facts["parser"] = GIVEN if self.bracketed else self.parser_name
        return self.metrics[spec].signed(facts)

    def segment_scores(self, found: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Scores [B] of one system's statistics."""
        return {spec: m.score(found[spec], segment=True) for spec, m in self.metrics.items()}


@dataclass
class Sums:
    """Summed statistics: of the corpus and of every document, by system and metric."""

    corpus: dict[str, dict[str, Tensor]] = field(default_factory=dict)
    documents: dict[str, dict[str, dict[str, Tensor]]] = field(default_factory=dict)

    def add(self, found: Statistics, docs: Sequence[str] | None) -> None:
        """Add the statistics of one chunk."""
        for system, by_metric in found.items():
            _add_to(self.corpus.setdefault(system, {}), by_metric, None)
            if docs is not None:
                papers = self.documents.setdefault(system, {})
                places: dict[str, list[int]] = {}
                for place, doc in enumerate(docs):
                    places.setdefault(doc, []).append(place)
                for doc, rows in places.items():
                    _add_to(papers.setdefault(doc, {}), by_metric, rows)

    def scores(self, metrics: Mapping[str, Metric[Any]]) -> dict[str, dict[str, float]]:
        """Corpus scores by system and metric."""
        return {system: _scores(found, metrics) for system, found in self.corpus.items()}

    def document_scores(
        self, metrics: Mapping[str, Metric[Any]]
    ) -> dict[str, dict[str, dict[str, float]]]:
        """Document scores by system, document and metric."""
        return {
            system: {doc: _scores(found, metrics) for doc, found in papers.items()}
            for system, papers in self.documents.items()
        }


def _add_to(sums: dict[str, Tensor], found: Mapping[str, Tensor], rows: list[int] | None) -> None:
    for spec, table in found.items():
        total = (table if rows is None else table[rows]).sum(0)
        sums[spec] = sums[spec] + total if spec in sums else total


def _scores(found: Mapping[str, Tensor], metrics: Mapping[str, Metric[Any]]) -> dict[str, float]:
    return {spec: float(metrics[spec].score(total, segment=False)) for spec, total in found.items()}


def sentences(trees: TreeBatch) -> list[str]:
    """The words of every tree with spaces between them, brackets as themselves."""
    nodes = trees.nodes
    names = [_BRACKETS.get(word, word) for word in trees.words.strings]
    words = [names[i] if i >= 0 else "" for i in nodes.word.tolist()]
    offsets = nodes.offsets.tolist()
    return [" ".join(filter(None, words[a:b])) for a, b in pairwise(offsets)]


def run(
    scorer: Scorer, corpus: Corpus, size: int = CHUNK, start: int = 0
) -> Iterator[tuple[Chunk, Statistics]]:
    """Chunks of the corpus from a segment on, with their statistics."""
    scorer.count(corpus, size)
    for chunk in corpus.chunks(size, start):
        yield chunk, scorer.statistics(chunk)


@dataclass(frozen=True)
class Result:
    """Scores by metric: `segments` float64 [B], `corpus`, `documents` by id, and `signatures`."""

    segments: dict[str, Tensor]
    corpus: dict[str, float]
    signatures: dict[str, str]
    documents: dict[str, dict[str, float]]


def score(
    hyps: Sequence[str],
    refs: Sequence[Sequence[str | None]],
    metrics: Sequence[str] = ("bleu",),
    parser: Any = "default",
    device: str | torch.device | None = None,
    *,
    trees: bool | tuple[Lines, Sequence[Lines]] = False,
    docs: Sequence[str] | None = None,
) -> Result:
    """Score hypotheses against R reference streams (refs[k][i] is reference k of segment i).

    Metrics are named, with options where wanted: "stm", "stm:max_depth=3,balance=f1". `parser` is
    "default", a path, or a loaded Parser. `trees`: True where hyps and refs are bracketings, or
    (trees of hyps, R of trees of refs) beside the text, each bracketings or a TreeBatch. `docs`: a
    document id for each segment.
    """
    if isinstance(hyps, str) or any(isinstance(stream, str) for stream in refs):
        raise TensorMTError("hyps is a list of segments, refs a list of such lists: got a string")
    if not refs:
        raise TensorMTError("no reference given: refs is a list of at least one stream")
    scorer = Scorer(metrics, device=device, bracketed=trees is True)
    corpus = Corpus.of_lists({"": hyps}, refs, docs)
    if not isinstance(trees, bool):
        scorer.given, scorer.parser_name = _given(hyps, refs, trees), GIVEN
    elif scorer.needs_trees and not trees:
        from tensormt.parser import Parser
        from tensormt.parser.cache import Forester

        loaded = parser if isinstance(parser, Parser) else Parser.load(parser, device=device)
        scorer.forest, scorer.parser_name = Forester(loaded), loaded.fingerprint
    sums, parts = Sums(), []
    for chunk, found in run(scorer, corpus):
        sums.add(found, chunk.docs)
        parts.append(scorer.segment_scores(found[""]))
    empty = torch.zeros(0, dtype=torch.float64)
    return Result(
        {s: torch.cat([part[s] for part in parts]) if parts else empty for s in scorer.metrics},
        sums.scores(scorer.metrics).get("", dict.fromkeys(scorer.metrics, 0.0)),
        {spec: scorer.signature(spec, len(refs)) for spec in scorer.metrics},
        sums.document_scores(scorer.metrics).get("", {}),
    )


def _given(
    hyps: Sequence[str],
    refs: Sequence[Sequence[str | None]],
    trees: tuple[Lines, Sequence[Lines]],
) -> list[TreeBatch]:
    """The trees beside the text, of the hypotheses and of each stream of references."""
    ours, theirs = trees
    given = [
        side if isinstance(side, TreeBatch) else TreeBatch.from_brackets(side)
        for side in (ours, *theirs)
    ]
    if [len(batch) for batch in given] != [len(hyps), *(len(stream) for stream in refs)]:
        raise TensorMTError("trees must have the form of the text: one tree for each segment")
    return given
