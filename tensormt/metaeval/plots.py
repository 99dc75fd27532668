"""Plots of a meta-evaluation.

SET-METRIC-HUMAN.png   scatter plot of systems, and a density plot of segments
SET-metrics.png        correlation matrix of the metrics' segment scores
TASK.png               bar chart of a WMT task (SPA, acc_eq, …), shaded by cluster
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from tensormt.figures import new_figure, save_figure
from tensormt.metaeval.correlation import pearson
from tensormt.metaeval.judged_sets import JudgedSet
from tensormt.metaeval.scores import Scores, system_means
from tensormt.metaeval.wmt_tables import Task, WMTTable


def save_plots(sets: Sequence[JudgedSet], table: WMTTable | None, folder: Path) -> list[Path]:
    """Write all plots of a meta-evaluation.

    Args:
        sets: Test sets with metric scores.
        table: A WMT table, if one was computed.
        folder: The folder of the files; it is created if necessary.

    Returns:
        The files that were written.

    Raises:
        TensorMTError: If matplotlib is not installed or a file cannot be written.
    """
    files = []
    for judged in sets:
        for scores in judged.metrics:
            name = f"{judged.name}-{scores.name}-{judged.human_name}"
            files.append(save_figure(_scatter(new_figure(6, 9), judged, scores), folder, name))
    for name in dict.fromkeys(judged.name for judged in sets):
        judged = next(own for own in sets if own.name == name)
        if len(judged.metrics) > 1:
            files.append(save_figure(_matrix(new_figure(7, 6), judged), folder, f"{name}-metrics"))
    if table:
        for task in (table.average, *table.tasks):
            figure = _bars(new_figure(7, 4), task, table)
            files.append(save_figure(figure, folder, task.name))
    return files


def _label(scores: Scores) -> str:
    """Return the name of a metric, with a minus sign if its scores are negated."""
    return f"−{scores.name}" if scores.negated else scores.name


def _scatter(figure: Any, judged: JudgedSet, scores: Scores) -> Any:
    """Plot the systems and the segments of one metric and one human score."""
    above, below = figure.subplots(2, 1)
    human, metric = system_means(judged.human), scores.systems()
    above.scatter(metric.tolist(), human.tolist(), s=12)
    for name, x, y in zip(judged.systems, metric.tolist(), human.tolist(), strict=True):
        if x == x and y == y:
            above.annotate(name, (x, y), fontsize=7, xytext=(3, 3), textcoords="offset points")
    above.set_title("systems")
    present = ~(judged.human.isnan() | scores.segments.isnan())
    below.hexbin(
        scores.segments[present].tolist(), judged.human[present].tolist(), gridsize=40, bins="log",
        cmap="Blues", mincnt=1,
    )  # fmt: skip
    below.set_title("segments")
    for axes in (above, below):
        axes.set_xlabel(_label(scores))
        axes.set_ylabel(judged.human_name)
    return figure


def _matrix(figure: Any, judged: JudgedSet) -> Any:
    """Plot the correlations between all metrics and the human score."""
    tables = torch.stack([scores.segments.flatten() for scores in judged.metrics])
    tables = torch.cat([judged.human.flatten()[None], tables])
    present = ~tables.isnan()
    table = pearson(
        tables[:, None].expand(-1, len(tables), -1),
        tables[None].expand(len(tables), -1, -1),
        present[:, None] & present[None],
    )
    names = [judged.human_name, *(_label(scores) for scores in judged.metrics)]
    axes = figure.subplots()
    figure.colorbar(axes.imshow(table.numpy(), vmin=-1, vmax=1, cmap="RdBu"))
    axes.set_xticks(range(len(names)), names, rotation=60, ha="right", fontsize=7)
    axes.set_yticks(range(len(names)), names, fontsize=7)
    if len(names) <= 12:
        for i, row in enumerate(table.tolist()):
            for j, value in enumerate(row):
                axes.text(j, i, f"{value:.2f}", ha="center", va="center", fontsize=7)
    return figure


def _bars(figure: Any, task: Task, table: WMTTable) -> Any:
    """Plot the values of a task, sorted."""
    names = table.metrics
    order = sorted(range(len(names)), key=lambda k: -task.values.nan_to_num(-1.0)[k].item())
    ranks = task.clusters() if table.clustered else [1] * len(names)
    shades = [0.25 + 0.5 * (ranks[k] - 1) / max(1, max(ranks) - 1) for k in order]
    values = [task.values[k].item() for k in order]
    axes = figure.subplots()
    axes.bar(range(len(names)), values, color=[(shade,) * 3 for shade in shades])
    for place, (k, value) in enumerate(zip(order, values, strict=True)):
        if table.clustered:
            axes.text(place, value, str(ranks[k]), ha="center", va="bottom", fontsize=8)
    axes.set_xticks(range(len(names)), [names[k] for k in order], rotation=60, ha="right")
    known = [value for value in values if value == value]
    axes.set_ylim(max(task.lowest, min(known) - 0.05), min(1.0, max(known) + 0.05))
    axes.set_title(f"{task.name} (number: cluster)" if table.clustered else task.name)
    return figure
