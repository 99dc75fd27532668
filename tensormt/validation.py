"""Argument validation by a decorator.

    @validate(scores=tensor_of("systems", "segments"), grouping=one_of(GROUPINGS), seed=integer())
    def agreement(scores, grouping, seed): …

A check is a function from a value and its name to the value; it raises a TensorMTError that says
what was expected. Arguments without a check are passed on unchanged.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from os import PathLike
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from tensormt.devices import resolve_device
from tensormt.errors import OutOfRange, TensorMTError
from tensormt.formulas import namespace
from tensormt.options import Boolean, Choice, Integer, Number, Option, describe

if TYPE_CHECKING:
    import torch
    from torch import Tensor

Check = Callable[[Any, str], Any]
P = ParamSpec("P")
R = TypeVar("R")

_LARGE = 2**63 - 1


def validate(**checks: Check) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that checks arguments by name; names that a function lacks are ignored.

    >>> @validate(count=integer(1))
    ... def repeat(text, count): return text * count
    >>> repeat("a", 2)
    'aa'
    """

    def wrap(function: Callable[P, R]) -> Callable[P, R]:
        names = list(inspect.signature(function).parameters)
        places = [(name, names.index(name), own) for name, own in checks.items() if name in names]

        @wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            given: list[Any] = list(args)
            for name, place, check in places:
                if name in kwargs:
                    kwargs[name] = check(kwargs[name], name)
                elif place < len(given):
                    given[place] = check(given[place], name)
            return function(*given, **kwargs)

        return checked

    return wrap


def _check_option(make: Callable[[str], Option]) -> Check:
    """The check of a declared option."""
    return lambda value, name: make(name).check(value)


def boolean(value: Any, name: str) -> Any:
    """Check that a value is True or False."""
    return Boolean(name=name, default=False).check(value)


def string(value: Any, name: str) -> Any:
    """Check that a value is a string."""
    return Option(name=name, default="").check(value)


def integer(low: int = 0, high: int = _LARGE) -> Check:
    """Return a check for integers from `low` to `high`."""
    return _check_option(lambda name: Integer("", low, high, name=name, default=low))


def number(low: float, high: float, above: bool = False) -> Check:
    """Return a check for finite numbers from `low` (excluded if `above`) to `high`."""
    return lambda value, name: float(
        Number("", low, high, above, name=name, default=low).check(value)
    )


def one_of(names: Iterable[str]) -> Check:
    """Return a check for strings of a list."""
    known = tuple(names)
    return _check_option(lambda name: Choice("", known, name=name, default=""))


def optional(check: Check) -> Check:
    """Return a check that also accepts None."""
    return lambda value, name: None if value is None else check(value, name)


def on_device(value: Any, name: str) -> torch.device:
    """Check that a value is a device or its name, and return the device."""
    return resolve_device(value)


def file_name(value: Any, name: str) -> Any:
    """Check that a value is a file name."""
    if not isinstance(value, str | PathLike) or "\0" in str(value):
        raise TensorMTError(f"{name} is {describe(value)}, expected the name of a file")
    return value


def function(value: Any, name: str) -> Any:
    """Check that a value is callable."""
    if not callable(value):
        raise TensorMTError(f"{name} is {describe(value)}, expected a function")
    return value


def _is_boolean(value: Tensor) -> bool:
    import torch

    return value.dtype == torch.bool


def _real(value: Tensor) -> bool:
    return not (value.is_complex() or _is_boolean(value) or value.is_quantized)


# kinds of values of a tensor, and their tests
_VALUES: dict[str, Callable[[Tensor], bool]] = {
    "numbers": _real,
    "whole numbers": lambda value: _real(value) and not value.is_floating_point(),
    "truth values": _is_boolean,
}


def tensor_of(*axes: str, kind: str = "numbers", more: bool = False) -> Check:
    """Return a check for tensors.

    Args:
        axes: Names of the dimensions.
        kind: "numbers", "whole numbers" (integers) or "truth values" (booleans).
        more: Whether there may be further dimensions before `axes`.

    >>> import torch
    >>> tensor_of("B", "T")(torch.zeros(2, 3), "x").shape
    torch.Size([2, 3])
    """
    shown = f"[{', '.join(('...', *axes) if more else axes)}]"

    def check(value: Any, name: str) -> Tensor:
        from torch import Tensor

        from tensormt.kernels.backend import is_readable

        if not isinstance(value, Tensor):
            raise TensorMTError(
                f"{name} is {describe(value)}, expected a tensor of {kind} {shown}: make one with "
                "torch.tensor(…)"
            )
        fits = value.dim() >= len(axes) if more else value.dim() == len(axes)
        if not (_VALUES[kind](value) and fits and is_readable(value)):
            raise TensorMTError(f"{name} is {describe(value)}, expected {kind} {shown}")
        return value

    return check


def array_of_numbers(axis: str) -> Check:
    """Return a check for tensors of torch and arrays of numpy, [...,axis].

    >>> array_of_numbers("K")(np.zeros((2, 3)), "x").shape
    (2, 3)
    """
    tensor = tensor_of(axis, more=True)

    def check(value: Any, name: str) -> Any:
        if not isinstance(value, np.ndarray):
            return tensor(value, name)
        if not value.ndim or value.dtype.kind not in "iuf":
            raise TensorMTError(f"{name} is {describe(value)}, expected numbers [..., {axis}]")
        return value

    return check


