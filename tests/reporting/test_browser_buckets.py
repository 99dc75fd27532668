"""Buckets of words in a browser, against the counts that Python makes."""

import re

import pytest

import tensormt as tm
from tensormt.evaluator import Evaluator
from tensormt.reporting.collect import collect
from tensormt.reporting.overview import word_buckets
from tensormt.segments import Segments
from tensormt.trees.sources import TreesAsText

pytestmark = pytest.mark.heavy(needs="browser")

HOSTILE = "(S (<img/src=x/onerror=window.hit=4> </script><b>) (NN dog))"
REFS = [
    [
        "(S (DT the) (NN dog) (VBD ran))",
        "(S (DT the) (NN cat) (VBD sat))",
        "(S (PRP I) (VBD saw) (DT the) (NN dog))",
        HOSTILE,
    ]
]
HYPS = {
    "A <i>": [
        "(S (DT a) (NN dog) (VBD ran))",
        "(S (DT the) (NN cat) (VBD sat))",
        "(S (PRP I) (VBD saw) (DT a) (NN cat))",
        "(S (NN dog))",
    ],
    "B": [
        "(S (DT the) (NN dog) (VBZ runs))",
        "(S (DT a) (NN cat))",
        "(S (PRP I) (VBD saw) (DT the) (NN dog))",
        HOSTILE,
    ],
}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    out = tmp_path_factory.mktemp("buckets") / "report.html"
    return tm.report(HYPS, REFS, ["stm"], out, trees=True)


def test_words_by_frequency_and_part_of_speech(open_report, path):
    segments = Segments(HYPS, REFS)
    expected = {
        way["title"]: way
        for way in word_buckets(collect(Evaluator(["stm"], TreesAsText("brackets")), segments))
    }
    page = open_report(path)
    titles = page.locator("#way option").all_inner_texts()
    for title, way in expected.items():
        number = next(k for k, text in enumerate(titles) if text.startswith(title))
        page.select_option("#way", str(number))
        page.wait_for_selector(f'#buckets svg[aria-label="F1 by {title}"]')
        rows = page.locator("#buckets .bucket")
        assert rows.count() == len(way["labels"])
        for k, label in enumerate(way["labels"]):
            found = rows.nth(k).locator("circle title").all_text_contents()
            for text, (f1, low, high, precision, recall) in zip(
                found, way["words"][k], strict=True
            ):
                assert f"{label}: F1 {f1:.3f}, 95% interval {low:.3f} to {high:.3f}" in text
                assert f"precision {precision:.3f}, recall {recall:.3f}" in text
            assert re.search(r"n = \d", rows.nth(k).text_content())
        # a click shows the segments in which A or B lacks a word of the bucket
        lacking = [
            {i for own in way["missed"] for i in range(4) if own[i] >> k & 1}
            for k in range(len(way["labels"]))
        ]
        k = next(k for k, own in enumerate(lacking) if 0 < len(own) < 4)
        before = page.evaluate("document.body.dataset.ready")
        rows.nth(k).click()
        page.wait_for_function("b => document.body.dataset.ready !== b", arg=before)
        shown = page.eval_on_selector_all("#space .row", "all => all.map(r => +r.dataset.segment)")
        assert set(shown) == lacking[k]
        assert f"lacks a word, {title}: {way['labels'][k]}" in page.inner_text("#filters")
    assert any("<img/src" in label for label in expected["part of speech"]["labels"])


def test_a_narrow_window_holds_all_buckets(open_report, path):
    page = open_report(path, viewport={"width": 420, "height": 800})
    number = page.locator("#way option").count() - 1
    page.select_option("#way", str(number))
    inside = page.eval_on_selector_all(
        "#buckets .bucket text",
        """all => all.map(t => [t.getBoundingClientRect(),
            t.closest('svg').getBoundingClientRect()]).map(
            ([own, whole]) => own.left >= whole.left - 1 && own.right <= whole.right + 1)""",
    )
    assert all(inside)
