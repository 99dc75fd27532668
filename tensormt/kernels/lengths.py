"""The closest reference length, as BLEU defines it (Papineni et al. 2002)."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["closest"]


def closest(hyp: Tensor, refs: Tensor) -> Tensor:
    """For lengths hyp [...] and refs [...,R] (0: absent): the closest present reference length.

    Of two equally close ones the shorter counts; 0 where there is none.
    """
    best = torch.full_like(hyp, torch.iinfo(torch.int64).max - ((1 << 32) - 1), dtype=torch.int64)
    for ref in refs.unbind(-1):
        # one number that orders by gap, then by length
        rank = ((ref - hyp).abs() << 32) + ref
        best = torch.where(ref > 0, torch.minimum(best, rank), best)
    return best & ((1 << 32) - 1)
