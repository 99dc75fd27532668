"""Meta-evaluations as text: tables like the papers' (order down, metric across), or long lists."""

import math
from collections.abc import Sequence

from tensormt.data.tables import aligned
from tensormt.metaeval.study import Contest, Row


def number(value: float | None) -> str:
    """Write a number to three digits, one that does not exist as a dash."""
    return "–" if value is None or math.isnan(value) else f"{value:.3f}"


def _cell(row: Row) -> str:
    if row.low is None:
        return number(row.value)
    return f"{number(row.value)} [{number(row.low)}, {number(row.high)}]"


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
        parts.append(aligned(lines))
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
        parts.append(aligned(lines))
    return "\n\n".join(parts)


def _split(name: str) -> tuple[str, int]:
    head, _, tail = name.rpartition("-")
    return (head, int(tail)) if head and tail.isdigit() else (name, 0)


def of_contests(found: Sequence[Contest]) -> str:
    """One line per pair of metrics."""
    lines = [["pair", "human", "level", "statistic", "difference", "p"]]
    lines += [
        [
            f"{c.first} - {c.second}",
            c.human,
            c.level,
            c.statistic,
            f"{c.difference:+.3f}",
            f"{c.p:.4f}",
        ]
        for c in found
    ]
    return aligned(lines)
