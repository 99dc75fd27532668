"""What is given from Python, checked at the door: every argument by its kind, in one sentence.

    @given(scores=numbers("systems", "segments"), grouping=one_of(GROUPINGS), seed=whole())
    def agreement(scores, grouping, seed): …

A kind is a function of a value and its name that gives the value, or says in a TensorMTError what
was expected. Arguments that are not named are left alone; how many there are, Python checks.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from os import PathLike
from typing import Any, ParamSpec, TypeVar

import torch
from torch import Tensor

from tensormt.devices import resolve_device
from tensormt.errors import OutOfRange, TensorMTError
from tensormt.kernels.backend import is_readable, on_cpu
from tensormt.options import Boolean, Choice, Integer, Number, Option, describe

Kind = Callable[[Any, str], Any]
P = ParamSpec("P")
R = TypeVar("R")

_LARGE = 2**63 - 1


def validate(**kinds: Kind) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Check the named arguments of a function, those that it has, before it sees them."""

    def wrap(function: Callable[P, R]) -> Callable[P, R]:
        names = list(inspect.signature(function).parameters)
        places = [(name, names.index(name), kind) for name, kind in kinds.items() if name in names]

        @wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            given: list[Any] = list(args)
            for name, place, kind in places:
                if name in kwargs:
                    kwargs[name] = kind(kwargs[name], name)
                elif place < len(given):
                    given[place] = kind(given[place], name)
            return function(*given, **kwargs)

        return checked

    return wrap


def _typed(make: Callable[[str], Option]) -> Kind:
    """The kind of a declared option."""
    return lambda value, name: make(name).check(value)


def boolean(value: Any, name: str) -> Any:
    """True or False."""
    return Boolean(name=name, default=False).check(value)


def string(value: Any, name: str) -> Any:
    """A text."""
    return Option(name=name, default="").check(value)


def integer(low: int = 0, high: int = _LARGE) -> Kind:
    """A whole number of a range."""
    return _typed(lambda name: Integer("", low, high, name=name, default=low))


def number(low: float, high: float, above: bool = False) -> Kind:
    """A finite number of a range; above: the lower end itself is left out."""
    return lambda value, name: float(
        Number("", low, high, above, name=name, default=low).check(value)
    )


def one_of(names: Iterable[str]) -> Kind:
    """A name of a list."""
    known = tuple(names)
    return _typed(lambda name: Choice("", known, name=name, default=""))


def optional(kind: Kind) -> Kind:
    """None, or what the kind takes."""
    return lambda value, name: None if value is None else kind(value, name)


def on_device(value: Any, name: str) -> torch.device:
    """A device, or its name."""
    return resolve_device(value)


def file_name(value: Any, name: str) -> Any:
    """The name of a file."""
    if not isinstance(value, str | PathLike) or "\0" in str(value):
        raise TensorMTError(f"{name} is {describe(value)}, expected the name of a file")
    return value


def function(value: Any, name: str) -> Any:
    """Something that can be called."""
    if not callable(value):
        raise TensorMTError(f"{name} is {describe(value)}, expected a function")
    return value


def _real(value: Tensor) -> bool:
    return not (value.is_complex() or value.dtype == torch.bool or value.is_quantized)


# what a tensor may hold, in words, and whether one does
_HOLDS: dict[str, Callable[[Tensor], bool]] = {
    "numbers": _real,
    "whole numbers": lambda value: _real(value) and not value.is_floating_point(),
    "truth values": lambda value: value.dtype == torch.bool,
}


def tensor_of(*axes: str, kind: str = "numbers", more: bool = False) -> Kind:
    """A tensor of numbers, "whole numbers" or "truth values" with these axes.

    more: with any axes before them.
    """
    shown = f"[{', '.join(('...', *axes) if more else axes)}]"

    def check(value: Any, name: str) -> Tensor:
        if not isinstance(value, Tensor):
            raise TensorMTError(
                f"{name} is {describe(value)}, expected a tensor of {kind} {shown}: make one with "
                "torch.tensor(…)"
            )
        fits = value.dim() >= len(axes) if more else value.dim() == len(axes)
        if not (_HOLDS[kind](value) and fits and is_readable(value)):
            raise TensorMTError(f"{name} is {describe(value)}, expected {kind} {shown}")
        return value

    return check


def count_weights(value: Any, name: str) -> Any:
    """A tensor of truth values, or of whole numbers from 0: how often each item counts."""
    if isinstance(value, Tensor) and value.dtype == torch.bool and value.layout == torch.strided:
        return value
    times: Tensor = tensor_of(kind="whole numbers", more=True)(value, name)
    if on_cpu(times) and bool((times < 0).any()):
        raise TensorMTError(f"{name} holds {int(times.min())}: nothing counts less than 0 times")
    return times


def list_of(kind: type[Any], what: str, least: int = 1) -> Kind:
    """A sequence of at least so many objects of a class; what: how they are made."""
    single = f"{what}: pass a list of them"

    def check(value: Any, name: str) -> Sequence[Any]:
        if isinstance(value, str | bytes | kind) or not isinstance(value, Iterable):
            raise TensorMTError(f"{name} is {describe(value)}, expected {single}")
        try:
            found = value if isinstance(value, Sequence) else list(value)
        except TypeError:  # an array of no dimension
            raise TensorMTError(f"{name} is {describe(value)}, expected {single}") from None
        for place, item in enumerate(found):
            if not isinstance(item, kind):
                raise TensorMTError(f"{name}[{place}] is {describe(item)}, expected {what}")
        if len(found) < least:
            raise TensorMTError(f"{name} holds {len(found)}, expected at least {least}: {what}")
        return found

    return check


def resolve_index(index: Any, count: int, what: str) -> slice | Tensor:
    """The places that an index means among so many: a slice from low to high, or int64 [n].

    A number, a slice, a list or tensor of numbers (from behind below 0), or a mask bool [count].
    """
    if isinstance(index, slice):
        try:
            low, high, step = index.indices(count)
        except (TypeError, ValueError):
            raise TensorMTError(f"a slice of {what} that is not of whole numbers") from None
        if step == 1:
            return slice(low, max(low, high))
        return torch.tensor(range(low, high, step), dtype=torch.int64, device="cpu")
    if isinstance(index, int) and not isinstance(index, bool):
        if not -count <= index < count:
            raise OutOfRange(f"there is no number {describe(index)} in {what} of {count}")
        return slice(index % count, index % count + 1)
    try:
        if isinstance(index, str | bytes | bool | dict | set) or index is None:
            raise TypeError
        found = index if isinstance(index, Tensor) else torch.as_tensor(index, device="cpu")
        if not found.numel():
            found = found.to(torch.int64)
        whole = not (found.is_complex() or found.is_floating_point())
        if not whole or found.dim() > 1 or not is_readable(found):
            raise TypeError
    except (TypeError, ValueError, RuntimeError, OverflowError):
        raise TensorMTError(
            f"{describe(index)} chooses nothing of {what}: expected a number, a slice, or a list "
            "or tensor of numbers or truth values"
        ) from None
    if found.dtype == torch.bool:
        if found.shape != (count,):
            raise OutOfRange(f"a mask of shape {list(found.shape)} for {what} of {count}")
        return found.nonzero()[:, 0]
    found = found.to(torch.int64).reshape(-1)
    # on other devices indexing itself raises, without a synchronisation here
    if on_cpu(found) and bool(((found < -count) | (found >= count)).any()):
        raise OutOfRange(f"a number out of range for {what} of {count}")
    return torch.where(found < 0, found + count, found)
