"""Test sets with human scores: a JSONL of segments, or the score files of mt-metrics-eval.

JSONL, one object a segment (higher scores are better; a system may lack an output or a score):

    {"doc": str, "seg": int, "refs": [str], "sys": {name: {"hyp": str, "scores": {name: float}}}}

mt-metrics-eval: `*.seg.score` (or `.doc.score`, `.sys.score`) with one line `system <tab> score`
per segment, the segments of a system in order, `None` for no score; `*.docs` with one line
`domain <tab> document` per segment.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

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
    ) -> "TestSet":
        """Keep segments with enough references, of each the first few, and not every system."""
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
    rows = [row for path in paths for row in _objects(Path(path))]
    if not rows:
        raise TensorMTError(f"{', '.join(map(str, paths))}: no segment, expected one a line")
    systems = sorted({name for row in rows for name in row["sys"]})
    outputs: list[list[str | None]] = [
        [row["sys"].get(name, {}).get("hyp") for row in rows] for name in systems
    ]
    names = sorted(
        {key for row in rows for output in row["sys"].values() for key in output.get("scores", {})}
    )
    return TestSet(
        [str(row.get("doc", "")) for row in rows],
        [row["refs"] for row in rows],
        systems,
        outputs,
        {name: _table(rows, systems, name) for name in names},
    )


def _table(rows: list[dict[str, Any]], systems: list[str], name: str) -> Tensor:
    """Return one human score as float64 [S,N]."""
    values = [
        [row["sys"].get(system, {}).get("scores", {}).get(name) for row in rows]
        for system in systems
    ]
    return torch.tensor(
        [[math.nan if value is None else float(value) for value in row] for row in values],
        dtype=torch.float64,
    )


def _objects(path: Path) -> list[dict[str, Any]]:
    """Read and check the segments of a file; a mistake is named with its line."""
    rows = []
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise TensorMTError(f"{path}: cannot be read ({error.strerror})") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise TensorMTError(f"{path}:{number}: not a JSON object ({error.msg})") from error
        if not isinstance(row, dict) or not isinstance(row.get("sys"), dict):
            raise TensorMTError(f'{path}:{number}: expected an object with "refs" and "sys"')
        refs = [ref for ref in row.get("refs") or [] if ref and ref.strip()]
        if not refs:
            raise TensorMTError(f'{path}:{number}: no reference, "refs" must hold at least one')
        rows.append({**row, "refs": refs})
    return rows


def read_scores(path: str | Path) -> dict[str, list[float]]:
    """Read a score file of mt-metrics-eval: system -> scores in order, NaN for None."""
    scores: dict[str, list[float]] = {}
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
        fields = line.split()
        try:
            system, value = fields
            score = math.nan if value == "None" else float(value)
        except ValueError as error:
            raise TensorMTError(
                f"{path}:{number}: expected a system and a score, got {line!r}"
            ) from error
        scores.setdefault(system, []).append(score)
    if not scores:
        raise TensorMTError(f"{path}: no score, expected lines of a system and a score")
    if len({len(column) for column in scores.values()}) > 1:
        sizes = ", ".join(f"{name} {len(column)}" for name, column in scores.items())
        raise TensorMTError(f"{path}: systems have different numbers of scores ({sizes})")
    return scores


def align_scores(
    files: Sequence[str | Path], systems: Sequence[str] | None = None
) -> tuple[list[str], list[Tensor]]:
    """Read score files as tables float64 [S,N] over the systems that all of them have.

    ``systems`` narrows them further; the order is that of the first file.
    """
    read = [read_scores(path) for path in files]
    common = [name for name in read[0] if all(name in scores for scores in read)]
    if systems is not None:
        common = [name for name in common if name in systems]
    if len(common) < 2:
        raise TensorMTError(
            f"{', '.join(map(str, files))} have {len(common)} systems in common: at least 2 needed"
        )
    sizes = [len(scores[common[0]]) for scores in read]
    for path, size in zip(files, sizes, strict=True):
        if size != sizes[0]:
            raise TensorMTError(
                f"{path} has {size} scores a system, {files[0]} has {sizes[0]}: they must align"
            )
    tables = [
        torch.tensor([scores[name] for name in common], dtype=torch.float64) for scores in read
    ]
    return common, tables


def read_documents(path: str | Path) -> list[str]:
    """Read the document of every segment from a `.docs` file."""
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    return [line.split("\t")[-1] for line in lines]
