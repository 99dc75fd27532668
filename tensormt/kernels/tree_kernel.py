"""The tree kernel of Collins & Duffy (2001), over matching node pairs, in log space.

    K(a, b) = Σ over node pairs C(x, y)
    C(x, y) = 0 where x or y has no child or their productions differ,
              else decay · Π over children k of (1 + C(x_k, y_k))

Only pairs with equal productions exist: the nodes of both sides are sorted by (segment,
production), each left node meets one run of right nodes, and pair (i, j) has the address
base(i) + j. A child pair of equal context (the parents' production and the place below it)
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
from tensormt.kernels import hashing
from tensormt.kernels.backend import (
    argsort,
    copies,
    nonzero,
    owners,
    runs,
    search,
    sort,
    sort_groups,
    take,
    take_or,
)
from tensormt.kernels.nodes import Nodes, sum_children

__all__ = ["Side", "joined", "log_kernel", "side"]


_NAME_BITS, _PLACE_BITS = 42, 20  # of a production, and of a node in its tree or a tree in a batch
_TREE_BITS = 10  # of a tree, or of a node, among few
_BAND, _GROUP, _MOST = 1 << 20, 1 << 24, 1 << 27  # pairs of a band, of a group, of one segment


class Side(NamedTuple):
    """What the kernel needs of the trees on one side, made once for many kernels.

    The m inner nodes sorted by (segment, production), all [m]: their key and segment; start and
    size of the run of nodes that each meets within its own side; level, 0 at the deepest; context,
    the parent's production and the place below it; above, which of the m is the parent (m at a
    root); node, its flat number. `meeting` is given where several trees of a segment are one side.
    """

    trees: int
    key: Tensor
    segment: Tensor
    start: Tensor
    size: Tensor
    level: Tensor
    context: Tensor
    above: Tensor
    node: Tensor
    meeting: Meeting | None


class Meeting(NamedTuple):
    """Which of many kernels a pair of nodes adds to: row of one plus column of the other, [m]."""

    kernels: int
    row: Tensor
    column: Tensor


def side(nodes: Nodes, names: Tensor, words: Tensor | None = None) -> Side:
    """The inner nodes by a key of their segment and production.

    `names` are the hashes of the labels' dictionary, `words` those of the words' where these are to
    be leaves though they are no nodes of their own. Two host syncs.
    """
    if max(nodes.trees, nodes.width) >> _PLACE_BITS:
        raise TensorMTError(
            f"the tree kernel takes trees and batches of up to {1 << _PLACE_BITS:,}: "
            f"this batch has {nodes.trees:,} trees, the largest of {nodes.width:,} nodes"
        )
    inner, production, position = _productions(nodes, names, words)
    segment = take(nodes.segment, inner)
    # segment, production and place in one number where they have room: sorting it sorts the nodes
    bits = nodes.width.bit_length()
    packed = (production << bits) | (inner - take(nodes.offsets, segment))
    if nodes.trees.bit_length() + _NAME_BITS + bits < 64:
        packed = sort((segment << (_NAME_BITS + bits)) | packed)
        key = packed >> bits
        segment = key >> _NAME_BITS
    else:
        packed, segment, _ = sort_groups([(packed, segment)], nodes.trees)
        key = (segment << _NAME_BITS) | (packed >> bits)
    node = take(nodes.offsets, segment) + (packed & ((1 << bits) - 1))
    starts, sizes = runs(key)
    start, size = (copies(values, sizes, node.shape[0]) for values in (starts, sizes))
    places = _places(nodes, node, key, position)
    return Side(nodes.trees, key, segment, start, size, *places, node, None)


def joined(nodes: Nodes, names: Tensor, words: Tensor | None, segments: int) -> Side:
    """Few trees of several sides, one side after the other, as one whose first tree meets all.

    The kernels of such a side with itself are, of each segment: the first tree with each tree, then
    every other tree with itself, [1+2R,B] end to end. Up to 1,024 nodes.
    """
    assert max(nodes.trees, len(nodes)) <= 1 << _TREE_BITS
    inner, production, position = _productions(nodes, names, words)
    tree = take(nodes.segment, inner)
    group = (tree % max(segments, 1)) << _NAME_BITS
    packed = sort(((group | production) << _TREE_BITS) | inner)
    node = packed & ((1 << _TREE_BITS) - 1)
    key = packed >> _TREE_BITS
    segment = key >> _NAME_BITS
    # nodes of one production stand tree after tree: all but those of the first meet their own
    tree = take(nodes.segment, node)
    own = (key << _TREE_BITS) | tree
    last = torch.where(tree < segments, (1 << _TREE_BITS) - 1, 0)
    start = search(own, own - (tree & last))
    size = search(own, own | last, right=True) - start
    others = nodes.trees - segments
    meeting = Meeting(nodes.trees + others, (last == 0) * others, tree)
    places = _places(nodes, node, key, position)
    return Side(segments, key, segment, start, size, *places, node, meeting)


def _productions(
    nodes: Nodes, names: Tensor, words: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """The inner nodes [m], _NAME_BITS of their productions [m], and positions of all nodes [n]."""
    name = (1 << _NAME_BITS) - 1
    if words is None:
        return nodes.inner, nodes.inner_productions(names) & name, nodes.position
    own, leaf = take_or(names, nodes.label, 0), take_or(words, nodes.word, 0)
    tagged = nodes.label >= 0  # a word beside other children has no tag, and is a node
    own = torch.where(tagged, own, leaf)
    # every other word is the first child of its tag
    grows = tagged & (nodes.word >= 0)
    position = nodes.position + take(torch.cat([grows, grows.new_zeros(1)]), nodes.up)
    below = sum_children(nodes, own * nodes.places(position))
    below.addcmul_(leaf * grows, hashing.odd_table(1, leaf.device))
    inner = nonzero((nodes.arity > 0) | grows)
    return inner, hashing.pair(take(own, inner), take(below, inner)) & name, position


def _places(
    nodes: Nodes, node: Tensor, key: Tensor, position: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Level, context and above of a `Side`, from its nodes [m], their keys, and all positions."""
    count = node.shape[0]
    number = node.new_full((len(nodes) + 1,), count)  # a spare one stands above the roots
    number.scatter_(0, node, torch.arange(count, device=node.device))
    above = take(number, take(nodes.up, node))
    # pairs are of one segment, so it may fall out of the key
    context = take(torch.cat([key, key.new_full((1,), -1)]), above) << _PLACE_BITS
    level = take(nodes.depth, node).neg_().add_(nodes.width)
    short = torch.uint8 if nodes.width < 1 << 8 else torch.int32
    return level.to(short), context.add_(take(position, node)), above


