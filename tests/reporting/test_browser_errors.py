"""Errors marked by people, and pages of scores alone, in a browser."""

import pytest

import tensormt as tm
from tensormt.data.error_spans import ErrorSpan, Ratings
from tensormt.reporting.error_agreement import word_places

pytestmark = pytest.mark.heavy(needs="browser")

HOSTILE = '<img src=x onerror="window.hit=6">'
HYPS = {
    "one": ["the big cat sat", f"a {HOSTILE} dog", "שלום עולם טוב", "😀 a very bad cat"],
    "two": ["the cat ran", "a dog", "שלום עולם", "a cat"],
}
REFS = [["the cat sat", "a dog", "שלום עולם", "😀 a cat"]]
SPANS = {
    "one": [
        [ErrorSpan(4, 7, "major", f"accuracy/{HOSTILE}", "rater <b>"), ErrorSpan(12, 15, "minor")],
        [ErrorSpan(2, 2 + len(HOSTILE), "minor")],
        [ErrorSpan(10, 13, "major")],
        [ErrorSpan(4, 12, "major"), ErrorSpan(-1, -1, "major", "omission")],
    ],
    "two": [[ErrorSpan(8, 11, "minor", "fluency")], [], None, []],
}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    out = tmp_path_factory.mktemp("errors") / "report.html"
    return tm.report(HYPS, REFS, ["bleu", "wer"], out, ratings=Ratings(SPANS, {}))


@pytest.mark.parametrize("segment", [0, 1, 2, 3])
def test_spans_are_drawn_beside_what_was_not_matched(open_report, path, segment):
    page = open_report(path, f"#seg={segment}&m=0")
    for k, name in enumerate(HYPS):
        text, spans = HYPS[name][segment], SPANS[name][segment]
        line = page.locator(f'#marked-errors [data-errors="{k}"]')
        if spans is None:
            assert line.count() == 0
            assert "not rated" in page.inner_text("#marked-errors")
            continue
        marked = "".join(line.locator(".error").all_text_contents())
        places = sorted({i for span in spans for i in range(max(0, span.start), span.end)})
        assert marked == "".join(text[i] for i in places)
        strong = "".join(line.locator(".error.major").all_text_contents())
        assert strong == "".join(
            text[s.start : s.end] for s in spans if s.severity == "major" and s.start >= 0
        )
        [own] = tm.explain("bleu", [text], [[REFS[0][segment]]])
        words = [match for match in own.matches if match.order == 1]
        found = word_places(text, [match.text for match in words])
        lacks = [p for p, match in zip(found, words, strict=True) if p and not match.counted]
        missed = "".join(line.locator(".miss").all_text_contents())
        assert missed == "".join(text[low:high] for low, high in lacks)
    items = page.locator("#marked-errors li").all_inner_texts()
    assert len(items) == sum(len(own[segment] or []) for own in SPANS.values())
    if segment == 0:
        assert items[0] == f"major · accuracy/{HOSTILE}: “big” rater <b>"
    if segment == 3:
        assert "major · omission (not in the output)" in items[1]
        # the span and the words that bleu did not match meet in «very bad»
        assert page.locator('#marked-errors [data-errors="0"] .error.miss').count() >= 2


def test_the_table_says_how_often_the_two_meet(open_report, path):
    page = open_report(path)
    from reporting.page_samples import read_page

    rows = {row["metric"]: row for row in read_page(path).meta["agreement"]}
    cells = page.locator("#agreement-table tbody tr")
    assert cells.count() == 2
    for k in range(2):
        name, errors, recall, lacking, precision, chance, major, minor = [
            cell.strip() for cell in cells.nth(k).inner_text().split("\t")
        ]
        row = rows[name]
        assert (int(errors), int(lacking)) == (row["errors"], row["unmatched"])
        assert recall == f"{100 * row['both'] / row['errors']:.1f} %"
        assert precision == f"{100 * row['both'] / row['unmatched']:.1f} %"
        assert chance == f"{100 * row['errors'] / row['words']:.1f} %"
        share = 100 * row["met_major"] / row["spans_major"]
        assert major == f"{share:.1f} % of {row['spans_major']}"
        assert minor.endswith(f"of {row['spans_minor']}")
    narrow = open_report(path, viewport={"width": 420, "height": 800}, color_scheme="dark")
    assert narrow.evaluate("document.documentElement.scrollWidth") <= 420


def test_scores_alone(open_report, tmp_path):
    scores = {"A": [0.1, 0.9, None], "B": [0.2, 0.5, 0.7]}
    none = {name: [""] * 3 for name in scores}
    stored = [tm.Scores("COMET <b>", scores), tm.Scores("TER", scores, False)]
    page = open_report(tm.report(none, None, stored, tmp_path / "page.html"))
    assert page.inner_text("#facts") == "3 segments · 2 systems · 2 metrics"
    assert "0.5000" in page.inner_text("#system-table")
    assert not page.locator("#search").is_visible()
    assert not page.locator("#trees-panel").is_visible()
    assert not page.locator("#errors-panel").is_visible()
    order = page.eval_on_selector_all(
        "#space .row", "all => all.map(r => [parseFloat(r.style.top), +r.dataset.segment])"
    )
    assert [segment for _, segment in sorted(order)] == [1, 0, 2]  # by A − B, no score last
    # outputs without references
    texts = {"A": ["unique words", "y", "z"], "B": ["x", "y", HOSTILE]}
    page = open_report(tm.report(texts, None, stored, tmp_path / "texts.html"), "#seg=2")
    assert page.locator("#search").is_visible()
    assert HOSTILE in page.inner_text("#texts")
    page.fill("#search", "unique words")
    page.wait_for_function("() => document.querySelectorAll('#space .row').length === 1")
