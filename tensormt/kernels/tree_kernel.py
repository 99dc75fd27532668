"""The tree kernel of Collins & Duffy (2001), over matching node pairs, in log space.

    K(a, b) = Σ over node pairs C(x, y)
    C(x, y) = 0 where x or y has no child or their productions differ,
              else decay · Π over children k of (1 + C(x_k, y_k))

Only pairs with equal productions are stored: the nodes of both sides are sorted by (segment,
production), so that each left node is paired with one run of right nodes, and pair (i, j) has the
address base(i) + j. A child pair of equal context (the production of the parents and the position
below them) contributes to exactly one parent pair:

    S(pair) = log decay + Σ softplus(S(child pair))     bottom-up, one scatter-add per depth
    log K   = logsumexp of S over the pairs of a segment

Unmatched children contribute a factor of 1, so the arity does not appear. The number of pairs is
known before memory is allocated: segments are processed in groups of at most 2²⁴ pairs (8 bytes
each), and everything else that a pair needs is computed for bands of 2²⁰ pairs, the deepest first.
One segment may have up to 2²⁷ pairs: their number grows as the square of the number of nodes where
equal productions repeat, as in a chain of 10,000 X → X. Of a production 42 bits are compared: 25
nodes per side have a false pair with probability 10⁻¹⁰. log K grows by about 0.9 per token: log
space keeps 250 words and long chains finite and exact to about 1e-12. Three host synchronisations
per call (numbers of pairs, of child pairs, of child pairs at each depth; two more for each further
band), one for each `Side`, one for its pairs of parts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.kernels import hashing
from tensormt.kernels.backend import (
    argsort,
    at_a_time,
    copies,
    count_values,
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

# bits of a production, and of the index of a node in its tree or of a tree in a batch
_NAME_BITS, _PLACE_BITS = 42, 20
MAX_TREES = 1 << _PLACE_BITS  # trees of a batch, and nodes of a tree
_BAND, _GROUP, _MOST = 1 << 20, 1 << 24, 1 << 27  # pairs per band, per group, per segment
_BYTES = 128  # of a pair of a band, where it need not fit into a CPU's cache


@dataclass(frozen=True, eq=False)
class Side:
    """The trees of one side, prepared once for any number of kernels.

    The m inner nodes, sorted by (segment, production), with their attributes, each [m]:

    - key: segment and production in one int64; segment: the tree it belongs to
    - level: 0 at the deepest, below `levels`
    - context: the production of the parent and the position below it, below 0 for a root
    - above: index of the parent among the m nodes, m or more for a root
    - node: its index among all nodes of the batch
    """

    trees: int
    key: Tensor
    segment: Tensor
    level: Tensor
    context: Tensor
    above: Tensor
    node: Tensor
    levels: int

    @cached_property
    def runs(self) -> tuple[Tensor, Tensor]:
        """Start and size of the run of nodes that have the same key, int64 [m] each."""
        found = runs(self.key)
        start, size = (copies(values, found[1], self.key.shape[0]) for values in found)
        return start, size

    def pairs(self, parts: int, chosen: Sequence[tuple[int, int]]) -> tuple[Side, Side]:
        """Return both sides of some pairs of parts, the trees of one pair after the other.

        The trees are `parts` parts of equal size. One host synchronisation (the nodes of each).
        """
        size = self.trees // parts
        bounds = torch.arange(parts + 1, device=self.key.device) * (size << _NAME_BITS)
        ends = search(self.key, bounds).tolist()
        one, other = (
            [(ends[part], ends[part + 1], (pair - part) * size) for pair, part in enumerate(side)]
            for side in zip(*chosen, strict=True)
        )
        return self._gathered(one, len(chosen) * size), self._gathered(other, len(chosen) * size)

    def _gathered(self, ranges: Sequence[tuple[int, int, int]], trees: int) -> Side:
        """Ranges of nodes one after the other, each with its start, stop and shift of segments."""
        keys, aboves, done = [], [], 0
        for start, stop, shift in ranges:
            keys.append(self.key[start:stop] + (shift << _NAME_BITS))
            aboves.append(self.above[start:stop] + (done - start))
            done += stop - start
        key, above = torch.cat(keys), torch.cat(aboves)
        level, context, node = (
            torch.cat([values[start:stop] for start, stop, _ in ranges])
            for values in (self.level, self.context, self.node)
        )
        return Side(trees, key, key >> _NAME_BITS, level, context, above, node, self.levels)


def side(nodes: Nodes, names: Tensor, words: Tensor | None = None) -> Side:
    """Prepare the inner nodes of B trees, sorted by segment and production.

    Args:
        nodes: the trees.
        names: hashes of the label dictionary, int64.
        words: hashes of the word dictionary, int64, where the words are leaves though they are not
            nodes of their own.

    Costs one host synchronisation.
    """
    if max(nodes.trees, nodes.width) >= MAX_TREES:
        raise TensorMTError(
            f"the tree kernel takes trees and batches of up to {MAX_TREES:,}: "
            f"this batch has {nodes.trees:,} trees, the largest of {nodes.width:,} nodes"
        )
    inner, production, position = _productions(nodes, names, words)
    segment = take(nodes.segment, inner)
    # segment, production and place are packed into one integer if they fit: one sort is enough
    bits = nodes.width.bit_length()
    packed = (production << bits) | (inner - take(nodes.offsets, segment))
    if nodes.trees.bit_length() + _NAME_BITS + bits < 64:
        packed = sort((segment << (_NAME_BITS + bits)) | packed)
        key = packed >> bits
        segment = key >> _NAME_BITS
    else:
        packed, segment = sort_groups([(packed, segment)], nodes.trees)
        key = (segment << _NAME_BITS) | (packed >> bits)
    node = take(nodes.offsets, segment) + (packed & ((1 << bits) - 1))
    places = _places(nodes, node, key, position)
    return Side(nodes.trees, key, segment, *places, node, nodes.width + 1)


def _productions(
    nodes: Nodes, names: Tensor, words: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Return inner nodes [m], their productions [m] and the positions of all nodes [n]."""
    name = (1 << _NAME_BITS) - 1
    if words is None:
        return nodes.inner, nodes.inner_productions(names) & name, nodes.position
    own, leaf = take_or(names, nodes.label, 0), take_or(words, nodes.word, 0)
    tagged = nodes.label >= 0  # a word with siblings has no tag and is a node of its own
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
    """Return level, context and above of a `Side` from its nodes [m] and keys [m].

    position: that of all nodes [n].
    """
    count = node.shape[0]
    number = node.new_full((len(nodes) + 1,), count)  # the additional cell is the roots' parent
    number.scatter_(0, node, torch.arange(count, device=node.device))
    above = take(number, take(nodes.up, node))
    name = torch.cat([key & ((1 << _NAME_BITS) - 1), key.new_full((1,), -1)])
    context = take(name, above) << _PLACE_BITS
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
    *,
    segments: int | None = None,
    band: int | None = None,
    group: int = _GROUP,
) -> Tensor:
    """Return log K of tree i of a and tree i of b for each i, float64 [B]; -inf for K = 0.

    Args:
        a: B trees.
        b: B trees.
        decay: factor of each production, as in the module docstring.
        first: number of the first tree, for error messages.
        visit: called with all node pairs, band by band: their indices among the nodes of a and
            of b, and log C, [p] each.
        segments: after how many trees their numbers start again, for error messages; None: never.
        band: pairs per band, see the module docstring; None: what fits a CPU's cache or a device.
        group: pairs per group.
    """
    band = at_a_time(a.key, _BAND, _BYTES) if band is None else band
    low, count = _matches(a, b)
    sizes = count.new_zeros(a.trees).index_add_(0, a.segment, count).tolist()
    peak = count.new_full((a.trees,), -math.inf, dtype=torch.float64)
    total = torch.zeros_like(peak)
    for start, stop in _groups(sizes, first, segments or a.trees, group):
        number = sum(sizes[start:stop])
        whole = stop - start == len(sizes) and number <= band
        rows = None if whole else _deepest_first(a, start, stop)
        _add_pairs(a, b, low, count, rows, number, band, math.log(decay), peak, total, visit)
    return peak + total.log()


