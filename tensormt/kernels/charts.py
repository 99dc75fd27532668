"""Span charts: one dynamic program for the best tree and for span marginals.

    chart(i,j) = s(i,j) ⊗ ⨁ over i<k<j of chart(i,k) ⊗ chart(k,j)

⊗ adds scores, which are logarithms. With ⨁ = max it is the CKY algorithm (Cocke, Kasami, Younger):
the chart holds the score of the best binary tree of every span, and the trace of ⨁ is its split.
With ⨁ = log Σ exp it is the inside algorithm: the chart holds the log sum over all trees, and the
trace holds the probabilities p(k | i,j) of the splits. The outside pass, which is the gradient of
the inside pass, distributes probability top-down from the whole sentence, p(0,n) = 1:

    p(i,k) += p(i,j) p(k | i,j)        p(k,j) += p(i,j) p(k | i,j)

An algebra (semiring) is a function of the sums of all splits, [I,K,B] -> value [I,B] and trace.
Spans are stored twice, by (start, width) and by (end, posts − width), so that the left and the
right parts of all splits of a width are two rectangular slices: one step per width, no loop over
spans. The semirings are those of Goodman (1999), as in torch_struct and supar.

The best split is found for the spans of the best trees alone, from the whole sentence down, all
spans of one depth at a time.

A binary tree over n words has 2n−1 spans. In preorder, the left child of the span in slot p is in
slot p+1 and its right child in slot p+2k, where k is the number of words of the left child: no
stack is needed.

On a CUDA device with Triton, `best_trees` and `marginals` are one kernel each (triton_charts.py).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tensormt.errors import TensorMTWarning
from tensormt.kernels.backend import Array, has_triton, host_array

Algebra = Callable[[Tensor], tuple[Tensor, Any]]

_ROWS = 32  # sentences, from which it is faster if the cells of one span lie side by side


def best(pairs: Tensor) -> tuple[Tensor, None]:
    """⨁ = max: the best sum [I,B] of pairs [I,K,B], without a trace."""
    return pairs.amax(1), None


def log_sum(pairs: Tensor) -> tuple[Tensor, Tensor]:
    """⨁ = log Σ exp: the log sum [I,B] of pairs [I,K,B] and the split probabilities [I,K,B].

    The pairs are overwritten.
    """
    top = pairs.amax(1, keepdim=True)
    share = pairs.sub_(top).exp_()
    mass = share.sum(1, keepdim=True)
    return (mass.log() + top).squeeze(1), share.div_(mass)


class _Chart:
    """The cells of all spans, [T+1,T+1,B] in both orders, and views of those of one width.

    They lie in memory as the scores do, [T+1,T+1,B].
    """

    def __init__(self, scores: Tensor) -> None:
        self.by_start = torch.zeros_like(scores)
        self.by_end = torch.zeros_like(scores)
        self.posts = scores.shape[0]

    def spans(self, width: int) -> tuple[Tensor, Tensor]:
        """The cells of the spans of a width, [I,B] in both orders."""
        back = self.posts - width
        return self.by_start[:back, width], self.by_end[width:, back]

    def parts(self, width: int) -> tuple[Tensor, Tensor]:
        """The left and the right part of every split of the spans of a width, [I,K,B]."""
        back = self.posts - width
        return self.by_start[:back, 1:width], self.by_end[width:, back + 1 :]


def climb(scores: Tensor, algebra: Algebra) -> tuple[_Chart, list[Any]]:
    """Fill a chart bottom-up and return it with the traces of the widths 2, 3, …, T.

    scores float [T+1,T+1,B], indexed by fenceposts (start, end).
    """
    chart = _Chart(scores)
    traces: list[Any] = []
    for width in range(1, chart.posts):
        value = scores.diagonal(width).T
        by_start, by_end = chart.spans(width)
        if width > 1:
            left, right = chart.parts(width)
            inner, trace = algebra(left + right)
            torch.add(value, inner, out=by_start)
            traces.append(trace)
        else:
            by_start.copy_(value)
        by_end.copy_(by_start)
    return chart, traces


_failed: set[str] = set()  # kernels that Triton could not build in this process


def _run_kernel(name: str, scores: Tensor, lengths: Tensor) -> Tensor | None:
    """The result of a function of triton_charts.py; None where torch has to do the work.

    Triton may be installed and still fail: it needs a C compiler, and a GPU that it supports.
    """
    if name in _failed or not has_triton(scores):
        return None
    try:
        from tensormt.kernels import triton_charts

        found: Tensor = getattr(triton_charts, name)(scores, lengths)
    except torch.cuda.OutOfMemoryError:
        raise
    except Exception as error:  # of Triton, the compiler or the driver
        _failed.add(name)
        reason = f"{type(error).__name__}: {error}".partition("\n")[0][:200]
        warnings.warn(
            TensorMTWarning(
                f"Triton cannot be used on this machine ({reason}): trees are found by torch, "
                "with the same result, in more steps"
            ),
            stacklevel=2,
        )
        return None
    return found


def best_trees(scores: Tensor, lengths: Tensor, kernel: bool = True) -> Tensor:
    """Find the best binary trees.

    Args:
        scores: Scores of spans by fenceposts, float [B,T+1,T+1].
        lengths: Lengths of sentences, int64 [B].
        kernel: Whether the Triton kernel is used where there is one.

    Returns:
        Start, width and parent's slot of the spans in preorder, int64 [3,B,2T−1], 0 in padding.
    """
    found = _run_kernel("best_trees", scores, lengths) if kernel else None
    return _best_trees(scores, lengths) if found is None else found


def _best_trees(scores: Tensor, lengths: Tensor) -> Tensor:
    """`best_trees` by torch, and by numpy from the filled chart on.

    Going down takes many steps on few spans, of which numpy does each in a third of torch's time:
    on another device one table is copied to the host, and the trees back.
    """
    cells = scores.permute(1, 2, 0)
    # of many sentences, the cells of one span side by side
    chart, _ = climb(cells.contiguous() if len(scores) >= _ROWS else cells, best)
    found = _descend(host_array(chart.by_start), host_array(lengths))
    return torch.from_numpy(found).to(scores.device)


def _descend(chart: Array, lengths: Array) -> Array:
    """Find the spans of the best trees from the whole sentences down.

    Args:
        chart: Scores of the best trees over spans by start and width, float [T+1,T+1,B].
        lengths: Lengths of sentences, int64 [B].

    Returns:
        As `best_trees`, int64 [3,B,2T−1].
    """
    posts, _, rows = chart.shape
    found = np.zeros((3, rows, max(2 * (posts - 1) - 1, 1)), np.int64)
    row = np.flatnonzero(lengths)
    width = lengths[row]
    start = slot = above = np.zeros_like(row)
    while True:
        for table, own in zip(found, (start, width, above), strict=True):
            table[row, slot] = own
        spans = np.flatnonzero(width > 1)
        if not len(spans):
            return found
        row, start, width, slot = row[spans], start[spans], width[spans], slot[spans]
        cut = _cuts(chart, row, start, width)
        row, above = np.concatenate((row, row)), np.concatenate((slot, slot))
        start, width = np.concatenate((start, start + cut)), np.concatenate((cut, width - cut))
        slot = np.concatenate((slot + 1, slot + 2 * cut))


def _cuts(chart: Array, row: Array, start: Array, width: Array) -> Array:
    """The number of words on the left of the best split, the first of equal ones, of spans [n]."""
    left = np.arange(1, width.max())
    row, start, right = row[:, None], start[:, None], width[:, None] - left
    inside = right > 0
    ends = np.minimum(start + left, chart.shape[0] - 1)
    pairs = chart[start, left, row] + chart[ends, np.maximum(right, 0), row]
    cuts: Array = np.where(inside, pairs, -np.inf).argmax(1) + 1
    return cuts


def marginals(scores: Tensor, lengths: Tensor, kernel: bool = True) -> Tensor:
    """Return the marginal probabilities of spans under a CRF over binary trees.

    Args:
        scores: Scores of spans by fenceposts, float [B,T+1,T+1].
        lengths: Lengths of sentences, int64 [B].
        kernel: Whether the Triton kernel is used where there is one.

    Returns:
        Probabilities, float64 [B,T+1,T+1], 0 outside a sentence.
    """
    found = _run_kernel("marginals", scores, lengths) if kernel else None
    return _marginals(scores, lengths) if found is None else found


def _marginals(scores: Tensor, lengths: Tensor) -> Tensor:
    """`marginals` by torch."""
    cells = scores.double().permute(1, 2, 0)
    _, shares = climb(cells, log_sum)
    chart = _Chart(cells)
    result = torch.zeros_like(cells)
    for width in range(chart.posts - 1, 0, -1):
        as_left, as_right = chart.spans(width)
        chance = as_left + as_right
        chance[0] += lengths == width  # the whole sentence
        result.diagonal(width).T.copy_(chance)
        if width > 1:
            flow = shares[width - 2].mul_(chance[:, None])
            for parts in chart.parts(width):
                parts += flow
    return result.permute(2, 0, 1)
