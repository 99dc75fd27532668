"""Exact sums, which do not depend on the order or the grouping of the summands.

Integers are summed as they are. Floating-point values are split into three words of a fixed-point
number,

    v = (w₀ + w₁·2⁻³⁶ + w₂·2⁻⁷²) · 2⁻¹⁶,    0 ≤ w₁, w₂ < 2³⁶

and each word is summed as an integer. This is exact for values ≥ 0 without bits below 2⁻⁸⁸ (lower
bits are truncated), for up to 2²⁷ values at once, and for any number of values if the carries are
normalized in between.
"""

from __future__ import annotations

import torch
from torch import Tensor

_FIRST, _NEXT = 16, 36  # fractional bits of the first word, bits of each other word


def to_words(values: Tensor) -> Tensor:
    """Split float values [n,X] into words, int64 [n,3,X]; integers [n,X] become [n,1,X]."""
    if not values.is_floating_point():
        return values[:, None]
    words, rest = [], values * 2.0**_FIRST
    for _ in range(3):
        whole = rest.floor()
        words.append(whole.to(torch.int64))
        rest = (rest - whole) * 2.0**_NEXT
    return torch.stack(words, 1)


def normalize_carries(words: Tensor) -> Tensor:
    """Carry over so that all words but the first are below 2³⁶; int64 [3,X] or [1,X], as given."""
    if words.shape[0] == 1:
        return words
    mask = (1 << _NEXT) - 1
    middle = words[1] + (words[2] >> _NEXT)
    return torch.stack([words[0] + (middle >> _NEXT), middle & mask, words[2] & mask])


def from_words(words: Tensor) -> Tensor:
    """Return the float64 values [X] of (sums of) words [3,X], or the integers [X] of [1,X]."""
    if words.shape[0] == 1:
        return words[0]
    # normalized first, so that equal sums give equal floats
    high, middle, low = normalize_carries(words).unbind(0)
    rest = middle.double() + low.double() * 2.0**-_NEXT
    return (high.double() + rest * 2.0**-_NEXT) * 2.0**-_FIRST
