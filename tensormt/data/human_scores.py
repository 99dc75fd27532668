"""Test sets with human scores: JSONL files of segments, or score files of mt-metrics-eval.

JSONL, one object per segment (higher scores are better; outputs, scores and the source may be
missing):

    {"doc": str, "seg": int, "src": str, "refs": [str],
     "sys": {name: {"hyp": str, "scores": {name: float}}}}

mt-metrics-eval: `*.seg.score` (or `.doc.score`, `.sys.score`) with one line `system <tab> score`
per segment, the segments of a system in order, `None` for no score; `*.docs` with one line
`domain <tab> document` per segment.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tensormt.data import files
from tensormt.data.row_columns import check_document, check_texts
from tensormt.errors import TensorMTError
from tensormt.segments import Segments


def read_jsonl(*paths: str | Path) -> Segments:
    """Read one or more JSONL files as one test set with human scores.

    Args:
        paths: Files in the format of this module.

    Returns:
        Segments with documents, human scores, and sources where there are any.

    Raises:
        TensorMTError: If a line is not such an object; the message names the file and the line.
    """
    rows = [row for path in paths for row in _rows(files.rereadable(str(path)))]
    if not rows:
        raise TensorMTError(f"{', '.join(map(str, paths))}: no segment, expected one per line")
    systems = sorted({name for row in rows for name in row.outputs})
    names = sorted({key for row in rows for own in row.scores.values() for key in own})
    human = {
        name: np.array(
            [[row.scores.get(s, {}).get(name, math.nan) for row in rows] for s in systems],
            np.float64,
        )
        for name in names
    }
    return Segments.from_rows(
        {system: [row.outputs.get(system) for row in rows] for system in systems},
        [row.refs for row in rows],
        documents=[row.doc for row in rows],
        sources=[row.src for row in rows] if any(row.src for row in rows) else None,
        human=human,
    )


class _Row(NamedTuple):
    """One segment of a JSONL: outputs and human scores by system."""

    doc: str
    refs: list[str]
    outputs: dict[str, str | None]
    scores: dict[str, dict[str, float]]
    src: str | None = None


def _rows(path: str) -> Iterator[_Row]:
    """Iterate over the checked segments of a file."""
    for where, data in files.json_objects(path):
        if not isinstance(data.get("sys"), dict):
            raise TensorMTError(f'{where}: expected an object with "refs" and "sys"')
        given = check_texts(data.get("refs") or [], where, "refs")
        refs = [ref for ref in given if ref and not ref.isspace()]
        if not refs:
            raise TensorMTError(f'{where}: no reference, "refs" must contain at least one')
        doc = data.get("doc", "")
        outputs, scores = {}, {}
        for system, entry in data["sys"].items():
            place = f"{where}, system {system!r}"
            if not isinstance(entry, dict):
                raise TensorMTError(f'{place}: expected an object with "hyp" and "scores"')
            check_texts(system, where, "sys")
            outputs[system] = check_texts([entry.get("hyp")], place, "hyp")[0]
            scores[system] = _scores(entry.get("scores"), place)
        doc = "" if doc is None else check_document(doc, where)
        src = data.get("src")  # of data-to-text sets it may be anything
        src = check_texts([src], where, "src")[0] if isinstance(src, str) else None
        yield _Row(doc, refs, outputs, scores, src)


def _scores(entry: Any, place: str) -> dict[str, float]:
    """The human scores of one output: finite numbers by name; null: no score."""
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
        check_texts(name, place, "scores")
        found[name] = float(value)
    return found


def _finite(value: float) -> bool:
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


def read_scores(path: str | Path) -> dict[str, list[float]]:
    """Read a score file of mt-metrics-eval.

    Returns:
        Scores by system, in the order of the file; NaN for None.

    Raises:
        TensorMTError: If a line is not a system and a finite score, or numbers of scores differ.
    """
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
        if math.isinf(score):
            raise TensorMTError(
                f"{path}:{number}: the score of {system} is {value}, expected a finite number:"
                " write None where there is no score"
            )
        scores.setdefault(system, []).append(score)
    if not scores:
        raise TensorMTError(f"{path}: no score, expected lines of a system and a score")
    if len({len(column) for column in scores.values()}) > 1:
        sizes = ", ".join(f"{name} {len(column)}" for name, column in scores.items())
        raise TensorMTError(f"{path}: systems have different numbers of scores ({sizes})")
    return scores


def align_scores(
    paths: Sequence[str | Path], systems: Sequence[str] | None = None
) -> tuple[list[str], list[np.ndarray]]:
    """Read score files as tables over the systems that all of them have.

    Args:
        paths: Score files of mt-metrics-eval.
        systems: Systems to which the tables are restricted; None: no restriction.

    Returns:
        Names of the S systems, in the order of the first file, and a table float64 [S,N] per file.

    Raises:
        TensorMTError: If fewer than 2 systems are common, or numbers of scores differ.
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
                f"{path} has {size} scores per system, {paths[0]} has {sizes[0]}: they must align"
            )
    tables = [np.array([scores[name] for name in common], np.float64) for scores in read]
    return common, tables


def read_documents(path: str | Path) -> list[str]:
    """Read the document of every segment from a `.docs` file."""
    return [line.split("\t")[-1] for line in files.lines(str(path))]
