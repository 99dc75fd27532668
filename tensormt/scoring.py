"""Text in, scores out: several systems against the same references, any metrics, chunk by chunk.

    corpus → chunk → texts, read once for all metrics and systems
           → statistics of each segment → segment scores, and sums for documents and corpus

NIST, NM and Zipf weights need counts over all references first: one pass over the references gives
them, so chunks of any size score alike. Memory holds one chunk and the sums.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from tensormt.data.coercion import as_lines, as_list, as_names, as_streams, check_order
from tensormt.data.corpus import Chunk, Corpus
from tensormt.devices import resolve_device
from tensormt.errors import SegmentError, TensorMTError
from tensormt.kernels.fixed_point import from_words, normalize_carries, to_words
from tensormt.metric import Metric
from tensormt.prepared import Texts, signature
from tensormt.registry import make
from tensormt.trees.batch import TreeBatch
from tensormt.trees.sources import PreparsedTrees, TreesAsText, TreeSource

__all__ = ["CHUNK", "Result", "Scorer", "Sums", "run", "score"]

CHUNK = 2000  # segments: what fits a CPU's cache, and a good batch for a parser

Lines = Sequence[str | None] | TreeBatch
Statistics = dict[str, dict[str, Tensor]]  # by system, by metric: [B,K]


class Scorer:
    """Metrics by their names, ready for the chunks of one corpus."""

    def __init__(
        self,
        metrics: Iterable[str | Metric[Any]],
        trees: TreeSource | PreparsedTrees | None = None,
        device: str | torch.device | None = None,
    ) -> None:
        """`trees` makes trees of segments, where a metric reads them."""
        self.metrics: dict[str, Metric[Any]] = _named(metrics)
        self.trees, self.device = trees, resolve_device(device)

    @property
    def needs_trees(self) -> bool:
        """Whether one of the metrics reads trees."""
        return any(metric.reads_trees for metric in self.metrics.values())

    def count(self, corpus: Corpus, size: int = CHUNK) -> None:
        """Count the n-grams of all references, where a metric needs it."""
        waiting = [metric for metric in self.metrics.values() if metric.needs_fit]
        if not waiting:
            return
        for chunk in corpus.chunks(size, hyps=False):
            texts = self.texts(chunk.refs, chunk)
            for metric in waiting:
                metric.fit(texts.read(metric.reads))

    def texts(self, streams: Sequence[Sequence[str | None]], chunk: Chunk) -> Texts:
        """Streams of a chunk, with the source of trees."""
        trees: Any = self.trees
        if isinstance(trees, PreparsedTrees):
            trees = trees.rows(chunk.start, len(chunk))
        return Texts(streams, trees, self.device, chunk.start + 1)

    def statistics(self, chunk: Chunk) -> Statistics:
        """Statistics of every system and metric, [B,K]."""
        texts = self.texts([*chunk.hyps.values(), *chunk.refs], chunk)
        made: Statistics = {system: {} for system in chunk.hyps}
        for names in self._groups():
            first, *others = [self.metrics[name] for name in names]
            hyps, refs = texts.sides(first.reads, len(chunk.hyps))
            try:
                for system, hyp in zip(chunk.hyps, hyps, strict=True):
                    if others:
                        tables = first.statistics_with(others, hyp, refs)
                    else:
                        tables = [first.statistics(hyp, refs)]
                    made[system] |= {n: t.cpu() for n, t in zip(names, tables, strict=True)}
            except SegmentError as error:
                raise error.after(chunk.start) from None
        return {
            system: {name: tables[name] for name in self.metrics} for system, tables in made.items()
        }

    def _groups(self) -> list[list[str]]:
        """Names of metrics that are counted together."""
        groups: dict[Hashable, list[str]] = {}
        for name, metric in self.metrics.items():
            groups.setdefault(metric.group, []).append(name)
        return list(groups.values())

    def signature(self, name: str, references: int) -> str:
        """What reproduces a score: metric, options, number of references, parser, version."""
        trees: Any = self.trees
        return signature(self.metrics[name], references, trees)

    def segment_scores(self, found: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Scores [B] of one system's statistics."""
        return {name: m.score(found[name], segment=True) for name, m in self.metrics.items()}


