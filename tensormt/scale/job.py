"""What all workers of a run are told: plain values, so that they travel as JSON to any process.

A job also says what its results depend on (`fingerprint`): two runs may share a folder only where
it is the same.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from tensormt.data.fsspec_io import fetched
from tensormt.data.shard_reader import Columns
from tensormt.data.shard_writer import SUFFIXES
from tensormt.data.shards import Shard
from tensormt.errors import TensorMTError
from tensormt.evaluator import Evaluator, named_metrics
from tensormt.metric import Metric
from tensormt.ngram.frequencies import Frequencies
from tensormt.trees.sources import TreeOptions, TreesAsText


def unfitted(metrics: Iterable[Metric[Any]]) -> dict[str, list[Any]]:
    """Return the metrics that need n-gram counts, by the key of the table that they share."""
    found: dict[str, list[Any]] = {}
    for metric in metrics:
        for own in metric.unfitted():
            found.setdefault(own.frequencies_key, []).append(own)
    return found


@dataclass(frozen=True)
class Job:
    """Metrics, columns, trees and where results go."""

    out: str
    metrics: tuple[str, ...]
    columns: Columns = field(default_factory=Columns)
    form: str = "parquet"
    parser: str = "default"
    trusted: bool = False
    lang: str | None = None
    cache: str | None = None
    trees: bool = False
    device: str = "cpu"
    chunk: int | None = None
    skip: bool = False  # bad rows are skipped
    documents: bool = False  # sums of documents are kept
    tables: Mapping[str, str] = field(default_factory=dict)  # of `unfitted`, and their files

    def __post_init__(self) -> None:
        if self.form not in SUFFIXES:
            raise TensorMTError(f"no format {self.form!r}: choose from {', '.join(SUFFIXES)}")
        if self.chunk is not None and self.chunk < 1:
            raise TensorMTError(f"chunks of {self.chunk} segments: expected at least 1")
        if self.documents and self.columns.doc is None:
            raise TensorMTError(
                "document scores need document ids: name their column", options="doc documents"
            )

    def to_json(self) -> str:
        """All of it as one line."""
        return json.dumps(asdict(self))

    @classmethod
    def of_json(cls, line: str) -> Job:
        """What `to_json` wrote."""
        data = json.loads(line)
        hyp, refs, doc, own = data.pop("columns")
        metrics = tuple(data.pop("metrics"))
        return cls(columns=Columns(hyp, tuple(refs), doc, own), metrics=metrics, **data)

    def output(self, shard: Shard) -> str:
        """Where the scores of a shard go."""
        return f"{self.out}/{shard.name}{SUFFIXES[self.form]}"

    def evaluator(self, *, metrics: Mapping[str, Metric[Any]] | None = None) -> Evaluator:
        """Metrics with their n-gram counts and a source of trees, ready for chunks."""
        named = dict(metrics or named_metrics(self.metrics))
        for key, waiting in unfitted(named.values()).items():
            if key in self.tables:
                with fetched(self.tables[key]) as path:
                    table = Frequencies.load(path)
                for metric in waiting:
                    metric.use_counts(table)
        options = TreeOptions(self.parser, self.lang, self.trusted, self.cache)
        return Evaluator(named, TreesAsText() if self.trees else options, self.device)

    def chunk_size(self, evaluator: Evaluator) -> int:
        """Segments at a time: as asked, else as the evaluator has it."""
        return self.chunk or evaluator.chunk_size

    def fingerprint(self) -> str:
        """A hash of all that scores depend on, but for the rows."""
        # the number of references is known at the end only
        facts: list[Any] = list(replace(self, tables={}).evaluator().signatures(0).values())
        facts += [self.metrics, self.columns, self.trees, self.skip]
        facts += ["documents"] if self.documents else []
        facts += [[key, self._hash(path)] for key, path in sorted(self.tables.items())]
        return hashlib.blake2b(json.dumps(facts).encode(), digest_size=16).hexdigest()

    @staticmethod
    def _hash(path: str) -> str:
        with fetched(path) as local:
            tables = Frequencies.load(local)
        digest = hashlib.blake2b(str((tables.words, tables.kind)).encode(), digest_size=16)
        for keys, counts in tables.tables:
            digest.update(keys.numpy().data)
            digest.update(counts.numpy().data)
        return digest.hexdigest()