Visit = Callable[[Tensor, Tensor, Tensor], object]


def log_kernel(
    a: Side,
    b: Side,
    decay: float,
    first: int = 1,
    visit: Visit | None = None,
) -> Tensor:
    """log K of each pair of trees (tree i of a, tree i of b), float64 [B]; -inf for K = 0.

    A side of `joined` with itself gives all its kernels.

    `first` is the number of the first tree, for errors. `visit` is called with all node pairs, band
    by band: the numbers of their nodes among those of a and of b, and log C, [p] each.
    """
    low, count = _matches(a, b)
    sizes = count.new_zeros(a.trees).index_add_(0, a.segment, count).tolist()
    kernels = a.trees if a.meeting is None else a.meeting.kernels
    peak = count.new_full((kernels,), -math.inf, dtype=torch.float64)
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
    deepest come first. `low` and `count` are the matches of a's inner nodes; peak and total, one
    for each kernel, are changed in place.
    """
    if rows is not None:
        low, count = take(low, rows), take(count, rows)
    ends = count.cumsum(0)
    # pair (x, y) is number base(x) + y; one more cell takes what goes above the roots
    base = count.new_full((a.key.shape[0] + 1,), pairs - b.key.shape[0])
    if rows is None:
        torch.sub(ends - count, low, out=base[:-1])
    else:
        base.scatter_(0, rows, ends - count - low)
    scores = count.new_full((pairs + 1,), log_decay, dtype=torch.float64)
    zero = scores.new_zeros(())  # logaddexp(S, 0) is softplus without torch's cut above 20
    for start, stop, before, after in _bands(ends, pairs):
        x = owners(count[start:stop], after - before)
        if rows is not None:
            x = take(rows[start:stop], x)
        y = torch.arange(before, after, device=x.device).sub_(take(base, x))

        # child pairs that feed a parent pair, the deepest first
        child = nonzero(take(a.context, x) == take(b.context, y))
        level = take(a.level, take(x, child))
        order = argsort(level)
        child = take(child, order)
        parent = take(base, take(a.above, take(x, child))).add_(take(b.above, take(y, child)))
        sizes = [size for size in torch.bincount(level).tolist() if size]
        steps = (cells.split_with_sizes(sizes) for cells in (child.add_(before), parent))
        for below, above in zip(*steps, strict=True):
            scores.index_add_(0, above, torch.logaddexp(take(scores, below), zero))

        owner = take(a.segment, x)
        if a.meeting is not None:
            owner = take(a.meeting.row, x).add_(take(a.meeting.column, y))
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