class Sums:
    """Summed statistics: of the corpus and of every document, by system and metric.

    All are summed in words (tensormt.kernels.fixed_point), so that neither the size of the chunks
    nor the number of processes can be seen in a score.
    """

    def __init__(self) -> None:
        self.corpus: dict[str, dict[str, Tensor]] = {}  # words int64 [1 or 3,K]
        self._numbers: dict[str, int] = {}  # of the documents
        self._documents: dict[str, dict[str, Tensor]] = {}  # words [1 or 3,≥D,K], by number

    def add(self, found: Statistics, docs: Sequence[str] | None) -> None:
        """Add the statistics of one chunk."""
        index = self._places(docs or ())
        for system, by_metric in found.items():
            for name, table in by_metric.items():
                words = to_words(table)
                self._add(system, name, words.sum(0))
                if docs is not None:
                    self._add_documents(system, name, index, words.transpose(0, 1))

    def merge(self, other: Sums) -> None:
        """Add what others have summed; a document of the same name is the same document."""
        for system, totals in other.corpus.items():
            for name, total in totals.items():
                self._add(system, name, total)
        index = self._places(other._numbers)
        for system, tables in other._documents.items():
            for name, words in tables.items():
                self._add_documents(system, name, index, words[:, : len(index)])

    def _places(self, docs: Iterable[str]) -> Tensor:
        numbers = self._numbers
        places = [numbers.setdefault(doc, len(numbers)) for doc in docs]
        return torch.tensor(places, dtype=torch.int64, device="cpu")

    def _add(self, system: str, name: str, total: Tensor) -> None:
        totals = self.corpus.setdefault(system, {})
        totals[name] = normalize_carries(totals[name] + total) if name in totals else total

    def _add_documents(self, system: str, name: str, index: Tensor, words: Tensor) -> None:
        """Add words [1 or 3,n,K] to the documents with the numbers of the index [n]."""
        tables = self._documents.setdefault(system, {})
        table = _with_rows(tables.get(name, words[:, :0]), len(self._numbers))
        table.index_add_(1, index, words)
        if len(words) > 1:
            table[:, index] = normalize_carries(table[:, index])
        tables[name] = table

    def scores(self, metrics: Mapping[str, Metric[Any]]) -> dict[str, dict[str, float]]:
        """Corpus scores by system and metric."""
        return {
            system: {
                name: float(metrics[name].score(from_words(total), segment=False))
                for name, total in found.items()
            }
            for system, found in self.corpus.items()
        }

    def document_scores(
        self, metrics: Mapping[str, Metric[Any]]
    ) -> dict[str, dict[str, dict[str, float]]]:
        """Document scores by system, document and metric."""
        scores = {}
        for system, tables in self.documents()[1].items():
            columns = {
                name: metrics[name].score(from_words(table), segment=False).tolist()
                for name, table in tables.items()
            }
            scores[system] = {
                doc: {name: column[number] for name, column in columns.items()}
                for doc, number in self._numbers.items()
            }
        return scores

    def documents(self) -> tuple[list[str], dict[str, dict[str, Tensor]]]:
        """Names of the documents, and their words [1 or 3,D,K] by system and metric."""
        count = len(self._numbers)
        found = {
            system: {name: table[:, :count] for name, table in tables.items()}
            for system, tables in (self._documents.items() if count else ())
        }
        return list(self._numbers), found

    def state(self) -> dict[str, Any]:
        """All of it as JSON can keep it."""
        names, found = self.documents()
        documents = {
            system: {name: table.tolist() for name, table in tables.items()}
            for system, tables in found.items()
        }
        corpus = {
            system: {name: total.tolist() for name, total in totals.items()}
            for system, totals in self.corpus.items()
        }
        return {"corpus": corpus, "names": names, "documents": documents}

    @classmethod
    def of_state(cls, state: Mapping[str, Any]) -> Sums:
        """What `state` kept, or the same with tensors for lists."""
        new = cls()
        new._numbers = {name: number for number, name in enumerate(state["names"])}
        new.corpus, new._documents = (
            {
                system: {
                    name: torch.as_tensor(rows, dtype=torch.int64, device="cpu")
                    for name, rows in found.items()
                }
                for system, found in state[key].items()
            }
            for key in ("corpus", "documents")
        )
        return new


