"""From constituency to dependency trees, a whole batch at a time.

Every search of a head rule becomes a rank: the head child of a node is the one with the smallest
(number of the first search that fits it, place in that search's direction). Ranks of all children
are gathered from one small table [parent labels, child labels], the smallest of each node is one
scatter. Head words follow by pointer jumping along the head children, and a child that is not a
head hangs its head word below its parent's.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from tensormt.kernels.backend import nonzero, take, take_or
from tensormt.kernels.nodes import Nodes, sum_children
from tensormt.text.dictionary import Dictionary
from tensormt.trees.head_rules import HeadRules, rules_named


class _Table(NamedTuple):
    """A rule set compiled: a number for every label it names, and what it says of each two.

    Cell parent · L + child, of L numbers; 0 stands for all labels that are not named.
    """

    numbers: dict[str, int]
    rank: Tensor  # int64 [L · L]: the first search that fits, times _STEP
    sign: Tensor  # int64 [L · L]: 1 where that search goes from the left, -1 from the right
    at_end: Tensor  # int64 [L · L]: the same for a search at the last child only, or _NEVER
    marks: Tensor  # int64 [L]: 1 for punctuation
    joins: Tensor  # bool [L]: coordinating labels


_STEP = 1 << 32  # between the ranks of two searches: more than a node has children
_NEVER = 1 << 60


@lru_cache(maxsize=32)
def _compile(rule_set: HeadRules, device: torch.device) -> _Table:
    """The table of a rule set on a device."""
    rules = rule_set.rows()
    marks, joins = rule_set.punctuation.split(), rule_set.coordination.split()
    fitting = {label for searches in rules.values() for _, fits in searches for label in fits}
    named = sorted({*rules, *fitting, *marks, *joins})
    numbers = {label: number for number, label in enumerate(named, 1)}
    size = len(named) + 1
    rank = torch.zeros(size, size, dtype=torch.int64, device="cpu")
    sign = torch.ones_like(rank)
    at_end = torch.full_like(rank, _NEVER)
    for row, label in enumerate(["", *named]):
        searches = rules.get(label, rules["*"])
        for number, (direction, fits) in reversed(list(enumerate(searches))):
            columns = [numbers[name] for name in sorted(fits)] or list(range(size))
            if direction == "e":
                at_end[row, columns] = number * _STEP
            else:
                rank[row, columns] = number * _STEP
                sign[row, columns] = 1 if direction == "l" else -1
    cells = (rank.view(-1), sign.view(-1), at_end.view(-1))
    of_labels = [
        torch.tensor([name in group for name in ["", *named]], device="cpu")
        for group in (marks, joins)
    ]
    tables = (*cells, of_labels[0].long(), of_labels[1])
    return _Table(numbers, *(table.to(device) for table in tables))


def head_children(nodes: Nodes, labels: Dictionary, rules: str) -> Tensor:
    """Flat index of each node's head child, int64 [n]; a node without children has itself."""
    rule_set = rules_named(rules)
    numbers, rank, sign, at_end, marks, joins = _compile(rule_set, nodes.parent.device)
    known = np.array([numbers.get(name, 0) for name in labels.strings], np.int64)
    kind = take_or(torch.from_numpy(known), nodes.label, 0)

    # a node of punctuation alone counts it
    plain = take(marks, kind) <= nodes.arity
    seen = plain | (take(sum_children(nodes, plain.long(), roots=True), nodes.up) == 0)
    order = _order(nodes, seen)

    above = take(kind, nodes.parent.clamp(min=0))
    cell = torch.add(kind, above, alpha=len(numbers) + 1)
    own = torch.addcmul(take(rank, cell), take(sign, cell), order.place)
    end = torch.minimum(own, take(at_end, cell))
    own = torch.where(seen, torch.where(order.last, end, own), 2 * _NEVER)
    head = _best_child(nodes, own)
    if set(rule_set.coordination.split()).isdisjoint(labels.strings):
        return head
    return _coordinate(head, seen, order, take(joins, kind))


class _Order(NamedTuple):
    """Where nodes stand among those of their siblings that are seen, [n] each.

    `place`: how many of them come before it, int64; `last`: whether none comes behind it; `number`:
    seen siblings have successive numbers, int64. Roots, whose places nobody asks for, have any.
    """

    place: Tensor
    last: Tensor
    number: Tensor


def _order(nodes: Nodes, seen: Tensor) -> _Order:
    """By a running count over slots: children of node 0, of node 1, …, then one for all roots."""
    count, up = len(nodes), nodes.up
    start = up.new_zeros(count + 2)
    torch.cumsum(nodes.arity, 0, out=start[1:-1])
    first = take(start, up)
    slot = first + nodes.position
    shown = up.new_zeros(count).scatter_(0, slot, seen.long())
    before = up.new_zeros(count + 1)  # seen ones in the slots before
    torch.cumsum(shown, 0, out=before[1:])
    number = take(before, slot)
    behind = take(before, take(start[1:], up))
    return _Order(number - take(before, first), number + 1 == behind, number)


def _best_child(nodes: Nodes, rank: Tensor) -> Tensor:
    """Flat index of the child with the smallest rank; the node itself where it has none."""
    best = rank.new_full((len(nodes) + 1,), 4 * _NEVER)
    best.scatter_reduce_(0, nodes.up, rank, "amin")
    # the spare cell takes what is not chosen, and the roots
    cell = nodes.up.masked_fill(rank != take(best, nodes.up), len(nodes))
    index = torch.arange(len(nodes) + 1, device=rank.device)
    return index.scatter(0, cell, index[:-1])[:-1]


def _coordinate(head: Tensor, seen: Tensor, order: _Order, join: Tensor) -> Tensor:
    """Move the head over a coordinating word, from Y to X in X CC Y."""
    count = head.shape[0]
    index = torch.arange(count, device=head.device)
    node = head.new_zeros(count + 1)
    node.scatter_(0, torch.where(seen, order.number, count), index)
    number = take(order.number, head)
    joined = take(join, take(node, (number - 1).clamp_(min=0)))
    moved = joined & (take(order.place, head) > 1) & (head != index)
    return torch.where(moved, take(node, (number - 2).clamp_(min=0)), head)


def to_dependencies(nodes: Nodes, labels: Dictionary, rules: str) -> Nodes:
    """Dependency nodes (one a word, sentence order) of constituency nodes in preorder."""
    if not len(nodes):
        return nodes
    head = head_children(nodes, labels, rules)
    for _ in range(max(nodes.width, 1).bit_length()):
        head = take(head, head)
    holds = nodes.word >= 0
    cells = nonzero(holds)
    token = head.new_zeros(len(nodes) + 1)
    torch.cumsum(holds, 0, out=token[1:])
    # a node that is not on its parent's head path puts its head word below the parent's; words have
    # numbers from 1, and 0 is none
    own = take(token[1:] * holds, head)
    over = take(torch.cat([own, own.new_zeros(1)]), nodes.up)
    parent = own.new_full((cells.shape[0] + 1,), -1)
    parent.scatter_(0, own.masked_fill(own == over, 0), over - 1)
    words = take(nodes.word, cells)
    return Nodes(parent[1:], words, words, take(token, nodes.offsets), nodes.width)
