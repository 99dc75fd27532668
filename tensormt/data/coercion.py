"""Lines as people have them in Python: lists, generators, numpy, pandas and Arrow columns.

    lines_of(frame["hyp"])                 list[str | None]: NaN and NA are absent lines
    streams_of(frame[["ref1", "ref2"]])    a list of lines for each column

Nothing of numpy, pandas or Arrow is imported for it: objects are asked for what they can do. What
is no text gets one sentence that names the place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any

from tensormt.errors import TensorMTError


def as_list(values: Any, what: str) -> list[Any]:
    """The elements of a column as Python has them; an absent one is None."""
    return [_plain(value) for value in _items(values, what)]


def as_lines(values: Any, what: str = "lines", *, binary: bool = False) -> list[Any]:
    """A list of str, or None for an absent line (bytes too, where `binary`)."""
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
    """Lists of lines: of a list of columns, of a table its columns."""
    if isinstance(values, str | bytes):
        raise TensorMTError(f"{what} is a list of streams, each a list of segments: got a string")
    if hasattr(values, "columns") and hasattr(values, "iloc"):  # a frame of pandas
        values = [values.iloc[:, k] for k in range(len(values.columns))]
    elif hasattr(values, "column_names") and hasattr(values, "columns"):  # a table of Arrow
        values = values.columns
    streams = _items(values, what)
    for stream in streams:
        if isinstance(stream, str | bytes):
            raise TensorMTError(
                f"{what} is a list of streams, {what}[k][i] being reference k of segment i: got a "
                f"string where a stream was expected; one reference a segment is {what}=[lines]"
            )
    return [as_lines(stream, f"{what}[{k}]") for k, stream in enumerate(streams)]


def as_lists(values: Any, what: str) -> list[list[Any]]:
    """Lists of anything, such as the words of every segment."""
    rows = as_list(values, what)
    if all(type(row) is list for row in rows):
        return rows
    return [as_list(row, f"{what} of segment {number}") for number, row in enumerate(rows, 1)]


def as_names(values: Any, what: str) -> list[str]:
    """Names, such as document ids: strings or numbers; an absent one is empty."""
    found = as_list(values, what)
    for number, value in enumerate(found, 1):
        if isinstance(value, bool) or not isinstance(value, str | int | float | None):
            raise TensorMTError(
                f"{what}, number {number}: expected a string or a number, got "
                f"{type(value).__name__} {repr(value)[:40]}"
            )
    return ["" if value is None else str(value) for value in found]


def lone_surrogate(text: str) -> str:
    """The first character that has no UTF-8 form, half of a surrogate pair; "" where all have."""
    if text.isascii():
        return ""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return text[error.start]
    return ""


def check_order(hyps: int, refs: list[list[Any]], name: str = "refs") -> None:
    """Raise where the lengths show that references were given by segment."""
    sizes = {len(stream) for stream in refs}
    if len(refs) == hyps and sizes != {hyps}:
        ragged = len(sizes) > 1
        turned = f"list(itertools.zip_longest(*{name}))" if ragged else f"list(zip(*{name}))"
        raise TensorMTError(
            f"{name} has {len(refs)} lists, as many as there are segments, the first of "
            f"{len(refs[0])}: it seems to hold a list for each segment, but {name}[k][i] is "
            f"reference k of segment i; pass {turned}"
        )


def _items(values: Any, what: str) -> list[Any]:
    """The elements of a column."""
    if isinstance(values, str | bytes):
        raise TensorMTError(f"expected a list of {what}, got one string: pass [line, …]")
    if isinstance(values, Mapping | Set) or hasattr(values, "requires_grad"):
        raise TensorMTError(f"{what} must be a list of strings: got {type(values).__name__}")
    if len(getattr(values, "shape", (0,))) == 0:
        raise TensorMTError(f"{what} must be a list of strings: got an array of no dimension")
    for method in ("to_pylist", "tolist", "to_list"):
        if hasattr(values, method):
            return list(getattr(values, method)())
    if not isinstance(values, Iterable):
        raise TensorMTError(f"{what} must be a list of strings: got {type(values).__name__}")
    return list(values)


def _plain(value: Any) -> Any:
    """A Python value: what Arrow wraps is taken out, NaN and NA are None."""
    if isinstance(value, str):
        return value
    if hasattr(value, "as_py"):
        value = value.as_py()
    if callable(getattr(value, "item", None)) and not hasattr(value, "requires_grad"):
        value = value.item() if getattr(value, "ndim", 0) == 0 else value
    if isinstance(value, float) and value != value:
        return None
    return None if type(value).__name__ in ("NAType", "NaTType") else value
