"""Meta-evaluations as text: tables like the papers' (order down, metric across), or long lists."""

import math
from collections.abc import Sequence
from typing import Any

from tensormt.data.tables import text_table
from tensormt.metaeval.config import PairwiseTest, Row
from tensormt.metaeval.wmt_tables import Table


def number(value: float | None) -> str:
    """Write a number to three digits, one that does not exist as a dash."""
    return "–" if value is None or math.isnan(value) else f"{value:.3f}"


def without_nan(value: Any) -> Any:
    """The same of lists and objects with None for numbers that do not exist: JSON has no NaN."""
    if isinstance(value, dict):
        return {key: without_nan(own) for key, own in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(own) for own in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _cell(row: Row) -> str:
    text = number(row.value)
    if row.low is not None:
        text += f" [{number(row.low)}, {number(row.high)}]"
    if row.p is not None:
        text += f" p={row.p:.2g}"
    if row.epsilon is not None:
        text += f" (ε {row.epsilon:.3g})"
    return text


def by_metric(rows: Sequence[Row]) -> str:
    """One table per human score and level: metrics down, statistics across."""
    parts = []
    for human, level in dict.fromkeys((row.human, row.level) for row in rows):
        here = [row for row in rows if (row.human, row.level) == (human, level)]
        names = list(dict.fromkeys(row.metric for row in here))
        statistics = list(dict.fromkeys(row.statistic for row in here))
        cells = {(row.metric, row.statistic): _cell(row) for row in here}
        lines = [[f"{human}, {level} level", *statistics]]
        lines += [[name, *(cells[name, s] for s in statistics)] for name in names]
        parts.append(text_table(lines))
    return "\n\n".join(parts)


def by_order(rows: Sequence[Row]) -> str:
    """One table per human score, level and statistic: orders down, metrics across.

    A metric named NAME-n stands in column NAME, row n; one without a number in the last row.
    """
    parts = []
    keys = dict.fromkeys((row.human, row.level, row.statistic) for row in rows)
    for human, level, statistic in keys:
        here = [
            row
            for row in rows
            if (row.human, row.level, row.statistic) == (human, level, statistic)
        ]
        placed = {_split(row.metric): _cell(row) for row in here}
        names = list(dict.fromkeys(name for name, _ in placed))
        orders = sorted({n for _, n in placed if n})
        lines = [[f"{human}, {level} level, {statistic}", *names]]
        lines += [[str(n), *(placed.get((name, n), "") for name in names)] for n in orders]
        if any(not n for _, n in placed):
            lines.append(["no order", *(placed.get((name, 0), "") for name in names)])
        parts.append(text_table(lines))
    return "\n\n".join(parts)


def _split(name: str) -> tuple[str, int]:
    head, _, tail = name.rpartition("-")
    return (head, int(tail)) if head and tail.isdigit() else (name, 0)


def of_pairwise_tests(found: Sequence[PairwiseTest]) -> str:
    """One line per pair of metrics; p corrected for their number where that was asked for."""
    both = any(c.p_corrected not in (None, c.p) for c in found)
    lines = [["pair", "human", "level", "statistic", "difference", "p"]]
    lines[0] += ["p (corrected)"] if both else []
    for c in found:
        pair = [f"{c.first} - {c.second}", c.human, c.level, c.statistic]
        p = [c.p, *([c.p_corrected] if both else [])]
        lines.append([*pair, _signed(c.difference), *(_p(value) for value in p)])
    return text_table(lines)


def _signed(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:+.3f}"


def _p(value: float | None) -> str:
    return "–" if value is None or math.isnan(value) else f"{value:.4f}"


def of_table(table: Table) -> list[list[str]]:
    """The rows of a task's table: metrics down by their average, tasks across."""
    columns = [table.average, *table.tasks]
    clusters = [task.clusters() for task in columns]
    values = [task.values.tolist() for task in columns]
    lines = [["metric", *(task.name for task in columns)]]
    for k in _by_average(table):
        cells = [
            f"{ranks[k]}  {number(own[k])}" for ranks, own in zip(clusters, values, strict=True)
        ]
        lines.append([table.metrics[k], *cells])
    return lines


def table_facts(table: Table) -> dict[str, Any]:
    """The same for programs, with one-sided p-values of all pairs (row better than column)."""
    return {
        "metrics": table.metrics,
        "tasks": [
            {
                "name": task.name,
                "weight": task.weight,
                "values": task.values.tolist(),
                "clusters": task.clusters(),
                "p": task.found.p(two_sided=False).tolist(),
            }
            for task in [table.average, *table.tasks]
        ],
    }


def _by_average(table: Table) -> list[int]:
    values = [-math.inf if math.isnan(v) else v for v in table.average.values.tolist()]
    return sorted(range(len(values)), key=lambda k: -values[k])
