"""Rows of text made by columns against Python's own repr, json and join."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensormt.data.row_text import (
    integer_column,
    join_columns,
    number_column,
    text_column,
    to_bytes,
)

floats = st.one_of(
    st.floats(),
    st.floats(0, 1),
    st.floats(0, 100),
    st.integers(-(10**18), 10**18).map(float),
    st.sampled_from([1e-4, 9.999e-5, 1e10, 9999999999.5, 1e16, 5e-324, -0.0, 0.1 + 0.2]),
)


@pytest.mark.parametrize("written", [repr, json.dumps])
@given(st.lists(floats, max_size=20))
def test_numbers_are_written_as_python_writes_them(written, values):
    assert number_column(values, written).to_pylist() == [written(value) for value in values]


@given(st.lists(st.tuples(st.text(), floats), max_size=8))
def test_rows_stand_side_by_side(rows):
    names = [name for name, _ in rows]
    values = number_column([value for _, value in rows], repr)
    places = integer_column(range(9, 9 + len(rows)))
    column = join_columns(places, " <", text_column(names), ": ", values, ">\n")
    expected = [f"{place} <{name}: {value!r}>\n" for place, (name, value) in enumerate(rows, 9)]
    assert column.to_pylist() == expected
    assert to_bytes(column) == "".join(expected).encode()
    assert to_bytes(column[2:5]) == "".join(expected[2:5]).encode()
    assert to_bytes(join_columns(column, column)) == "".join(row * 2 for row in expected).encode()
