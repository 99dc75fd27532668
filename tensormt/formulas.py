"""Formulas that metrics share, for torch tensors, numpy arrays and Python numbers alike.

Scores are computed from statistics [...,K] by functions that take arrays, so that one definition
serves the batched engine (torch, any device, with gradients) and numpy. The same definition serves
the plain path for a few segments, where the statistics of a segment are a list of K numbers: what
is an axis of orders in an array is a list there. This module imports numpy only.

    rows              array [...,K]             list of K numbers
    part(rows, 1, 5)  array [...,4]             list of 4 numbers
    column(rows, 0)   array [...]               number
    each(f, a, b)     f(a, b), element-wise     [f(a[0], b[0]), f(a[1], b[1]), …]
    total(a)          sum over the last axis    sum of the list
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from itertools import accumulate
from typing import Any, TypeVar

import numpy as np

A = TypeVar("A", bound=Any)  # an array of torch or numpy
_NUMBERS = (list, int, float)


def namespace(array: Any) -> Any:
    """Return the module whose functions take the array: torch for a tensor, else numpy."""
    torch = sys.modules.get("torch")
    return torch if torch is not None and isinstance(array, torch.Tensor) else np


def as_float64(array: Any) -> Any:
    """Return the array in double precision; numbers as they are."""
    if isinstance(array, _NUMBERS):
        return array
    return array.astype(np.float64) if isinstance(array, np.ndarray) else array.double()


def is_float(array: Any) -> bool:
    """Whether an array holds floating-point numbers."""
    if isinstance(array, np.ndarray):
        return np.issubdtype(array.dtype, np.floating)
    return bool(array.is_floating_point())


def round_for_ties(values: A) -> A:
    """Round float values [...] to 40 significant bits, about twelve digits, at any scale.

    Mathematically equal scores may differ in the last bits, depending on the order of summation;
    such differences must not break ties.
    """
    xp = namespace(values)
    mantissa, exponent = xp.frexp(values)
    rounded: A = xp.ldexp(xp.round(mantissa * 2.0**40) / 2.0**40, exponent)
    return rounded


def part(rows: Any, start: int, stop: int | None = None, step: int | None = None) -> Any:
    """Return some of the columns."""
    places = slice(start, stop, step)
    return rows[places] if isinstance(rows, list) else rows[..., places]


def column(rows: Any, place: int) -> Any:
    """Return one column."""
    return rows[place] if isinstance(rows, list) else rows[..., place]


def each(function: Callable[..., Any], *values: Any) -> Any:
    """Return a function of arrays, or of each of the numbers of lists."""
    if isinstance(values[0], list):
        return [function(*numbers) for numbers in zip(*values, strict=True)]
    return function(*values)


def running_total(values: Any) -> Any:
    """Return the sums of the first 1, 2, … elements of the last axis, or of a list.

    From the first element to the last on every device: `cumsum` of torch has neither this order
    nor a deterministic algorithm for floating-point numbers on CUDA.
    """
    if isinstance(values, list):
        return list(accumulate(values))
    xp = namespace(values)
    if xp is np or not values.is_floating_point():
        return values.cumsum(-1)
    return xp.stack(list(accumulate(values.unbind(-1))), -1)


def total(values: Any) -> Any:
    """Return the sum over the last axis, or of a list, from the first element to the last.

    `sum` of torch and of numpy add in orders of their own, and scores that are equal in one library
    may then differ in another by their last bit: the best of several references must not.
    """
    if not isinstance(values, list):
        return column(running_total(values), -1)
    found = 0.0
    for value in values:
        found += value
    return found


def positive(value: Any) -> Any:
    """Return whether the value is greater than 0; element by element, or of a number."""
    return value > 0


def where(condition: Any, yes: Any, no: Any) -> Any:
    """Return `yes` where the condition holds, else `no`; element by element, or of numbers."""
    if isinstance(condition, bool):
        return yes if condition else no
    return namespace(condition).where(condition, yes, no)


def exp(value: Any) -> Any:
    """Return e to the power of the value; element by element, or of a number."""
    return math.exp(value) if isinstance(value, float) else namespace(value).exp(value)


def log(value: Any) -> Any:
    """Return the natural logarithm, -∞ of 0; element by element, or of a number."""
    if isinstance(value, float):
        return math.log(value) if value > 0 else -math.inf
    xp = namespace(value)
    if xp is not np:
        return xp.log(value)
    with np.errstate(divide="ignore"):
        return np.log(value)


def ratio(share: Any, whole: Any, otherwise: float = 0.0) -> Any:
    """Return share / whole, and `otherwise` where the whole is 0; arrays or numbers."""
    some = whole > 0
    found = share / where(some, whole, 1)
    return where(some, found, otherwise)


def brevity_penalty(hyp: Any, ref: Any) -> Any:
    """Return BLEU's brevity penalty (Papineni et al. 2002): exp(1 - r/c) if c < r else 1.

    Args:
        hyp: Lengths c of hypotheses, [...].
        ref: Lengths r of references, [...].

    Returns:
        float64 [...]; 0 for an empty hypothesis.
    """
    hyp, ref = as_float64(hyp), as_float64(ref)
    # e to the power of 1 - 10⁹ r is 0, as it is for a hypothesis of no length
    short = exp(1.0 - ref / where(hyp > 0, hyp, 1e-9))
    return where(hyp < ref, short, 1.0)
