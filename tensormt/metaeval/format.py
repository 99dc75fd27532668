"""Text tables of a meta-evaluation: one table per level or statistic, as in the papers."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tensormt.data.tables import text_table
from tensormt.metaeval.config import PairwiseTest, Row
from tensormt.metaeval.judged_sets import JudgedSet
from tensormt.metaeval.wmt_tables import Task, WMTTable


def format_number(value: float | None, form: str = ".3f") -> str:
    """Format a number with three decimal places, or another format; None and NaN are a dash.

    >>> format_number(0.12345), format_number(float("nan"))
    ('0.123', '–')
    """
    return "–" if value is None or math.isnan(value) else format(value, form)


def _cell(row: Row) -> str:
    text = format_number(row.value)
    if math.isnan(row.value):
        return text
    if row.low is not None:
        text += f" [{format_number(row.low)}, {format_number(row.high)}]"
    if row.p is not None:
        text += f" p={row.p:.2g}"
    if row.epsilon is not None:
        text += f" (ε {row.epsilon:.3g})"
    return text


def _head(row: Row) -> str:
    """Name the human score, the level, and below system level the items that are compared."""
    unit = "documents" if row.level == "document" else "segments"
    groups = {
        "segment": f"grouped by {unit[:-1]}",
        "system": "grouped by system",
        "pooled": f"pairs of all {unit} together",
        "none": "all outputs together",
    }
    text = f"{row.human}, {row.level} level"
    return text if row.grouping is None else f"{text}, {groups[row.grouping]}"


def _groups(rows: Sequence[Row], key: Callable[[Row], tuple[str, ...]]) -> Iterator[list[Row]]:
    """Group rows by a key, in the order in which the keys first occur."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    yield from groups.values()


def tables_by_metric(rows: Sequence[Row]) -> str:
    """Format one table per human score and level, with metrics as rows and statistics as columns.

    >>> row = Row("bleu", "", "fluency", "segment", "pearson", 0.5, grouping="segment")
    >>> print(tables_by_metric([row]))
    fluency, segment level, grouped by segment  pearson
    bleu                                          0.500
    """
    parts = []
    for group in _groups(rows, lambda row: (_head(row),)):
        names = list(dict.fromkeys(row.metric for row in group))
        statistics = list(dict.fromkeys(row.statistic for row in group))
        cells = {(row.metric, row.statistic): _cell(row) for row in group}
        lines = [[_head(group[0]), *statistics]]
        lines += [[name, *(cells[name, s] for s in statistics)] for name in names]
        parts.append(text_table(lines))
    return "\n\n".join(parts)


def tables_by_order(rows: Sequence[Row]) -> str:
    """Format one table per human score, level and statistic, with one row per order.

    The metric NAME-n is in column NAME and row n; metrics without an order are in the last row.

    >>> rows = [Row(f"bleu-{n}", "", "fluency", "system", "pearson", n / 10) for n in (1, 2)]
    >>> print(tables_by_order(rows))
    fluency, system level, pearson   bleu
    1                               0.100
    2                               0.200
    """
    parts = []
    for group in _groups(rows, lambda row: (_head(row), row.statistic)):
        cells = {_split_order(row.metric): _cell(row) for row in group}
        names = list(dict.fromkeys(name for name, _ in cells))
        orders = sorted({n for _, n in cells if n})
        lines = [[f"{_head(group[0])}, {group[0].statistic}", *names]]
        lines += [[str(n), *(cells.get((name, n), "") for name in names)] for n in orders]
        if any(not n for _, n in cells):
            lines.append(["no order", *(cells.get((name, 0), "") for name in names)])
        parts.append(text_table(lines))
    return "\n\n".join(parts)


def _split_order(name: str) -> tuple[str, int]:
    """Split "bleu-2" into name and order; the order is 0 if there is none."""
    head, _, tail = name.rpartition("-")
    return (head, int(tail)) if head and tail.isdigit() else (name, 0)


