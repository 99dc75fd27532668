"""Test sets with human scores for a meta-evaluation: segments, score files, folders of WMT.

Each source gives a list of `JudgedSet`, one for every human score. It holds the human scores, the
scores of the metrics that an evaluator computes, and metric scores that other tools have stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np
import torch
from torch import Tensor

from tensormt.data.human_scores import align_scores, read_documents
from tensormt.data.wmt import WMTSet, language_pairs, read_folder, write_scores
from tensormt.errors import TensorMTError
from tensormt.evaluator import Evaluator
from tensormt.metaeval.scores import Scores, evaluate_metrics
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


def judged_sets_from_folder(
    folder: str,
    evaluator: Evaluator,
    selection: Selection,
    *,
    pairs: Sequence[str] = (),
    references: Sequence[str] = (),
    stored: Sequence[str] | None = None,
    write_to: str | None = None,
    prefixed: bool = True,
) -> list[list[JudgedSet]]:
    """Read the judged sets of language pairs from a folder in the layout of mt-metrics-eval.

    Args:
        folder: The folder.
        evaluator: Metrics that are computed.
        selection: Which systems and human scores are used.
        pairs: Language pairs; empty: all.
        references: Names of references; empty: the first by name.
        stored: Names of stored metrics that are used; None: all, ["none"]: none.
        write_to: Folder to which computed scores are written in the same layout.
        prefixed: Whether names of human scores start with the language pair.

    Returns:
        For each language pair, one set per human score.

    Raises:
        TensorMTError: If a file, pair, reference or stored metric is missing; nothing is scored
            then.
    """
    chosen = list(pairs) or language_pairs(folder)
    sets = [read_folder(folder, pair, references, stored != ["none"]) for pair in chosen]
    for read in sets:
        for name in set(stored or ()) - set(read.stored) - {"none"}:
            known = ", ".join(read.stored) or "none"
            raise TensorMTError(f"{folder} has no scores of {name!r} for {read.pair}: {known}")
    found = []
    for read in sets:
        test = selection.select(read.test)
        metrics = evaluate_metrics(evaluator, test)
        if write_to:
            target = Path(write_to) / read.pair if len(sets) > 1 else Path(write_to)
            _write(target, read, test, metrics)
        rows = [k for k, name in enumerate(read.test.systems) if name not in selection.without]
        wanted = [name for name in read.stored if stored is None or name in stored]
        metrics += [_stored_scores(read, name, rows) for name in wanted]
        human_systems = {
            name: _published(own, read.test.human[name], rows)
            for name, own in read.human_systems.items()
        }
        prefix = f"{read.pair}, " if len(sets) > 1 and prefixed else ""
        found.append(
            judged_sets_from_segments(
                read.pair, test, metrics, selection, prefix=prefix, human_systems=human_systems
            )
        )
    return found


def _stored_scores(read: WMTSet, name: str, rows: list[int]) -> Scores:
    """Return the scores of a stored metric for the selected systems."""
    table = read.stored[name]
    published = _published(read.stored_systems.get(name), table, rows)
    return Scores(name, name, torch.from_numpy(table[rows]), published=published)


def _published(systems: np.ndarray | None, segments: np.ndarray, rows: list[int]) -> Tensor | None:
    """Return published scores of the selected systems; None if they are means of segments [S,N].

    Means of segments can be resampled and tested segment by segment, published scores cannot.
    """
    if systems is None:
        return None
    own = torch.from_numpy(segments).nanmean(dim=1)
    if torch.allclose(torch.from_numpy(systems), own, rtol=1e-6, atol=1e-9, equal_nan=True):
        return None
    return torch.from_numpy(systems[rows])


def _write(folder: Path, read: WMTSet, test: Segments, metrics: Sequence[Scores]) -> None:
    for own in metrics:
        tables = {"seg": own.segments, "sys": own.systems()[:, None]}
        for level, table in tables.items():
            by_system = dict(zip(test.systems, table.tolist(), strict=True))
            write_scores(folder, own.name, read.references, by_system, level)


def judged_sets_from_score_files(
    human: str, scores: Sequence[str], documents: str | None = None
) -> list[JudgedSet]:
    """Read a judged set from score files of mt-metrics-eval.

    Args:
        human: File of human scores.
        scores: Files of metric scores.
        documents: File with the document of every segment; None: every segment is a document.

    Returns:
        A list with one set.

    Raises:
        TensorMTError: If a file cannot be read or the files do not align.
    """
    systems, tables = align_scores([human, *scores])
    own, *others = [torch.from_numpy(table) for table in tables]
    names = [Path(path).name.removesuffix(".score").rsplit(".", 1)[0] for path in scores]
    metrics = [Scores(name, name, table) for name, table in zip(names, others, strict=True)]
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
