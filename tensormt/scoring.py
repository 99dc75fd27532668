"""`tm.score`: text in, scores out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from tensormt.data.coercion import as_lines, as_list, as_names, as_streams, check_order
from tensormt.errors import TensorMTError
from tensormt.evaluator import Evaluator
from tensormt.metric import Metric
from tensormt.segments import Segments
from tensormt.statistics import Totals
from tensormt.trees.batch import TreeBatch
from tensormt.trees.sources import PreparsedTrees, TreesAsText

Lines = Sequence[str | None] | TreeBatch


@dataclass(frozen=True)
class Result:
    """Scores by metric.

    Args:
        segments: Segment scores, float64 [B].
        corpus: Corpus scores.
        signatures: What reproduces the scores.
        documents: Scores by document and metric, where documents are known.
    """

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
    """Score hypotheses against references with any of the metrics.

    Lists, generators and columns of numpy, pandas or Arrow are taken; None, NaN and empty lines
    are absent references.

    Args:
        hyps: B hypotheses.
        refs: R streams of B references; `refs[k][i]` is reference k of segment i.
        metrics: Names with options, such as "stm:max_depth=3,balance=f1", or Metric objects.
        parser: "default", another name or path, a loaded Parser or another source of trees.
        device: Device of the tensors; None for the CPU.
        trees: True where hyps and refs are bracketings, or (trees of hyps, R of trees of refs)
            beside the text, each bracketings or a TreeBatch.
        docs: A document id for each segment.

    Returns:
        Scores of segments, documents and the corpus, with signatures.

    Raises:
        TensorMTError: If something cannot be used as it is; the message says where and what to do.

    >>> result = score(["the dog ran"], [["the dog ran"]], ["bleu", "bm"])
    >>> round(result.corpus["bm"], 4), result.signatures["bm"].split("|")[0]
    (0.0, 'BM')
    """
    lines, streams = as_lines(hyps, "hyps"), as_streams(refs)
    check_order(len(lines), streams)
    ids = None if docs is None else as_names(docs, "docs")
    outputs: list[str | None] = [line or "" for line in lines]  # None is an empty output
    segments = Segments({"": outputs}, streams, ids)
    source = parser
    if not isinstance(trees, bool):
        if not isinstance(trees, tuple | list) or len(trees) != 2:
            raise TensorMTError(
                "trees is True, or (trees of hyps, [trees of each stream of refs]): got "
                f"{type(trees).__name__}"
            )
        source = PreparsedTrees([trees[0], *as_list(trees[1], "trees of refs")], segments)
    elif trees:
        source = TreesAsText()
    evaluator = Evaluator(metrics, source, device).fit(segments)
    totals, parts = Totals(), []
    for _, found in evaluator.run(segments):
        totals.add(found)
        parts.append({name: found.segments(name)[0] for name in evaluator.metrics})
    empty = torch.zeros(0, dtype=torch.float64, device="cpu")
    names = evaluator.metrics
    return Result(
        {name: torch.cat([empty, *(part[name] for part in parts)]) for name in names},
        totals.corpus_scores(names, ""),
        evaluator.signatures(len(streams)),
        totals.document_scores(names, ""),
    )
