"""Headword-chain keys: one int64 for each downward path of n words in a dependency tree.

    key₁(v) = word(v)        key_n(v) = p · key_{n-1}(v) + word(the (n-1)-th ancestor of v)

A chain is identified by its lowest node, so every node with n - 1 ancestors gives one chain of
length n (Liu & Gildea 2005, Figure 3). A word is represented by its 64-bit content hash, so the
polynomial hash with the odd base p separates sequences as well as random keys would.
"""

from __future__ import annotations

import torch
from torch import Tensor

from tensormt.kernels import hashing
from tensormt.kernels.backend import take
from tensormt.kernels.counts import Keys, Labels, orders
from tensormt.kernels.nodes import Nodes, reached


def chain_keys(nodes: Nodes, names: Tensor, max_length: int) -> Keys:
    """Return the keys of all chains of 1…N words; group = (length - 1) · B + segment.

    Args:
        nodes: B dependency trees, whose labels are words.
        names: content hashes of the word dictionary, int64.
        max_length: N.

    One host synchronisation.
    """
    word = nodes.keys_of(names)
    # the additional cell at the end is the parent of all roots and of itself
    words = torch.cat([word, word.new_zeros(1)])
    above = torch.cat([nodes.up, nodes.up.new_full((1,), len(nodes))])
    keys: list[Tensor] = [word]
    ancestors: list[Tensor] = []
    ancestor = nodes.up
    for _ in range(2, reached(nodes, max_length) + 1):
        keys.append((keys[-1] * hashing.POWER).add_(take(words, ancestor)))
        ancestors.append(ancestor)
        ancestor = take(above, ancestor)
    present = torch.cat(ancestors) < len(nodes) if ancestors else None
    return orders(nodes.segment, keys, present, Labels(nodes.label, names, nodes.trees))
