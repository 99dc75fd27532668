"""What several references share, and how far raters agree (Qin & Specia 2015, sections 4.1, 4.5).

`reference_shares` is the paper's Figure 1: of the different n-grams in a segment's references, the
share that stands in exactly 1, 2, …, R of them. `match_shares` is Figure 2: the same over the
clipped matches of a system. `agreement` and `kappa` give Table 1: an item is agreed upon when at
least two of its judgements are the same, and

    kappa = (agreement - chance) / (1 - chance)        chance = 0.2 on a scale of 1 to 5
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.ngram.matching import matches
from tensormt.ngram.references import References
from tensormt.text.tokens import TokenBatch


def reference_shares(refs: Sequence[TokenBatch], max_order: int = 4) -> Tensor:
    """Share of the references' n-grams found in exactly 1…R references, float64 [N,R].

    Different n-grams of each segment count once; rows sum to 1, or are 0 without an n-gram.
    """
    ready = refs if isinstance(refs, References) else References(refs)
    return _shares(ready.spread(max_order).sum(0))


def match_shares(hyp: TokenBatch, refs: Sequence[TokenBatch], max_order: int = 4) -> Tensor:
    """Share of a system's clipped matches found in exactly 1…R references, float64 [N,R]."""
    ready = refs if isinstance(refs, References) else References(refs)
    counts = torch.zeros(max_order, len(ready), dtype=torch.int64, device=hyp.device)
    for _, part in matches(hyp, ready, max_order):
        for row, order in zip(counts, part.orders, strict=True):
            # an n-gram without a match has no holder: it adds 0 to the first column
            column = (order.holders.to(torch.int64) - 1).clamp_min_(0).view(-1)
            row.index_add_(0, column, order.matched.to(torch.int64).view(-1))
    return _shares(counts)


def _shares(counts: Tensor) -> Tensor:
    return counts.double() / counts.sum(-1, keepdim=True).clamp_min(1)


def agreement(judgements: Tensor) -> Tensor:
    """Share of items with two equal judgements, float64 [...], of judgements [...,B,J].

    J raters, NaN where a rater did not judge; items with fewer than two judgements are left out.
    """
    same, judged = _pairs(judgements)
    return _share(same.any(-1), judged.sum(-1) >= 2)


def rater_agreement(judgements: Tensor) -> Tensor:
    """For each rater the share of items on which another rater agrees, float64 [...,J]."""
    same, judged = _pairs(judgements)
    shared = judged & (judged.sum(-1, keepdim=True) >= 2)
    return _share(same.transpose(-1, -2), shared.transpose(-1, -2))


def kappa(share: Tensor, chance: float = 0.2) -> Tensor:
    """Agreement beyond chance, float64 [...], of shares of agreement [...]."""
    if not 0 <= chance < 1:
        raise TensorMTError(f"chance is {chance}: expected at least 0 and less than 1")
    return (share - chance) / (1 - chance)


def _pairs(judgements: Tensor) -> tuple[Tensor, Tensor]:
    """Whether each judgement [...,B,J] has an equal one by another rater, and whether it exists."""
    if judgements.dim() < 2:
        raise TensorMTError(
            f"judgements of shape {list(judgements.shape)}: expected [...,items,raters]"
        )
    scores = judgements.double()
    equal = scores[..., :, None] == scores[..., None, :]
    other = ~torch.eye(scores.shape[-1], dtype=torch.bool, device=scores.device)
    return (equal & other).any(-1), ~scores.isnan()


def _share(hits: Tensor, real: Tensor) -> Tensor:
    """The share of hits among the real ones along the last axis; 0 if there is none."""
    return (hits & real).sum(-1).double() / real.sum(-1).clamp_min(1)
