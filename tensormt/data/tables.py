"""Results for people and programs: tables as aligned text, TSV or LaTeX, and JSON.

Names come from files, so they may hold anything: what a terminal would obey is shown as an escape,
what LaTeX would read is escaped, and a number that does not exist is null in JSON.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any

Rows = Sequence[Sequence[str]]


# control characters, halves of surrogate pairs, and marks that turn the direction of writing
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """The text with control characters as escapes, such as \\x1b."""
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def formatted(rows: Rows, form: str) -> str:
    """The rows in a form of the command line: text, tsv or latex."""
    clean = [
        [printable(" ".join(cell.replace("\t", " ").splitlines())) for cell in row] for row in rows
    ]
    return {"text": aligned, "tsv": tsv, "latex": latex}[form](clean)


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
    special = str.maketrans(
        {c: f"\\{c}" for c in "&%$#_{}"}
        | {
            "\\": r"\textbackslash{}",
            "^": r"\textasciicircum{}",
            "~": r"\textasciitilde{}",
            "<": r"\textless{}",
            ">": r"\textgreater{}",
        }
    )
    head, *body = [" & ".join(cell.translate(special) for cell in row) + r" \\" for row in rows]
    form = "l" + "r" * (len(rows[0]) - 1)
    lines = [rf"\begin{{tabular}}{{{form}}}", r"\toprule", head, r"\midrule", *body, r"\bottomrule"]
    return "\n".join([*lines, r"\end{tabular}"])


def json_text(value: Any) -> str:
    """JSON for programs: a number that does not exist is null, a control character an escape."""
    text = json.dumps(_without_nan(value), indent=1, ensure_ascii=False, allow_nan=False)
    return re.sub(
        "[\x7f-\x9f\ud800-\udfff\u2028-\u202e\u2066-\u2069]",
        lambda found: f"\\u{ord(found[0]):04x}",
        text,
    )


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
