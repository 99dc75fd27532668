"""Results of `tm.score`: scores by metric, printed as a table, and as Arrow tables.

result = tm.score(hyps, refs)              # a Result
results = tm.score({"A": …, "B": …}, refs) # Results: results["A"] is a Result
print(results)                             # a table of corpus scores
results.to_frame()                         # an Arrow table, a row for each segment
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tensormt.data.tables import format_table, html_table

if TYPE_CHECKING:
    import pyarrow as pa
    from torch import Tensor

    from tensormt.metric import Metric

__all__ = ["Result", "Results", "direction_note", "format_score"]


def format_score(value: float, digits: int, sign: str = "") -> str:
    """Format a score with the digits of its metric, very small values with an exponent.

    Args:
        value: The score, or a difference of scores.
        digits: Decimal places (`Metric.digits`).
        sign: "+" to write the sign of a difference.

    >>> format_score(31.4159, 2), format_score(0.00004, 4), format_score(0.5, 4, "+")
    ('31.42', '4.00e-05', '+0.5000')
    """
    if digits < 4 or value == 0 or abs(value) >= 1e-3:
        return f"{value:{sign}.{digits}f}"
    return f"{value:{sign}.2e}"


def lower_is_better(metrics: Mapping[str, Metric[Any]]) -> list[str]:
    """Return the names of the metrics of which lower scores are better."""
    return [name for name, metric in metrics.items() if not metric.higher_is_better]


def direction_note(metrics: Mapping[str, Metric[Any]]) -> list[str]:
    """Return a line that names the metrics of which lower scores are better, if there are any."""
    return _note(lower_is_better(metrics))


def _note(lower: Sequence[str]) -> list[str]:
    return [f"lower is better: {', '.join(lower)}"] if lower else []


def column_title(name: str, metric: Metric[Any], form: str) -> str:
    """Return the title of a metric's column: with an arrow in LaTeX if lower scores are better."""
    return name if metric.higher_is_better or form != "latex" else f"{name} ↓"


@dataclass(frozen=True, repr=False)
class Result:
    """Scores of one system by metric.

    Args:
        segments: Segment scores, float64 [B].
        corpus: Corpus scores.
        signatures: What reproduces the scores.
        documents: Scores by document and metric, where documents are known.
        digits: Decimal places of the metrics in tables.
        lower_is_better: Metrics of which lower scores are better.
    """

    segments: dict[str, Tensor]
    corpus: dict[str, float]
    signatures: dict[str, str]
    documents: dict[str, dict[str, float]] = field(default_factory=dict)
    digits: Mapping[str, int] = field(default_factory=dict)
    lower_is_better: Sequence[str] = ()

    def to_frame(self) -> pa.Table:
        """Return the segment scores as an Arrow table, which pandas and polars take.

        Returns:
            A row for each segment: its number from 1, then a column for each metric.
        """
        import pyarrow as pa

        columns = {name: scores.cpu().numpy() for name, scores in self.segments.items()}
        size = len(next(iter(columns.values()), ()))
        return pa.table({"segment": list(range(1, size + 1)), **columns})

    def _row(self) -> list[str]:
        return [format_score(score, self.digits.get(n, 4)) for n, score in self.corpus.items()]

    def _rows(self) -> list[list[str]]:
        documents = [
            [doc, *(format_score(score, self.digits.get(n, 4)) for n, score in found.items())]
            for doc, found in self.documents.items()
        ]
        return [["", *self.corpus], ["corpus", *self._row()], *documents]

    def __repr__(self) -> str:
        return _text(self._rows(), self.lower_is_better)

    def _repr_html_(self) -> str:
        return _html(self._rows(), self.lower_is_better)


class Results(Mapping[str, Result]):
    """Results of several systems by name.

    Args:
        systems: The result of each system, all with the same metrics.
    """

    def __init__(self, systems: Mapping[str, Result]) -> None:
        self._systems = dict(systems)

    def __getitem__(self, system: str) -> Result:
        return self._systems[system]

    def __iter__(self) -> Iterator[str]:
        return iter(self._systems)

    def __len__(self) -> int:
        return len(self._systems)

    def to_frame(self) -> pa.Table:
        """Return the segment scores as an Arrow table, which pandas and polars take.

        Returns:
            A row for each system and segment: columns `system`, `segment` from 1, and the metrics.
        """
        import pyarrow as pa

        parts = []
        for name, result in self.items():
            table = result.to_frame()
            parts.append(table.add_column(0, "system", pa.array([name] * len(table), pa.string())))
        return pa.concat_tables(parts)

    def _rows(self) -> list[list[str]]:
        head: Sequence[Any] = list(next(iter(self.values())).corpus)
        return [["system", *head], *([name, *result._row()] for name, result in self.items())]

    def __repr__(self) -> str:
        return _text(self._rows(), next(iter(self.values())).lower_is_better)

    def _repr_html_(self) -> str:
        return _html(self._rows(), next(iter(self.values())).lower_is_better)


def _text(rows: Sequence[Sequence[str]], lower: Sequence[str]) -> str:
    return "\n\n".join([format_table(rows, "text"), *_note(lower)])


def _html(rows: Sequence[Sequence[str]], lower: Sequence[str]) -> str:
    return "\n".join([html_table(rows), *(f"<p>{html.escape(line)}</p>" for line in _note(lower))])
