"""What was matched: the keys of a hypothesis with their counterparts, node pairs with their shares.

The counters of counts.py and tree_kernel.py say how much was matched; here they say what. An item
is one occurrence of a key (a subtree at its node, a chain at its lowest node, an n-gram at its
first token). Of k equal items in a hypothesis of which the references hold c, the first c are
counted:

    counted(i) = rank(i) < max over references r of count_r(key of i)

so that the counted items of a group are as many as `counts.clipped` says. Counterparts are found by
a search among the sorted keys of each reference. For the tree kernel, every pair of nodes with
equal productions has its C(x, y), and K(a, b) is their sum.
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

__all__ = ["Items", "NodePairs", "Occurrences", "items", "node_pairs"]


class Occurrences(NamedTuple):
    """Keys with where they stand, int64 [n]: segment, order from 1, place in the segment."""

    segment: Tensor
    order: Tensor
    place: Tensor
    key: Tensor


class Items(NamedTuple):
    """The items of B hypotheses, n of them, and their equals in R references.

    counted bool [n]; counts int64 [R,n], how often each stands in each reference; reference int64
    [n], the first one with the largest count, -1 where none has it.
    """

    hyp: Occurrences
    refs: list[Occurrences]
    counted: Tensor
    counts: Tensor
    reference: Tensor

    def equal(self, reference: int) -> tuple[Tensor, Tensor]:
        """Numbers of all equal items: of the hypothesis [p], rising, and of a reference [p].

        One host sync (the number of pairs).
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
    """Pairs of nodes with equal productions, [p]: segment, places of both nodes, log C(x, y)."""

    segment: Tensor
    hyp: Tensor
    ref: Tensor
    log: Tensor


def items(hyp: Occurrences, refs: Sequence[Occurrences], only: Tensor | None = None) -> Items:
    """Match the items of hypotheses with those of references.

    only int64 [B]: the one reference that gives each segment its counts, where it is only one.
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
    """All pairs of inner nodes with equal productions, and log C of each.

    offsets: the first node of each tree of a and of b, among all of its batch.
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
