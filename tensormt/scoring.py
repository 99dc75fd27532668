"""`tm.score`: text in, scores out; `tm.parse`: text in, trees out."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union, overload

import numpy as np

from tensormt.data.coercion import as_column, as_lines, as_list, as_names, as_streams, check_order
from tensormt.devices import resolve_device
from tensormt.errors import TensorMTError
from tensormt.evaluator import Evaluator
from tensormt.metric import Metric
from tensormt.options import describe
from tensormt.parser.tree_source import tree_source
from tensormt.prepared import PreparedTexts
from tensormt.registry import DEFAULT_METRICS
from tensormt.result import Result, Results, lower_is_better
from tensormt.segments import Segments, reference_streams
from tensormt.statistics import Totals
from tensormt.trees.sources import PreparsedTrees, TreesAsText
from tensormt.validation import boolean

if TYPE_CHECKING:
    import torch

    from tensormt.trees.batch import TreeBatch

__all__ = ["parse", "read_segments", "read_trees", "score"]

Lines = Union[Sequence[str | None], "TreeBatch"]
Metrics = str | Iterable[str | Metric[Any]]


@overload
def score(  # type: ignore[overload-overlap]  # a mapping of names is an iterable of names too
    hyps: Mapping[str, Iterable[str | None]],
    refs: Iterable[Iterable[str | None]],
    metrics: Metrics = ...,
    parser: Any = ...,
    device: str | torch.device | None = ...,
    *,
    lang: str | None = ...,
    trees: bool | tuple[Mapping[str, Lines], Sequence[Lines]] = ...,
    docs: Iterable[Any] | None = ...,
    sources: Iterable[str | None] | None = ...,
    data: Any = ...,
    rows: bool = ...,
) -> Results: ...


@overload
def score(
    hyps: Iterable[str | None],
    refs: Iterable[Iterable[str | None]],
    metrics: Metrics = ...,
    parser: Any = ...,
    device: str | torch.device | None = ...,
    *,
    lang: str | None = ...,
    trees: bool | tuple[Lines, Sequence[Lines]] = ...,
    docs: Iterable[Any] | None = ...,
    sources: Iterable[str | None] | None = ...,
    data: Any = ...,
    rows: bool = ...,
) -> Result: ...


def score(
    hyps: Any,
    refs: Any,
    metrics: Metrics = DEFAULT_METRICS,
    parser: Any = "default",
    device: str | torch.device | None = None,
    *,
    lang: str | None = None,
    trees: bool | tuple[Any, Sequence[Lines]] = False,
    docs: Any = None,
    sources: Any = None,
    data: Any = None,
    rows: bool = False,
) -> Result | Results:
    """Score hypotheses against references with any of the metrics.

    Lists, generators and columns of numpy, pandas, polars or Arrow are taken; None, NaN and empty
    lines are absent references.

    Args:
        hyps: B hypotheses, or {system: B hypotheses} for several systems.
        refs: R streams of B references; `refs[k][i]` is reference k of segment i.
        metrics: Names with options, such as "stm:max_depth=3,balance=f1", or Metric objects.
        parser: "default", another name or path, a loaded Parser or another source of trees.
        device: Device of the tensors; None for the CPU.
        lang: Language of the text, such as "de": sets the parser, and the tokeniser of Chinese,
            Japanese and Korean.
        trees: True where hyps and refs are bracketings, or (trees of hyps, R of trees of refs)
            beside the text, each bracketings or a TreeBatch; of several systems, the trees of hyps
            are {system: trees}.
        docs: A document id for each segment.
        sources: The source text of each segment, for metrics that read it (`copied`).
        data: A data frame, Arrow table, dataset or dictionary of columns; hyps, refs, docs and
            sources are then names of columns: hyps one name, or {system: name}; refs one name or
            several. A column of lists has all references of a segment.
        rows: Whether refs are given by segment: `refs[i][k]` is reference k of segment i.

    Returns:
        A `Result`: scores of segments, documents and the corpus, with signatures; of several
        systems `Results`, a result for each.

    Raises:
        TensorMTError: If something cannot be used as it is; the message says where and what to do.

    >>> result = score(["the dog ran home"], [["the dog ran away"]], ["bleu", "chrf"])
    >>> round(result.corpus["bleu"], 2), result.signatures["bleu"].split("|")[0]
    (59.46, 'BLEU')
    >>> print(score({"A": ["a dog"], "B": ["a cat"]}, [["a dog"]], "chrf"))
    system    chrf
    A       100.00
    B         6.25
    """
    import torch

    segments = read_segments(hyps, refs, docs, sources, data=data, rows=rows)
    source = read_trees(trees, segments, parser)
    evaluator = Evaluator(metrics, source, device, lang).fit(segments)
    totals, parts = Totals(), []
    for _, found in evaluator.run(segments):
        totals.add(found)
        parts.append({name: found.segments(name) for name in evaluator.metrics})
    names = evaluator.metrics
    empty = np.zeros((len(segments.systems), 0))
    scores = {name: np.concatenate([empty, *(part[name] for part in parts)], 1) for name in names}
    signatures = evaluator.signatures(segments.reference_count)
    results = {
        system: Result(
            {name: torch.from_numpy(table[k]) for name, table in scores.items()},
            totals.corpus_scores(names, system),
            signatures,
            totals.document_scores(names, system),
            {name: metric.digits for name, metric in names.items()},
            lower_is_better(names),
        )
        for k, system in enumerate(segments.systems)
    }
    return results[""] if list(results) == [""] else Results(results)


def read_segments(
    hyps: Any,
    refs: Any,
    docs: Any = None,
    sources: Any = None,
    *,
    data: Any = None,
    rows: bool = False,
) -> Segments:
    """Return the segments of arguments as `score` takes them; a single system is called "".

    Outputs that are missing (None, NaN) are empty texts, with a warning.

    Raises:
        TensorMTError: If texts are missing, of another type or not aligned.
    """
    rows = boolean(rows, "rows")
    if data is not None:
        hyps, refs, rows = _columns(data, hyps, refs, rows)
        docs = None if docs is None else as_column(data, docs, "docs")
        sources = None if sources is None else as_column(data, sources, "sources")
    if isinstance(hyps, Mapping):
        if not hyps:
            raise TensorMTError("hyps has no system: give {system: list of segments}")
        outputs = {str(name): as_lines(own, f"hyps[{name!r}]") for name, own in hyps.items()}
    else:
        outputs = {"": as_lines(hyps, "hyps")}
    size = len(next(iter(outputs.values())))
    if rows:
        by_segment = [as_lines(row, f"refs[{k}]") for k, row in enumerate(as_list(refs, "refs"))]
        streams = reference_streams(by_segment)
    else:
        streams = as_streams(refs)
        check_order(size, streams)
    missing = sum(line is None for lines in outputs.values() for line in lines)
    if missing:
        total = sum(map(len, outputs.values()))
        warnings.warn(
            f"{missing:,} of {total:,} hypotheses are missing (None or NaN): they are scored as "
            "empty texts",
            stacklevel=3,
        )
    given: dict[str, list[str | None]] = {
        name: [line or "" for line in lines] for name, lines in outputs.items()
    }
    return Segments(
        given,
        streams,
        None if docs is None else as_names(docs, "docs"),
        sources=None if sources is None else as_lines(sources, "sources"),
    )


def _columns(data: Any, hyps: Any, refs: Any, rows: bool) -> tuple[Any, Any, bool]:
    """The columns that are named, and whether the references are given by segment."""
    outputs: Any
    if isinstance(hyps, Mapping):
        outputs = {name: as_column(data, column, "hyps") for name, column in hyps.items()}
    else:
        outputs = as_column(data, hyps, "hyps")
    streams = [refs] if isinstance(refs, str) else as_list(refs, "refs")
    found = [as_list(as_column(data, name, "refs"), "refs") for name in streams]
    if len(found) == 1 and any(isinstance(value, list | tuple) for value in found[0]):
        found, rows = [value or [] for value in found[0]], True
    elif rows:
        raise TensorMTError("refs by segment are one column of lists: name that column alone")
    return outputs, found, rows


def read_trees(trees: Any, segments: Segments, parser: Any) -> Any:
    """Return the source of trees that arguments as those of `score` name.

    Raises:
        TensorMTError: If trees do not have the form of the text.
    """
    if isinstance(trees, bool):
        return TreesAsText() if trees else parser
    pair = isinstance(trees, tuple | list) and len(trees) == 2
    single = segments.systems == [""]
    if not pair or (not single and not _same_names(trees[0], segments.systems)):
        first = "trees of hyps" if single else "{system: trees} with the systems of hyps"
        raise TensorMTError(
            f"trees is True, or ({first}, [trees of each stream of refs]): got {describe(trees)}"
        )
    own = [trees[0]] if single else [trees[0][name] for name in segments.systems]
    return PreparsedTrees([*own, *as_list(trees[1], "trees of refs")], segments)


def _same_names(trees: Any, systems: list[str]) -> bool:
    return isinstance(trees, Mapping) and set(trees) == set(systems)


def parse(
    lines: Iterable[str | None],
    parser: Any = "default",
    device: str | torch.device | None = None,
    *,
    lang: str | None = None,
) -> TreeBatch:
    """Parse texts.

    Args:
        lines: Texts; None or an empty text has an empty tree.
        parser: "default", another name or path, or a loaded Parser.
        device: Device of the parser; None for the CPU.
        lang: Language of the text, such as "de".

    Returns:
        A tree for each text.

    Raises:
        TensorMTError: If the parser cannot be opened, or was not trained on the script of the text.

    >>> parse(["The dog ran."]).to_brackets()
    ['(S (NP (DT The) (NN dog)) (VP (VBD ran)) (. .))']
    """
    where = resolve_device(device)
    source = tree_source(parser, where, lang)
    return PreparedTexts(Segments({}, [as_lines(lines)]), source, where).tree_batches()[0]
