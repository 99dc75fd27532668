"""Test sets with human scores: JSONL and score files of mt-metrics-eval."""

import json
import math

import numpy as np
import pytest

from tensormt.data.human_scores import align_scores, read_documents, read_jsonl, read_scores
from tensormt.errors import TensorMTError

ROWS = [
    {"doc": 1, "refs": ["a", " "], "sys": {"s": {"hyp": "x", "scores": {"da": 1, "n": None}}}},
    {"refs": ["b"], "sys": {"s": {"scores": {"da": 2.5}}, "t": {"hyp": "y"}}},
]


def test_rows_become_segments(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("\n\n".join(map(json.dumps, ROWS)))
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
    path.write_text(json.dumps(ROWS[0]) + "\n" + json.dumps(row))
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
