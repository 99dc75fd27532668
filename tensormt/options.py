"""Options as people type them, read by their declared type: `max_order=3`, `lowercase=no`.

An option is plain data (type, range or choices, default, one line of meaning), so that the metrics
can be listed, and what was typed be checked, without importing them. The classes use the same
declarations for what is given from Python.

    Whole("max_order", 4, "longest n-gram", 1, 100).read("3")      3
    YesNo("lowercase", False, "in lower case").read("no")          False
"""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tensormt.errors import TensorMTError

__all__ = ["Boolean", "Choice", "Integer", "Number", "Option", "describe", "format_value"]

_TRUTH = {"yes": True, "true": True, "no": False, "false": False}
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def format_value(value: Any) -> str:
    """A value as it is typed: yes and no for truth values, a stranger as Python shows it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    return value if isinstance(value, str) else repr(value)[:80]


def describe(value: Any) -> str:
    """A value in a few words on one line, whatever it is and holds."""
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
    """An option: its name, default and meaning. A default of None may be typed as `None` too."""

    name: str
    default: Any
    meaning: str

    def read(self, text: str) -> Any:
        """The value of what was typed."""
        plain = text.strip()
        if len(plain) > 1 and plain[0] == plain[-1] and plain[0] in "'\"":
            plain = plain[1:-1]  # quoted, as in Python
        if self.default is None and plain == "None":
            return None
        return self._told(self._fitting(self._typed(plain)), text)

    def check(self, value: Any) -> Any:
        """The value, if it is one for this option."""
        if value is None and self.default is None:
            return None
        return self._told(self._fitting(value), value)

    def _told(self, found: Any, given: Any) -> Any:
        if found is None:
            raise TensorMTError(f"{self.name} is {describe(given)}, expected {self.words}")
        return found

    @property
    def words(self) -> str:
        """What may be typed, in words."""
        return "a text"

    def _typed(self, text: str) -> Any:
        return text

    def _fitting(self, value: Any) -> Any:
        """The value as the metric takes it, None where it does not fit."""
        return value if isinstance(value, str) else None


@dataclass(frozen=True)
class Boolean(Option):
    """Yes or no."""

    @property
    def words(self) -> str:
        """What may be typed."""
        return "yes or no"

    def _typed(self, text: str) -> Any:
        return _TRUTH.get(text.lower())

    def _fitting(self, value: Any) -> Any:
        return value if isinstance(value, bool) else None


@dataclass(frozen=True)
class Integer(Option):
    """A whole number of a range."""

    low: int = 1
    high: int = 100

    @property
    def words(self) -> str:
        """The range."""
        return f"a whole number from {self.low} to {self.high}"

    def _typed(self, text: str) -> Any:
        return int(text) if re.fullmatch(r"[+-]?[0-9]{1,18}", text) else None

    def _fitting(self, value: Any) -> Any:
        whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
        return int(value) if whole and self.low <= int(value) <= self.high else None


@dataclass(frozen=True)
class Number(Option):
    """A finite number of a range; `above`: the lower end itself is left out."""

    low: float = 0.0
    high: float = math.inf
    above: bool = False

    @property
    def words(self) -> str:
        """The range."""
        least = f"above {self.low:g}" if self.above else f"of at least {self.low:g}"
        most = "" if math.isinf(self.high) else f" and at most {self.high:g}"
        return f"a finite number {least}{most}"

    def _typed(self, text: str) -> Any:
        if re.fullmatch(r"[+-]?[0-9]{1,15}", text):
            return int(text)
        return float(text) if _NUMBER.fullmatch(text) else None

    def _fitting(self, value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            return None
        try:
            found = float(value)
        except OverflowError:
            return None
        enough = found > self.low if self.above else found >= self.low
        if not (math.isfinite(found) and enough and found <= self.high):
            return None
        return value if isinstance(value, int) else found


@dataclass(frozen=True)
class Choice(Option):
    """A name of a list; `others`: there are more, which the metric itself knows."""

    choices: Sequence[str] = ()
    others: str = ""

    @property
    def words(self) -> str:
        """The list."""
        *most, last = [*self.choices, *([self.others] if self.others else [])]
        return f"{', '.join(most)} or {last}" if most else last

    def _fitting(self, value: Any) -> Any:
        if not isinstance(value, str):
            return None
        return value if self.others or value in self.choices else None
