"""Tables as text, TSV and LaTeX, and JSON without NaN."""

import json
import math
import re
from xml.etree import ElementTree

import pytest

from tensormt.data.tables import format_table, html_table, json_text, latex, printable

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


def test_cells_of_latex_are_no_arguments_of_the_line_above():
    lines = latex([["h", "v"], ["[2pt]", "1"], ["*", "2"]]).splitlines()
    assert [line for line in lines if re.match(r"[\[*]", line)] == []
    assert r"{}[2pt] & 1 \\" in lines


@pytest.mark.parametrize("name", ["中文", "ą", "Ω", "«a»", "a\u0301", "😀"])
def test_letters_that_pdflatex_lacks_are_code_points_there(name):
    cell = latex([["h"], [name]]).splitlines()[4]
    for letter in name:
        assert letter.isascii() or f"U+{ord(letter):04X}" in cell
    printed = re.sub(r"\\ifdefined\\Umathcode .*?\\else (.*?)\\fi\{\}", r"\1", cell)
    assert printed.isascii()
    assert name.strip("«»aé") in cell


def test_letters_that_pdflatex_has_stay():
    assert latex([["h"], ["Ünïcode ± é – Łódź"]]).splitlines()[4] == "Ünïcode ± é – Łódź " + r"\\"


def test_html_is_well_formed_and_escaped():
    rows = [["system", "a & b"], ["<script>x</script>", "1\x1b[2J"], ["b\nc", '"']]
    root = ElementTree.fromstring(html_table(rows))
    assert [cell.text for cell in root.iter("th")] == ["system", "a & b"]
    cells = [[cell.text for cell in row] for row in root.find("tbody")]
    assert cells == [["<script>x</script>", r"1\x1b[2J"], ["b c", '"']]
    assert format_table(rows, "html") == html_table(rows)


def test_json_has_no_nan_and_no_control_characters():
    text = json_text({"a": [math.nan, math.inf, 1.5], "é\u202e": None})
    assert json.loads(text) == {"a": [None, None, 1.5], "é\u202e": None}
    assert "\u202e" not in text
    assert "é" in text
