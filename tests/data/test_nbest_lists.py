"""Files of several texts for each segment: all forms, and what is wrong in them."""

import json

import pytest

from tensormt.data.nbest_lists import read_text_lists
from tensormt.errors import TensorMTError, TensorMTWarning

TEXTS = [["a b", "c"], ["d", "e f", "g"]]
NUMBERS = [[-1.0, -2.5], [0.0, -3.0, -1e-3]]


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_all_forms_hold_the_same(tmp_path):
    rows = [{"candidates": t, "lp": n} for t, n in zip(TEXTS, NUMBERS, strict=True)]
    jsonl = write(tmp_path / "a.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    assert read_text_lists(jsonl) == (TEXTS, None, [])
    assert read_text_lists(jsonl, numbers="lp") == (TEXTS, NUMBERS, [])
    assert read_text_lists(jsonl, ("references", "candidates")).texts == TEXTS
    blocks = write(tmp_path / "a.txt", "\n\na b\nc\n\n \nd\ne f\ng\n")
    assert read_text_lists(blocks)[:2] == (TEXTS, None)
    lines = [
        f"{k} ||| {text} ||| F0= 1 ||| {number}\n"
        for k, own in enumerate(zip(TEXTS, NUMBERS, strict=True))
        for text, number in zip(*own, strict=True)
    ]
    moses = write(tmp_path / "n.best", "".join(lines))
    assert read_text_lists(moses, numbers="score") == (TEXTS, NUMBERS, [])
    even = write(tmp_path / "b.txt", "a\nb\n\nd\n")
    assert read_text_lists(even, size=2).texts == [["a", "b"], ["", "d"]]


@pytest.mark.parametrize(
    ("name", "text", "options", "message"),
    [
        ("a.jsonl", '{"x": 1}\n', {}, "a.jsonl, line 1: the row has no 'candidates': it has x"),
        ("a.jsonl", '{"candidates": []}\n', {}, "line 1: 'candidates' has no text"),
        ("a.jsonl", '{"candidates": [1]}\n', {}, "line 1: 'candidates' must be a list of strings"),
        ("a.jsonl", '{"candidates": ["a"], "w": [1, 2]}\n', {"numbers": "w"}, "2 numbers for 1 t"),
        ("a.jsonl", '{"candidates": ["a"], "w": ["x"]}\n', {"numbers": "w"}, "list of numbers"),
        ("a.jsonl", '{"candidates": ["a"]}\n', {"numbers": "w"}, "has no 'w': it has candidates"),
        ("a.jsonl", '{"candidates": ["a"]}\n', {"size": 2}, "has rows, not a number of lines"),
        ("a.jsonl", "", {}, "a.jsonl contains no segment"),
        ("a.txt", "\n\n", {}, "a.txt contains no segment"),
        ("a.txt", "a\nb\nc\n", {"size": 2}, "1 lines are left at the end: expected 2"),
        ("a.txt", "a\n", {"numbers": "w"}, "has texts only, no 'w'"),
        ("a.txt", "0 ||| a ||| 1\nb\n", {}, "line 2: expected a line as 0 "),
        ("a.txt", "0 ||| a\n1 ||| b\n0 ||| c\n", {}, "line 3: segment 0 stands in two places"),
        ("a.txt", "3 ||| a\n4 ||| b\n", {}, "line 1: the first segment is 3, expected 0 or 1"),
        ("a.txt", "0 ||| a\n2 ||| b\n", {}, "line 2: segment 2 follows segment 0: those between"),
        ("a.jsonl", '{"candidates": ["a", null]}\n', {}, "line 1: 'candidates' has a null"),
        ("a.txt", "0 ||| a ||| x\n", {"numbers": "score"}, "the last field is 'x', expected a n"),
        ("a.txt", "0 ||| a ||| 1\n", {"numbers": "w"}, "whose last field is called 'score'"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, name, text, options, message):
    with pytest.raises(TensorMTError, match=message):
        read_text_lists(write(tmp_path / name, text), **options)


def test_many_lines_of_one_segment_are_warned_of(tmp_path):
    path = write(tmp_path / "a.txt", "a\n" * 51)
    found = read_text_lists(path)
    assert len(found.texts[0]) == 51
    with pytest.warns(TensorMTWarning, match="no empty line stands between the 51 lines"):
        found.warn()
    assert found.doubts[0].options == "lines"
    for text in ("a\n" * 50, "a\n" * 51 + "\n"):
        assert read_text_lists(write(tmp_path / "b.txt", text)).doubts == []


def test_a_file_of_one_text_each_is_not_one_segment(tmp_path):
    path = write(tmp_path / "a.txt", "a\nb\nc\nd\n")
    with pytest.raises(TensorMTError, match="the first 4 lines would be one segment"):
        read_text_lists(path, most=3)


@pytest.mark.parametrize(("text", "line"), [("\na\n", 1), ("a\n\n\n\nb\n", 3), ("a\n\nb\n\n\n", 0)])
def test_empty_lines_that_end_no_segment(tmp_path, text, line):
    path = write(tmp_path / "a.txt", text)
    found = read_text_lists(path)
    assert [*map(len, found.texts)] == [1] * (1 + ("b" in text))
    messages = [f"{path}, line {line}: an empty line that ends no segment"] if line else []
    assert [str(own).split(" is left")[0] for own in found.doubts] == messages
