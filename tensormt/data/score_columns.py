"""Segment scores of other tools, from files.

    one number a line    a file for each system, in the order of the systems
    system <tab> score   mt-metrics-eval's .seg.score: the segments of a system in order
    .jsonl, .tsv, .csv   a column of scores; for several systems or another order columns `system`
                         and `segment` (from 1), as files of `tensormt score --segments` have them

`None`, null, nan and empty cells are outputs without a score.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tensormt.data import files
from tensormt.data.human_scores import read_scores
from tensormt.data.row_reader import table_rows
from tensormt.errors import TensorMTError
from tensormt.segments import check_sizes

__all__ = ["read_column", "read_systems"]

_MISSING = ("", "none", "null", "nan", "na")
_SCORE = "score"  # the column where none has the name of the metric


def read_column(
    paths: Sequence[str | Path],
    name: str,
    systems: Mapping[str, Sequence[str]],
    size: int | None = None,
) -> dict[str, np.ndarray]:
    """Read the segment scores of some systems.

    Args:
        paths: One file for all systems, or a file for each.
        name: Name of the metric, which is also the name of a column (or else `score`).
        systems: Systems, each with the names by which files may call it.
        size: Number of segments; None: as many as there are scores.

    Returns:
        Scores of every system, float64 [N]; NaN: no score.

    Raises:
        TensorMTError: If a file cannot be read, or does not have a score for every segment.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
    ...     _ = file.write("0.5\\nNone\\n")
    ...     file.flush()
    ...     read_column([file.name], "COMET", {"a.txt": ["a"]}, 2)
    {'a.txt': array([0.5, nan])}
    """
    if len(paths) not in (1, len(systems)):
        raise TensorMTError(
            f"{name}: {len(paths)} files of scores for {len(systems)} systems: name one file, or "
            "a file for each system in their order"
        )
    if len(paths) == 1:
        return _of_file(str(paths[0]), name, systems, size)
    found: dict[str, np.ndarray] = {}
    for path, (system, names) in zip(paths, systems.items(), strict=True):
        found |= _of_file(str(path), name, {system: names}, size)
    return found


def read_systems(paths: Sequence[str | Path], name: str) -> dict[str, np.ndarray]:
    """Read the segment scores of all systems that files have.

    Args:
        paths: One file for all systems, or a file for each, whose name is then the system's.
        name: Name of the metric, which is also the name of a column (or else `score`).

    Returns:
        Scores of every system, float64 [N]; NaN: no score.

    Raises:
        TensorMTError: If a file cannot be read, or two systems have different numbers of scores.
    """
    found: dict[str, np.ndarray] = {}
    for path in map(str, paths):
        for system, scores in _by_system(path, name, None).items():
            found[system or Path(path).name.partition(".")[0]] = scores
    check_sizes({f"{name} of {system}": len(scores) for system, scores in found.items()}, "scores")
    return found


def _by_system(path: str, name: str, size: int | None) -> dict[str, np.ndarray]:
    """The scores of a file by system; "" where it names none."""
    where = files.display_name(path)
    if files.suffix(path) in (".jsonl", ".tsv", ".csv"):
        return _of_table(path, name, size)
    first = next(iter(files.lines(path)), "")
    if len(first.split()) == 2:
        return {system: np.array(scores) for system, scores in read_scores(path).items()}
    numbers = enumerate(files.lines(path), 1)
    return {"": np.array([_number(line, f"{where}, line {n}") for n, line in numbers])}


def _of_file(
    path: str, name: str, systems: Mapping[str, Sequence[str]], size: int | None
) -> dict[str, np.ndarray]:
    where, read = files.display_name(path), _by_system(path, name, size)
    if set(read) == {""} and len(systems) == 1:
        read = {next(iter(systems)): read[""]}
    elif set(read) == {""}:
        raise TensorMTError(
            f"{where} has scores of one system, there are {len(systems)}: name a file for each, or "
            "one with a column system"
        )
    found = {}
    for system, names in systems.items():
        known = [key for key in (system, *names) if key in read]
        if not known:
            wanted, there = names[0] if names else system, ", ".join(list(read)[:20])
            if not wanted:
                raise TensorMTError(
                    f"{where} has scores by system ({there}): name the systems to be read"
                )
            raise TensorMTError(f"{where} has no scores of {wanted}: it has those of {there}")
        found[system] = read[known[0]]
        if size is not None and len(found[system]) != size:
            of = f" of {known[0]}" if known[0] else ""
            raise TensorMTError(
                f"{where} has {len(found[system])} scores{of}, there are {size} segments:"
                " they must align one to one"
            )
    return found


def _of_table(path: str, name: str, size: int | None) -> dict[str, np.ndarray]:
    """The scores of a table by system; "" where it has no column of systems."""
    where = files.display_name(path)
    found: dict[str, dict[int, float]] = {}
    for number, row in table_rows(path):
        place = f"{where}, line {number}"
        column = name if name in row else _SCORE
        if column not in row:
            raise TensorMTError(f"{place}: no column {name!r}, the row has {', '.join(row)}")
        own = found.setdefault(str(row.get("system", "")), {})
        segment = row.get("segment", len(own) + 1)
        try:
            at = int(segment)
        except (TypeError, ValueError):
            raise TensorMTError(f"{place}: segment {segment!r} is no number from 1 on") from None
        if at < 1:
            raise TensorMTError(f"{place}: segment {at}, but segments count from 1")
        if at in own:
            raise TensorMTError(f"{place}: segment {at} stands there twice")
        own[at] = _number(row[column], place)
    tables = {}
    for system, scores in found.items():
        missing = next(
            (at for at in range(1, max(size or 0, len(scores)) + 1) if at not in scores), 0
        )
        if missing:
            raise TensorMTError(f"{where}: no score of segment {missing} {system}".rstrip())
        tables[system] = np.array([scores[at] for at in sorted(scores)])
    if not tables:
        raise TensorMTError(f"{where}: no score, expected a row for each segment")
    return tables


def _number(value: Any, where: str) -> float:
    """A finite number, or NaN for no score."""
    if value is None or str(value).strip().lower() in _MISSING:
        return math.nan
    try:
        found = math.inf if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        found = math.inf
    if math.isinf(found):
        raise TensorMTError(f"{where}: {str(value)[:40]!r} is no finite score")
    return found
