"""Formatting of results: tables as aligned text, TSV or LaTeX, and JSON.

Names come from files and may contain any character: control characters and the special characters
of LaTeX are escaped. NaN and infinities are null in JSON.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any

Rows = Sequence[Sequence[str]]


# control characters, lone surrogates, and marks of writing direction
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    r"""Escape control characters.

    >>> printable("a\x1b[1m")
    'a\\x1b[1m'
    """
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def format_table(rows: Rows, form: str) -> str:
    """Format rows of cells as "text", "tsv" or "latex"; the first row is the header."""
    clean = [
        [printable(" ".join(cell.replace("\t", " ").splitlines())) for cell in row] for row in rows
    ]
    return {"text": text_table, "tsv": tsv, "latex": latex}[form](clean)


def text_table(rows: Rows) -> str:
    """Format rows as aligned columns, the first one to the left, the others to the right.

    >>> print(text_table([["system", "bleu"], ["a", "31.5"]]))
    system  bleu
    a       31.5
    """
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def tsv(rows: Rows) -> str:
    r"""Format rows as TSV; tabs and line breaks within cells become spaces.

    >>> tsv([["a b", "c"], ["d\te", "f"]])
    'a b\tc\nd e\tf'
    """
    return "\n".join("\t".join(" ".join(c.split()) if c.split() else c for c in r) for r in rows)


def latex(rows: Rows) -> str:
    """Format rows as a LaTeX tabular with booktabs rules; the first row is the header."""
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
    """Format a value as JSON; NaN and infinities are null, control characters are escaped.

    >>> print(json_text({"score": float("nan")}))
    {
     "score": null
    }
    """
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