def count_weights(value: Any, name: str) -> Any:
    """Check that a value is a tensor of booleans or of integers from 0: weights of items."""
    import torch

    from tensormt.kernels.backend import on_cpu

    if isinstance(value, torch.Tensor) and _is_boolean(value) and value.layout == torch.strided:
        return value
    times: Tensor = tensor_of(kind="whole numbers", more=True)(value, name)
    if on_cpu(times) and bool((times < 0).any()):
        raise TensorMTError(f"{name} contains {int(times.min())}: expected at least 0")
    return times


def list_of(kind: type[Any], what: str, least: int = 1) -> Check:
    """Return a check for sequences.

    Args:
        kind: Class of the elements.
        what: Description of the elements in messages.
        least: Smallest number of elements.
    """
    single = f"{what}: pass a list of them"

    def check(value: Any, name: str) -> Sequence[Any]:
        if isinstance(value, str | bytes | kind) or not isinstance(value, Iterable):
            raise TensorMTError(f"{name} is {describe(value)}, expected {single}")
        try:
            found = value if isinstance(value, Sequence) else list(value)
        except TypeError:  # a 0-dimensional array
            raise TensorMTError(f"{name} is {describe(value)}, expected {single}") from None
        for place, item in enumerate(found):
            if not isinstance(item, kind):
                raise TensorMTError(f"{name}[{place}] is {describe(item)}, expected {what}")
        if len(found) < least:
            raise TensorMTError(
                f"{name} has {len(found)} elements, expected at least {least}: {what}"
            )
        return found

    return check


def resolve_index(index: Any, count: int, what: str) -> slice | Tensor:
    """Resolve an index of a sequence.

    Args:
        index: Integer, slice, list or tensor of integers (negative: from the end), or mask bool
            [count].
        count: Length of the sequence.
        what: Name of the sequence in messages.

    Returns:
        A slice from low to high, or positions int64 [n].

    Raises:
        OutOfRange: If a position does not exist.
        TensorMTError: If the index is something else.

    >>> resolve_index(-1, 3, "a batch"), resolve_index([0, -1], 3, "a batch").tolist()
    (slice(2, 3, None), [0, 2])
    """
    import torch

    found = _resolve(index, count, what)
    return torch.from_numpy(found) if isinstance(found, np.ndarray) else found


def resolve_places(index: Any, count: int, what: str) -> Sequence[int]:
    """Resolve an index of a Python list, as `resolve_index` does; imports no torch.

    >>> list(resolve_places(slice(1, None), 3, "a batch")), resolve_places([0, -1], 3, "a batch")
    ([1, 2], [0, 2])
    """
    found = _resolve(index, count, what)
    if isinstance(found, slice):
        return range(found.start, found.stop)
    places: list[int] = found.tolist()
    return places


def _resolve(index: Any, count: int, what: str) -> Any:
    """A slice, or positions int64 [n] in the library of the index, numpy unless it is a tensor."""
    if isinstance(index, slice):
        try:
            low, high, step = index.indices(count)
        except (TypeError, ValueError):
            raise TensorMTError(f"the bounds of a slice of {what} must be integers") from None
        return slice(low, max(low, high)) if step == 1 else np.arange(low, high, step)
    if isinstance(index, int) and not isinstance(index, bool):
        if not -count <= index < count:
            raise OutOfRange(f"index {describe(index)} is out of range for {what} of {count}")
        return slice(index % count, index % count + 1)
    try:
        if isinstance(index, str | bytes | bool | dict | set) or index is None:
            raise TypeError
        found: Any = np.asarray(index) if namespace(index) is np else index
        if not _is_index(found):
            raise TypeError
    except (TypeError, ValueError, RuntimeError, OverflowError):
        raise TensorMTError(
            f"{describe(index)} is not an index of {what}: expected an integer, a slice, or a list "
            "or tensor of integers or booleans"
        ) from None
    xp = namespace(found)
    if str(found.dtype).endswith("bool") and found.shape != (0,):
        if found.shape != (count,):
            raise OutOfRange(f"a mask of shape {list(found.shape)} for {what} of {count}")
        return xp.argwhere(found)[:, 0]
    found = found.reshape(-1)
    # on a CUDA device an index out of range would make the device unusable for the whole process:
    # one synchronization
    if bool(((found < -count) | (found >= count)).any()):
        raise OutOfRange(f"an index is out of range for {what} of {count}")
    found = found.astype(np.int64) if xp is np else found.long()
    return xp.where(found < 0, found + count, found)


def _is_index(found: Any) -> bool:
    """Whether an array of numpy or torch has positions or truth values, or nothing at all."""
    if found.ndim > 1:
        return False
    if isinstance(found, np.ndarray):
        return not found.size or found.dtype.kind in "iub"
    from tensormt.kernels.backend import is_readable

    whole = not (found.is_complex() or found.is_floating_point())
    return (whole or not found.numel()) and is_readable(found)
