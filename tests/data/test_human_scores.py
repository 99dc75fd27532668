"""Test sets with human scores: JSONL and score files of mt-metrics-eval."""

import json
import math

import numpy as np
import pytest
from data.judged_samples import ROWS

from tensormt.data import human_scores as data
from tensormt.data.human_scores import align_scores, read_documents, read_jsonl, read_scores
from tensormt.errors import TensorMTError


@pytest.fixture
def jsonl(tmp_path):
    path = tmp_path / "set.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in ROWS) + "\n\n", encoding="utf-8")
    return path


def test_jsonl_becomes_tables(jsonl):
    test = data.read_jsonl(jsonl)
    assert len(test) == 3
    assert test.systems == ["a", "b", "c"]
    assert test.outputs["a"] == ["cat mat", "", None]
    fluency = test.human_scores("fluency")
    assert fluency.dtype == np.float64
    assert np.nan_to_num(fluency[:2], nan=-1).tolist() == [[1, 0, -1], [4, 3, 2]]
    assert math.isnan(fluency[2, 1])
    numbers, names = test.document_numbers()
    assert (numbers.tolist(), names) == ([0, 0, 1], ["one", "two"])
    with pytest.raises(TensorMTError, match="the test set has adequacy, fluency"):
        test.human_scores("x")


def test_source_text_is_carried(jsonl, tmp_path):
    assert data.read_jsonl(jsonl).sources is None
    given = ["eins", None, ["no", "text"]]
    rows = [{**row, "src": src} for row, src in zip(ROWS, given, strict=True)]
    path = tmp_path / "src.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    test = data.read_jsonl(path)
    assert test.sources == ["eins", None, None]
    assert test.select(without=["a"]).sources == ["eins", None, None]
    assert test[1:].sources == [None, None]


def test_selection(jsonl):
    test = data.read_jsonl(jsonl)
    part = test.select(min_references=2, max_references=2, without=["a"])
    assert part.systems == ["b", "c"]
    assert part.documents == ["one", "two"]
    assert [len(refs) for refs in part.reference_rows()] == [2, 2]
    assert part.human_scores("fluency").tolist() == [[4, 2], [4.5, 5]]
    with pytest.raises(TensorMTError, match="nothing is left with at least 9 references"):
        test.select(min_references=9)
    with pytest.raises(TensorMTError, match="no system 'z' to leave out"):
        test.select(without=["z"])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", r"bad.jsonl, line 1: not a JSON object"),
        ("[1]", r"bad.jsonl, line 1: expected a JSON object"),
        ('{"sys": {}, "refs": [""]}', r"bad.jsonl, line 1: no reference"),
        ("", r"bad.jsonl: no segment"),
    ],
)
def test_a_mistake_is_named_with_its_line(tmp_path, line, message):
    path = tmp_path / "bad.jsonl"
    path.write_text(line, encoding="utf-8")
    with pytest.raises(TensorMTError, match=message):
        data.read_jsonl(path)
    with pytest.raises(TensorMTError, match=r"gone.jsonl cannot be read"):
        data.read_jsonl(tmp_path / "gone.jsonl")


def test_score_files(tmp_path):
    human, metric = tmp_path / "x.mqm.seg.score", tmp_path / "BLEU.seg.score"
    human.write_text("s1\t-1.5\ns1\tNone\ns2\t0\ns2\t-2\n", encoding="utf-8")
    metric.write_text("s2\t10\ns2\t20\ns1\t30\ns1\t40\nref\t1\nref\t2\n", encoding="utf-8")
    systems, (human_table, bleu) = data.align_scores([human, metric])
    assert systems == ["s1", "s2"]
    assert np.nan_to_num(human_table, nan=9).tolist() == [[-1.5, 9], [0, -2]]
    assert bleu.tolist() == [[30, 40], [10, 20]]
    docs = tmp_path / "x.docs"
    docs.write_text("news\td1\nnews\td2\n", encoding="utf-8")
    assert data.read_documents(docs) == ["d1", "d2"]
    metric.write_text("s2\t10\ns1\t30\n", encoding="utf-8")
    with pytest.raises(TensorMTError, match=r"BLEU.seg.score has 1 scores per system.*has 2"):
        data.align_scores([human, metric])
    metric.write_text("s2 ten\n", encoding="utf-8")
    with pytest.raises(TensorMTError, match=r"BLEU.seg.score:1: expected a system and a score"):
        data.read_scores(metric)
    metric.write_text("s2 1\ns2 2\ns1 3\n", encoding="utf-8")
    with pytest.raises(TensorMTError, match=r"different numbers of scores \(s2 2, s1 1\)"):
        data.read_scores(metric)
    metric.write_text("s2 1\ns2 2\n", encoding="utf-8")
    with pytest.raises(TensorMTError, match="have 1 systems in common"):
        data.align_scores([human, metric])


