"""Plots of a meta-evaluation.

SET-METRIC-HUMAN.png   scatter plot of systems, and a density plot of segments
SET-metrics.png        correlation matrix of the metrics' segment scores
TASK.png               values of a WMT task (SPA, acc_eq, …), grouped by cluster
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tensormt.figures import new_figure, save_figure
from tensormt.metaeval.correlation import pearson
from tensormt.metaeval.grouping import correlate, correlate_systems
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
            size = 2.6 + 0.42 * len(judged.metrics)
            figure = _matrix(new_figure(size + 1.2, size), judged)
            files.append(save_figure(figure, folder, f"{name}-metrics"))
    if table:
        for task in (table.average, *table.tasks):
            figure = _ranking(new_figure(7, 1.2 + 0.26 * len(table.metrics)), task, table)
            files.append(save_figure(figure, folder, task.name))
    return files


def score_label(scores: Scores) -> str:
    """Return the name of a metric, with a minus sign if its scores are negated."""
    return f"−{scores.name}" if scores.negated else scores.name


def _scatter(figure: Any, judged: JudgedSet, scores: Scores) -> Any:
    """Plot the systems and the segments of one metric and one human score."""
    above, below = figure.subplots(2, 1)
    figure.suptitle(f"{judged.name}: {score_label(scores)} and {judged.human_name}")
    human, metric = system_scores(judged), scores.systems()
    above.scatter(metric.tolist(), human.tolist(), s=14, zorder=3)
    kept = ~(human.isnan() | metric.isnan())
    r = correlate_systems(human, metric)
    above.set_title(f"systems: r = {float(r):.3f}, n = {int(kept.sum())}", fontsize=10)
    present = ~(judged.human.isnan() | scores.segments.isnan())
    below.hexbin(
        scores.segments[present].tolist(), judged.human[present].tolist(), gridsize=40, bins="log",
        cmap="Blues", mincnt=1, linewidths=0.2, edgecolors="#9ab",
    )  # fmt: skip
    r = correlate(judged.human, scores.segments)
    count = f"{int(present.sum()):,}"
    below.set_title(
        f"segments: r = {float(r):.3f}, n = {count} (shade: log of the number)", fontsize=10
    )
    for axes in (above, below):
        axes.set_xlabel(score_label(scores))
        axes.set_ylabel(judged.human_name)
        axes.margins(0.08)
    figure.tight_layout()
    points = torch.stack([metric, human], 1)[kept]
    names = [name for name, own in zip(judged.systems, kept.tolist(), strict=True) if own]
    _place_labels(above, names, points)
    return figure


def system_scores(judged: JudgedSet) -> Tensor:
    """Return the human score of each system [S], published or the mean of segments."""
    return system_means(judged.human) if judged.human_systems is None else judged.human_systems


def _place_labels(axes: Any, names: Sequence[str], points: Tensor) -> None:
    """Write a name beside each point: inside the frame, not on another name or on a point.

    Of the places around a point the nearest free one is taken; a line leads to those far away.
    """
    frame, inch = axes.get_window_extent(), axes.figure.dpi
    places = axes.transData.transform(points.numpy())
    taken = [(x - 4, y - 4, x + 4, y + 4) for x, y in places.tolist()]
    for name, point, (x, y) in zip(names, points.tolist(), places.tolist(), strict=True):
        text = axes.annotate(
            name, point, xytext=(0, 0), textcoords="offset points", fontsize=7, zorder=4
        )
        box = text.get_window_extent()
        width, height = box.width + 2, box.height
        best, least = None, None
        for distance in (4, 10, 18, 28, 40, 55, 72):
            for dx, dy in _PLACES:
                left = x + distance * dx - width * (1 - dx) / 2
                low = y + distance * dy - height * (1 - dy) / 2
                own = (left, low, left + width, low + height)
                outside = left < frame.x0 or low < frame.y0
                outside |= own[2] > frame.x1 or own[3] > frame.y1
                overlap = sum(_overlap(own, other) for other in taken) + 1e6 * outside
                if least is None or overlap < least:
                    best, least = (own, distance), overlap
            if least == 0:
                break
        assert best is not None
        (left, low, right, high), distance = best
        taken.append(best[0])
        text.set_position(((left + 1 - x) * 72 / inch, (low + 1 - y) * 72 / inch))
        if distance > 10:
            ends = axes.transData.inverted().transform(
                [(x, y), (min(max(x, left), right), min(max(y, low), high))]
            )
            axes.plot(*ends.T, color="0.6", linewidth=0.6, zorder=2)


# directions from a point, in units of the distance: right, above, left, below, and between
_PLACES = ((1, 0.0), (0, 1), (-1, 0.0), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))


def _overlap(one: tuple[float, ...], two: tuple[float, ...]) -> float:
    """Return the area that two boxes (left, low, right, high) share."""
    width = min(one[2], two[2]) - max(one[0], two[0])
    height = min(one[3], two[3]) - max(one[1], two[1])
    return max(width, 0.0) * max(height, 0.0)


def correlation_matrix(judged: JudgedSet) -> tuple[list[str], Tensor]:
    """Correlate the segment scores of all metrics and the human score with each other.

    Args:
        judged: The test set with X metrics.

    Returns:
        Names of the scores, the human one first, and Pearson's r [1+X,1+X].
    """
    tables = torch.stack([scores.segments.flatten() for scores in judged.metrics])
    tables = torch.cat([judged.human.flatten()[None], tables])
    present = ~tables.isnan()
    found = pearson(
        tables[:, None].expand(-1, len(tables), -1),
        tables[None].expand(len(tables), -1, -1),
        present[:, None] & present[None],
    )
    return [judged.human_name, *(score_label(scores) for scores in judged.metrics)], found


def _matrix(figure: Any, judged: JudgedSet) -> Any:
    """Plot the correlations between all metrics and the human score."""
    names, table = correlation_matrix(judged)
    axes = figure.subplots()
    figure.colorbar(axes.imshow(table.numpy(), vmin=-1, vmax=1, cmap="RdBu"), shrink=0.8)
    axes.set_xticks(range(len(names)), names, rotation=50, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(labelsize=8, length=0)
    axes.set_xticks([k + 0.5 for k in range(len(names) - 1)], minor=True)
    axes.set_yticks([k + 0.5 for k in range(len(names) - 1)], minor=True)
    axes.grid(which="minor", color="white", linewidth=0.8)
    axes.tick_params(which="minor", length=0)
    if len(names) <= 30:
        for i, row in enumerate(table.tolist()):
            for j, value in enumerate(row):
                colour = "white" if abs(value) > 0.6 else "black"
                text = "" if value != value else f"{value:.2f}".replace("0.", ".", 1)
                axes.text(j, i, text, ha="center", va="center", fontsize=7, color=colour)
    count = f"{int((~judged.human.isnan()).sum()):,}"
    axes.set_title(
        f"{judged.name}: Pearson's r of segment scores\n{count} judged outputs", fontsize=10
    )
    return figure


def _ranking(figure: Any, task: Task, table: WMTTable) -> Any:
    """Plot the values of a task, the best first; metrics of one cluster share a background."""
    names = table.metrics
    order = sorted(range(len(names)), key=lambda k: -task.values.nan_to_num(-1.0)[k].item())
    ranks = task.clusters() if table.clustered else [1] * len(names)
    values = [task.values[k].item() for k in order]
    axes = figure.subplots()
    for place, k in enumerate(order):
        if table.clustered and ranks[k] % 2:
            axes.axhspan(place - 0.5, place + 0.5, color="0.92", linewidth=0)
    axes.scatter(values, range(len(names)), s=22, zorder=3)
    for place, value in enumerate(values):
        if value == value:
            text = f"{value:.3f}".replace("0.", ".", 1)
            axes.annotate(
                text, (value, place), xytext=(6, 0), textcoords="offset points", va="center",
                fontsize=8,
            )  # fmt: skip
    prefix = [f"{ranks[k]}  " if table.clustered else "" for k in order]
    labels = [f"{head}{names[k]}" for head, k in zip(prefix, order, strict=True)]
    axes.set_yticks(range(len(names)), labels, fontsize=8)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.margins(x=0.12)
    axes.grid(axis="x", color="0.85", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_title(
        f"{task.name} (before the name: cluster)" if table.clustered else task.name, fontsize=10
    )
    return figure
