"""The path of a report, and what a notebook shows of it."""

import html
import pickle
import re
from pathlib import Path

import tensormt as tm
from tensormt.reporting.report_path import ReportPath


def test_it_is_a_path_and_shows_the_page(tmp_path):
    hostile = "</iframe><script>alert(1)</script>\"'"
    out = tmp_path / 'a "b" <c>.html'
    path = tm.report({hostile: ["a dog"]}, [["a dog"]], ["bleu"], out, title=hostile)
    assert isinstance(path, Path)
    assert path == out
    assert hash(path) == hash(out)
    assert pickle.loads(pickle.dumps(path)) == out
    shown = path._repr_html_()
    [page] = re.findall('srcdoc="([^"]*)"', shown)
    assert html.unescape(page) == out.read_text(encoding="utf-8")
    assert re.findall("<[^>]*>", re.sub('"[^"]*"', '""', shown)) == [
        '<iframe title="" sandbox="" srcdoc="" style="">',
        "</iframe>",
    ]
    assert 'sandbox="allow-scripts"' in shown


def test_a_large_page_is_named_only(tmp_path):
    out = tmp_path / "<b>.html"
    out.write_text("x" * 100)
    assert "too large" in ReportPath(out).frame(99)
    assert "&lt;b&gt;.html" in ReportPath(out).frame(99)
    assert "srcdoc" in ReportPath(out).frame(100)
    assert ReportPath(tmp_path / "missing.html")._repr_html_() is None
    assert ReportPath(tmp_path)._repr_html_() is None