SPARSE = [
    {"doc": 1, "refs": ["a", " "], "sys": {"s": {"hyp": "x", "scores": {"da": 1, "n": None}}}},
    {"refs": ["b"], "sys": {"s": {"scores": {"da": 2.5}}, "t": {"hyp": "y"}}},
]


def test_rows_become_segments(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("\n\n".join(map(json.dumps, SPARSE)))
    found = read_jsonl(path)
    assert found.outputs == {"s": ["x", None], "t": [None, "y"]}
    assert (found.references, found.documents) == ([["a", "b"]], ["1", ""])
    np.testing.assert_array_equal(found.human["da"], [[1, 2.5], [math.nan, math.nan]])
    both = read_jsonl(path, path)
    assert len(both) == 4


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"refs": ["a"]}, 'expected an object with "refs" and "sys"'),
        ({"refs": [" "], "sys": {}}, "no reference"),
        ({"refs": ["a"], "sys": {"s": 1}}, "system 's': expected an object"),
        ({"refs": ["a"], "sys": {"s": {"scores": [1]}}}, '"scores" must be an object'),
        ({"refs": ["a"], "sys": {"s": {"scores": {"da": True}}}}, "must be a finite number"),
        ({"refs": ["a"], "sys": {"s": {"scores": {"da": 10**400}}}}, "must be a finite number"),
    ],
)
def test_invalid_rows_are_named(tmp_path, row, message):
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(SPARSE[0]) + "\n" + json.dumps(row))
    with pytest.raises(TensorMTError, match=rf"a.jsonl, line 2.*{message}"):
        read_jsonl(path)


def test_score_files_are_aligned(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("a\t1\na\tNone\nb\t3\nb\t4\nc\t5\nc\t6\n")
    two.write_text("c\t1\nc\t2\na\t3\na\t4\n")
    assert math.isnan(read_scores(one)["a"][1])
    systems, (first, second) = align_scores([one, two])
    assert systems == ["a", "c"]
    np.testing.assert_array_equal(first, [[1, math.nan], [5, 6]])
    np.testing.assert_array_equal(second, [[3, 4], [1, 2]])
    with pytest.raises(TensorMTError, match="have 1 systems in common"):
        align_scores([one, two], ["a"])
    two.write_text("a\t1\nb\t2\n")
    with pytest.raises(TensorMTError, match="has 1 scores per system"):
        align_scores([one, two])
    two.write_text("a\tx\n")
    with pytest.raises(TensorMTError, match="two:1: expected a system and a score"):
        read_scores(two)
    two.write_text("news\td1\nnews\td2\n")
    assert read_documents(two) == ["d1", "d2"]


@pytest.mark.parametrize("value", ["inf", "-Infinity", "1e999"])
def test_infinite_scores_are_refused(tmp_path, value):
    path = tmp_path / "x.seg.score"
    path.write_text(f"s1\t1\ns1\t{value}\n")
    with pytest.raises(
        TensorMTError, match=rf"x.seg.score:2: the score of s1 is {value}, expected"
    ):
        read_scores(path)


def test_sources_are_read_where_there_are_any(tmp_path):
    path = tmp_path / "set.jsonl"
    rows = [{"refs": ["a"], "sys": {"x": {"hyp": "a"}}} for _ in range(2)]
    path.write_text("\n".join(map(json.dumps, rows)))
    assert read_jsonl(path).sources is None
    rows[1]["src"] = "eins"
    path.write_text("\n".join(map(json.dumps, rows)))
    assert read_jsonl(path).sources == [None, "eins"]
    rows[1]["src"] = {"of": "data"}  # of data-to-text sets
    path.write_text("\n".join(map(json.dumps, rows)))
    assert read_jsonl(path).sources is None
