"""The closest reference length, as BLEU defines it (Papineni et al. 2002)."""

from __future__ import annotations

import torch
from torch import Tensor


def closest(hyp: Tensor, refs: Tensor) -> Tensor:
    """Return the closest reference length, int64 [...]; of two equally close ones the shorter.

    hyp int64 [...], refs int64 [...,R]; a length of 0 is an absent reference. 0 if all are absent.
    """
    best = torch.full_like(hyp, torch.iinfo(torch.int64).max - ((1 << 32) - 1), dtype=torch.int64)
    for ref in refs.unbind(-1):
        # one integer that sorts by distance, then by length
        rank = ((ref - hyp).abs() << 32) + ref
        best = torch.where(ref > 0, torch.minimum(best, rank), best)
    return best & ((1 << 32) - 1)
