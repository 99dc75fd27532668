"""Evaluator: from segments to statistics, the one way that all commands and functions take.

    evaluator = Evaluator(["bleu", "stm"], trees="default")
    evaluator = evaluator.fit(corpus)                 # NIST, NM, Zipf: counts over all references
    for segments, statistics in evaluator.run(corpus): …

An evaluator is immutable. Names, options and needs of the metrics are checked when it is made,
before any text is read: unknown names, invalid values, a metric on trees without a source of trees,
a device that does not exist, a parser that cannot be loaded.
"""

from __future__ import annotations

from collections.abc import Generator, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from copy import copy
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from tensormt.data.coercion import as_list
from tensormt.data.corpus import Corpus
from tensormt.devices import is_cpu, resolve_device
from tensormt.errors import SegmentError, TensorMTError
from tensormt.metric import Metric, join_signature
from tensormt.parser.language_check import check_code
from tensormt.parser.tree_source import tree_source
from tensormt.plain import MAX_SEGMENTS, limit, torch_imported
from tensormt.prepared import PreparedTexts
from tensormt.registry import make, split_specs
from tensormt.segments import Segments
from tensormt.statistics import Statistics
from tensormt.text_warnings import TextWarnings
from tensormt.trees.sources import GIVEN

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from tensormt.explanation import Explanation

__all__ = ["CHUNK", "Evaluator", "named_metrics"]

CHUNK = 2000  # segments: what fits a CPU's cache, and a good batch for a parser
PARSED_CHUNK = 500  # segments where a parser or encoder takes most of the time: progress is seen


def named_metrics(metrics: Any, lang: str | None = None) -> dict[str, Metric[Any]]:
    """Return metrics by what they are called: as typed, or the name of an object in lower case.

    Args:
        metrics: Specifications such as "stm:max_depth=3", also in one text with commas between
            them, or Metric objects, which are copied; or Metric objects by name, which are used as
            they are.
        lang: Language of the text, which sets tokenisers that specifications do not name.

    Raises:
        TensorMTError: If a name or option is not valid, or two objects have one name.
    """
    if isinstance(metrics, Mapping) and all(isinstance(m, Metric) for m in metrics.values()):
        given, found = [], dict(metrics)
    else:
        metrics = split_specs(metrics) if isinstance(metrics, str) and metrics else metrics
        single = isinstance(metrics, str | Metric | type | Mapping)
        given = [] if single or not isinstance(metrics, Iterable) else as_list(metrics, "metrics")
        found = {}
    if not given and not found:
        raise TensorMTError("metrics is a list of at least one name, such as ['bleu']")
    for metric in given:
        if not isinstance(metric, Metric):
            found[metric] = make(metric, lang)
            continue
        name = metric.label
        if name in found:
            raise TensorMTError(
                f"two metrics are called {name!r}: name them with their options instead, such as "
                "'bleu:max_order=2'"
            )
        found[name] = copy(metric)
    return found


