"""Subtree keys: one int64 for the subtree of depth d below each node.

    key₁(v) = label(v)        key_d(v) = ⟨label(v); key_{d-1}(child 1), key_{d-1}(child 2), …⟩

There is one subtree of depth d for each node of height d or more (Liu & Gildea 2005: depth 1 is a
label, depth 2 a production). The ordered tuple ⟨…⟩ is a 64-bit hash of the label and of the sum of
the children's keys, each multiplied by an odd number that depends on its position; the sum is one
scatter-add per depth. Hashing again at each depth keeps the positions of different depths apart.
"""

from __future__ import annotations

import torch
from torch import Tensor

from tensormt.kernels import hashing
from tensormt.kernels.backend import mix
from tensormt.kernels.counts import Keys, Labels, orders
from tensormt.kernels.nodes import Nodes, reached, sum_children


def subtree_keys(nodes: Nodes, names: Tensor, max_depth: int) -> Keys:
    """Return the keys of all subtrees of depth 1…D; group = (depth - 1) · B + segment.

    Args:
        nodes: B trees.
        names: content hashes of the label dictionary, int64.
        max_depth: D.

    One host synchronisation.
    """
    label = nodes.keys_of(names)
    start = hashing.first(torch.cat([label, label.new_zeros(1)]))
    # the number of descendants d - 1 levels below, where a node of height d or more has some
    below = nodes.arity
    keys: list[Tensor] = [label]
    present: list[Tensor] = []
    for depth in range(2, reached(nodes, max_depth) + 1):
        keys.append(mix(sum_children(nodes, keys[-1] * nodes.place, start=start)))
        if depth > 2:
            below = sum_children(nodes, below)
        present.append(below)
    labels = Labels(nodes.label, names, nodes.trees)
    return orders(nodes.segment, keys, torch.cat(present) > 0 if present else None, labels)