def format_pairwise_tests(tests: Sequence[PairwiseTest]) -> str:
    """Format one line per pair of metrics, with corrected p-values if they were computed.

    >>> test = PairwiseTest("bleu", "stm", "fluency", "system", "pearson", -0.25, 0.04)
    >>> print(format_pairwise_tests([test]))
    pair          human   level  grouping  statistic  difference       p
    bleu - stm  fluency  system         –    pearson      -0.250  0.0400
    """
    both = any(test.p_corrected not in (None, test.p) for test in tests)
    lines = [["pair", "human", "level", "grouping", "statistic", "difference", "p"]]
    lines[0] += ["p (corrected)"] if both else []
    for test in tests:
        pair = [f"{test.first} - {test.second}", test.human, test.level, test.grouping or "–"]
        p_values = [test.p, *([test.p_corrected] if both else [])]
        lines.append(
            [
                *pair,
                test.statistic,
                format_number(test.difference, "+.3f"),
                *(format_number(p, ".4f") for p in p_values),
            ]
        )
    return text_table(lines)


def set_notes(sets: Sequence[JudgedSet]) -> list[str]:
    """Say which references, human scores and outputs were used, and which scores were negated.

    Args:
        sets: Judged sets; those whose references have no names are left out.

    Returns:
        One sentence per set, and one for all error rates.
    """
    notes = []
    for own in sets:
        if not own.references:
            continue
        human = own.human_name.removeprefix(f"{own.name}, ")
        text = f"{own.name}: {len(own.systems)} systems, {' and '.join(own.references)}, {human}"
        if own.human_outputs:
            text += f"; human outputs left out: {', '.join(own.human_outputs)}"
        notes.append(text)
    rates = dict.fromkeys(m.name for own in sets for m in own.metrics if m.negated)
    return [*notes, f"negated, as lower is better: {', '.join(rates)}"] if rates else notes


def sets_json(sets: Sequence[JudgedSet]) -> list[dict[str, Any]]:
    """Return name, human score, references and systems of judged sets for JSON.

    Args:
        sets: Judged sets; those whose references have no names are left out.
    """
    return [
        {
            "name": own.name,
            "human": own.human_name,
            "references": list(own.references),
            "systems": list(own.systems),
            "human_outputs_left_out": list(own.human_outputs),
        }
        for own in sets
        if own.references
    ]


def wmt_table_rows(table: WMTTable) -> list[list[str]]:
    """Return the cells of a WMT table: metrics by descending average as rows, tasks as columns.

    Args:
        table: The table.

    Returns:
        The header and one row per metric; a cell is the cluster, if there are clusters, and the
        value.
    """
    columns = [table.average, *table.tasks]
    clusters = [task.clusters() if table.clustered else None for task in columns]
    values = [task.values.tolist() for task in columns]
    average = [-math.inf if math.isnan(v) else v for v in values[0]]
    lines = [["metric", *(task.name for task in columns)]]
    for k in sorted(range(len(average)), key=lambda k: -average[k]):
        cells = [
            format_number(own[k]) if ranks is None else f"{ranks[k]}  {format_number(own[k])}"
            for ranks, own in zip(clusters, values, strict=True)
        ]
        lines.append([table.metrics[k], *cells])
    return lines


def wmt_table_json(table: WMTTable) -> dict[str, Any]:
    """Return a WMT table for JSON, with one-sided p-values (row better than column)."""

    def tests(task: Task) -> dict[str, Any]:
        if not table.clustered:
            return {}
        found = {"clusters": task.clusters(), "p": task.found.p(two_sided=False).tolist()}
        draws = task.found.draws
        return found if draws is None else found | {"permutations": draws.tolist()}

    return {
        "metrics": table.metrics,
        "not_in_every_pair": list(table.partial),
        "tasks": [
            {
                "name": task.name,
                "weight": task.weight,
                "values": task.values.tolist(),
                **tests(task),
            }
            for task in [table.average, *table.tasks]
        ],
    }
