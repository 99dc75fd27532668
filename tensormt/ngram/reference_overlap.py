"""What several references of a segment have in common (Qin & Specia 2015, section 4.1).

`reference_shares` gives the paper's Figure 1: of the distinct n-grams in a segment's references,
the share that occurs in exactly 1, 2, …, R of them. `match_shares` gives Figure 2: the same over
the clipped matches of a system.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

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
