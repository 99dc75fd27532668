"""Formatting of many rows of text at once with Arrow, five times as fast as row by row.

Arrow writes the shortest digits that reproduce a number, as Python does, but in another form if the
number is an integer, very small or very large; these numbers are formatted by Python.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike

_TEXT = pa.large_string()


def text_column(texts: Sequence[str]) -> pa.Array:
    """Make a column of texts."""
    return pa.array(texts, _TEXT)


def integer_column(numbers: Sequence[int]) -> pa.Array:
    """Make a text column of integers."""
    return pa.array(np.asarray(numbers, np.int64)).cast(_TEXT)


def number_column(values: ArrayLike, written: Callable[[float], str]) -> pa.Array:
    """Make a text column of numbers in Python's format; `written` formats infinities and NaN."""
    numbers = np.asarray(values, np.float64)
    with np.errstate(invalid="ignore"):
        size = np.abs(numbers)
        alike = (size >= 1e-4) & (size < 1e10) & (numbers != np.floor(numbers))
    column = pa.array(numbers).cast(_TEXT)
    if alike.all():
        return column
    rest = numbers[~alike].tolist()
    others = text_column([repr(each) if math.isfinite(each) else written(each) for each in rest])
    return pc.replace_with_mask(column, pa.array(~alike), others)


def join_columns(*cells: pa.Array | str) -> pa.Array:
    """Concatenate columns, and strings that are the same in all rows, to rows of text.

    >>> to_bytes(join_columns(text_column(["a", "b"]), "=", integer_column([1, 2]), ";"))
    b'a=1;b=2;'
    """
    return pc.binary_join_element_wise(
        *(pa.scalar(c, _TEXT) if isinstance(c, str) else c for c in cells), pa.scalar("", _TEXT)
    )


def to_bytes(rows: pa.Array) -> bytes:
    """Return the concatenation of all rows."""
    _, offsets, data = rows.buffers()
    if data is None:
        return b""
    ends = np.frombuffer(offsets, np.int64)[rows.offset : rows.offset + len(rows) + 1]
    text: bytes = data[int(ends[0]) : int(ends[-1])].to_pybytes()
    return text
