"""Test sets with human scores for a meta-evaluation, from segments or score files.

Each source gives a list of `JudgedSet`, one for every human score. It holds the human scores, the
scores of the metrics that an evaluator computes, and metric scores that other tools have stored.
Folders of WMT are read by `tensormt.metaeval.wmt_sets`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import torch
from torch import Tensor

from tensormt.data.human_scores import align_scores, read_documents
from tensormt.errors import TensorMTError
from tensormt.metaeval.scores import Scores, stored_scores
from tensormt.segments import Segments


@dataclass(frozen=True)
class JudgedSet:
    """A test set (one language pair) with one human score.

    Args:
        name: Name of the language pair or file.
        human_name: Name of the human score.
        human: Human scores, float64 [S,N]; NaN where there is no score.
        metrics: Scores of the metrics.
        documents: Number of each segment's document, int64 [N], and the number of documents D.
        systems: Names of the systems.
        human_systems: Published human scores of systems, float64 [S]; None: the means of segments.
        references: Names of the references, where they have names.
        human_outputs: Names of human outputs that were left out.

    >>> human = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> scores = Scores("bleu", "BLEU", human / 10)
    >>> JudgedSet("en-de", "mqm", human, [scores], (torch.arange(2), 2), ["a", "b"]).human_name
    'mqm'
    """

    name: str
    human_name: str
    human: Tensor
    metrics: list[Scores]
    documents: tuple[Tensor, int]
    systems: list[str]
    human_systems: Tensor | None = None
    references: Sequence[str] = ()
    human_outputs: Sequence[str] = ()


@dataclass(frozen=True)
class Selection:
    """The part of a test set that is used.

    Args:
        human: Names of human scores; empty: all except numbers of raters (n_*).
        without: Names of systems to leave out.
        min_references: Segments with fewer references are left out.
        max_references: Only the first references of a segment are used; None: all.

    >>> segments = Segments({"a": ["x"], "b": ["y"]}, [["x"]])
    >>> Selection(without=["b"]).select(segments).systems
    ['a']
    """

    human: Sequence[str] = ()
    without: Sequence[str] = ()
    min_references: int = 1
    max_references: int | None = None

    def select(self, segments: Segments) -> Segments:
        """Return the selected segments and systems.

        Raises:
            TensorMTError: If a system is unknown or nothing is left.
        """
        return segments.select(
            min_references=self.min_references,
            max_references=self.max_references,
            without=self.without,
        )

    def human_tables(self, segments: Segments) -> dict[str, Tensor]:
        """Return the selected human scores by name, float64 [S,N].

        Raises:
            TensorMTError: If a name is unknown or there are no human scores.
        """
        names = self.human or [name for name in segments.human if not name.startswith("n_")]
        if not names:
            raise TensorMTError(
                "the test set has no human scores: there is nothing to correlate metrics with"
            )
        return {name: torch.from_numpy(segments.human_scores(name)) for name in names}


def judged_sets_from_segments(
    name: str,
    segments: Segments,
    metrics: list[Scores],
    selection: Selection,
    *,
    prefix: str = "",
    human_systems: Mapping[str, Tensor | None] = MappingProxyType({}),
) -> list[JudgedSet]:
    """Make one judged set for each human score of some segments.

    Args:
        name: Name of the set.
        segments: The selected segments.
        metrics: The scores of the metrics on these segments.
        selection: Which human scores are used.
        prefix: Prefix of the names of human scores.
        human_systems: Published human scores of systems [S], by human score.

    Returns:
        One set per human score.

    Raises:
        TensorMTError: If a human score is unknown or there are none.
    """
    numbers, names = segments.document_numbers()
    documents = torch.from_numpy(numbers), len(names)
    return [
        JudgedSet(
            name,
            prefix + score,
            table,
            metrics,
            documents,
            segments.systems,
            human_systems.get(score),
        )
        for score, table in selection.human_tables(segments).items()
    ]


def check_error_rates(lower_is_better: Collection[str], known: Collection[str]) -> None:
    """Raise unless all error rates are among the known scores."""
    for name in lower_is_better:
        if name not in known:
            raise TensorMTError(
                f"there are no scores of {name!r} that could be error rates: "
                f"{', '.join(known) or 'none at all'}",
                options="lower_is_better",
            )


def judged_sets_from_score_files(
    human: str,
    scores: Sequence[str],
    documents: str | None = None,
    lower_is_better: Collection[str] = (),
) -> list[JudgedSet]:
    """Read a judged set from score files of mt-metrics-eval.

    Args:
        human: File of human scores.
        scores: Files of metric scores.
        documents: File with the document of every segment; None: every segment is a document.
        lower_is_better: Names of the metrics that are error rates.

    Returns:
        A list with one set.

    Raises:
        TensorMTError: If a file cannot be read, the files do not align, or a name is unknown.
    """
    names = [Path(path).name.removesuffix(".score").rsplit(".", 1)[0] for path in scores]
    check_error_rates(lower_is_better, names)
    systems, tables = align_scores([human, *scores])
    own, *others = [torch.from_numpy(table) for table in tables]
    metrics = [
        stored_scores(name, table, lower_is_better=name in lower_is_better)
        for name, table in zip(names, others, strict=True)
    ]
    docs = [str(i) for i in range(own.shape[1])]
    if documents:
        docs = read_documents(documents)
        if len(docs) != own.shape[1]:
            raise TensorMTError(
                f"{documents} has {len(docs)} lines, {human} has {own.shape[1]}"
                " scores a system: they must align"
            )
    numbers = {name: k for k, name in enumerate(dict.fromkeys(docs))}
    index = torch.tensor([numbers[name] for name in docs], dtype=torch.int64)
    name = Path(human).name
    return [JudgedSet(name, name, own, metrics, (index, len(numbers)), systems)]
