"""Segments: rows to streams, parts that keep their numbers, checks before any work."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensormt.errors import TensorMTError
from tensormt.segments import Segments, check_sizes, reference_streams


def segments(**more):
    outputs = {"a": ["a0", "a1", "a2"], "b": ["b0", None, "b2"]}
    refs = [["r0", "", "r2"], ["s0", "s1", " "]]
    return Segments(outputs, refs, documents=["x", "x", "y"], **more)


@given(st.lists(st.lists(st.text("ab", max_size=2), max_size=4), max_size=6))
def test_streams_hold_the_rows(rows):
    streams = reference_streams(rows)
    assert len(streams) == max([1, *map(len, rows)])
    for n, row in enumerate(rows):
        assert [stream[n] for stream in streams] == row + [None] * (len(streams) - len(row))


def test_rows_and_streams_give_the_same_segments():
    rows = [["r0", "s0"], ["s1"], []]
    found = Segments.from_rows({"a": ("x", "y", "z")}, rows)
    assert found.references == [["r0", "s1", None], ["s0", None, None]]
    assert found.outputs == {"a": ["x", "y", "z"]}
    assert (len(found), found.systems, found.reference_count) == (3, ["a"], 2)


def test_columns_must_align():
    with pytest.raises(TensorMTError, match="reference 1 has 1 segments, hypothesis 'a' has 2"):
        Segments({"a": ["x", "y"]}, [["z"]])
    with pytest.raises(TensorMTError, match="the list of documents has 1 segments"):
        Segments({"a": ["x", "y"]}, [["z", "z"]], documents=["d"])
    with pytest.raises(TensorMTError, match="no reference given"):
        Segments({"a": []}, [])
    check_sizes({"one": 2, "two": 2})
    with pytest.raises(TensorMTError, match="two has 3 lines, one has 2"):
        check_sizes({"one": 2, "two": 3}, "lines")


def test_parts_keep_their_numbers_and_columns():
    human = {"q": np.arange(6.0).reshape(2, 3)}
    whole = segments(human=human, ids=[7, 8, 9], sources=["u", "v", None])
    for part in (whole[1:], whole[[1, 2]], whole[1:3][0:2]):
        assert [part.number(k) for k in range(len(part))] == [1, 2]
        assert part.outputs == {"a": ["a1", "a2"], "b": [None, "b2"]}
        assert part.references == [["", "r2"], ["s1", " "]]
        assert (part.documents, part.ids, part.sources) == (["x", "y"], [8, 9], ["v", None])
        assert part.human["q"].tolist() == [[1, 2], [4, 5]]
    assert [part.number(0) for part in whole.chunks(1)] == [0, 1, 2]
    again = Segments.concat(list(whole.chunks(2)))
    assert again.outputs == whole.outputs
    assert again.references == whole.references
    assert np.array_equal(again.human["q"], human["q"])
    (bare,) = whole.chunks(9, hyps=False)
    assert (bare.outputs, bare.human, len(bare)) == ({}, {}, 3)


def test_what_is_present():
    found = segments()
    assert found.present.tolist() == [[True] * 3, [True, False, True]]
    assert Segments({}, [["a"]]).present.shape == (0, 1)
    assert found.reference_rows() == [["r0", "s0"], ["s1"], ["r2"]]
    assert found.texts_by_segment() == [
        ["a0", "b0", "r0", "s0"],
        ["a1", None, None, "s1"],
        ["a2", "b2", "r2", None],
    ]
    assert [len(stream) for stream in found.streams] == [3] * 4


def test_a_segment_without_reference_is_named_with_its_number():
    whole = Segments({"a": ["x"] * 4}, [["r", "r", "", None], ["", "", " \t", "r"]])
    with pytest.raises(TensorMTError, match="segment 3 has no reference"):
        list(whole.chunks(2))
    whole[[0, 1, 3]].check_references()
    with pytest.raises(TensorMTError, match="segment 3 has no reference"):
        whole[[1, 2]].check_references()


def test_selection():
    whole = segments(human={"q": np.arange(6.0).reshape(2, 3)})
    part = whole.select(min_references=2)
    assert (len(part), part.number(0)) == (1, 0)
    part = whole.select(max_references=1, without=["a"])
    assert part.systems == ["b"]
    assert part.references == [["r0", "s1", "r2"]]  # the first that is not blank
    assert part.human["q"].tolist() == [[3, 4, 5]]
    for wrong, message in (
        ({"min_references": 0}, "at least 0 references"),
        ({"min_references": 3}, "nothing is left with at least 3 references"),
        ({"without": ["z"]}, "no system 'z' to leave out: a, b"),
    ):
        with pytest.raises(TensorMTError, match=message):
            whole.select(**wrong)


def test_documents_and_human_scores():
    numbers, names = segments().document_numbers()
    assert (numbers.tolist(), names) == ([0, 0, 1], ["x", "y"])
    numbers, names = Segments({}, [["a", "b"]]).document_numbers()
    assert (numbers.tolist(), names) == ([0, 1], ["0", "1"])
    with pytest.raises(TensorMTError, match="no human score 'x': the test set has none at all"):
        segments().human_scores("x")
