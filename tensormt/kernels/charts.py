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

A binary tree over n words has 2n−1 spans. In preorder, the left child of the span in slot p is in
slot p+1 and its right child in slot p+2k, where k is the number of words of the left child: no
stack is needed.

On a CUDA device with Triton, `best_trees` and `marginals` are one kernel each (triton_charts.py).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import torch
from torch import Tensor

from tensormt.errors import TensorMTWarning
from tensormt.kernels.backend import has_triton, nonzero, take

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
        by_start, by_end = chart.spans(width)
        if width > 1:
            left, right = chart.parts(width)
            inner, trace = algebra(left + right)
            torch.add(value, inner, out=by_start)
            traces.append(trace)
        else:
            by_start.copy_(value)
        by_end.copy_(by_start)
    return traces


def splits(scores: Tensor) -> Tensor:
    """Return the number of words on the left of the best split of every span.

    scores float [B,T+1,T+1] over fenceposts -> int64 [B,T+1,T+1], indexed by start and width.
    """
    split = torch.zeros(scores.shape, dtype=torch.int64, device=scores.device)
    for width, trace in enumerate(climb(scores, best), 2):
        split[:, : trace.shape[1], width].copy_(trace)
    return split.add_(1)


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


_NO_SLOT = -(1 << 40)  # remains negative, whatever is added on the way down


def _best_trees(scores: Tensor, lengths: Tensor) -> Tensor:
    """`best_trees` by torch: from the widest spans down, spans give their children their slots.

    Two operations a width, and one host synchronisation.
    """
    rows, posts = scores.shape[:2]
    slots, cells = max(2 * (posts - 1) - 1, 1), posts * posts
    place = torch.arange(posts, device=scores.device)
    # of all spans (width, start): words of the left child, the cells of both children, and how far
    # behind their parent's slot theirs are
    cut = splits(scores).transpose(1, 2).contiguous()
    right = place + place[:, None] * posts - (posts - 1) * cut
    children = torch.stack((torch.add(place, cut, alpha=posts), right), -1)
    behind = torch.stack((torch.ones_like(cut), 2 * cut), -1)
    # slots of the spans of the trees; every cell keeps the largest number, so that spans outside of
    # the trees, which have negative ones, change nothing
    number = torch.full((rows, cells), _NO_SLOT, dtype=torch.int64, device=scores.device)
    number.scatter_(1, lengths[:, None] * posts, 0)
    table = number.view(rows, posts, posts, 1)
    for width in range(posts - 1, 1, -1):
        spans = slice(None), width, slice(posts - width)
        below = (table[spans] + behind[spans]).flatten(1)
        number.scatter_reduce_(1, children[spans].flatten(1), below, "amax")
    number = number.flatten()
    return _in_slots(nonzero(number >= 0), number, cut.flatten(), rows, posts, slots)


def _in_slots(
    span: Tensor, number: Tensor, cut: Tensor, rows: int, posts: int, slots: int
) -> Tensor:
    """The spans of the trees, indices of tables [B,T+1,T+1], in the order of their slots."""
    place = span % (posts * posts)
    first = span // (posts * posts) * (slots + 1)  # an extra slot per row receives no children
    own = take(number, span)
    width = place // posts
    found = torch.zeros(3, rows * (slots + 1), dtype=torch.int64, device=span.device)
    found[0].scatter_(0, first + own, place % posts)
    found[1].scatter_(0, first + own, width)
    for behind in (torch.ones_like(own), 2 * take(cut, span)):
        found[2].scatter_(0, first + torch.where(width > 1, own + behind, slots), own)
    return found.view(3, rows, slots + 1)[:, :, :slots]


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
