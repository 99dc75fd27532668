"""Job: the options of a run, which are sent to all workers as JSON.

The fingerprint of a job covers everything that scores depend on: runs may share an output folder
only if their fingerprints are equal.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from torch import Tensor

from tensormt.data.fsspec_io import allow_protocols, local_copy
from tensormt.data.row_columns import SOURCE, Columns
from tensormt.data.shard_writer import SUFFIXES
from tensormt.data.shards import Shard
from tensormt.errors import TensorMTError
from tensormt.evaluator import Evaluator, named_metrics
from tensormt.metric import Metric
from tensormt.trees.sources import TreeOptions, TreesAsText


def unfitted(metrics: Iterable[Metric[Any]]) -> dict[str, list[Any]]:
    """Return the metrics that need counts, by the key of the table that they share."""
    found: dict[str, list[Any]] = {}
    for metric in metrics:
        for own in metric.unfitted():
            found.setdefault(own.counts_key, []).append(own)
    return found


@dataclass(frozen=True)
class Job:
    """The options of a run.

    Args:
        out: Output folder.
        metrics: Names of metrics.
        columns: Names of columns; source texts that a metric reads are in `src` if no other
            column is named.
        form: Format of the score files, "parquet" or "jsonl".
        parser: Name or path of the parser.
        trusted: Whether a supar checkpoint (a pickle) may be loaded.
        lang: Language of the text.
        cache: Folder of the parse cache; None: no cache.
        trees: Whether the texts are bracketed trees.
        device: Device of parser and metrics.
        chunk: Segments per batch; None: chosen by the evaluator.
        skip: Whether invalid rows are skipped.
        documents: Whether document scores are computed.
        tables: Files of counts by key (`unfitted`).
        protocols: Further protocols of fsspec that may be opened.

    Raises:
        TensorMTError: If an option is invalid.
    """

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
    skip: bool = False
    documents: bool = False
    tables: Mapping[str, str] = field(default_factory=dict)
    protocols: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        allow_protocols(self.protocols)  # in the process of a worker, too
        if self.form not in SUFFIXES:
            raise TensorMTError(f"no format {self.form!r}: choose from {', '.join(SUFFIXES)}")
        if self.columns.src is None and self.metrics:
            named = named_metrics(self.metrics, self.lang)
            if any(metric.reads.uses_sources for metric in named.values()):
                object.__setattr__(self, "columns", self.columns._replace(src=SOURCE))
        if self.chunk is not None and self.chunk < 1:
            raise TensorMTError(f"chunks of {self.chunk} segments: expected at least 1")
        if self.documents and self.columns.doc is None:
            raise TensorMTError(
                "document scores need document ids: name their column", options="doc documents"
            )

    def to_json(self) -> str:
        """Return the job as one line of JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: str) -> Job:
        """Make a job from what `to_json` returned."""
        data = json.loads(line)
        hyp, refs, *others = data.pop("columns")
        metrics = tuple(data.pop("metrics"))
        protocols = tuple(data.pop("protocols"))
        columns = Columns(hyp, tuple(refs), *others)
        return cls(columns=columns, metrics=metrics, protocols=protocols, **data)

    def output(self, shard: Shard) -> str:
        """Return the file of the scores of a shard."""
        return f"{self.out}/{shard.name}{SUFFIXES[self.form]}"

    def evaluator(self, *, metrics: Mapping[str, Metric[Any]] | None = None) -> Evaluator:
        """Make the evaluator: metrics with their counts, and a source of trees.

        Args:
            metrics: Metrics by name; None: those of the job.
        """
        named = dict(metrics or named_metrics(self.metrics, self.lang))
        for key, members in unfitted(named.values()).items():
            if key in self.tables:
                with local_copy(self.tables[key]) as path:
                    table = members[0].load_counts(path)
                for metric in members:
                    metric.use_counts(table)
        for name, metric in named.items():
            if metric.needs_fit and not metric.unfitted():  # a metric of another package
                raise TensorMTError(
                    f"{name} needs all references at once, which are counted over the rows of "
                    "files for metrics with `unfitted` alone: score one file with tensormt score"
                )
        options = TreeOptions(self.parser, self.trusted, self.cache)
        return Evaluator(named, TreesAsText() if self.trees else options, self.device, self.lang)

    def chunk_size(self, evaluator: Evaluator) -> int:
        """Return the number of segments per batch: `chunk`, or that of the evaluator."""
        return self.chunk or evaluator.chunk_size

    def fingerprint(self) -> str:
        """Return a hash of everything that scores depend on, except the rows."""
        # the number of references is only known at the end
        facts: list[Any] = list(replace(self, tables={}).evaluator().signatures(0).values())
        facts += [self.metrics, self.columns, self.trees, self.skip]
        facts += ["documents"] if self.documents else []
        needed = unfitted(named_metrics(self.metrics, self.lang).values())
        for key, path in sorted(self.tables.items()):
            with local_copy(path) as local:
                facts.append([key, _hash(needed[key][0].load_counts(local).facts)])
        return hashlib.blake2b(json.dumps(facts).encode(), digest_size=16).hexdigest()


def _hash(facts: list[Any]) -> str:
    """A hash of names and tensors."""
    digest = hashlib.blake2b(digest_size=16)
    for fact in facts:
        digest.update(fact.numpy().data if isinstance(fact, Tensor) else repr(fact).encode())
    return digest.hexdigest()
