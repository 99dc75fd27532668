"""Conversion of text arguments: lists, generators, numpy arrays, pandas and Arrow columns.

    as_lines(frame["hyp"])                 list[str | None]: NaN and NA are missing lines
    as_streams(frame[["ref1", "ref2"]])    one list of lines per column

Neither numpy nor pandas nor Arrow is imported: objects are recognized by their methods. Values that
are not text raise an error that names their position.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any

from tensormt.errors import TensorMTError


def as_list(values: Any, what: str) -> list[Any]:
    """Return the elements of a column as Python objects; missing ones are None.

    Args:
        values: List, iterable, numpy array, pandas or Arrow column.
        what: Name in error messages.

    Raises:
        TensorMTError: If `values` is not a column.

    >>> as_list((1.5, float("nan")), "scores")
    [1.5, None]
    """
    return [_plain(value) for value in _items(values, what)]


def as_lines(values: Any, what: str = "lines", *, binary: bool = False) -> list[Any]:
    """Return a list of strings; None: a missing line.

    Args:
        values: List, iterable, numpy array, pandas or Arrow column.
        what: Name in error messages.
        binary: Whether elements may be bytes.

    Raises:
        TensorMTError: If an element is not a string.

    >>> as_lines(("a", None))
    ['a', None]
    """
    if type(values) is list and set(map(type, values)) <= {str}:
        return values
    found = as_list(values, what)
    for number, value in enumerate(found, 1):
        if not (value is None or isinstance(value, str) or (binary and isinstance(value, bytes))):
            raise TensorMTError(
                f"{what}, number {number}: expected a string, got {type(value).__name__} "
                f"{repr(value)[:40]}"
            )
    return found


def as_streams(values: Any, what: str = "refs") -> list[list[Any]]:
    """Return R lists of lines from a list of columns, or from the columns of a table.

    Raises:
        TensorMTError: If a column is a string, or an element is not a string.

    >>> as_streams([("a", "b"), ("c", None)])
    [['a', 'b'], ['c', None]]
    """
    if isinstance(values, str | bytes):
        raise TensorMTError(f"{what} is a list of streams, each a list of segments: got a string")
    if hasattr(values, "columns") and hasattr(values, "iloc"):  # a pandas DataFrame
        values = [values.iloc[:, k] for k in range(len(values.columns))]
    elif hasattr(values, "column_names") and hasattr(values, "columns"):  # an Arrow table
        values = values.columns
    streams = _items(values, what)
    for stream in streams:
        if isinstance(stream, str | bytes):
            raise TensorMTError(
                f"{what} is a list of streams, {what}[k][i] being reference k of segment i: got a "
                f"string where a stream was expected; for one reference per segment pass "
                f"{what}=[lines]"
            )
    return [as_lines(stream, f"{what}[{k}]") for k, stream in enumerate(streams)]


def as_column(data: Any, name: Any, what: str) -> Any:
    """Return a column of a data frame, Arrow table, dataset or dictionary of columns.

    Args:
        data: The table.
        name: Name of the column.
        what: Name of the argument in error messages.

    Raises:
        TensorMTError: If there is no such column; the message lists those that exist.

    >>> as_column({"hyp": ["a"]}, "hyp", "hyps")
    ['a']
    """
    known: Any = getattr(data, "column_names", None)  # Arrow, Hugging Face datasets
    if known is None:
        known = getattr(data, "columns", None)  # pandas, polars
    if known is None:
        known = data if isinstance(data, Mapping) else None
    if known is None or callable(known):
        raise TensorMTError(f"data is {type(data).__name__}, expected a table with named columns")
    names = list(known)
    if not isinstance(name, str):
        raise TensorMTError(f"{what} of a table is the name of a column: got {type(name).__name__}")
    if name not in names:
        listed = ", ".join(map(str, names[:20]))
        raise TensorMTError(f"{what}: there is no column {name!r}, the table has {listed}")
    return data[name]


def as_lists(values: Any, what: str) -> list[list[Any]]:
    """Return a list of lists, such as the words of every segment."""
    rows = as_list(values, what)
    if all(type(row) is list for row in rows):
        return rows
    return [as_list(row, f"{what} of segment {number}") for number, row in enumerate(rows, 1)]


def as_names(values: Any, what: str) -> list[str]:
    """Return names such as document ids, strings or numbers, as strings; missing ones are empty.

    Raises:
        TensorMTError: If an element is something else.

    >>> as_names([1, "b", None], "documents")
    ['1', 'b', '']
    """
    found = as_list(values, what)
    for number, value in enumerate(found, 1):
        if isinstance(value, bool) or not isinstance(value, str | int | float | None):
            raise TensorMTError(
                f"{what}, number {number}: expected a string or a number, got "
                f"{type(value).__name__} {repr(value)[:40]}"
            )
    return ["" if value is None else str(value) for value in found]


def lone_surrogate(text: str) -> str:
    r"""Return the first lone surrogate of a text, which UTF-8 cannot encode; "": there is none.

    >>> lone_surrogate("é"), lone_surrogate("a\ud800") == "\ud800"
    ('', True)
    """
    if text.isascii():
        return ""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return text[error.start]
    return ""


def check_order(hyps: int, refs: list[list[Any]], name: str = "refs") -> None:
    """Raise if the lengths show that references were given by segment instead of by stream."""
    sizes = {len(stream) for stream in refs}
    if len(refs) == hyps and sizes != {hyps}:
        ragged = len(sizes) > 1
        turned = f"list(itertools.zip_longest(*{name}))" if ragged else f"list(zip(*{name}))"
        raise TensorMTError(
            f"{name} has {len(refs)} lists, as many as there are segments, the first of "
            f"{len(refs[0])}: it seems to be a list for each segment, but {name}[k][i] is "
            f"reference k of segment i; pass {turned}"
        )


def _items(values: Any, what: str) -> list[Any]:
    """The elements of a column."""
    if isinstance(values, str | bytes):
        raise TensorMTError(f"expected a list of {what}, got one string: pass [line, …]")
    if isinstance(values, Mapping | Set) or hasattr(values, "requires_grad"):
        raise TensorMTError(f"{what} must be a list of strings: got {type(values).__name__}")
    if len(getattr(values, "shape", (0,))) == 0:
        raise TensorMTError(f"{what} must be a list of strings: got a 0-dimensional array")
    for method in ("to_pylist", "tolist", "to_list"):
        if hasattr(values, method):
            return list(getattr(values, method)())
    if not isinstance(values, Iterable):
        raise TensorMTError(f"{what} must be a list of strings: got {type(values).__name__}")
    return list(values)


def _plain(value: Any) -> Any:
    """The Python value of an Arrow or numpy scalar; NaN and NA become None."""
    if isinstance(value, str):
        return value
    if hasattr(value, "as_py"):
        value = value.as_py()
    if callable(getattr(value, "item", None)) and not hasattr(value, "requires_grad"):
        value = value.item() if getattr(value, "ndim", 0) == 0 else value
    if isinstance(value, float) and value != value:
        return None
    return None if type(value).__name__ in ("NAType", "NaTType") else value
