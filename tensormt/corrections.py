"""Correction of p-values for multiple comparisons: Holm (1979), Benjamini & Hochberg (1995)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tensormt.errors import TensorMTError

CORRECTIONS = ("none", "holm", "bh")


def correct_p_values(values: Sequence[float], method: str) -> list[float]:
    """Correct p-values for multiple comparisons.

    Args:
        values: p-values; NaN is kept and not counted.
        method: "holm", "bh" (Benjamini–Hochberg) or "none".

    Returns:
        Corrected p-values in the same order.

    Raises:
        TensorMTError: If the method is unknown.

    >>> correct_p_values([0.01, 0.5, 0.02], "holm")
    [0.03, 0.5, 0.04]
    """
    if method not in CORRECTIONS:
        raise TensorMTError(f"no correction named {method!r}: use one of {', '.join(CORRECTIONS)}")
    known = [p for p in values if not math.isnan(p)]
    if method == "none" or not known:
        return list(values)
    found = iter(holm(known) if method == "holm" else benjamini_hochberg(known))
    return [p if math.isnan(p) else next(found) for p in values]


def holm(values: Sequence[float]) -> list[float]:
    """Correct p-values for multiple comparisons by Holm's step-down procedure.

    >>> holm([0.01, 0.04])
    [0.02, 0.04]
    """
    order = sorted(range(len(values)), key=values.__getitem__)
    corrected, worst = [0.0] * len(values), 0.0
    for rank, place in enumerate(order):
        worst = max(worst, min(1.0, (len(values) - rank) * values[place]))
        corrected[place] = worst
    return corrected


def benjamini_hochberg(values: Sequence[float]) -> list[float]:
    """Correct p-values for the false discovery rate by Benjamini and Hochberg's procedure.

    >>> benjamini_hochberg([0.01, 0.04])
    [0.02, 0.04]
    """
    order = sorted(range(len(values)), key=values.__getitem__, reverse=True)
    corrected, least = [0.0] * len(values), 1.0
    for above, place in enumerate(order):
        least = min(least, values[place] * len(values) / (len(values) - above))
        corrected[place] = least
    return corrected
