"""From constituency to dependency trees, a whole batch at a time.

Every search of a head rule becomes a rank: the head child of a node is the one with the smallest
(number of the first search that fits it, place in that search's direction). Ranks of all children
are gathered from one small table [rule rows, child labels], the smallest of each node is one
scatter. Head words follow by pointer jumping along the head children, and a child that is not a
head hangs its head word below its parent's.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from tensormt.kernels.arrays import take
from tensormt.kernels.nodes import Nodes, sum_children
from tensormt.text.dictionary import Dictionary
from tensormt.trees.headrules import HeadRules, rules_named

__all__ = ["head_children", "to_dependencies"]


class _Table(NamedTuple):
    """A rule set compiled: label → row and column, and what each row says of each column."""

    row: dict[str, int]
    column: dict[str, int]
    search: Tensor  # int64 [rows · columns]: number of the first search that fits
    from_right: Tensor  # bool [rows · columns]: the direction of that search
    at_end: Tensor  # int64 [rows · columns]: number of a search at the last child only
    punctuation: frozenset[str]
    coordination: frozenset[str]


_NEVER = 1 << 20


@lru_cache(maxsize=32)
def _compile(rule_set: HeadRules) -> _Table:
    """The table of a rule set; row `*` and column 0 stand for labels it does not name."""
    rules = rule_set.rows()
    row = {label: number for number, label in enumerate(sorted(rules))}
    named = sorted({label for searches in rules.values() for _, fits in searches for label in fits})
    column = {label: number for number, label in enumerate(["", *named])}
    search = torch.zeros(len(row), len(column), dtype=torch.int64)
    from_right = torch.zeros(len(row), len(column), dtype=torch.bool)
    at_end = torch.full((len(row), len(column)), _NEVER)
    for label, searches in rules.items():
        for number, (direction, fits) in reversed(list(enumerate(searches))):
            columns = [column[name] for name in sorted(fits)] or list(range(len(column)))
            if direction == "e":
                at_end[row[label], columns] = number
            else:
                search[row[label], columns] = number
                from_right[row[label], columns] = direction == "r"
    marks, joins = (frozenset(s.split()) for s in (rule_set.punctuation, rule_set.coordination))
    cells = (search.view(-1), from_right.view(-1), at_end.view(-1))
    return _Table(row, column, *cells, marks, joins)


def _look_up(table: _Table, labels: Sequence[str]) -> tuple[Tensor, bool]:
    """What a rule set says of labels, and of a word without a tag, the last.

    Row and column of the table, and whether a label is punctuation or coordinates, int64 [4,L+1];
    and whether one coordinates.
    """
    found = [
        (
            table.row.get(name, table.row["*"]),
            table.column.get(name, 0),
            name in table.punctuation,
            name in table.coordination,
        )
        for name in (*labels, "")
    ]
    joins = any(each[3] for each in found)
    return torch.from_numpy(np.array(found, np.int64).T.copy()), joins


def head_children(nodes: Nodes, labels: Dictionary, rules: str) -> Tensor:
    """Flat index of each node's head child, int64 [n]; a node without children has itself."""
    table = _compile(rules_named(rules))
    device = nodes.parent.device
    of_labels, some_join = _look_up(table, labels.strings)
    row, column, marks, joins = of_labels.to(device)
    kind = torch.where(nodes.label < 0, len(labels), nodes.label)

    # places among the siblings that are not punctuation; a node of punctuation alone counts it
    mark = take(marks, kind) > nodes.arity
    plain = sum_children(nodes, (~mark).long())
    padded = torch.cat([plain, plain.new_zeros(1)])
    seen = ~mark | (take(padded, nodes.up) == 0)
    place = _rank_among_siblings(nodes, seen)
    counted = torch.cat([sum_children(nodes, seen.long()), plain.new_zeros(1)])
    many = take(counted, nodes.up)

    above = take(row, take(kind, nodes.parent.clamp(min=0))) if len(nodes) else kind
    cell = above * len(table.column) + take(column, kind)
    number = take(table.search.to(device), cell)
    end = take(table.at_end.to(device), cell)
    reverse = take(table.from_right.to(device), cell)
    width = nodes.width + 1
    rank = number * width + torch.where(reverse, many - 1 - place, place)
    rank = torch.where(place == many - 1, torch.minimum(rank, end * width), rank)
    rank = torch.where(seen, rank, _NEVER * width * 2)
    head = _best_child(nodes, rank)
    if not some_join:
        return head
    return _coordinate(nodes, head, seen, place, take(joins, kind) > 0)


