"""Tensor engine of TKM and DTKM: log kernels of batches of trees, in chunks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from tensormt.explanation import Explanation
from tensormt.kernels.matches import node_pairs
from tensormt.kernels.tree_kernel import Side, log_kernel, side
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


def log_cosine(metric: TreeKernelMetric, hyp: TreeBatch, refs: Sequence[TreeBatch]) -> Tensor:
    """Return the log of the cosine with the best reference, float64 [B]."""
    check_references(refs)
    best = torch.full((len(hyp),), -math.inf, dtype=torch.float64, device=hyp.device)
    own = _log_self(metric, hyp)
    for ref in refs:
        both = log_kernels(metric, hyp, ref)
        cosine = both - (own + _log_self(metric, ref)) / 2
        best = torch.maximum(best, torch.where(both.isinf(), -math.inf, cosine))
    return best.clamp(max=0)


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
