"""What all workers of a run are told: plain values, so that they travel as JSON to any process.

A job also says what its results depend on (`fingerprint`): two runs may share a folder only where
it is the same.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tensormt.data.fsspec_io import fetched
from tensormt.data.shard_reader import Columns
from tensormt.data.shard_writer import SUFFIXES
from tensormt.data.shards import Shard
from tensormt.errors import TensorMTError
from tensormt.metric import Metric
from tensormt.ngram.frequencies import Frequencies
from tensormt.prepared import signature
from tensormt.scoring import CHUNK, Scorer
from tensormt.trees.sources import TreesAsText, TreeSource

__all__ = ["Job", "waiting"]

_PARSED_CHUNK = 500  # segments at a time where most of the time goes into parsing


def waiting(metrics: Iterable[Metric[Any]]) -> dict[str, list[Any]]:
    """Metrics, members of combined ones too, that wait for n-gram counts, by the table they share.

    A table is named by tokeniser, case and order.
    """
    found: dict[str, list[Any]] = {}
    for metric in metrics:
        members = getattr(metric, "metrics", None)
        if members is not None:
            for key, some in waiting(members).items():
                found.setdefault(key, []).extend(some)
        elif metric.needs_fit:
            own: Any = metric
            case = "lc" if own.lowercase else "mixed"
            found.setdefault(f"{own.tokenize}-{case}-{own.max_order}", []).append(own)
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
    tables: Mapping[str, str] = field(default_factory=dict)  # of `waiting`, and their files

    def __post_init__(self) -> None:
        if self.form not in SUFFIXES:
            raise TensorMTError(f"no format {self.form!r}: choose from {', '.join(SUFFIXES)}")
        if self.chunk is not None and self.chunk < 1:
            raise TensorMTError(f"chunks of {self.chunk} segments: expected at least 1")
        if self.documents and self.columns.doc is None:
            raise TensorMTError("--documents needs document ids: name their column by --doc")

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

    def scorer(self) -> Scorer:
        """Metrics with their tables and a source of trees, ready for chunks."""
        scorer = Scorer(self.metrics, device=self.device)
        for key, metrics in waiting(scorer.metrics.values()).items():
            if key in self.tables:
                with fetched(self.tables[key]) as path:
                    table = Frequencies.load(path)
                for metric in metrics:
                    metric.counts = table
        scorer.trees = self.tree_source(scorer)
        return scorer

    def tree_source(self, scorer: Scorer) -> TreeSource | None:
        """What makes trees of texts: none, the text itself, or the parser with its cache."""
        if self.trees:
            return TreesAsText()
        if not scorer.needs_trees:
            return None
        from tensormt.parser.cache import CachedParser
        from tensormt.parser.registry import open_parser

        parser = open_parser(self.parser, self.trusted, self.device, lang=self.lang)
        return CachedParser(parser, Path(self.cache) if self.cache else None)

    def chunk_size(self, scorer: Scorer) -> int:
        """Segments at a time: as asked, else fewer where they are parsed."""
        return self.chunk or (_PARSED_CHUNK if hasattr(scorer.trees, "parser") else CHUNK)

    def fingerprint(self) -> str:
        """A hash of all that scores depend on, but for the rows."""
        scorer = Scorer(self.metrics)
        trees = self.tree_source(scorer)
        # the number of references is known at the end only
        facts: list[Any] = [signature(m, 0, trees) for m in scorer.metrics.values()]
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
