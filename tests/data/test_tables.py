"""Tables as text, TSV and LaTeX, and JSON without NaN."""

import json
import math

import pytest

from tensormt.data.tables import format_table, json_text, latex, printable

ROWS = [["system", "bleu"], ["a_b", "31.5"]]


def test_formats():
    assert format_table(ROWS, "text") == "system  bleu\na_b     31.5"
    assert format_table(ROWS, "tsv") == "system\tbleu\na_b\t31.5"
    assert format_table(ROWS, "latex").splitlines() == [
        r"\begin{tabular}{lr}",
        r"\toprule",
        r"system & bleu \\",
        r"\midrule",
        r"a\_b & 31.5 \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


@pytest.mark.parametrize("name", ["a\x1b[2J", "a\nb\tc", "\u202eabc", "\ud800"])
def test_names_do_not_control_the_terminal(name):
    for form in ("text", "tsv", "latex"):
        table = format_table([["system", "bleu"], [name, "1"]], form)
        for letter in "\x1b\u202e\ud800":
            assert letter not in table
        assert len(table.splitlines()) == (7 if form == "latex" else 2)
    assert printable("ordinary é") == "ordinary é"


def test_latex_is_escaped():
    assert r"\textbackslash{}x\^{}".replace(r"\^{}", r"\textasciicircum{}") in latex(
        [["h"], [r"\x^"]]
    )


def test_json_has_no_nan_and_no_control_characters():
    text = json_text({"a": [math.nan, math.inf, 1.5], "é\u202e": None})
    assert json.loads(text) == {"a": [None, None, 1.5], "é\u202e": None}
    assert "\u202e" not in text
    assert "é" in text
