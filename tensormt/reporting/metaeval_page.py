"""`tensormt metaeval --report`: a meta-evaluation as one HTML file that opens without a server.

It has the table that the command prints, and for each test set and metric the scores of systems
and of segments beside those of people, the p-values behind SPA, and the correlations of the metrics
with each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import torch

from tensormt.data.atomic_write import output_path
from tensormt.metaeval.config import Config, Row
from tensormt.metaeval.grouping import correlate, correlate_systems
from tensormt.metaeval.judged_sets import JudgedSet
from tensormt.metaeval.plots import correlation_matrix, score_label, system_scores
from tensormt.metaeval.scores import Scores
from tensormt.metaeval.spa import p_value_matrices
from tensormt.metaeval.wmt_tables import WMTTable
from tensormt.reporting.overview import json_number
from tensormt.reporting.page import METAEVAL, PackedBlocks, write_page
from tensormt.reporting.report_path import ReportPath
from tensormt.version import __version__


def write_metaeval_page(
    path: str | PathLike[str],
    sets: Sequence[JudgedSet],
    config: Config,
    rows: Sequence[Row] = (),
    table: WMTTable | None = None,
    title: str = "tensormt metaeval",
) -> ReportPath:
    """Write the page of a meta-evaluation.

    Args:
        path: The file.
        sets: Test sets with metric scores, at least one.
        config: What was computed.
        rows: Correlations of the metrics; not used with a table.
        table: A WMT table.
        title: Title of the page.

    Returns:
        The file.

    Raises:
        TensorMTError: If the file cannot be written.
    """
    out, packed = output_path(Path(path)), PackedBlocks()
    meta = {
        "title": title,
        "version": __version__,
        "permutations": config.spa_permutations,
        "note": _note(config, table),
        "table": None if table is None else _table(table),
        "sets": [_judged(own, config, rows, packed) for own in sets],
    }
    write_page(out, title, meta, packed, METAEVAL)
    return ReportPath(path)


def _note(config: Config, table: WMTTable | None) -> str:
    """Say in a sentence or two what the columns of the table are."""
    if table is not None:
        return "Values of the tasks and their weighted average" + (
            ", with the cluster of each metric." if table.clustered else "."
        )
    items = {
        "segment": "the outputs of a segment",
        "system": "the segments of a system",
        "pooled": "the outputs of a segment, all pairs together",
        "none": "all outputs together",
    }[config.grouping]
    draws = f" Intervals: {config.resamples:,} bootstrap resamples." if config.resamples else ""
    return f"Below system level, {items} are compared.{draws}"


def _numbers(values: Any) -> list[float | None]:
    return [json_number(float(value)) for value in values]


def _table(table: WMTTable) -> dict[str, Any]:
    tasks = [
        {
            "name": task.name,
            "values": _numbers(task.values),
            "clusters": task.clusters() if table.clustered else None,
        }
        for task in (table.average, *table.tasks)
    ]
    return {"metrics": table.metrics, "tasks": tasks}


def _judged(
    judged: JudgedSet, config: Config, rows: Sequence[Row], packed: PackedBlocks
) -> dict[str, Any]:
    """Return the data of one test set with one human score."""
    names, correlations = correlation_matrix(judged)
    human = judged.human_name
    return {
        "title": f"{judged.name}: {human}" if human != judged.name else human,
        "humanName": human,
        "systems": judged.systems,
        "segments": judged.human.shape[1],
        "judged": int((~judged.human.isnan()).sum()),
        "human": _numbers(system_scores(judged)),
        "column": packed.array(judged.human.flatten().numpy(), "f4"),
        "metrics": [_metric(judged, own, config, packed) for own in judged.metrics],
        "columns": _columns([row for row in rows if row.human == human], judged.metrics),
        "names": names,
        "correlations": [_numbers(row) for row in correlations],
    }


def _metric(
    judged: JudgedSet, scores: Scores, config: Config, packed: PackedBlocks
) -> dict[str, Any]:
    """Return the data of one metric: scores, correlations and the p-values of SPA."""
    systems = scores.systems()
    found: dict[str, Any] = {
        "name": scores.name,
        "label": score_label(scores),
        "systems": _numbers(systems),
        "column": packed.array(scores.segments.flatten().numpy(), "f4"),
        "systemR": json_number(float(correlate_systems(system_scores(judged), systems))),
        "segmentR": json_number(float(correlate(judged.human, scores.segments))),
    }
    sides = p_value_matrices(judged.human, scores.segments, permutations=config.spa_permutations)
    gaps = (sides[0] - sides[1]).abs()
    if bool((~gaps.isnan()).any()):
        upper = torch.triu_indices(len(gaps), len(gaps), offset=1)
        found["pHuman"], found["p"] = (_numbers(side[upper[0], upper[1]]) for side in sides)
        found["spa"] = json_number(1 - float(gaps.nanmean()))
    return found


def _columns(rows: Sequence[Row], metrics: Sequence[Scores]) -> list[dict[str, Any]]:
    """Return the columns of the table: a level and a statistic each, values by metric."""
    keys = dict.fromkeys((row.level, row.statistic) for row in rows)
    found = []
    for level, statistic in keys:
        own = {row.metric: row for row in rows if (row.level, row.statistic) == (level, statistic)}
        chosen = [own.get(scores.name) for scores in metrics]
        column: dict[str, Any] = {"name": f"{level}: {statistic}"}
        for part in ("value", "low", "high"):
            values = [None if row is None else getattr(row, part) for row in chosen]
            column[part] = [None if value is None else json_number(value) for value in values]
        column["values"] = column.pop("value")
        if all(value is None for value in column["low"]):
            del column["low"], column["high"]
        found.append(column)
    return found
