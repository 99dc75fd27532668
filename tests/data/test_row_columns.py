"""Names of columns and checks of their values."""

import pytest

from tensormt.data import row_columns as columns
from tensormt.errors import TensorMTError


@pytest.mark.parametrize("name", ["reference", "reference1", "reference 2", "reference_3"])
def test_reference_columns(name):
    assert columns.reference_columns([name]) == [name]


@pytest.mark.parametrize("name", ["references", "referee", "my reference", "Reference", "ref"])
def test_other_columns(name):
    assert columns.reference_columns([name]) == []


def test_headers_and_rows():
    header = columns.split_header("hypothesis\treference", "x")
    assert columns.pair_cells(["", ""], header, "x") == {"hypothesis": "", "reference": ""}
    with pytest.raises(TensorMTError, match="x: 3 columns, the header has 2"):
        columns.pair_cells(["a", "b", "c"], header, "x")
    with pytest.raises(TensorMTError, match="x: two columns have the same name"):
        columns.split_header("a\tb\ta", "x")


def test_texts_and_documents():
    assert columns.check_texts([None, "a"], "x", "references") == [None, "a"]
    assert columns.check_document(3, "x") == "3"
    for value in (1, {"a": 1}, ["a", 1]):
        with pytest.raises(TensorMTError, match="x: 'references' must be a list of strings"):
            columns.check_texts(value, "x", "references")
    with pytest.raises(TensorMTError, match=r"contains a lone surrogate \(invalid UTF-8\)"):
        columns.check_texts("a\ud800", "x", "references")
    for value in (True, None, [1]):
        with pytest.raises(TensorMTError, match="x: 'doc' must be a string or a number"):
            columns.check_document(value, "x")


def refs(row, **named):
    return columns.make_record(row, columns.Columns(**named), "x.jsonl, line 1").refs


def test_references_are_ordered_by_number():
    row = {"hypothesis": "h", "reference10": "c", "reference_2": "b", "reference": "a"}
    assert refs(row) == ["a", "b", "c"]
    assert refs({"hypothesis": "h", "references": ["a", None]}) == ["a", None]
    assert refs({"hypothesis": "h", "references": "a"}) == ["a"]
    assert refs(row, refs=("reference10",)) == ["c"]


@pytest.mark.parametrize(
    ("row", "one", "two"),
    [
        ({"references": ["a"], "reference": "b"}, "references", "reference"),
        ({"reference": "a", "references": "b", "reference2": "c"}, "references", "reference, "),
        ({"reference1": "a", "reference_1": "b"}, "reference1", "reference_1"),
        ({"reference1": "a", "reference01": "b"}, "reference1", "reference01"),
    ],
)
def test_a_row_with_two_readings_is_refused_with_both(row, one, two):
    message = f"x.jsonl, line 1: the references can be read from {one} or from {two}"
    with pytest.raises(TensorMTError, match=message) as caught:
        refs({"hypothesis": "h", **row})
    assert caught.value.options == "refs"


def test_a_reading_without_text_is_none():
    assert refs({"hypothesis": "h", "references": [], "reference": "b"}) == ["b"]
    assert refs({"hypothesis": "h", "references": None, "reference2": "b"}) == ["b"]
    assert refs({"hypothesis": "h", "references": ["a"], "reference": ""}) == ["a"]


def test_the_columns_that_exist_are_named():
    with pytest.raises(TensorMTError, match="has no 'hypothesis': it has mt, gold; name") as caught:
        refs({"mt": "h", "gold": "r"})
    assert caught.value.options == "hyp refs"
    row, names = {"hypothesis": "h", "gold": "r"}, columns.Columns(refs=("glod",))
    record = columns.make_record(row, names, "x")
    with pytest.raises(TensorMTError, match="no column 'glod': it has hypothesis, gold"):
        columns.check_references(record, row, names, "x")
    with pytest.raises(TensorMTError, match=r"a\.parquet: two columns have the same name, 'a'"):
        columns.check_names(["a", "a"], columns.Columns("a"), "a.parquet")
