"""Many rows of text at once, column by column: five times as fast as a template for each row.

Arrow writes the shortest digits that give a number back, as Python does, but in another form where
a number is whole, very small or very large; those few are written by Python.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike

_TEXT = pa.large_string()


def strings(texts: Sequence[str]) -> pa.Array:
    """A column of texts."""
    return pa.array(texts, _TEXT)


def counted(numbers: Sequence[int]) -> pa.Array:
    """A column of whole numbers."""
    return pa.array(np.asarray(numbers, np.int64)).cast(_TEXT)


def numerals(values: ArrayLike, written: Callable[[float], str]) -> pa.Array:
    """A column of numbers as Python writes them; those that are not finite as `written` does."""
    numbers = np.asarray(values, np.float64)
    with np.errstate(invalid="ignore"):
        size = np.abs(numbers)
        alike = (size >= 1e-4) & (size < 1e10) & (numbers != np.floor(numbers))
    column = pa.array(numbers).cast(_TEXT)
    if alike.all():
        return column
    rest = numbers[~alike].tolist()
    others = strings([repr(each) if math.isfinite(each) else written(each) for each in rest])
    return pc.replace_with_mask(column, pa.array(~alike), others)


def joined(*cells: pa.Array | str) -> pa.Array:
    """Rows of text: columns, and strings that are the same in all rows, side by side."""
    return pc.binary_join_element_wise(
        *(pa.scalar(c, _TEXT) if isinstance(c, str) else c for c in cells), pa.scalar("", _TEXT)
    )


def text_of(rows: pa.Array) -> bytes:
    """All rows, one after the other."""
    _, offsets, data = rows.buffers()
    if data is None:
        return b""
    ends = np.frombuffer(offsets, np.int64)[rows.offset : rows.offset + len(rows) + 1]
    text: bytes = data[int(ends[0]) : int(ends[-1])].to_pybytes()
    return text
