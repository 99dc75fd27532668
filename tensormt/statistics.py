"""Statistics of segments, and their exact sums over documents and corpora.

`Statistics` holds for every metric a table [S,N,K]: S systems, N segments, K sufficient statistics.
Tables are arrays of numpy, whichever path or device computed them: sums, scores, intervals and
tests have the same last bit everywhere, and small jobs need no torch. `Totals` holds sums alone, so
that a run over any number of segments needs little memory. Totals are summed in fixed point
(`tensormt.kernels.fixed_point`), so neither the size of the chunks nor the number of processes
changes a score.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tensormt.errors import TensorMTError
from tensormt.kernels.fixed_point import from_words, normalize_carries, to_words
from tensormt.metric import Metric

__all__ = ["Statistics", "Totals"]

Metrics = Mapping[str, Metric[Any]]


@dataclass(frozen=True)
class Statistics:
    """Statistics of S systems on N segments.

    Args:
        metrics: Metrics by name.
        tables: By metric, [S,N,K]; zero where a system has no output.
        present: Where systems have an output, bool [S,N].
        systems: Names of the systems.
        documents: Document of every segment, where known.
    """

    metrics: Metrics
    tables: Mapping[str, np.ndarray]
    present: np.ndarray
    systems: Sequence[str]
    documents: Sequence[str] | None = None

    @classmethod
    def concat(cls, parts: Sequence[Statistics]) -> Statistics:
        """Join the statistics of consecutive chunks of one corpus."""
        if not parts:
            raise TensorMTError("no segments: there is nothing to score")
        first = parts[0]
        documents = None
        if first.documents is not None:
            documents = [name for part in parts for name in part.documents or ()]
        return replace(
            first,
            tables={
                name: np.concatenate([part.tables[name] for part in parts], 1)
                for name in first.tables
            },
            present=np.concatenate([part.present for part in parts], 1),
            documents=documents,
        )

    def __len__(self) -> int:
        return int(self.present.shape[1])

    def segments(self, metric: str) -> np.ndarray:
        """Compute segment scores of a metric, float64 [S,N]; NaN where there is no output."""
        scores = self.metrics[metric].score(self.tables[metric], segment=True)
        return np.where(self.present, scores, np.nan)

    def corpus(self, metric: str) -> np.ndarray:
        """Compute corpus scores of a metric, float64 [S]; NaN for a system without any output."""
        scores = self.metrics[metric].score(self.tables[metric].sum(1), segment=False)
        return np.where(self.present.any(1), scores, np.nan)

    def of_systems(self, numbers: Sequence[int]) -> Statistics:
        """Return the statistics of some systems, by their numbers."""
        index = list(numbers)
        return replace(
            self,
            tables={name: table[index] for name, table in self.tables.items()},
            present=self.present[index],
            systems=[self.systems[k] for k in index],
        )

    def of_metrics(self, names: Sequence[str]) -> Statistics:
        """Return the statistics of some metrics, by their names."""
        return replace(
            self,
            metrics={name: self.metrics[name] for name in names},
            tables={name: self.tables[name] for name in names},
        )

    def of_segments(self, index: np.ndarray) -> Statistics:
        """Return the statistics of some segments, int64 [n]."""
        documents = self.documents
        return replace(
            self,
            tables={name: table[:, index] for name, table in self.tables.items()},
            present=self.present[:, index],
            documents=None if documents is None else [documents[k] for k in index.tolist()],
        )


class Totals:
    """Sums of statistics over the corpus and over every document, by system and metric."""

    def __init__(self) -> None:
        self._corpus: dict[str, dict[str, np.ndarray]] = {}  # words int64 [1 or 3,K]
        self._numbers: dict[str, int] = {}  # of the documents
        self._documents: dict[str, dict[str, np.ndarray]] = {}  # words [1 or 3,≥D,K], by number

    def add(self, statistics: Statistics, *, documents: bool = True) -> None:
        """Add the statistics of one chunk, and sums of documents if these are wanted and known."""
        docs = statistics.documents if documents else None
        index = self._places(docs or ())
        for name, tables in statistics.tables.items():
            for system, table in zip(statistics.systems, tables, strict=True):
                words = to_words(table)
                self._add(system, name, words.sum(0))
                if docs is not None:
                    self._add_documents(system, name, index, words.swapaxes(0, 1))

    def merge(self, other: Totals) -> None:
        """Add other totals; a document of the same name is the same document."""
        for system, totals in other._corpus.items():
            for name, total in totals.items():
                self._add(system, name, total)
        index = self._places(other._numbers)
        for system, tables in other._documents.items():
            for name, words in tables.items():
                self._add_documents(system, name, index, words[:, : len(index)])

    def _places(self, docs: Iterable[str]) -> np.ndarray:
        numbers = self._numbers
        return np.array([numbers.setdefault(doc, len(numbers)) for doc in docs], np.int64)

    def _add(self, system: str, name: str, total: np.ndarray) -> None:
        totals = self._corpus.setdefault(system, {})
        totals[name] = normalize_carries(totals[name] + total) if name in totals else total

    def _add_documents(self, system: str, name: str, index: np.ndarray, words: np.ndarray) -> None:
        """Add words [1 or 3,n,K] to the documents with the numbers of the index [n]."""
        tables = self._documents.setdefault(system, {})
        table = _with_rows(tables.get(name, words[:, :0]), len(self._numbers))
        for own, more in zip(table, words, strict=True):
            np.add.at(own, index, more)
        if len(words) > 1:
            table[:, index] = normalize_carries(table[:, index])
        tables[name] = table

    def corpus_scores(self, metrics: Metrics, system: str) -> dict[str, float]:
        """Compute corpus scores of a system by metric; 0 where nothing was added."""
        found = self._corpus.get(system, {})
        return {
            name: float(metric.score(from_words(found[name]), segment=False))
            if name in found
            else 0.0
            for name, metric in metrics.items()
        }

    def document_scores(self, metrics: Metrics, system: str) -> dict[str, dict[str, float]]:
        """Compute the scores of a system by document and metric."""
        columns = {
            name: metrics[name].score(from_words(table), segment=False).tolist()
            for name, table in self.document_sums(system).items()
        }
        return {
            doc: {name: column[number] for name, column in columns.items()}
            for doc, number in (self._numbers.items() if columns else ())
        }

    @property
    def document_names(self) -> list[str]:
        """Names of the documents, in the order in which they were first added."""
        return list(self._numbers)

    def document_sums(self, system: str) -> dict[str, np.ndarray]:
        """Return the words [1 or 3,D,K] of the documents' sums by metric."""
        count = len(self._numbers)
        tables = self._documents.get(system, {}) if count else {}
        return {name: table[:, :count] for name, table in tables.items()}

    def to_json(self) -> dict[str, Any]:
        """Return all sums as an object of lists for JSON."""
        return {
            "corpus": {
                system: {name: total.tolist() for name, total in totals.items()}
                for system, totals in self._corpus.items()
            },
            "names": list(self._numbers),
            "documents": {
                system: {name: table.tolist() for name, table in self.document_sums(system).items()}
                for system in (self._documents if self._numbers else ())
            },
        }

    @classmethod
    def from_json(cls, state: Mapping[str, Any]) -> Totals:
        """Read what `to_json` wrote; arrays may take the place of lists, and keys may lack."""
        new = cls()
        new._numbers = {name: number for number, name in enumerate(state.get("names", ()))}
        new._corpus, new._documents = (
            {
                system: {name: np.array(rows, np.int64) for name, rows in found.items()}
                for system, found in state.get(key, {}).items()
            }
            for key in ("corpus", "documents")
        )
        return new


def _with_rows(table: np.ndarray, rows: int) -> np.ndarray:
    """Words [W,n,K] with room for at least so many rows; room is doubled, so growth is linear."""
    words, size, width = table.shape
    if size >= rows:
        return table
    more = max(rows, 2 * size) - size
    return np.concatenate([table, np.zeros((words, more, width), table.dtype)], 1)
