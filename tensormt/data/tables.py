"""Tables of strings for people and programs: aligned text, TSV, LaTeX."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["aligned", "formatted", "latex", "tsv"]

Rows = Sequence[Sequence[str]]


def formatted(rows: Rows, form: str) -> str:
    """The rows in a form of the command line: text, tsv or latex."""
    return {"text": aligned, "tsv": tsv, "latex": latex}[form](rows)


def aligned(rows: Rows) -> str:
    """Cells under each other, the first column to the left, the others to the right."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def tsv(rows: Rows) -> str:
    """Cells with tabs between them; a tab or line break inside a cell becomes a space."""
    return "\n".join("\t".join(" ".join(c.split()) if c.split() else c for c in r) for r in rows)


def latex(rows: Rows) -> str:
    """A booktabs tabular; the first row is the head."""
    special = str.maketrans({c: f"\\{c}" for c in "&%$#_{}"} | {"\\": r"\textbackslash{}"})
    head, *body = [" & ".join(cell.translate(special) for cell in row) + r" \\" for row in rows]
    form = "l" + "r" * (len(rows[0]) - 1)
    lines = [rf"\begin{{tabular}}{{{form}}}", r"\toprule", head, r"\midrule", *body, r"\bottomrule"]
    return "\n".join([*lines, r"\end{tabular}"])
