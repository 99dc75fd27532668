"""The closest reference length, as BLEU defines it (Papineni et al. 2002)."""

from __future__ import annotations

import torch
from torch import Tensor


def closest(hyp: Tensor, refs: Tensor) -> Tensor:
    """Return the closest reference length, int64 [...]; of two equally close ones the shorter.

    hyp int64 [...], refs int64 [...,R]; a length of 0 is an absent reference. 0 if all are absent.
    """
    # one integer that sorts by distance, then by length
    rank = ((refs - hyp[..., None]).abs() << 32) + refs
    none = torch.iinfo(torch.int64).max - ((1 << 32) - 1)
    return rank.masked_fill_(refs <= 0, none).amin(-1).bitwise_and_((1 << 32) - 1)
