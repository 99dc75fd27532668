"""The charts of kernels/charts.py and the search for the best trees as Triton kernels.

    one program per sentence, one launch per batch

In torch a chart takes several launches for each width of spans; here the program of a sentence
walks over its own widths, with a barrier after each, and stops at its own length. Tables are
indexed by (width, start), so that neighbouring lanes read neighbouring cells. Splits of several
spans are compared in tiles [_SPANS,_PARTS].

`best_trees` adds and compares as the torch code does, so that its result is equal. `marginals`
gathers what every span gets from all larger spans,

    p(i,j) = Σ over i<j<m of p(i,m) p(j | i,m)  +  Σ over m<i<j of p(m,j) p(i | m,j),

and is equal except for the rounding of sums.

This is the only module that imports Triton. It is used for tensors on a CUDA device where Triton is
installed; torch's CUDA builds for Linux bring it along.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

_SPANS, _PARTS = 32, 16
# one stage: loads must not be moved across the barriers; sums are rounded as torch rounds them
OPTIONS = {"num_warps": 4, "num_stages": 1, "enable_fp_fusion": False}


@triton.jit(do_not_specialize=["posts", "slots"])
def _best_trees(
    scores, lengths, chart, split, slot, start_of, width_of, above_of, posts, slots,
    SPANS: tl.constexpr, PARTS: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    size = tl.load(lengths + row).to(tl.int32)
    cells = row * posts * posts
    scores, chart, split, slot = scores + cells, chart + cells, split + cells, slot + cells
    start_of, width_of = start_of + row * slots, width_of + row * slots
    above_of = above_of + row * slots
    lane, part = tl.arange(0, SPANS), 1 + tl.arange(0, PARTS)
    for first in range(0, size, SPANS):
        start = first + lane
        word = tl.load(scores + start * posts + start + 1, mask=start < size)
        tl.store(chart + posts + start, word, mask=start < size)
    tl.debug_barrier()

    # bottom-up: the best split of every span
    for width in range(2, size + 1):
        for first in range(0, size - width + 1, SPANS):
            start = first + lane
            inside = start <= size - width
            best = tl.full([SPANS], float("-inf"), scores.dtype.element_ty)
            cut = tl.full([SPANS], 1, tl.int32)
            for before in range(0, width - 1, PARTS):
                words = before + part  # of the left part
                known = inside[:, None] & (words < width)[None, :]
                left = chart + words[None, :] * posts + start[:, None]
                right = chart + (width - words)[None, :] * posts + (start[:, None] + words[None, :])
                pairs = tl.load(left, mask=known, other=float("-inf"))
                pairs += tl.load(right, mask=known, other=float("-inf"))
                value, place = tl.max(pairs, 1, return_indices=True)
                cut = tl.where(value > best, before + 1 + place, cut)
                best = tl.where(value > best, value, best)
            own = tl.load(scores + start * posts + start + width, mask=inside)
            tl.store(chart + width * posts + start, own + best, mask=inside)
            tl.store(split + width * posts + start, cut, mask=inside)
        tl.debug_barrier()

    # top-down: `slot` holds slot + 1 of the spans of the tree, 0 elsewhere
    tl.store(slot + size * posts, 1, mask=size > 0)
    tl.debug_barrier()
    for less in range(size - 1):
        width = size - less
        for first in range(0, less + 1, SPANS):
            start = first + lane
            own = tl.load(slot + width * posts + start, mask=start <= less, other=0)
            used = own > 0
            cut = tl.load(split + width * posts + start, mask=used, other=1)
            tl.store(slot + cut * posts + start, own + 1, mask=used)
            tl.store(slot + (width - cut) * posts + start + cut, own + 2 * cut, mask=used)
            tl.store(start_of + own - 1, start, mask=used)
            tl.store(width_of + own - 1, width, mask=used)
            tl.store(above_of + own, own - 1, mask=used)
            tl.store(above_of + own - 1 + 2 * cut, own - 1, mask=used)
        tl.debug_barrier()
    for first in range(0, size, SPANS):
        start = first + lane
        own = tl.load(slot + posts + start, mask=start < size, other=1)
        tl.store(start_of + own - 1, start, mask=start < size)
        tl.store(width_of + own - 1, 1, mask=start < size)


@triton.jit(do_not_specialize=["posts"])
def _marginals(
    scores, lengths, chart, inner, chance, result, posts,
    SPANS: tl.constexpr, PARTS: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    size = tl.load(lengths + row).to(tl.int32)
    cells = row * posts * posts
    scores, chart, inner = scores + cells, chart + cells, inner + cells
    chance, result = chance + cells, result + cells
    lane, part = tl.arange(0, SPANS), 1 + tl.arange(0, PARTS)
    for first in range(0, size, SPANS):
        start = first + lane
        word = tl.load(scores + start * posts + start + 1, mask=start < size)
        tl.store(chart + posts + start, word, mask=start < size)
    tl.debug_barrier()

    # inside: `inner` is the log sum over all splits, without the score of the span itself
    for width in range(2, size + 1):
        for first in range(0, size - width + 1, SPANS):
            start = first + lane
            inside = start <= size - width
            top = tl.full([SPANS], float("-inf"), tl.float64)
            mass = tl.zeros([SPANS], tl.float64)
            for before in range(0, width - 1, PARTS):
                words = before + part
                known = inside[:, None] & (words < width)[None, :]
                left = chart + words[None, :] * posts + start[:, None]
                right = chart + (width - words)[None, :] * posts + (start[:, None] + words[None, :])
                pairs = tl.load(left, mask=known, other=float("-inf"))
                pairs += tl.load(right, mask=known, other=float("-inf"))
                higher = tl.where(inside, tl.maximum(top, tl.max(pairs, 1)), 0.0)
                mass = mass * tl.exp(top - higher) + tl.sum(tl.exp(pairs - higher[:, None]), 1)
                top = higher
            found = top + tl.log(tl.where(inside, mass, 1.0))
            own = tl.load(scores + start * posts + start + width, mask=inside)
            tl.store(inner + width * posts + start, found, mask=inside)
            tl.store(chart + width * posts + start, own + found, mask=inside)
        tl.debug_barrier()

    # outside: what every span gets as the left and as the right part of wider spans
    for less in range(size):
        width = size - less
        for first in range(0, less + 1, SPANS):
            start = first + lane
            inside = start <= less
            own = tl.load(chart + width * posts + start, mask=inside, other=0.0)
            sums = tl.where(less + start == 0, 1.0, 0.0).to(tl.float64)  # the whole sentence
            for before in range(0, less, PARTS):
                more = before + part  # words of the other part
                wider = (width + more)[None, :] * posts + start[:, None]
                known = inside[:, None] & (start[:, None] + width + more[None, :] <= size)
                beside = more[None, :] * posts + (start + width)[:, None]
                share = tl.load(chart + beside, mask=known, other=float("-inf")) + own[:, None]
                share = tl.exp(share - tl.load(inner + wider, mask=known, other=0.0))
                sums += tl.sum(share * tl.load(chance + wider, mask=known, other=0.0), 1)

                known = inside[:, None] & (more[None, :] <= start[:, None])
                beside = more[None, :] * posts + (start[:, None] - more[None, :])
                wider = wider - more[None, :]
                share = tl.load(chart + beside, mask=known, other=float("-inf")) + own[:, None]
                share = tl.exp(share - tl.load(inner + wider, mask=known, other=0.0))
                sums += tl.sum(share * tl.load(chance + wider, mask=known, other=0.0), 1)
            tl.store(chance + width * posts + start, sums, mask=inside)
            tl.store(result + start * posts + start + width, sums, mask=inside)
        tl.debug_barrier()


def _launch(kernel: Any, programs: int, *arguments: Any) -> None:
    """Start a kernel with one program per sentence on the device of its first tensor."""
    if programs:
        device_of: Any = torch.cuda.device_of
        with device_of(arguments[0]):
            kernel[(programs,)](*arguments, SPANS=_SPANS, PARTS=_PARTS, **OPTIONS)


def best_trees(scores: Tensor, lengths: Tensor) -> Tensor:
    """Find the best binary trees over span scores.

    Args:
        scores: Scores of spans by fenceposts, float [B,T+1,T+1].
        lengths: Lengths of sentences, int64 [B].

    Returns:
        Start, width and parent's slot of the spans in preorder, int64 [3,B,2T−1], 0 in padding.
    """
    rows, posts = scores.shape[:2]
    slots = max(2 * (posts - 1) - 1, 1)
    scores = scores.contiguous()
    split = torch.empty(scores.shape, dtype=torch.int32, device=scores.device)
    found = torch.zeros(3, rows, slots, dtype=torch.int64, device=scores.device)
    tables = scores, lengths, torch.empty_like(scores), split, torch.zeros_like(split)
    _launch(_best_trees, rows, *tables, *found, posts, slots)
    return found


def marginals(scores: Tensor, lengths: Tensor) -> Tensor:
    """Return the marginal probabilities of spans, float64 [B,T+1,T+1], as charts.marginals."""
    rows, posts = scores.shape[:2]
    scores = scores.double().contiguous()
    tables = (torch.empty_like(scores) for _ in range(3))
    result = torch.zeros_like(scores)
    _launch(_marginals, rows, scores, lengths, *tables, result, posts)
    return result
