"""Test sets with human scores: a JSONL of segments, or the score files of mt-metrics-eval.

JSONL, one object a segment (higher scores are better; a system may lack an output or a score):

    {"doc": str, "seg": int, "refs": [str], "sys": {name: {"hyp": str, "scores": {name: float}}}}

mt-metrics-eval: `*.seg.score` (or `.doc.score`, `.sys.score`) with one line `system <tab> score`
per segment, the segments of a system in order, `None` for no score; `*.docs` with one line
`domain <tab> document` per segment.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from tensormt.data import files
from tensormt.data.row_reader import document, strings
from tensormt.errors import TensorMTError


@dataclass(frozen=True)
class TestSet:
    """N segments with their references, the outputs of S systems and what people say of them."""

    __test__ = False  # not a test case, whatever its name begins with

    documents: list[str]  # [N]
    references: list[list[str]]  # [N], each of one or more
    systems: list[str]  # [S]
    outputs: list[list[str | None]]  # [S][N]; None: no output
    human: dict[str, Tensor]  # float64 [S,N]; NaN: no score

    def __len__(self) -> int:
        return len(self.documents)

    def scores(self, name: str) -> Tensor:
        """Return the human scores of that name, float64 [S,N], or say which there are."""
        if name not in self.human:
            known = ", ".join(self.human) or "none at all"
            raise TensorMTError(f"there is no human score {name!r}: the test set has {known}")
        return self.human[name]

    def document_numbers(self) -> tuple[Tensor, list[str]]:
        """Return the number of each segment's document, int64 [N], and the documents' names [D]."""
        numbers: dict[str, int] = {}
        index = [numbers.setdefault(name, len(numbers)) for name in self.documents]
        return torch.tensor(index, dtype=torch.int64), list(numbers)

    def select(
        self,
        *,
        least_references: int = 1,
        most_references: int | None = None,
        without: Sequence[str] = (),
    ) -> TestSet:
        """Keep segments with enough references, of each the first few, and not every system."""
        for most, what in ((least_references, "least"), (most_references, "most")):
            if most is not None and most < 1:
                raise TensorMTError(f"at {what} {most} references: expected 1 or more")
        for name in without:
            if name not in self.systems:
                raise TensorMTError(
                    f"there is no system {name!r} to leave out: {', '.join(self.systems)}"
                )
        segments = [i for i, refs in enumerate(self.references) if len(refs) >= least_references]
        rows = [k for k, name in enumerate(self.systems) if name not in without]
        if not segments or not rows:
            raise TensorMTError(
                f"nothing is left with at least {least_references} references and without"
                f" {list(without)}: ask for less"
            )
        return replace(
            self,
            documents=[self.documents[i] for i in segments],
            references=[self.references[i][:most_references] for i in segments],
            systems=[self.systems[k] for k in rows],
            outputs=[[self.outputs[k][i] for i in segments] for k in rows],
            human={name: table[rows][:, segments] for name, table in self.human.items()},
        )


def read_jsonl(*paths: str | Path) -> TestSet:
    """Read one or more JSONL files as one test set."""
    rows = [row for path in paths for row in _rows(files.rereadable(str(path)))]
    if not rows:
        raise TensorMTError(f"{', '.join(map(str, paths))}: no segment, expected one a line")
    systems = sorted({name for row in rows for name in row.outputs})
    names = sorted({key for row in rows for own in row.scores.values() for key in own})
    human = {
        name: torch.tensor(
            [[row.scores.get(s, {}).get(name, math.nan) for row in rows] for s in systems],
            dtype=torch.float64,
        )
        for name in names
    }
    return TestSet(
        [row.doc for row in rows],
        [row.refs for row in rows],
        systems,
        [[row.outputs.get(system) for row in rows] for system in systems],
        human,
    )


class _Row(NamedTuple):
    """One segment of a JSONL: outputs and human scores by system."""

    doc: str
    refs: list[str]
    outputs: dict[str, str | None]
    scores: dict[str, dict[str, float]]


def _rows(path: str) -> Iterator[_Row]:
    """The segments of a file, checked; a mistake is named with its line."""
    for number, line in enumerate(files.lines(path), 1):
        if not line.strip():
            continue
        where = f"{files.shown(path)}, line {number}"
        data = files.json_line(line, where)
        if not isinstance(data.get("sys"), dict):
            raise TensorMTError(f'{where}: expected an object with "refs" and "sys"')
        given = strings(data.get("refs") or [], where, "refs")
        refs = [ref for ref in given if ref and not ref.isspace()]
        if not refs:
            raise TensorMTError(f'{where}: no reference, "refs" must hold at least one')
        doc = data.get("doc", "")
        outputs, scores = {}, {}
        for system, entry in data["sys"].items():
            place = f"{where}, system {system!r}"
            if not isinstance(entry, dict):
                raise TensorMTError(f'{place}: expected an object with "hyp" and "scores"')
            strings(system, where, "sys")
            outputs[system] = strings([entry.get("hyp")], place, "hyp")[0]
            scores[system] = _scores(entry.get("scores"), place)
        yield _Row("" if doc is None else document(doc, where), refs, outputs, scores)


def _scores(entry: Any, place: str) -> dict[str, float]:
    """The human scores of one output: finite numbers by name; null is no score."""
    if entry is None:
        return {}
    if not isinstance(entry, dict):
        raise TensorMTError(f'{place}: "scores" must be an object of numbers')
    found = {}
    for name, value in entry.items():
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not _finite(value):
            raise TensorMTError(f"{place}: score {name!r} must be a finite number or null")
        strings(name, place, "scores")
        found[name] = float(value)
    return found


def _finite(value: float) -> bool:
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


def read_scores(path: str | Path) -> dict[str, list[float]]:
    """Read a score file of mt-metrics-eval: system -> scores in order, NaN for None."""
    scores: dict[str, list[float]] = {}
    for number, line in enumerate(files.lines(str(path)), 1):
        fields = line.split()
        try:
            system, value = fields
            score = math.nan if value == "None" else float(value)
        except ValueError as error:
            raise TensorMTError(
                f"{path}:{number}: expected a system and a score, got {line[:60]!r}"
            ) from error
        scores.setdefault(system, []).append(score)
    if not scores:
        raise TensorMTError(f"{path}: no score, expected lines of a system and a score")
    if len({len(column) for column in scores.values()}) > 1:
        sizes = ", ".join(f"{name} {len(column)}" for name, column in scores.items())
        raise TensorMTError(f"{path}: systems have different numbers of scores ({sizes})")
    return scores


def align_scores(
    paths: Sequence[str | Path], systems: Sequence[str] | None = None
) -> tuple[list[str], list[Tensor]]:
    """Read score files as tables float64 [S,N] over the systems that all of them have.

    ``systems`` narrows them further; the order is that of the first file.
    """
    read = [read_scores(path) for path in paths]
    common = [name for name in read[0] if all(name in scores for scores in read)]
    if systems is not None:
        common = [name for name in common if name in systems]
    if len(common) < 2:
        raise TensorMTError(
            f"{', '.join(map(str, paths))} have {len(common)} systems in common: at least 2 needed"
        )
    sizes = [len(scores[common[0]]) for scores in read]
    for path, size in zip(paths, sizes, strict=True):
        if size != sizes[0]:
            raise TensorMTError(
                f"{path} has {size} scores a system, {paths[0]} has {sizes[0]}: they must align"
            )
    tables = [
        torch.tensor([scores[name] for name in common], dtype=torch.float64) for scores in read
    ]
    return common, tables


def read_documents(path: str | Path) -> list[str]:
    """Read the document of every segment from a `.docs` file."""
    return [line.split("\t")[-1] for line in files.lines(str(path))]