class Evaluator:
    """Metrics with their source of trees and device.

    Args:
        metrics: Specifications or Metric objects, or both by name.
        trees: Where trees come from, if a metric reads them: a parser (or its name or path),
            `TreeOptions`, a function from texts to a TreeBatch, `TreesAsText` where the texts are
            trees, or `PreparsedTrees` beside the text. It is opened only if it is needed.
        device: Device of the tensors: None for the CPU, "auto", "cuda", ….
        lang: Language of the text, such as "de": sets the parser, and the tokeniser of Chinese,
            Japanese and Korean.

    Raises:
        TensorMTError: If a metric, its options, the source of trees or the device is not valid.

    >>> evaluator = Evaluator(["bleu:max_order=2"])
    >>> found = evaluator.evaluate(Segments({"a": ["the dog ran"]}, [["the dog ran"]]))
    >>> round(found.corpus("bleu:max_order=2").item())
    100
    """

    def __init__(
        self,
        metrics: Iterable[str | Metric[Any]] | Mapping[str, Metric[Any]],
        trees: Any = None,
        device: str | torch.device | None = None,
        lang: str | None = None,
    ) -> None:
        check_code(lang)
        named = named_metrics(metrics, lang)
        self._metrics = named
        self._lang = lang
        # these exist everywhere; torch, which knows about others, is imported when it is needed
        usual = device is None or (isinstance(device, str) and device in ("auto", "cpu"))
        self._device = device if usual else resolve_device(device)
        where = self.device if self.reads_trees else None
        self._trees = tree_source(trees, where, lang, needed=self.reads_trees)
        if self.reads_trees and self._trees is None:
            name = next(metric.name for metric in named.values() if metric.reads_trees)
            raise TensorMTError(f"{name} compares trees: name a parser, for example 'default'")
        for metric in named.values():
            if metric.reads.uses_encoder:
                metric.reads.load(self.device)

    @property
    def metrics(self) -> Mapping[str, Metric[Any]]:
        """Metrics by name."""
        return MappingProxyType(self._metrics)

    @property
    def trees(self) -> Any:
        """The source of trees; None where none is needed."""
        return self._trees

    @property
    def device(self) -> torch.device:
        """The device of the tensors."""
        return resolve_device(self._device)

    @property
    def reads_trees(self) -> bool:
        """Whether a metric reads trees."""
        return any(metric.reads_trees for metric in self._metrics.values())

    @property
    def chunk_size(self) -> int:
        """Segments that are evaluated at a time where nobody says otherwise."""
        slow = any(metric.reads.uses_encoder for metric in self._metrics.values())
        return PARSED_CHUNK if slow or hasattr(self._trees, "parser") else CHUNK

    def with_metrics(self, metrics: Mapping[str, Metric[Any]]) -> Evaluator:
        """Return an evaluator of other metrics with the same source of trees and device."""
        return Evaluator(metrics, self._trees, self._device, self._lang)

    def fit(self, corpus: Corpus | Segments, size: int | None = None) -> Evaluator:
        """Return an evaluator whose metrics have the counts over all references that they need.

        Args:
            corpus: The whole test set; it is read once, without hypotheses, if a metric needs it.
            size: Segments at a time.

        Raises:
            TensorMTError: If stored scores are not as many as the segments.
        """
        if getattr(corpus, "numbers", range(len(corpus))) == range(len(corpus)):  # not a selection
            for metric in self._metrics.values():
                metric.check_size(len(corpus))
        if not any(metric.needs_fit for metric in self._metrics.values()):
            return self
        self._import_engine(corpus)
        fitted = {name: copy(metric) for name, metric in self._metrics.items()}
        waiting = [metric for metric in fitted.values() if metric.needs_fit]
        for segments in corpus.chunks(size or CHUNK, hyps=False):
            texts = self.prepare(segments)
            for metric in waiting:
                metric.fit(metric.fit_reads.batches(texts))
        return self.with_metrics(fitted)

    def prepare(self, segments: Segments, device: torch.device | None = None) -> PreparedTexts:
        """Return the texts of segments, ready for any metric, on the device or another one.

        Raises:
            TensorMTError: If a metric reads the source, and the segments have none.
        """
        if segments.sources is None:
            for name, metric in self._metrics.items():
                if metric.reads.uses_sources:
                    raise TensorMTError(
                        f"{name} compares with the source text, which is not given: pass sources",
                        options="src",
                    )
        return PreparedTexts(segments, self._trees, device or self._device)

    def evaluate(self, segments: Segments, texts: PreparedTexts | None = None) -> Statistics:
        """Compute the statistics of every system and metric.

        Args:
            segments: Aligned segments; outputs that are None count nothing.
            texts: The same segments prepared, where they are used for more than that.

        Raises:
            TensorMTError: If a segment cannot be scored; the message has its number.
        """
        texts = texts or self.prepare(segments)
        tables: dict[str, np.ndarray] = {}
        present = segments.present
        for names in self._groups():
            first, *others = [self._metrics[name] for name in names]
            with _numbered(segments):
                hyps, refs = texts.sides(first.reads)
                # the path for a few segments rounds floats otherwise: without it, a chunk
                # of a few segments is computed as all others are
                batched = None if first.exact_plain_path or not torch_imported() else True
                rows = [
                    first.rows_with(others, hyp, refs)
                    if others
                    else [first.rows(hyp, refs, batched)]
                    for hyp in hyps
                ]
            for name, by_system in zip(names, zip(*rows, strict=True), strict=True):
                tables[name] = np.stack([_on_host(table) for table in by_system])
        if not bool(present.all()):
            tables = {name: table * present[..., None] for name, table in tables.items()}
        ordered = {name: tables[name] for name in self._metrics if name in tables}
        return Statistics(self.metrics, ordered, present, segments.systems, segments.documents)

    def segment_scores(self, segments: Segments) -> dict[str, Tensor]:
        """Compute segment scores by metric, float64 [S,N] on the evaluator's device.

        An output that is None is scored as an empty text.
        """
        import torch

        texts, scores = self.prepare(segments), {}
        for name, metric in self._metrics.items():
            with _numbered(segments):
                hyps, refs = texts.sides(metric.reads)
                scores[name] = torch.stack([metric(hyp, refs) for hyp in hyps])
        return scores

    def run(
        self, corpus: Corpus | Segments, size: int | None = None, start: int = 0
    ) -> Iterator[tuple[Segments, Statistics]]:
        """Iterate over the chunks of a corpus from a segment on, with their statistics.

        While a device works on a chunk, a thread reads the next one; on a CPU there is no thread.
        At the end there is a warning for what may make the scores misleading
        (`tensormt.text_warnings`).
        """
        self._import_engine(corpus)
        seen = TextWarnings(self._metrics)
        chunks = corpus.chunks(size or self.chunk_size, start)
        with closing(self._prepared(chunks)) as prepared:  # ends the thread, also after an error
            for texts in prepared:
                found = self.evaluate(texts.segments, texts)
                seen.add(texts.segments, found)
                yield texts.segments, found
        seen.warn()

    def _prepared(self, chunks: Iterator[Segments]) -> Generator[PreparedTexts, None, None]:
        """Prepare chunks, for a device one ahead of the one that is asked for."""
        if not torch_imported() or is_cpu(self._device):
            yield from map(self.prepare, chunks)
            return
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(1, "tensormt-reader") as thread:
            following = thread.submit(self._read_next, chunks)
            while (texts := following.result()) is not None:
                following = thread.submit(self._read_next, chunks)
                yield texts

    def _read_next(self, chunks: Iterator[Segments]) -> PreparedTexts | None:
        """Prepare the next chunk as far as that needs no device; None: there is no further one."""
        segments = next(chunks, None)
        if segments is None:
            return None
        texts = self.prepare(segments)
        with _numbered(segments):
            for metric in self._metrics.values():
                metric.reads.read(texts)
        return texts

    def _import_engine(self, corpus: Corpus | Segments) -> None:
        """Import torch unless the plain path is faster for the whole corpus than the import."""
        few = len(corpus) * len(corpus.systems) <= limit(MAX_SEGMENTS)
        if not few or not all(metric.has_plain_path for metric in self._metrics.values()):
            import_module("torch")

    def explain(self, texts: PreparedTexts, metric: str) -> list[Explanation]:
        """Say what a metric matched, for each system.

        Args:
            texts: Prepared segments (`prepare`), shared by all metrics.
            metric: Name of the metric.

        Raises:
            NoExplanation: If the metric does not say what it matched.
        """
        found = self._metrics[metric]
        with _numbered(texts.segments):
            hyps, refs = texts.sides(found.reads)
            return [found.explain(hyp, refs) for hyp in hyps]

    def signatures(self, references: int, *, short: bool = False) -> dict[str, str]:
        """Return what reproduces the scores: metric, settings, references, parser, version.

        Args:
            references: The number R of reference streams.
            short: Whether the metric is written as it was typed, without its other settings.
        """
        return {
            name: self._signature(metric, references, name if short else "")
            for name, metric in self._metrics.items()
        }

    def _signature(self, metric: Metric[Any], references: int, named: str) -> str:
        facts: dict[str, object] = {"refs": references}
        without: Sequence[str] = ()
        if metric.reads_trees:
            facts["parser"] = getattr(self._trees, "fingerprint", GIVEN)
            if getattr(self._trees, "kind", None) == "dependency":
                without = ("rules",)  # head rules convert constituents only
        if named and self._is_typed(named, metric):
            facts = {"lang": self._lang, **facts} if self._lang else facts
            return join_signature(named, facts)
        return metric.format_signature(facts, without=without)

    def _is_typed(self, name: str, metric: Metric[Any]) -> bool:
        """Whether a metric is the one that its name specifies, with all settings."""
        try:
            return make(name, self._lang).signature == metric.signature
        except TensorMTError:
            return False

    def _groups(self) -> list[list[str]]:
        """Names of metrics that are computed together."""
        groups: dict[Hashable, list[str]] = {}
        for name, metric in self._metrics.items():
            groups.setdefault(metric.sharing_key, []).append(name)
        return list(groups.values())

    def __repr__(self) -> str:
        return f"Evaluator({', '.join(self._metrics)})"


def _on_host(rows: Any) -> np.ndarray:
    """Statistics of either path as an array of numpy."""
    return rows if isinstance(rows, np.ndarray) else rows.cpu().numpy()


class _numbered:
    """Errors about a segment of a batch name its number in the corpus."""

    def __init__(self, segments: Segments) -> None:
        self.segments = segments

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, SegmentError) and 1 <= error.segment <= len(self.segments):
            number = self.segments.number(error.segment - 1) + 1
            raise SegmentError(number, error.trouble) from None
