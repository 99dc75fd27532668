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

Unmatched children contribute a factor of 1, so arity vanishes. The number of pairs is known before
memory is asked for them: segments are taken in groups of at most 2²⁴ pairs (8 bytes each), and what
else a pair needs is made for bands of 2²⁰ pairs, the deepest first. One segment may have up to 2²⁷
pairs: equal productions that repeat, such as a chain of 10,000 X → X, make them grow as the square
of the nodes. Of a production 42 bits are compared: 25 nodes a side have a false pair with
probability 10⁻¹⁰. K grows by about 0.9 nats a token: log space keeps 250 words and long chains
finite and exact to about 1e-12. Three host syncs a call (numbers of pairs, of child pairs, of child
pairs at each depth; two more for each further band), and two for each `Side`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.kernels.arrays import nonzero, owners, ranges, repeat, split, take
from tensormt.kernels.nodes import Nodes
from tensormt.kernels.sorting import argsort, runs, search, sort_groups

__all__ = ["Side", "log_kernel", "paired", "side"]


_NAME_BITS, _PLACE_BITS = 42, 20  # of a production, and of a node in its tree or a tree in a batch
_BAND, _GROUP, _MOST = 1 << 20, 1 << 24, 1 << 27  # pairs of a band, of a group, of one segment


class Side(NamedTuple):
    """What the kernel needs of the trees on one side, made once for many kernels.

    The m inner nodes sorted by (segment, production), all [m]: their key and segment; start and
    size of the run of equal keys that each is in; level, 0 at the deepest; context, a key of the
    parent's production and the place below it, 0 at a root; above, which of the m is the parent (m
    at a root), and its rank within its run; node, its flat number.
    """

    trees: int
    key: Tensor
    segment: Tensor
    start: Tensor
    size: Tensor
    level: Tensor
    context: Tensor
    above: Tensor
    above_rank: Tensor
    node: Tensor


def side(nodes: Nodes, names: Tensor) -> Side:
    """The inner nodes by a key of their segment and production; `names` hash the labels."""
    if max(nodes.width, nodes.trees) >> _PLACE_BITS:
        raise TensorMTError(
            f"the tree kernel takes trees and batches of up to {1 << _PLACE_BITS:,}: "
            f"this batch has {nodes.trees:,} trees, the largest of {nodes.width:,} nodes"
        )
    production = nodes.productions(names)
    # production and place in one number: sorting it sorts the nodes
    segment = take(nodes.segment, nodes.inner)
    name = take(production, nodes.inner) & ((1 << _NAME_BITS) - 1)
    place = nodes.inner - take(nodes.offsets, segment)
    packed, segment, _ = sort_groups([((name << _PLACE_BITS) | place, segment)], nodes.trees)
    node = take(nodes.offsets, segment) + (packed & ((1 << _PLACE_BITS) - 1))
    key = (segment << _NAME_BITS) | (packed >> _PLACE_BITS)
    starts, sizes = runs(key)
    run, rank = repeat(sizes, node.shape[0])

    # parents as numbers in this order; a spare one stands above the roots
    up = take(nodes.up, node)
    number = torch.full((len(nodes) + 1,), node.shape[0], device=node.device)
    number.scatter_(0, node, torch.arange(node.shape[0], device=node.device))
    above = take(number, up)
    spare = production.new_zeros(1)
    context = take(torch.cat([production, spare]), up).mul_(take(nodes.place, node))
    short = torch.uint8 if nodes.width < 1 << 8 else torch.int32
    return Side(
        nodes.trees,
        key,
        segment,
        take(starts, run),
        take(sizes, run),
        (nodes.width - take(nodes.depth, node)).to(short),
        context,
        above,
        take(torch.cat([rank, spare]), above),
        node,
    )


def paired(trees: Side, left: Tensor, right: Tensor) -> Side:
    """The trees left [p] as a side of its own, whose keys are those of the trees right [p].

    So one call of `log_kernel` with the whole side gives K(left, right) of any pairs of its trees.
    """
    count = torch.bincount(trees.segment, minlength=trees.trees)
    first, sizes = take(count.cumsum(0) - count, left), take(count, left)
    rows = ranges(first, sizes)
    pair = owners(sizes, rows.shape[0])
    shift = take(sizes.cumsum(0) - sizes - first, pair)
    above = take(trees.above, rows)
    root = above == trees.key.shape[0]
    name = take(trees.key, rows) & ((1 << _NAME_BITS) - 1)
    return trees._replace(
        trees=left.shape[0],
        key=(take(right, pair) << _NAME_BITS) | name,
        segment=pair,
        start=take(trees.start, rows),
        size=take(trees.size, rows),
        level=take(trees.level, rows),
        context=take(trees.context, rows),
        above=torch.where(root, rows.shape[0], above + shift),
        above_rank=take(trees.above_rank, rows),
        node=take(trees.node, rows),
    )


Visit = Callable[[Tensor, Tensor, Tensor], object]


