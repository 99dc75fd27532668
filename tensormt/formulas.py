"""Formulas that metrics share, for torch tensors, numpy arrays and Python numbers alike.

Scores are computed from statistics [...,K], column by column, by functions that take arrays and
numbers, so that one definition serves the batched engine (torch, any device, with gradients) and
the plain path for a few segments, where a segment is a list of K numbers. This module imports numpy
only.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np


def namespace(array: Any) -> Any:
    """Return the module whose functions take the array: torch for a tensor, else numpy."""
    torch = sys.modules.get("torch")
    return torch if torch is not None and isinstance(array, torch.Tensor) else np


def as_float64(array: Any) -> Any:
    """Return the array in double precision."""
    return array.astype(np.float64) if isinstance(array, np.ndarray) else array.double()


def columns(rows: Any) -> list[Any]:
    """Return the K columns of statistics: float64 [...] each; of a list of numbers the list."""
    if isinstance(rows, list):
        return rows
    return [as_float64(rows[..., column]) for column in range(rows.shape[-1])]


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


def ratio(part: Any, whole: Any, otherwise: float = 0.0) -> Any:
    """Return part / whole [...], and `otherwise` where whole is 0."""
    some = whole > 0
    return where(some, part / where(some, whole, 1), otherwise)


def brevity_penalty(hyp: Any, ref: Any) -> Any:
    """Return BLEU's brevity penalty (Papineni et al. 2002): exp(1 - r/c) if c < r else 1.

    Args:
        hyp: Lengths c of hypotheses, [...].
        ref: Lengths r of references, [...].

    Returns:
        float64 [...]; 0 for an empty hypothesis.
    """
    some = hyp > 0
    short = exp(1.0 - ref / where(some, hyp, 1)) * some
    return where(hyp < ref, short, 1.0)
