"""The tree kernel of Collins & Duffy (2001), over matching node pairs, in log space.

    K(a, b) = Σ over node pairs C(x, y)
    C(x, y) = 0 where x or y has no child or their productions differ,
              else decay · Π over children k of (1 + C(x_k, y_k))

Only pairs with equal productions exist: the nodes of both sides are sorted by (segment,
production), each left node meets one run of right nodes, and pair (i, j) has the address
base(i) + rank(j). A child pair of equal context (the parents' production and the place below it)
feeds exactly one parent pair:

    S(pair) = log decay + Σ softplus(S(child pair))     from the deepest up, one scatter-add a depth
    log K   = logsumexp of S over a segment's pairs

Unmatched children contribute a factor of 1, so arity vanishes; memory grows with nodes plus
matching pairs. Of a production 42 bits are compared: 25 nodes a side have a false pair with
probability 10⁻¹⁰. K grows by about 0.9 nats a token: log space keeps 250 words and long chains
finite and exact to about 1e-12. Three host syncs a call (numbers of pairs, of child pairs, of
child pairs at each depth), and three for each `Side`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.kernels import hashing
from tensormt.kernels.arrays import argsort, nonzero, repeat, runs, search, sort_groups, take
from tensormt.kernels.nodes import Nodes

__all__ = ["Side", "log_kernel", "side"]


_NAME_BITS, _PLACE_BITS = 42, 20  # of a production, and of a node in its tree or a tree in a batch


class Side(NamedTuple):
    """What the kernel needs of the trees on one side, made once for many kernels.

    The inner nodes sorted by (segment, production): key [m] and flat index node [m], with the start
    and the size of each one's run of equal keys; rank [n], a node's place within its run; context
    [n], a key of the parent's production and the place below it.
    """

    nodes: Nodes
    context: Tensor
    key: Tensor
    node: Tensor
    start: Tensor
    size: Tensor
    rank: Tensor


def side(nodes: Nodes, names: Tensor) -> Side:
    """The inner nodes by a key of their segment and production; `names` hash the labels."""
    production = nodes.productions(names)
    cells = nonzero(nodes.arity > 0)
    if max(nodes.width, nodes.trees) >> _PLACE_BITS:
        raise TensorMTError(
            f"the tree kernel takes trees and batches of up to {1 << _PLACE_BITS:,}: "
            f"this batch has {nodes.trees:,} trees, the largest of {nodes.width:,} nodes"
        )
    # production and place in one number: sorting it sorts the nodes
    segment = take(nodes.segment, cells)
    name = take(production, cells) & ((1 << _NAME_BITS) - 1)
    place = cells - take(nodes.offsets, segment)
    packed, segment, _ = sort_groups([((name << _PLACE_BITS) | place, segment)], nodes.trees)
    node = take(nodes.offsets, segment) + (packed & ((1 << _PLACE_BITS) - 1))
    key = (segment << _NAME_BITS) | (packed >> _PLACE_BITS)
    starts, sizes = runs(key)
    owner, place = repeat(sizes)
    rank = torch.zeros_like(production)
    rank.scatter_(0, node, place)
    above = take(production, nodes.parent.clamp(min=0)) if len(nodes) else production
    context = torch.where(nodes.parent < 0, 0, hashing.pair(above, nodes.position))
    return Side(nodes, context, key, node, take(starts, owner), take(sizes, owner), rank)


def log_kernel(a: Side, b: Side, decay: float) -> Tensor:
    """log K of each pair of trees (tree i of a, tree i of b), float64 [B]; -inf where K is 0."""
    left, right, device = a.nodes, b.nodes, a.key.device
    if a is b:
        low, count = a.start, a.size
    else:
        low = search(b.key, a.key)
        # one spare key at the end, which equals none, stands for all that lie behind the last
        keys = torch.cat([b.key, b.key.new_full((1,), -1)])
        found = torch.cat([b.size, b.size.new_zeros(1)])
        count = torch.where(take(keys, low) == a.key, take(found, low), 0)
    base = torch.zeros_like(a.rank)
    base.scatter_(0, a.node, count.cumsum(0) - count)
    owner, place = repeat(count)
    x, y = take(a.node, owner), take(b.node, take(low, owner) + place)
    scores = torch.full(x.shape, math.log(decay), dtype=torch.float64, device=device)

    # child pairs that feed a parent pair, the deepest first
    context = take(a.context, x)
    child = nonzero((context == take(b.context, y)) & (context != 0))
    below, beside = take(x, child), take(y, child)
    up, over = take(left.parent, below), take(right.parent, beside)
    depth = take(left.depth, below)
    order = argsort((-depth).to(torch.int16 if left.width < 1 << 15 else torch.int32))
    child = take(child, order)
    parent = take(take(base, up) + take(b.rank, over), order)
    sizes = torch.bincount(depth).tolist()[::-1]
    zero = scores.new_zeros(())
    # logaddexp(S, 0) is softplus without torch's cut to the identity above 20
    for low_pairs, high_pairs in zip(
        torch.split(child, sizes), torch.split(parent, sizes), strict=True
    ):
        scores.index_add_(0, high_pairs, torch.logaddexp(take(scores, low_pairs), zero))

    segment = take(left.segment, x)
    peak = torch.full((left.trees,), -math.inf, dtype=torch.float64, device=device)
    peak.scatter_reduce_(0, segment, scores, "amax")
    total = torch.zeros_like(peak).index_add_(0, segment, (scores - take(peak, segment)).exp())
    return peak + total.log()
