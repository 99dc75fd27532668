"""Reference lengths and the brevity penalty, as BLEU defines them (Papineni et al. 2002)."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["brevity_penalty", "closest"]


def closest(hyp: Tensor, refs: Tensor) -> Tensor:
    """For lengths hyp [...] and refs [...,R] (0: absent): the closest present reference length.

    Of two equally close ones the shorter counts; 0 where there is none.
    """
    far = torch.iinfo(torch.int64).max // 2
    # twice the distance, one more for the longer side: the shorter of equals wins
    gap = (refs - hyp[..., None]).abs() * 2 + (refs > hyp[..., None])
    gap = torch.where(refs > 0, gap, far)
    best = gap.min(-1, keepdim=True).values
    return torch.where((gap == best) & (refs > 0), refs, 0).max(-1).values


def brevity_penalty(hyp: Tensor, ref: Tensor) -> Tensor:
    """exp(1 - ref/hyp) where the hypothesis is shorter, else 1; 0 for an empty hypothesis."""
    hyp, ref = hyp.to(torch.float64), ref.to(torch.float64)
    penalty = torch.exp(1 - torch.maximum(ref / hyp.clamp(min=1e-300), ref.new_ones(())))
    return torch.where(hyp > 0, penalty, 0)
