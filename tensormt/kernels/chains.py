"""Headword-chain keys: one int64 for each downward path of n words in a dependency tree.

    key₁(v) = word(v)        key_n(v) = p · key_{n-1}(v) + word(the (n-1)-th ancestor of v)

A chain is named by its lowest node, so every node with n - 1 ancestors gives one chain of length n
(Liu & Gildea 2005, Figure 3). Words stand for their 64-bit content hashes, so the polynomial in the
odd number p tells sequences apart as well as a random key would.
"""

from __future__ import annotations

import torch
from torch import Tensor

from tensormt.kernels import hashing
from tensormt.kernels.backend import take
from tensormt.kernels.counts import Keys, Labels, orders
from tensormt.kernels.nodes import Nodes

__all__ = ["chain_keys"]


def chain_keys(nodes: Nodes, names: Tensor, max_length: int) -> Keys:
    """Keys of all chains of 1…N words; group = (length - 1) · B + segment. One host sync.

    `names` are the content hashes of the words' dictionary.
    """
    word = nodes.keys_of(names)
    # the spare cell at the end is everybody's ancestor above the root
    words = torch.cat([word, word.new_zeros(1)])
    above = torch.cat([nodes.up, nodes.up.new_full((1,), len(nodes))])
    keys: list[Tensor] = [word]
    present: list[Tensor] = []
    ancestor = nodes.up
    for _ in range(2, max_length + 1):
        keys.append((keys[-1] * hashing.POWER).add_(take(words, ancestor)))
        present.append(ancestor < len(nodes))
        ancestor = take(above, ancestor)
    return orders(nodes.segment, keys, present, Labels(nodes.label, names, nodes.trees))
