"""Span charts: one dynamic program for the best tree and for span marginals.

    chart(i,j) = s(i,j) ⊗ ⨁ over i<k<j of chart(i,k) ⊗ chart(k,j)

⊗ adds scores, which are logarithms. With ⨁ = max it is the CKY algorithm (Cocke, Kasami, Younger):
the chart holds the score of the best binary tree of every span, and the trace of ⨁ is its split.
With ⨁ = log Σ exp it is the inside algorithm: the chart holds the log sum over all trees, and the
trace holds the probabilities p(k | i,j) of the splits. The outside pass, which is the gradient of
the inside pass, distributes probability top-down from the whole sentence, p(0,n) = 1:

    p(i,k) += p(i,j) p(k | i,j)        p(k,j) += p(i,j) p(k | i,j)

An algebra (semiring) is a function of the sums of all splits, [B,I,K] -> value [B,I] and trace.
Spans are stored twice, by (start, width) and by (end, posts − width), so that the left and the
right parts of all splits of a width are two rectangular slices: one step per width, no loop over
spans. The semirings are those of Goodman (1999), as in torch_struct and supar.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

Algebra = Callable[[Tensor], tuple[Tensor, Tensor]]


def best(pairs: Tensor) -> tuple[Tensor, Tensor]:
    """⨁ = max: the best sum [B,I] of pairs [B,I,K] and the index of its split, int64 [B,I]."""
    value, split = pairs.max(-1)
    return value, split


def log_sum(pairs: Tensor) -> tuple[Tensor, Tensor]:
    """⨁ = log Σ exp: the log sum [B,I] of pairs [B,I,K] and the split probabilities [B,I,K].

    The pairs are overwritten.
    """
    top = pairs.amax(-1, keepdim=True)
    share = pairs.sub_(top).exp_()
    mass = share.sum(-1, keepdim=True)
    return (mass.log() + top).squeeze(-1), share.div_(mass)


class _Chart:
    """The cells of all spans, [B,T+1,T+1] in both orders, and views of those of one width."""

    def __init__(self, scores: Tensor) -> None:
        self.by_start = torch.zeros_like(scores)
        self.by_end = torch.zeros_like(scores)
        self.posts = scores.shape[1]

    def spans(self, width: int) -> tuple[Tensor, Tensor]:
        """The spans of a width, [B,I] in both orders."""
        back = self.posts - width
        return self.by_start[:, :back, width], self.by_end[:, width:, back]

    def parts(self, width: int) -> tuple[Tensor, Tensor]:
        """The left and the right part of every split of the spans of a width, [B,I,K]."""
        back = self.posts - width
        return self.by_start[:, :back, 1:width], self.by_end[:, width:, back + 1 :]


def climb(scores: Tensor, algebra: Algebra) -> list[Tensor]:
    """Fill a chart bottom-up and return the traces of the widths 2, 3, …, T.

    scores float [B,T+1,T+1], indexed by fenceposts (start, end).
    """
    chart = _Chart(scores)
    traces: list[Tensor] = []
    for width in range(1, chart.posts):
        value = scores.diagonal(width, 1, 2)
        if width > 1:
            left, right = chart.parts(width)
            inner, trace = algebra(left + right)
            value = value + inner
            traces.append(trace)
        for cells in chart.spans(width):
            cells.copy_(value)
    return traces


def splits(scores: Tensor) -> Tensor:
    """Return the number of words on the left of the best split of every span.

    scores float [B,T+1,T+1] over fenceposts -> int64 [B,T+1,T+1], indexed by start and width.
    """
    split = torch.ones(scores.shape, dtype=torch.int64, device=scores.device)
    for width, trace in enumerate(climb(scores, best), 2):
        torch.add(trace, 1, out=split[:, : trace.shape[1], width])
    return split


def marginals(scores: Tensor, lengths: Tensor) -> Tensor:
    """Return the marginal probabilities of spans under a CRF over binary trees.

    scores float [B,T+1,T+1], lengths int64 [B] -> float64 [B,T+1,T+1], 0 outside a sentence.
    """
    scores = scores.double()
    shares = climb(scores, log_sum)
    chart = _Chart(scores)
    result = torch.zeros_like(scores)
    for width in range(chart.posts - 1, 0, -1):
        as_left, as_right = chart.spans(width)
        chance = as_left + as_right
        chance[:, 0] += lengths == width  # the whole sentence
        result.diagonal(width, 1, 2).copy_(chance)
        if width > 1:
            flow = shares[width - 2].mul_(chance[..., None])
            for parts in chart.parts(width):
                parts += flow
    return result