def log_kernel(
    a: Side,
    b: Side,
    decay: float,
    first: int = 1,
    visit: Visit | None = None,
) -> Tensor:
    """log K of each pair of trees (tree i of a, tree i of b), float64 [B]; -inf for K = 0.

    `first` is the number of the first tree, for errors. `visit` is called with all node pairs, band
    by band: the numbers of their nodes among those of a and of b, and log C, [p] each.
    """
    low, count = _matches(a, b)
    pairs = torch.zeros(a.trees, dtype=torch.int64, device=count.device)
    sizes = pairs.index_add_(0, a.segment, count).tolist()
    peak = torch.full(pairs.shape, -math.inf, dtype=torch.float64, device=count.device)
    total = torch.zeros_like(peak)
    for start, stop in _groups(sizes, first):
        number = sum(sizes[start:stop])
        whole = stop - start == len(sizes) and number <= _BAND
        rows = None if whole else _deepest_first(a, start, stop)
        _add_pairs(a, b, low, count, rows, number, math.log(decay), peak, total, visit)
    return peak + total.log()


def _deepest_first(a: Side, start: int, stop: int) -> Tensor:
    """The inner nodes of the segments start…stop-1, by depth."""
    rows = nonzero((a.segment >= start) & (a.segment < stop))
    return take(rows, argsort(take(a.level, rows)))


def _matches(a: Side, b: Side) -> tuple[Tensor, Tensor]:
    """For each inner node of a: the first node of b with its key, and the number of these."""
    if a is b:
        return a.start, a.size
    low = search(b.key, a.key)
    # one spare key at the end, which equals none, stands for all that lie behind the last
    keys = torch.cat([b.key, b.key.new_full((1,), -1)])
    sizes = torch.cat([b.size, b.size.new_zeros(1)])
    return low, torch.where(take(keys, low) == a.key, take(sizes, low), 0)


def _groups(sizes: list[int], first: int) -> Iterator[tuple[int, int]]:
    """Cut segments into groups of at most _GROUP pairs, given the pairs of each: from, to."""
    if sum(sizes) <= _GROUP:
        yield 0, len(sizes)
        return
    largest = max(sizes)
    if largest > _MOST:
        raise TensorMTError(
            f"segment {sizes.index(largest) + first} has {largest:,} pairs of nodes with equal "
            f"productions, more than the {_MOST:,} that the tree kernel takes: "
            "a production repeats too often in these trees"
        )
    start = pairs = 0
    for stop, size in enumerate(sizes):
        if pairs and pairs + size > _GROUP:
            yield start, stop
            start, pairs = stop, 0
        pairs += size
    yield start, len(sizes)


def _add_pairs(
    a: Side,
    b: Side,
    low: Tensor,
    count: Tensor,
    rows: Tensor | None,
    pairs: int,
    log_decay: float,
    peak: Tensor,
    total: Tensor,
    visit: Visit | None,
) -> None:
    """Add exp S of all pairs of the inner nodes rows [m] of a to total · eᵖᵉᵃᵏ.

    None: all rows at once, the first that are added. Where rows are several bands of pairs, the
    deepest come first. `low` and `count` are the matches of a's inner nodes; peak and total [B] are
    changed in place.
    """
    if rows is not None:
        low, count = take(low, rows), take(count, rows)
    ends = count.cumsum(0)
    # the spare cell behind the last pair takes what goes above the roots
    base = torch.full((a.key.shape[0] + 1,), pairs, device=count.device)
    if rows is None:
        torch.sub(ends, count, out=base[:-1])
    else:
        base.scatter_(0, rows, ends - count)
    scores = torch.full((pairs + 1,), log_decay, dtype=torch.float64, device=count.device)
    zero = scores.new_zeros(())  # logaddexp(S, 0) is softplus without torch's cut above 20
    for start, stop, before, after in _bands(ends, pairs):
        owner, place = repeat(count[start:stop], after - before)
        x = owner if rows is None else take(rows[start:stop], owner)
        y = take(low[start:stop], owner).add_(place)

        # child pairs that feed a parent pair, the deepest first
        child = nonzero(take(a.context, x) == take(b.context, y))
        level = take(a.level, take(x, child))
        order = argsort(level)
        child = take(child, order)
        parent = take(base, take(a.above, take(x, child))).add_(take(b.above_rank, take(y, child)))
        sizes = [size for size in torch.bincount(level).tolist() if size]
        steps = zip(split(child + before, sizes), split(parent, sizes), strict=True)
        for below, above in steps:
            scores.index_add_(0, above, torch.logaddexp(take(scores, below), zero))

        owner = take(a.segment, x)
        done = scores[before:after]
        if visit is not None:
            visit(x, y, done)
        higher = peak.scatter_reduce(0, owner, done, "amax")
        if rows is not None:
            # -inf is no peak yet: the total is 0, and stays so
            total.mul_((peak - higher).nan_to_num_(0.0).exp_())
        total.index_add_(0, owner, (done - take(higher, owner)).exp_())
        peak.copy_(higher)


def _bands(ends: Tensor, pairs: int) -> Iterator[tuple[int, int, int, int]]:
    """Cut rows into bands of about _BAND pairs: rows from, to and pairs from, to.

    `ends` [m] are the running sums of the rows' pairs. One host sync where bands are several.
    """
    if pairs <= _BAND:
        yield 0, ends.shape[0], 0, pairs
        return
    marks = torch.arange(_BAND, pairs, _BAND, device=ends.device)
    rows = search(ends, marks) + 1
    after = take(ends, rows - 1)
    cuts = torch.stack([rows, after], 1).tolist()
    row = pair = 0
    for stop, last in [*cuts, [ends.shape[0], pairs]]:
        if last > pair:
            yield row, stop, pair, last
            row, pair = stop, last