def _with_rows(table: Tensor, rows: int) -> Tensor:
    """Words [W,n,K] with room for at least so many rows; room is doubled, so growth is linear."""
    words, size, width = table.shape
    if size >= rows:
        return table
    more = max(rows, 2 * size) - size
    return torch.cat([table, table.new_zeros(words, more, width)], 1)


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
    documents: dict[str, dict[str, float]] = field(default_factory=dict)


def score(
    hyps: Iterable[str | None],
    refs: Iterable[Iterable[str | None]],
    metrics: Iterable[str | Metric[Any]] = ("bleu",),
    parser: Any = "default",
    device: str | torch.device | None = None,
    *,
    trees: bool | tuple[Lines, Sequence[Lines]] = False,
    docs: Iterable[str] | None = None,
) -> Result:
    """Score hypotheses against R reference streams (refs[k][i] is reference k of segment i).

    Lists, generators and columns of numpy, pandas or Arrow are taken; None, NaN and empty lines
    are absent references.

    Metrics are named, with options where wanted: "stm", "stm:max_depth=3,balance=f1". `parser` is
    "default", a path, a loaded Parser or another source of trees. `trees`: True where hyps and refs
    are bracketings, or (trees of hyps, R of trees of refs) beside the text, each bracketings or a
    TreeBatch. `docs`: a document id for each segment.

    >>> result = score(["the dog ran"], [["the dog ran"]], ["bleu", "bm"])
    >>> round(result.corpus["bm"], 4), result.signatures["bm"].split("|")[0]
    (0.0, 'BM')
    """
    hyps, streams = as_lines(hyps, "hyps"), as_streams(refs)
    if not streams:
        raise TensorMTError("no reference given: refs is a list of at least one stream")
    check_order(len(hyps), streams)
    scorer = Scorer(metrics, device=device)
    ids = None if docs is None else as_names(docs, "docs")
    corpus = Corpus.of_lists({"": hyps}, streams, ids)
    if not isinstance(trees, bool):
        if not isinstance(trees, tuple | list) or len(trees) != 2:
            raise TensorMTError(
                "trees is True, or (trees of hyps, [trees of each stream of refs]): got "
                f"{type(trees).__name__}"
            )
        batches = [_batch(lines) for lines in (trees[0], *as_list(trees[1], "trees of refs"))]
        scorer.trees = PreparsedTrees(batches, [len(hyps), *(len(stream) for stream in streams)])
    elif trees:
        scorer.trees = TreesAsText()
    elif scorer.needs_trees:
        from tensormt.parser.cache import tree_source

        scorer.trees = tree_source(parser, device)
    sums, parts = Sums(), []
    for chunk, found in run(scorer, corpus):
        sums.add(found, chunk.docs)
        parts.append(scorer.segment_scores(found[""]))
    empty = torch.zeros(0, dtype=torch.float64, device="cpu")
    return Result(
        {s: torch.cat([part[s] for part in parts]) if parts else empty for s in scorer.metrics},
        sums.scores(scorer.metrics).get("", dict.fromkeys(scorer.metrics, 0.0)),
        {name: scorer.signature(name, len(streams)) for name in scorer.metrics},
        sums.document_scores(scorer.metrics).get("", {}),
    )


def _batch(trees: Lines) -> TreeBatch:
    if isinstance(trees, TreeBatch):
        return trees
    return TreeBatch.from_brackets(as_lines(trees, "trees"))


def _named(metrics: Any) -> dict[str, Metric[Any]]:
    """Metrics by what they are called: as typed, or the name of an object in lower case."""
    single = isinstance(metrics, str | Metric | type)
    given = [] if single or not isinstance(metrics, Iterable) else as_list(metrics, "metrics")
    if not given:
        raise TensorMTError("metrics is a list of at least one name, such as ['bleu']")
    found: dict[str, Metric[Any]] = {}
    for metric in given:
        if not isinstance(metric, Metric):
            found[metric] = make(metric)
            continue
        name = metric.name.lower()
        if name in found:
            raise TensorMTError(
                f"two metrics are called {name!r}: name them with their options instead, such as "
                "'bleu:max_order=2'"
            )
        found[name] = copy(metric)
    return found
