"""Reference lengths and the brevity penalty, as BLEU defines them (Papineni et al. 2002).

BP = exp(1 - r/c) if c < r else 1
"""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["brevity_penalty", "closest"]


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


def brevity_penalty(hyp: Tensor, ref: Tensor) -> Tensor:
    """BP of hypothesis and reference lengths [...], float64 [...]; 0 for an empty hypothesis."""
    hyp, ref = hyp.double(), ref.double()
    # the ratio of an empty hypothesis is infinite: exp gives its 0
    return torch.where(hyp < ref, torch.exp(1 - ref / hyp), 1.0)
