"""Matched items for explanations: which keys of a hypothesis match, and which node pairs.

counts.py and tree_kernel.py count matches; this module lists them. An item is one occurrence of a
key (a subtree at its node, a chain at its lowest node, an n-gram at its first token). Of k equal
items in a hypothesis that occur c times in the references, the first c are counted:

    counted(i) = rank(i) < max over references r of count_r(key of i)

so that the number of counted items of a group equals `counts.clipped`. Equal items of a reference
are found by binary search among its sorted keys. For the tree kernel, the value C(x, y) of every
pair of nodes with equal productions is given; K(a, b) is their sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from tensormt.kernels import hashing
from tensormt.kernels.backend import argsort, repeat, search, take
from tensormt.kernels.counts import Keys, occurrences
from tensormt.kernels.tree_kernel import Side, log_kernel


class Occurrences(NamedTuple):
    """Keys and their positions, int64 [n] each: segment, order from 1, place in the segment."""

    segment: Tensor
    order: Tensor
    place: Tensor
    key: Tensor


class Items(NamedTuple):
    """The n items of B hypotheses and their matches in R references.

    counted bool [n]: part of the clipped count; counts int64 [R,n]: how often each occurs in each
    reference; reference int64 [n]: the first reference with the largest count, -1 if in none.
    """

    hyp: Occurrences
    refs: list[Occurrences]
    counted: Tensor
    counts: Tensor
    reference: Tensor

    def equal(self, reference: int) -> tuple[Tensor, Tensor]:
        """Return all pairs of equal items: indices in the hypothesis and in a reference, [p] each.

        The former are ascending. One host synchronisation (the number of pairs).
        """
        own, other = (
            hashing.pair(hashing.pair(side.segment, side.order), side.key)
            for side in (self.hyp, self.refs[reference])
        )
        order = argsort(other)
        ordered = take(other, order)
        low = search(ordered, own)
        size = search(ordered, own, right=True) - low
        owner, place = repeat(size)
        return owner, take(order, take(low, owner) + place)


class NodePairs(NamedTuple):
    """Pairs of nodes with equal productions, [p] each.

    segment int64; hyp and ref int64, the places of both nodes in their trees; log float64,
    log C(x, y).
    """

    segment: Tensor
    hyp: Tensor
    ref: Tensor
    log: Tensor


def items(hyp: Occurrences, refs: Sequence[Occurrences], only: Tensor | None = None) -> Items:
    """Match the items of B hypotheses with those of R references.

    only int64 [B]: the index of the reference that each segment is matched with, if not with all.
    """
    sides = [hyp, *refs]
    top = max((int(side.order.max()) for side in sides if len(side.order)), default=1)
    segments = max((int(side.segment.max()) + 1 for side in sides if len(side.segment)), default=1)
    keys = [Keys(side.segment * top + side.order - 1, side.key) for side in sides]
    rank, counts = occurrences(keys[0], keys[1:], segments * top)
    giving = counts
    if only is not None:
        number = torch.arange(len(refs), device=counts.device)
        giving = counts * (number[:, None] == take(only, hyp.segment))
    most = giving.amax(0)
    reference = torch.where(most > 0, giving.argmax(0), -1)
    return Items(hyp, list(refs), rank < most, counts, reference)


def node_pairs(a: Side, b: Side, offsets: tuple[Tensor, Tensor], decay: float) -> NodePairs:
    """Return all pairs of inner nodes with equal productions and log C of each.

    offsets: index of the first node of each tree of a and of b in their batches, int64 [B] each.
    """
    found: list[tuple[Tensor, Tensor, Tensor]] = []
    log_kernel(a, b, decay, visit=lambda *pairs: found.append(pairs))
    if not found:
        none = a.node[:0]
        return NodePairs(none, none, none, none.double())
    x, y, log = (torch.cat(parts) for parts in zip(*found, strict=True))
    segment = take(a.segment, x)
    places = [
        take(own.node, number) - take(starts, segment)
        for own, number, starts in ((a, x, offsets[0]), (b, y, offsets[1]))
    ]
    order = argsort(segment)
    return NodePairs(*(take(part, order) for part in (segment, *places, log)))