def _deepest_first(a: Side, start: int, stop: int) -> Tensor:
    """The inner nodes of the segments start…stop-1, by decreasing depth."""
    rows = nonzero((a.segment >= start) & (a.segment < stop))
    return take(rows, argsort(take(a.level, rows)))


def _matches(a: Side, b: Side) -> tuple[Tensor, Tensor]:
    """For each inner node of a: the first node of b with the same key, and how many there are."""
    if a is b:
        return a.runs
    low = search(b.key, a.key)
    return low, search(b.key, a.key, right=True).sub_(low)


def _groups(sizes: list[int], first: int, segments: int, most: int) -> Iterator[tuple[int, int]]:
    """Split trees into groups of at most so many pairs, given the pairs of each: start, stop."""
    if sum(sizes) <= most:
        yield 0, len(sizes)
        return
    largest = max(sizes)
    if largest > _MOST:
        number = sizes.index(largest) % segments + first
        raise TensorMTError(
            f"segment {number} has {largest:,} pairs of nodes with equal "
            f"productions, more than the {_MOST:,} that the tree kernel takes: "
            "a production repeats too often in these trees"
        )
    start = pairs = 0
    for stop, size in enumerate(sizes):
        if pairs and pairs + size > most:
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
    band: int,
    log_decay: float,
    peak: Tensor,
    total: Tensor,
    visit: Visit | None,
) -> None:
    """Add exp S of all pairs of the inner nodes rows [m] of a to total · eᵖᵉᵃᵏ.

    rows None: all rows in one band, with nothing added before. Otherwise the deepest rows come
    first. `low` and `count` are the matches of a's inner nodes; peak and total [B] are changed in
    place.
    """
    if rows is not None:
        low, count = take(low, rows), take(count, rows)
    ends = count.cumsum(0)
    # pair (x, y) has the index base(x) + y
    base = ends - count - low
    if rows is not None:
        base = torch.zeros_like(a.key).scatter_(0, rows, base)
    scores = count.new_full((pairs,), log_decay, dtype=torch.float64)
    zero = scores.new_zeros(())  # logaddexp(S, 0) is softplus without torch's threshold at 20
    for start, stop, before, after in _bands(ends, pairs, band):
        x = owners(count[start:stop], after - before)
        if rows is not None:
            x = take(rows[start:stop], x)
        y = torch.arange(before, after, device=x.device).sub_(take(base, x))

        # child pairs that contribute to a parent pair, the deepest first
        context = take(a.context, x)
        child = nonzero((context == take(b.context, y)).logical_and_(context >= 0))
        level = take(a.level, take(x, child))
        order = argsort(level)
        child = take(child, order)
        parent = take(base, take(a.above, take(x, child))).add_(take(b.above, take(y, child)))
        sizes = [size for size in count_values(level, a.levels).tolist() if size]
        steps = (cells.split_with_sizes(sizes) for cells in (child.add_(before), parent))
        for below, above in zip(*steps, strict=True):
            scores.index_add_(0, above, torch.logaddexp(take(scores, below), zero))

        owner = take(a.segment, x)
        done = scores[before:after]
        if visit is not None:
            visit(x, y, done)
        higher = peak.scatter_reduce(0, owner, done, "amax")
        if rows is not None:
            # the difference is NaN while the peak is -inf: the total is 0 and stays 0
            total.mul_((peak - higher).nan_to_num_(0.0).exp_())
        total.index_add_(0, owner, (done - take(higher, owner)).exp_())
        peak.copy_(higher)


def _bands(ends: Tensor, pairs: int, band: int) -> Iterator[tuple[int, int, int, int]]:
    """Split rows into bands of about `band` pairs: first and last row, first and last pair.

    `ends` [m] are the cumulative numbers of pairs. One host synchronisation if there are several
    bands.
    """
    if pairs <= band:
        yield 0, ends.shape[0], 0, pairs
        return
    marks = torch.arange(band, pairs, band, device=ends.device)
    rows = search(ends, marks) + 1
    after = take(ends, rows - 1)
    cuts = torch.stack([rows, after], 1).tolist()
    row = pair = 0
    for stop, last in [*cuts, [ends.shape[0], pairs]]:
        if last > pair:
            yield row, stop, pair, last
            row, pair = stop, last
