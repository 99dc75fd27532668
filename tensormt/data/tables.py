"""Formatting of results: tables as aligned text, TSV, LaTeX or HTML, and JSON.

Names come from files and may contain any character: control characters and the special characters
of LaTeX and HTML are escaped. NaN and infinities are null in JSON.
"""

from __future__ import annotations

import html
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


def format_table(rows: Rows, form: str, left: int = 1) -> str:
    """Format rows of cells.

    Args:
        rows: Cells; the first row is the header.
        form: "text", "tsv", "latex" or "html".
        left: Number of columns that are aligned to the left, the first ones.
    """
    clean = [[_one_line(cell) for cell in row] for row in rows]
    if form == "tsv":
        return tsv(clean)
    return {"text": text_table, "latex": latex, "html": html_table}[form](clean, left)


def _one_line(cell: str) -> str:
    return printable(" ".join(cell.replace("\t", " ").splitlines()))


def text_table(rows: Rows, left: int = 1) -> str:
    """Format rows as aligned columns, the first ones to the left, the others to the right.

    >>> print(text_table([["system", "bleu"], ["a", "31.5"]]))
    system  bleu
    a       31.5
    """
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row[:left], widths, strict=False)]
        cells += [cell.rjust(width) for cell, width in zip(row[left:], widths[left:], strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def tsv(rows: Rows) -> str:
    r"""Format rows as TSV; tabs and line breaks within cells become spaces.

    >>> tsv([["a b", "c"], ["d\te", "f"]])
    'a b\tc\nd e\tf'
    """
    return "\n".join("\t".join(" ".join(c.split()) if c.split() else c for c in r) for r in rows)


_LATEX = str.maketrans(
    {c: f"\\{c}" for c in "&%$#_{}"}
    | {
        "\\": r"\textbackslash{}",
        "^": r"\textasciicircum{}",
        "~": r"\textasciitilde{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "↓": r"$\downarrow$",
    }
)
# what pdfLaTeX cannot print without further packages
_NOT_IN_LATEX = re.compile(
    "[^ -~\xa1-\xaa\xac-\xba\xbc-ſ–—‘’“”„†‡•…]+|[ÐÞðþĄąĐđĘęĦħĮįĸĿŀŉŊŋŦŧŲųſ]+"
)


def latex(rows: Rows, left: int = 1) -> str:
    r"""Format rows as a LaTeX tabular; the first row is the header.

    The document needs the package booktabs. Characters that pdfLaTeX does not know are replaced by
    their code points there; XeLaTeX and LuaLaTeX print them.

    >>> print(latex([["system", "bleu"], ["a_b", "31.5"]]))
    \begin{tabular}{lr}
    \toprule
    system & bleu \\
    \midrule
    a\_b & 31.5 \\
    \bottomrule
    \end{tabular}
    """
    head, *body = [" & ".join(_latex_cell(cell) for cell in row) + r" \\" for row in rows]
    form = "l" * left + "r" * (len(rows[0]) - left)
    lines = [rf"\begin{{tabular}}{{{form}}}", r"\toprule", head, r"\midrule", *body, r"\bottomrule"]
    return "\n".join([*lines, r"\end{tabular}"])


def _latex_cell(cell: str) -> str:
    text = _NOT_IN_LATEX.sub(_by_engine, cell.translate(_LATEX))
    # "[" or "*" would be an argument of the \\ or \midrule above
    return f"{{}}{text}" if text.startswith(("[", "*")) else text


def _by_engine(found: re.Match[str]) -> str:
    codes = " ".join(f"U+{ord(letter):04X}" for letter in found[0])
    return rf"\ifdefined\Umathcode {found[0]}\else {codes}\fi{{}}"


def html_table(rows: Rows, left: int = 1) -> str:
    """Format rows as an HTML table, as notebooks show it; the first row is the header.

    >>> html_table([["system", "bleu"], ["a<b", "31.5"]])  # doctest: +ELLIPSIS
    '<table>\\n<thead><tr><th style="text-align: left">system</th>...a&lt;b</td>...</table>'
    """
    head, *body = [
        "".join(
            f'<{tag} style="text-align: {"left" if number < left else "right"}">'
            f"{html.escape(_one_line(cell))}</{tag}>"
            for number, cell in enumerate(row)
        )
        for row, tag in zip(rows, ["th", *["td"] * len(rows)], strict=False)
    ]
    lines = [f"<tr>{row}</tr>" for row in body]
    return "\n".join(
        ["<table>", f"<thead><tr>{head}</tr></thead>", "<tbody>", *lines, "</tbody>", "</table>"]
    )


def json_text(value: Any, indent: int | None = 1) -> str:
    """Format a value as JSON; NaN and infinities are null, control characters are escaped.

    Args:
        value: What JSON can hold.
        indent: Spaces of each level; None: all on one line.

    >>> print(json_text({"score": float("nan")}))
    {
     "score": null
    }
    """
    text = json.dumps(_without_nan(value), indent=indent, ensure_ascii=False, allow_nan=False)
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
