"""Sums that do not depend on the order or grouping of what is summed.

Whole numbers are summed as they are. Others are cut into three words of a fixed-point number,

    v = (w₀ + w₁·2⁻³⁶ + w₂·2⁻⁷²) · 2⁻¹⁶,    0 ≤ w₁, w₂ < 2³⁶

and each word is summed as an integer: exact for values ≥ 0 that end above 2⁻⁸⁸ (what lies below is
cut off every value alike), for up to 2²⁷ values at once and any number with `normalize_carries` in
between.
"""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["from_words", "normalize_carries", "to_words"]

_FIRST, _NEXT = 16, 36  # bits behind the point in the first word, and in each of the others


def to_words(values: Tensor) -> Tensor:
    """Values [n,X] as words int64 [n,3,X] of a fixed-point number; integers [n,X] as [n,1,X]."""
    if not values.is_floating_point():
        return values[:, None]
    words, rest = [], values * 2.0**_FIRST
    for _ in range(3):
        whole = rest.floor()
        words.append(whole.to(torch.int64))
        rest = (rest - whole) * 2.0**_NEXT
    return torch.stack(words, 1)


def normalize_carries(words: Tensor) -> Tensor:
    """The same numbers with all but the first word below 2³⁶, int64 as given: [3,X] or [1,X]."""
    if words.shape[0] == 1:
        return words
    mask = (1 << _NEXT) - 1
    middle = words[1] + (words[2] >> _NEXT)
    return torch.stack([words[0] + (middle >> _NEXT), middle & mask, words[2] & mask])


def from_words(words: Tensor) -> Tensor:
    """The numbers [X] that (sums of) words [3,X] stand for; one word [1,X] is the integer."""
    if words.shape[0] == 1:
        return words[0]
    # carries first, so that sums of the same value give the same float
    high, middle, low = normalize_carries(words).unbind(0)
    rest = middle.double() + low.double() * 2.0**-_NEXT
    return (high.double() + rest * 2.0**-_NEXT) * 2.0**-_FIRST
