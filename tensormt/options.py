"""Options of metrics: declared once, in the signature of the class.

    MaxOrder = Annotated[int, Integer("Longest n-grams that count.", 1, 100)]

    class BLEU(NgramMetric):
        def __init__(self, max_order: MaxOrder = 4, …) -> None: …

`declared` reads name, default, type, range and help text from such a signature. The parser of
`name:option=value`, the checks of arguments and `tensormt list` all use these declarations. This
module imports neither torch nor numpy.
"""

from __future__ import annotations

import inspect
import math
import numbers
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from tensormt.errors import TensorMTError

__all__ = ["Boolean", "Choice", "Integer", "Number", "Option", "declared"]

_TRUTH = {"yes": True, "true": True, "no": False, "false": False}
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def format_value(value: Any) -> str:
    """Format a value as it is typed on the command line: `yes` and `no` for booleans."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    return value if isinstance(value, str) else repr(value)[:80]


def describe(value: Any) -> str:
    """Describe any value in a few words on one line, for error messages."""
    if value is None or isinstance(value, str | bytes | bool | float | complex):
        text = repr(value)
        return text if len(text) <= 80 else f"{text[:80]}…"
    if isinstance(value, int):
        return str(value) if abs(value) < 10**20 else "a number of more than 20 digits"
    name = type(value).__name__
    shape, kind = getattr(value, "shape", None), getattr(value, "dtype", "")
    return f"{name} of shape {list(shape)}, {kind}" if isinstance(shape, tuple) else name


@dataclass(frozen=True)
class Option:
    """A string option; the base class of the other types.

    Args:
        help: What the option does, for people.
        name: Name of the parameter.
        default: Default value; where it is None, `None` may be typed as well.
    """

    help: str = ""
    name: str = field(default="", kw_only=True)
    default: Any = field(default=None, kw_only=True)

    def parse(self, text: str) -> Any:
        """Return the value of a text typed by a user, or raise a TensorMTError."""
        plain = text.strip()
        if len(plain) > 1 and plain[0] == plain[-1] and plain[0] in "'\"":
            plain = plain[1:-1]  # quoted, as in Python
        if self.default is None and plain == "None":
            return None
        return self._accept(self._valid(self._read(plain)), text)

    def check(self, value: Any) -> Any:
        """Return the value as the metric stores it, or raise a TensorMTError."""
        if value is None and self.default is None:
            return None
        return self._accept(self._valid(value), value)

    def _accept(self, found: Any, given: Any) -> Any:
        if found is None:
            raise TensorMTError(f"{self.name} is {describe(given)}, expected {self.expected}")
        return found

    @property
    def expected(self) -> str:
        """What may be given, in words."""
        return "a text"

    def _read(self, text: str) -> Any:
        """The value of a text without surrounding white space; None if it has none."""
        return text

    def _valid(self, value: Any) -> Any:
        """The value as it is stored; None if it is not valid."""
        return value if isinstance(value, str) else None


@dataclass(frozen=True)
class Boolean(Option):
    """True or False, typed as yes or no."""

    @property
    def expected(self) -> str:
        """What may be given, in words."""
        return "yes or no"

    def _read(self, text: str) -> Any:
        return _TRUTH.get(text.lower())

    def _valid(self, value: Any) -> Any:
        return value if isinstance(value, bool) else None


@dataclass(frozen=True)
class Integer(Option):
    """A whole number from `low` to `high`."""

    low: int = 0
    high: int = 2**63 - 1

    @property
    def expected(self) -> str:
        """What may be given, in words."""
        return f"a whole number from {self.low} to {self.high}"

    def _read(self, text: str) -> Any:
        return int(text) if re.fullmatch(r"[+-]?[0-9]{1,18}", text) else None

    def _valid(self, value: Any) -> Any:
        whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
        return int(value) if whole and self.low <= int(value) <= self.high else None


@dataclass(frozen=True)
class Number(Option):
    """A finite number from `low` to `high`; `exclusive`: greater than `low`."""

    low: float = 0.0
    high: float = math.inf
    exclusive: bool = False

    @property
    def expected(self) -> str:
        """What may be given, in words."""
        least = f"above {self.low:g}" if self.exclusive else f"of at least {self.low:g}"
        most = "" if math.isinf(self.high) else f" and at most {self.high:g}"
        return f"a finite number {least}{most}"

    def _read(self, text: str) -> Any:
        if re.fullmatch(r"[+-]?[0-9]{1,15}", text):
            return int(text)
        return float(text) if _NUMBER.fullmatch(text) else None

    def _valid(self, value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            return None
        try:
            found = float(value)
        except OverflowError:
            return None
        enough = found > self.low if self.exclusive else found >= self.low
        if not (math.isfinite(found) and enough and found <= self.high):
            return None
        return value if isinstance(value, int) else found


@dataclass(frozen=True)
class Choice(Option):
    """One of `choices`; `others` describes further values, which the metric itself checks."""

    choices: Sequence[str] = ()
    others: str = ""

    @property
    def expected(self) -> str:
        """What may be given, in words."""
        *most, last = [*self.choices, *([self.others] if self.others else [])]
        return f"{', '.join(most)} or {last}" if most else last

    def _valid(self, value: Any) -> Any:
        if type(value) is int and str(value) in self.choices:  # ROUGE(2)
            value = str(value)
        if not isinstance(value, str):
            return None
        return value if self.others or value in self.choices else None


@lru_cache(maxsize=256)
def declared(function: Callable[..., Any]) -> tuple[Option, ...]:
    """Return the options that a function declares by `Annotated` parameters, in their order.

    Args:
        function: A function, or the `__init__` of a metric class.

    Returns:
        One option for each annotated parameter, with its name and default.

    >>> from typing import Annotated
    >>> def f(order: Annotated[int, Integer("Longest n-grams.", 1, 9)] = 4): ...
    >>> [(option.name, option.default, option.expected) for option in declared(f)]
    [('order', 4, 'a whole number from 1 to 9')]
    """
    names = getattr(function, "__globals__", None)
    if names is None:  # object.__init__
        return ()
    found = []
    for parameter in inspect.signature(function).parameters.values():
        annotation = parameter.annotation
        if isinstance(annotation, str):
            try:
                annotation = eval(annotation, names)
            except (NameError, AttributeError, TypeError):  # a type that is imported for mypy only
                continue
        for extra in getattr(annotation, "__metadata__", ()):
            if isinstance(extra, Option):
                found.append(replace(extra, name=parameter.name, default=parameter.default))
    return tuple(found)
