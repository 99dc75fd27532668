"""Ratings with error spans, in the documented formats of mt-metrics-eval, WMT and Appraise."""

import csv
import json
import math

import numpy as np
import pytest

from tensormt.data.error_spans import ErrorSpan, read_ratings
from tensormt.errors import TensorMTError

OUTPUTS = {"A": ["the cat sat", "a dog", None], "B": ["cat sat", "no dog ran", "x"]}


def error(start, end, severity="major", category="accuracy/mistranslation", **more):
    return {"start": start, "end": end, "severity": severity, "category": category,
            "score": None, "is_source_error": False, **more}  # fmt: skip


def mqm(path, rows):
    lines = [
        f"{system}\t{'None' if errors is None else json.dumps({'errors': errors})}{rater}"
        for system, errors, rater in rows
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def test_ratings_of_mt_metrics_eval(tmp_path):
    rows = [
        ("A", [error(4, 7), error(0, 3, "Minor", "fluency/punctuation")], "\trater1"),
        ("A", None, ""),
        ("A", [error(0, 1)], "\trater1"),  # there is no output: left out
        ("other", [error(0, 99)], "\trater1"),
        ("B", [], "\trater2"),
        ("B", [error(0, 2, "major", "non-translation!")], "\trater2"),
        ("B", [error(2, 5, is_source_error=True)], "\trater2"),
    ]
    found = read_ratings([mqm(tmp_path / "mqm.seg.rating", rows)], OUTPUTS)
    assert found.spans["A"] == [
        [
            ErrorSpan(4, 7, "major", "accuracy/mistranslation", "rater1"),
            ErrorSpan(0, 3, "minor", "fluency/punctuation", "rater1"),
        ],
        None,
        None,
    ]
    assert found.spans["B"][0] == []
    assert found.spans["B"][2] == [ErrorSpan(-1, -1, "major", "accuracy/mistranslation", "rater2")]
    nan = math.nan
    expected = [[-5.1, nan, nan], [0, -25, -5]]
    assert np.allclose(found.scores["MQM"], expected, equal_nan=True)


def test_raters_with_a_file_each_are_averaged(tmp_path):
    one = mqm(tmp_path / "1.seg.rating", [("A", [error(0, 3)], "\tr1"), ("A", None, "")])
    two = mqm(tmp_path / "2.seg.rating", [("A", [error(0, 3, "minor")], "\tr2"), ("A", [], "\tr2")])
    found = read_ratings([one, two], {"A": OUTPUTS["A"]})
    assert [span.rater for span in found.spans["A"][0]] == ["r1", "r2"]
    assert found.spans["A"][1] == []
    assert found.scores["MQM"][0][:2].tolist() == [-3.0, 0.0]


def test_esa_of_wmt(tmp_path):
    spans = [
        {"start_i": 4, "end_i": 6, "severity": "minor", "error_type": None},
        {"start_i": "missing", "end_i": "missing", "severity": "major"},
    ]
    row = {"langs": "en-de", "line_id": 0, "src": "x", "tgt": "the cat sat", "doc_id": "d",
           "system": "A", "annotator": "ann1", "esa_spans": spans, "esa_score": 67}  # fmt: skip
    path = tmp_path / "esa.jsonl"
    rows = [row, {**row, "annotator": "ann2", "esa_spans": [], "esa_score": "71.0"}]
    path.write_text("\n".join(map(json.dumps, rows)))
    found = read_ratings([str(path)], OUTPUTS)
    # end_i is the last character of the span
    assert found.spans["A"][0] == [
        ErrorSpan(4, 7, "minor", "", "ann1"),
        ErrorSpan(-1, -1, "major", "omission", "ann1"),
    ]
    assert OUTPUTS["A"][0][4:7] == "cat"
    assert found.scores["ESA"][0, 0] == 69
    assert set(found.scores) == {"ESA"}


def test_esa_of_appraise(tmp_path):
    spans = json.dumps([{"start_i": 0, "end_i": 1, "severity": "major"}])

    def row(system, segment, kind="TGT", document="doc1", score="50"):
        head = ["user1", system, segment, kind, "eng", "deu", score, document, "False"]
        return [*head, spans, "1718000000.1", "1718000009.2"]

    path = tmp_path / "esa.csv"
    rows = [row("A", 1), row("B", 0, "BAD"), row("B", 1, document="doc1#dup"), row("B", 2)]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    with pytest.raises(TensorMTError, match="line 4: an error from character 0 to 2"):
        read_ratings([str(path)], OUTPUTS)
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows[:3])
    found = read_ratings([str(path)], OUTPUTS)
    assert found.spans["A"][1] == [ErrorSpan(0, 2, "major", "", "user1")]
    assert found.spans["B"] == [None, None, None]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.seg.rating", "A\t{}\n", r'line 1: expected {"errors"'),
        ("a.seg.rating", "A x\n", "found 1 columns"),
        ("a.seg.rating", 'A\t{"errors": [{"start": 1}]}\n', "line 1: end is None"),
        ("a.seg.rating", 'A\t{"errors": [{"start": 9, "end": 99}]}\n', "belong to other outputs"),
        ("a.seg.rating", "A\tNone\nA\tNone\nA\tNone\nA\t" + '{"errors": []}\n', "segment 4 of A"),
        ("a.seg.rating", 'C\t{"errors": []}\n', "no rating of A, B, but of C"),
        ("a.jsonl", '{"system": "A", "line_id": 0}\n', 'expected "system", "line_id"'),
        ("a.jsonl", '{"system": "A", "line_id": 0, "esa_spans": [], "esa_score": "?"}', "score"),
        ("a.csv", "a,b\n", "12 columns of Appraise"),
        ("a.csv", "u,A,0,TGT,e,d,5,doc,F,{oops,1,2\n", "no JSON list"),
    ],
)
def test_wrong_files(tmp_path, name, text, message):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(TensorMTError, match=message):
        read_ratings([str(path)], OUTPUTS)
