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
    assert columns.split_row("\t", header, "x") == {"hypothesis": "", "reference": ""}
    with pytest.raises(TensorMTError, match="x: 3 columns, the header has 2"):
        columns.split_row("a\tb\tc", header, "x")
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
