"""Tensor engine of TKM and DTKM: log kernels of batches of trees, in chunks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from tensormt.explanation import Explanation
from tensormt.kernels.matches import node_pairs
from tensormt.kernels.tree_kernel import MAX_TREES, Side, log_kernel, side
from tensormt.syntax.clipped_engine import check_references, chunk_size
from tensormt.trees.batch import TreeBatch

if TYPE_CHECKING:
    from tensormt.syntax.tkm import TreeKernelMetric


def log_kernels(metric: TreeKernelMetric, left: TreeBatch, right: TreeBatch) -> Tensor:
    """Return log K(left b, right b) of aligned trees, float64 [B]; -inf where K is 0."""
    sides = zip(_sides(metric, left), _sides(metric, right), strict=True)
    size = chunk_size(left)
    return torch.cat(
        [log_kernel(a, b, metric.decay, k * size + 1) for k, (a, b) in enumerate(sides)]
    )


def _sides(metric: TreeKernelMetric, batch: TreeBatch) -> list[Side]:
    """The trees in chunks, prepared for the kernel once for each batch."""
    trees, labels, words = metric.hashed(batch)
    return trees.memo(
        ("sides", words is None),
        lambda: [side(part.nodes, labels, words) for part in trees.chunks(chunk_size(trees))],
    )


def _log_self(metric: TreeKernelMetric, batch: TreeBatch) -> Tensor:
    """log K of each tree with itself, computed once for each batch."""
    trees, _, words = metric.hashed(batch)
    return trees.memo(
        ("log K", metric.decay, words is None), lambda: log_kernels(metric, batch, batch)
    )


def _kernels(metric: TreeKernelMetric, batches: Sequence[TreeBatch]) -> tuple[Tensor, Tensor]:
    """log K of the trees of each of S batches with themselves [S,B], and with the first [S-1,B]."""
    whole, (hyp, *refs), number = TreeBatch.whole(batches), batches, len(batches)
    if whole is None or len(hyp) > chunk_size(hyp) or 2 * len(whole) > MAX_TREES:
        own = torch.stack([_log_self(metric, batch) for batch in batches])
        return own, torch.stack([log_kernels(metric, hyp, ref) for ref in refs])
    trees, labels, words = metric.hashed(whole)
    pairs = [(k, k) for k in range(number)] + [(0, k) for k in range(1, number)]
    both = side(trees.nodes, labels, words).pairs(number, pairs)
    found = log_kernel(*both, metric.decay, segments=len(hyp)).view(len(pairs), -1)
    return found[:number], found[number:]


def log_cosine(metric: TreeKernelMetric, hyp: TreeBatch, refs: Sequence[TreeBatch]) -> Tensor:
    """Return the log of the cosine with the best reference, float64 [B]."""
    check_references(refs)
    own, both = _kernels(metric, [hyp, *refs])
    cosine = both - (own[0] + own[1:]) / 2
    # the kernels of an empty tree are 0
    return cosine.masked_fill_(both.isinf(), -math.inf).amax(0).clamp_(max=0)


def statistics(metric: TreeKernelMetric, hyp: TreeBatch, refs: Sequence[TreeBatch]) -> Tensor:
    """Return segments and scores, float64 [B,2]."""
    score = log_cosine(metric, hyp, refs).exp()
    return torch.stack([torch.ones_like(score), score], 1)


def explain(metric: TreeKernelMetric, hyp: TreeBatch, refs: Sequence[TreeBatch]) -> Explanation:
    """Return the pairs of nodes with equal productions, each with log C, its part of K(h, r)."""
    check_references(refs)
    # log K(h, h) is the same for all references
    cosines = [log_kernels(metric, hyp, ref) - _log_self(metric, ref) / 2 for ref in refs]
    best = torch.stack(cosines).nan_to_num(nan=-math.inf).argmax(0)
    trees, *others = (metric.trees(batch) for batch in (hyp, *refs))
    own, *sides = (side(batch.nodes, batch.labels.hashes) for batch in (trees, *others))
    first = trees.nodes.offsets
    pairs = [
        node_pairs(own, other, (first, ref.nodes.offsets), metric.decay)
        for other, ref in zip(sides, others, strict=True)
    ]
    return Explanation("pair", trees, others, pairs=pairs, best=best)
