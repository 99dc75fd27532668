"""Formulas that metrics share, for torch tensors and numpy arrays alike.

Scores are computed from statistics [...,K] by functions that exist in both libraries, so that one
definition serves the batched engine (torch, any device, with gradients) and the plain path for a
few segments (numpy). This module imports numpy only.
"""

from __future__ import annotations

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


def brevity_penalty(hyp: Any, ref: Any) -> Any:
    """Return BLEU's brevity penalty (Papineni et al. 2002): exp(1 - r/c) if c < r else 1.

    Args:
        hyp: Lengths c of hypotheses, [...].
        ref: Lengths r of references, [...].

    Returns:
        float64 [...]; 0 for an empty hypothesis.
    """
    xp = namespace(hyp)
    hyp, ref = as_float64(hyp), as_float64(ref)
    # the quotient of an empty hypothesis is infinite, and its exponential is 0
    return xp.where(hyp < ref, xp.exp(1 - ref / hyp), 1.0)