def _rank_among_siblings(nodes: Nodes, seen: Tensor) -> Tensor:
    """Place of each node among those of its siblings that are seen, int64 [n]."""
    index = torch.arange(len(nodes), device=seen.device)
    order = torch.empty_like(index)
    start = torch.cat([nodes.arity.cumsum(0) - nodes.arity, nodes.arity.sum()[None]])
    own = take(start, nodes.up)
    # siblings side by side: children of node 0, of node 1, …, then the roots
    root = nodes.parent < 0
    slot = own + torch.where(root, root.long().cumsum(0) - 1, nodes.position)
    order.scatter_(0, slot, index)
    shown = take(seen, order).long()
    before = shown.cumsum(0) - shown
    first = take(before, own.clamp(max=len(nodes) - 1)) if len(nodes) else before
    return torch.where(root, 0, take(before, slot) - first)


def _best_child(nodes: Nodes, rank: Tensor) -> Tensor:
    """Flat index of the child with the smallest rank; the node itself where it has none."""
    index = torch.arange(len(nodes), device=rank.device)
    worst = torch.iinfo(torch.int64).max
    best = torch.full((len(nodes) + 1,), worst, device=rank.device)
    best.scatter_reduce_(0, nodes.up, rank, "amin")
    chosen = (rank == take(best, nodes.up)) & (nodes.parent >= 0)
    head = torch.cat([index, index.new_zeros(1)])
    return head.scatter_(0, torch.where(chosen, nodes.up, len(nodes)), index)[:-1]


def _coordinate(nodes: Nodes, head: Tensor, seen: Tensor, place: Tensor, join: Tensor) -> Tensor:
    """Move the head over a coordinating word, from Y to X in X CC Y."""
    if not len(nodes):
        return head
    index = torch.arange(len(nodes), device=head.device)
    chosen = take(place, head)
    own = place - take(torch.cat([chosen, chosen.new_zeros(1)]), nodes.up)
    inside = seen & (nodes.parent >= 0)
    spare = len(nodes)
    before = torch.zeros(spare + 1, dtype=torch.bool, device=head.device)
    before.index_fill_(0, torch.where(inside & join & (own == -1), nodes.up, spare), True)
    first = torch.full((spare + 1,), -1, device=head.device)
    first.scatter_(0, torch.where(inside & (own == -2), nodes.up, spare), index)
    moved = before[:-1] & (first[:-1] >= 0) & (head != index)
    return torch.where(moved, first[:-1], head)


def to_dependencies(nodes: Nodes, labels: Dictionary, rules: str) -> Nodes:
    """Dependency nodes (one a word, sentence order) of constituency nodes in preorder."""
    device = nodes.parent.device
    head = head_children(nodes, labels, rules)
    for _ in range(max(nodes.width, 1).bit_length()):
        head = take(head, head)
    holds = nodes.word >= 0
    token = torch.cat([holds.new_zeros(1, dtype=torch.int64), holds.long().cumsum(0)])
    count = token[-1]
    # a node that is not on its parent's head path puts its head word below the parent's
    above = nodes.parent.clamp(min=0)
    over = take(head, above) if len(nodes) else head
    hangs = (nodes.parent >= 0) & (head != over)
    size = int(count)
    parent = torch.full((size + 1,), -1, device=device)
    parent.scatter_(0, torch.where(hangs, take(token, head), size), take(token, over))
    words = torch.empty(size + 1, dtype=torch.int64, device=device)
    words.scatter_(0, torch.where(holds, token[:-1], size), nodes.word)
    return Nodes(parent[:-1], words[:-1], words[:-1], token[nodes.offsets], nodes.width)
