"""Headword-chain keys: one int64 for each downward path of n words in a dependency tree.

    key₁(v) = word(v)        key_n(v) = ⟨key_{n-1}(v), word(the (n-1)-th ancestor of v)⟩

A chain is named by its lowest node, so every node with n - 1 ancestors gives one chain of length n
(Liu & Gildea 2005, Figure 3).
"""

from __future__ import annotations

import torch
from torch import Tensor

from tensormt import hashing
from tensormt.irregular import nonzero
from tensormt.kernels.counts import Keys
from tensormt.nodes import Nodes

__all__ = ["chain_keys"]


def chain_keys(nodes: Nodes, names: Tensor, max_length: int) -> Keys:
    """Keys of all chains of 1…N words; group = segment · N + length - 1.

    `names` are the content hashes of the words' dictionary. N - 1 host syncs (nodes of a depth).
    """
    word = nodes.keys_of(names)
    first = nodes.segment * max_length
    groups, keys = [first], [word]
    key, ancestor, group = word, nodes.parent, first
    for length in range(2, max_length + 1):
        cells = nonzero(ancestor >= 0)
        ancestor = ancestor[cells]
        key = hashing.pair(key[cells], word[ancestor])
        group = group[cells]
        groups.append(group + (length - 1))
        keys.append(key)
        ancestor = nodes.parent[ancestor]
    return Keys(torch.cat(groups), torch.cat(keys))
