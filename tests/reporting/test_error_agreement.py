"""Marked errors and unmatched words, counted one by one."""

from reporting.page_samples import read_page

import tensormt as tm
from tensormt.data.error_spans import ErrorSpan, Ratings
from tensormt.reporting.error_agreement import word_places

HYPS = {"A": ["the big cat sat", "a dog", "x y"], "B": ["the cat ran", "a dog", "x"]}
REFS = [["the cat sat", "a dog", "x z"]]
SPANS = {
    # in A: big is marked and unmatched; sat is marked but matched
    "A": [[ErrorSpan(4, 7, "major"), ErrorSpan(12, 15, "minor")], [], None],
    # in B: ran is unmatched and marked; one error is no part of the output
    "B": [[ErrorSpan(8, 9, "minor"), ErrorSpan(-1, -1, "major", "omission")], None, []],
}


def test_words_and_spans(tmp_path):
    ratings = Ratings(SPANS, {})
    metrics = ["bleu:max_order=2", "chrf", "wer"]
    page = read_page(tm.report(HYPS, REFS, metrics, tmp_path / "r.html", ratings=ratings))
    rows = {row["metric"]: row for row in page.meta["agreement"]}
    assert set(rows) == {"bleu:max_order=2", "wer"}  # characters are no words
    for row in rows.values():
        assert row["words"] == 4 + 2 + 3 + 1  # of rated outputs
        assert row["errors"] == 3
        assert row["unmatched"] == 2
        assert row["both"] == 2
        assert (row["spans_major"], row["met_major"]) == (1, 1)
        assert (row["spans_minor"], row["met_minor"]) == (2, 1)
        assert row["omissions"] == 1
    assert page.texts(page.meta["errors"][0])[1:] == ["[]", ""]


def test_places_of_words():
    assert word_places("Hello, World!", ["hello", ",", "world", "!"]) == [
        (0, 5),
        (5, 6),
        (7, 12),
        (12, 13),
    ]
    assert word_places("a b", ["a", "lost", "b"]) == [(0, 1), None, (2, 3)]
    assert word_places("", ["a"]) == [None]
    assert word_places("İ x", ["x"]) == [(2, 3)]  # a letter whose lower case is longer
