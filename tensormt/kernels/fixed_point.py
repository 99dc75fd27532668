"""Exact sums, which do not depend on the order or the grouping of the summands.

Integers are summed as they are. Floating-point values are split into three words of a fixed-point
number,

    v = (w₀ + w₁·2⁻³⁶ + w₂·2⁻⁷²) · 2⁻¹⁶,    0 ≤ w₁, w₂ < 2³⁶

and each word is summed as an integer. This is exact for values ≥ 0 without bits below 2⁻⁸⁸ (lower
bits are truncated), for up to 2²⁷ values at once, and for any number of values if the carries are
normalized in between.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tensormt.formulas import as_float64, is_float, namespace

_FIRST, _NEXT = 16, 36  # fractional bits of the first word, bits of each other word


def to_words(values: Any) -> Any:
    """Split float values [n,X] into words, int64 [n,3,X]; integers [n,X] become [n,1,X].

    Tensors of torch and arrays of numpy are taken, here and below.
    """
    if not is_float(values):
        return values[:, None]
    xp = namespace(values)
    words, rest = [], values * 2.0**_FIRST
    for _ in range(3):
        whole = xp.floor(rest)
        words.append(whole.astype(np.int64) if xp is np else whole.long())
        rest = (rest - whole) * 2.0**_NEXT
    return xp.stack(words, 1)


def normalize_carries(words: Any) -> Any:
    """Carry over so that all words but the first are below 2³⁶; int64 [3,X] or [1,X], as given."""
    if words.shape[0] == 1:
        return words
    mask = (1 << _NEXT) - 1
    middle = words[1] + (words[2] >> _NEXT)
    return namespace(words).stack([words[0] + (middle >> _NEXT), middle & mask, words[2] & mask])


def from_words(words: Any) -> Any:
    """Return the float64 values [X] of (sums of) words [3,X], or the integers [X] of [1,X]."""
    if words.shape[0] == 1:
        return words[0]
    # normalized first, so that equal sums give equal floats
    high, middle, low = map(as_float64, normalize_carries(words))
    rest = middle + low * 2.0**-_NEXT
    return (high + rest * 2.0**-_NEXT) * 2.0**-_FIRST
