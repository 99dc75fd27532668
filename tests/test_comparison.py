"""`tm.compare`: the table, the data behind it, the baseline, error rates."""

import random
from xml.etree import ElementTree

import pytest
from error_rate import LengthError

import tensormt as tm
from tensormt.significance import Comparison

WORDS = "the cat sat on a mat and it rained all day".split()


@pytest.fixture(scope="module")
def texts():
    """30 references; A drops a word in ten, B one in three, C is A."""
    rng = random.Random(4)
    ref = [" ".join(rng.choices(WORDS, k=9)) for _ in range(30)]

    def dropped(share):
        return [" ".join(w for w in line.split() if rng.random() > share) for line in ref]

    first = dropped(0.1)
    return {"A": first, "B": dropped(0.33), "C": list(first)}, [ref]


def test_the_table_and_its_data(texts):
    hyps, refs = texts
    result = tm.compare(hyps, refs, metrics=["bleu", "chrf"])
    head, *rows = result.rows()
    assert head[:5] == ["metric", "system", "score", "difference", "95% interval"]
    assert [row[:2] for row in rows] == [[m, s] for m in ("bleu", "chrf") for s in "ABC"]
    score = {name: tm.score(own, refs, ["bleu"]).corpus["bleu"] for name, own in hyps.items()}
    assert [row[2] for row in rows[:3]] == [f"{score[name]:.2f}" for name in "ABC"]
    assert rows[0][3] == "baseline"
    worse, equal = result.comparisons[:2]
    assert worse.difference == pytest.approx(score["B"] - score["A"])
    assert worse.difference_low < worse.difference < worse.difference_high < 0
    assert (worse.verdict, rows[1][7]) == ("worse", "worse")
    assert rows[1][4] == f"{worse.difference_low:+.2f} to {worse.difference_high:+.2f}"
    assert rows[1][8] == f"{worse.wins}/{worse.ties}/{worse.losses}"
    assert worse.losses > worse.wins
    assert (equal.wins, equal.ties, equal.losses, equal.p, equal.verdict) == (0, 30, 0, 1, "")
    text = str(result)
    assert repr(result) == text
    assert "paired bootstrap, 10,000 resamples, seed 12345" in text
    assert "p (Holm): corrected for 2 comparisons by each metric; verdict: p (Holm) < 0.05" in text
    assert result.signatures["bleu"] in text
    assert "lower is better" not in text


def test_data_for_other_libraries(texts):
    hyps, refs = texts
    result = tm.compare(hyps, refs, metrics=["bleu"], samples=99)
    frame = result.to_frame()
    assert frame.column_names == list(Comparison._fields)
    assert [Comparison(**row) for row in frame.to_pylist()] == result.comparisons
    table, note = ElementTree.fromstring(f"<div>{result._repr_html_()}</div>".replace("<br>", ""))
    assert [cell.text or "" for cell in table.iter("td")] == [
        cell for row in result.rows()[1:] for cell in row
    ]
    assert "99 resamples" in note.text


def test_a_baseline_by_name(texts):
    hyps, refs = texts
    result = tm.compare(hyps, refs, "B", metrics=["chrf"], samples=99)
    assert [(row.baseline, row.system, row.verdict) for row in result.comparisons] == [
        ("B", "A", "better"),
        ("B", "C", "better"),
    ]
    with pytest.raises(tm.TensorMTError, match="no system named 'D': the baseline is one of 'A'"):
        tm.compare(hyps, refs, "D")
    with pytest.raises(tm.TensorMTError, match="one system only"):
        tm.compare({"A": hyps["A"]}, refs)
    with pytest.raises(tm.TensorMTError, match="one system only"):
        tm.compare(hyps["A"], refs)


def test_randomization_and_all_pairs(texts):
    hyps, refs = texts
    result = tm.compare(hyps, refs, metrics=["chrf"], test="ar", samples=99, all_pairs=True)
    head, *rows = result.rows()
    assert head[:5] == ["metric", "baseline", "system", "baseline score", "score"]
    assert "95% interval" not in head
    assert [row[1:3] for row in rows] == [["A", "B"], ["A", "C"], ["B", "C"]]
    assert rows[0][3] == rows[1][3] == rows[2][4]  # A and C are equal
    assert result.comparisons[0].difference_low is None
    assert "approximate randomization, 99 resamples" in str(result)


def test_of_error_rates_less_is_better(texts):
    hyps, refs = texts
    result = tm.compare(hyps, refs, metrics=[LengthError(), "chrf"], samples=999)
    error, _, chrf, _ = result.comparisons
    assert error.difference > 0 > chrf.difference
    assert error.verdict == chrf.verdict == "worse"
    assert error.wins == sum(
        abs(len(b.split()) - 9) < abs(len(a.split()) - 9)
        for a, b in zip(hyps["A"], hyps["B"], strict=True)
    )
    assert error.losses > error.wins
    assert "lower is better: lengtherror" in str(result)


def test_columns_of_a_table_and_references_by_segment(texts):
    hyps, refs = texts
    expected = tm.compare(hyps, refs, metrics=["chrf"], samples=99)
    data = {**hyps, "ref": refs[0]}
    found = tm.compare({n: n for n in hyps}, "ref", metrics="chrf", data=data, samples=99)
    assert found.comparisons == expected.comparisons
    rows = [[line] for line in refs[0]]
    found = tm.compare(hyps, rows, metrics="chrf", rows=True, samples=99)
    assert found.comparisons == expected.comparisons


def test_one_segment_is_warned_of():
    with pytest.warns(tm.errors.TensorMTWarning, match="^scores over one segment only"):
        result = tm.compare({"A": ["a cat"], "B": ["a dog"]}, [["a dog"]], metrics=["ter"])
    [found] = result.comparisons
    assert (found.p, found.verdict) == (1.0, "")
    assert result.to_json()["comparisons"][0]["segments"] == 1


def test_the_note_counts_the_comparisons_that_have_a_p():
    hyps = {name: ["a cat", "a dog"] for name in "ABC"}
    stored = tm.Scores("Q", {"A": [0.5, 0.1], "B": [0.2, 0.3], "C": [None, None]})
    with pytest.warns(tm.errors.TensorMTWarning, match="no score of Q"):
        result = tm.compare(hyps, [["a dog"] * 2], metrics=["ter", stored], all_pairs=True)
    assert "corrected for up to 3 comparisons by each metric" in str(result)
    with pytest.warns(tm.errors.TensorMTWarning, match="no score of Q"):
        result = tm.compare(hyps, [["a dog"] * 2], metrics=[stored])
    assert "corrected for 1 comparison by each metric" in str(result)
