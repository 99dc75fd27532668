"""Nodes: trees as flat arrays, without padding, and the attributes derived from the parents.

Trees are stored one after the other; a node's parent is an index into the same arrays (-1 for a
root). The algorithms of this package use this form, so that one tree of 5,000 nodes does not widen
the others; `TreeBatch` gives the same nodes as padded [B,N] tensors.

Derived attributes need at most a loop over levels: depth is found by pointer jumping (log₂ N
steps), height bottom-up by level, everything else in one pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from tensormt.kernels import hashing
from tensormt.kernels.backend import argsort, count_values, move, nonzero, owners, take

_FEW_ORDERS = 16  # so many orders are computed even if no tree is so deep


@dataclass(frozen=True, eq=False)
class Nodes:
    """Flat nodes of B trees, int64: parent, label and word [n], offsets [B+1].

    `width` is the number of nodes of the largest tree, or more. `known_depth` and `known_position`
    are `depth` and `position`, if the reader computed them; `relation` [n] are the labels of
    dependency arcs.
    """

    parent: Tensor
    label: Tensor
    word: Tensor
    offsets: Tensor
    width: int
    known_depth: Tensor | None = field(default=None, repr=False)
    known_position: Tensor | None = field(default=None, repr=False)
    relation: Tensor | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return self.parent.shape[0]

    @property
    def trees(self) -> int:
        """Number of trees B."""
        return self.offsets.shape[0] - 1

    @cached_property
    def lengths(self) -> Tensor:
        """Number of nodes of every tree, int64 [B]."""
        return self.offsets[1:] - self.offsets[:-1]

    @cached_property
    def segment(self) -> Tensor:
        """Index of the tree of each node, int64 [n]."""
        return owners(self.lengths, len(self))

    @cached_property
    def up(self) -> Tensor:
        """Parents, n for roots instead of -1, int64 [n]: scatters use n + 1 cells."""
        return self.parent.masked_fill(self.parent < 0, len(self))

    @cached_property
    def arity(self) -> Tensor:
        """Number of children, int64 [n]."""
        return sum_children(self, torch.ones_like(self.parent))

    @cached_property
    def position(self) -> Tensor:
        """Index of each node among its siblings, int64 [n]."""
        if self.known_position is not None:
            return self.known_position
        order = argsort(self.up)
        parents = self.up[order]
        index = torch.arange(len(self), device=parents.device)
        fresh = torch.ones_like(parents, dtype=torch.bool)
        fresh[1:] = parents[1:] != parents[:-1]
        start = torch.where(fresh, index, 0).cummax(0).values if len(self) else index
        place = torch.empty_like(index)
        place[order] = torch.where(parents == len(self), 0, index - start)
        return place

    @cached_property
    def place(self) -> Tensor:
        """Odd multiplier of each position, int64 [n]: makes hashes of children depend on order."""
        return self.places(self.position)

    def places(self, position: Tensor) -> Tensor:
        """Return the multipliers of positions int64 [n], which are at most the width, int64 [n]."""
        # rounded up, so that batches of similar width share a cached table
        size = 1 << max(self.width, 1).bit_length()
        return take(hashing.odd_table(size, self.parent.device), position)

    @cached_property
    def inner(self) -> Tensor:
        """Indices of the nodes with children, int64 [m]; one host synchronisation."""
        return nonzero(self.arity > 0)

    @cached_property
    def depth(self) -> Tensor:
        """Number of nodes on the path from the root, 1 for the root, int64 [n]."""
        if self.known_depth is not None:
            return self.known_depth
        above = torch.cat([self.up, self.up.new_full((1,), len(self))])
        steps = torch.ones_like(above)
        steps[-1:] = 0
        for _ in range(max(self.width, 1).bit_length()):
            steps = steps + steps[above]
            above = above[above]
        return steps[:-1]

    @cached_property
    def levels(self) -> list[Tensor]:
        """Indices of the nodes of depth 1, 2, …, int64; one host synchronisation."""
        sizes = count_values(self.depth, self.width + 2).tolist()[1:]
        sizes = sizes[: sizes.index(0)]
        short = torch.int16 if self.width < 1 << 15 else torch.int32
        return list(torch.split(argsort(self.depth.to(short)), sizes))

    @cached_property
    def height(self) -> Tensor:
        """Number of nodes on the longest path to a leaf, 1 for a leaf, int64 [n]."""
        height = torch.ones_like(self.parent)
        for level in reversed(self.levels[1:]):
            height.scatter_reduce_(0, self.parent[level], height[level] + 1, "amax")
        return height

    def to(self, device: torch.device | str) -> Nodes:
        """Return the nodes on another device; they are sent in one copy."""
        more = (self.known_depth, self.known_position, self.relation)
        present = [tensor for tensor in more if tensor is not None]
        parent, label, word, offsets, *moved = move(
            [self.parent, self.label, self.word, self.offsets, *present], device
        )
        rest = [None if tensor is None else moved.pop(0) for tensor in more]
        return Nodes(parent, label, word, offsets, self.width, *rest)

    def rows(self, start: int, stop: int) -> Nodes:
        """Return the trees start…stop-1, as views where possible; one host synchronisation."""
        ends = self.offsets[start : stop + 1 : max(stop - start, 1)].tolist()
        first, last = ends[0], ends[-1]
        parent = self.parent[first:last]
        return Nodes(
            torch.where(parent < 0, -1, parent - first) if first else parent,
            self.label[first:last],
            self.word[first:last],
            self.offsets[start : stop + 1] - first,
            self.width,
            None if self.known_depth is None else self.known_depth[first:last],
            None if self.known_position is None else self.known_position[first:last],
            None if self.relation is None else self.relation[first:last],
        )

    @staticmethod
    def join(parts: Sequence[Nodes]) -> Nodes:
        """Concatenate the trees of at least one part."""
        if len(parts) == 1:
            return parts[0]
        parent, ends, shift = [], [], 0
        for part in parts:
            moved = torch.where(part.parent < 0, -1, part.parent + shift) if shift else part.parent
            parent.append(moved)
            ends.append(part.offsets[1:] + shift)
            shift += len(part)
        depths = [part.known_depth for part in parts if part.known_depth is not None]
        positions = [part.known_position for part in parts if part.known_position is not None]
        relations = [part.relation for part in parts if part.relation is not None]
        return Nodes(
            torch.cat(parent),
            torch.cat([part.label for part in parts]),
            torch.cat([part.word for part in parts]),
            torch.cat([parts[0].offsets[:1], *ends]),
            max(part.width for part in parts),
            torch.cat(depths) if len(depths) == len(parts) else None,
            torch.cat(positions) if len(positions) == len(parts) else None,
            torch.cat(relations) if len(relations) == len(parts) else None,
        )

    def keys_of(self, names: Tensor) -> Tensor:
        """Return the content hash of each label, int64 [n]; names: those of the dictionary."""
        return take(names.to(self.label.device), self.label)

    def productions(self, names: Tensor) -> Tensor:
        """Return a key of the label and the ordered child labels of each node, int64 [n].

        0 for a leaf.
        """
        keys = self.inner_productions(names)
        return keys.new_zeros(len(self)).index_copy_(0, self.inner, keys)

    def inner_productions(self, names: Tensor) -> Tensor:
        """Return `productions` of the inner nodes only, int64 [m]."""
        names = self.keys_of(names)
        below = sum_children(self, names * self.place)
        return hashing.pair(take(names, self.inner), take(below, self.inner))


def reached(nodes: Nodes, most: int) -> int:
    """Return the highest order up to `most` that the trees can reach: their depth, at least 1.

    One host synchronisation if `most` is large; otherwise `most` is returned as it is.
    """
    if most <= _FEW_ORDERS or not len(nodes):
        return most
    return max(1, min(most, int(nodes.depth.max())))


def sum_children(
    nodes: Nodes, values: Tensor, *, start: Tensor | None = None, roots: bool = False
) -> Tensor:
    """Sum values [n] over the children of every node, [n].

    `start` [n+1] is added. `roots`: with the sum over the roots as an additional last value, [n+1],
    as indexed by `up`.
    """
    sums = values.new_zeros(len(nodes) + 1) if start is None else start.clone()
    sums.index_add_(0, nodes.up, values)
    return sums if roots else sums[:-1]
