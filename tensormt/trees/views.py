"""Other views of the same trees: without words, or with every word as a leaf of its own."""

from __future__ import annotations

import torch
from torch import Tensor

from tensormt.kernels.arrays import nonzero
from tensormt.kernels.nodes import Nodes
from tensormt.text.dictionary import Dictionary

__all__ = ["remap", "with_word_leaves", "without_bare_words"]


def without_bare_words(nodes: Nodes) -> Nodes:
    """The nodes that have a label: words beside other children are dropped."""
    keep = nodes.label >= 0
    before = torch.cat([keep.new_zeros(1, dtype=torch.int64), keep.long().cumsum(0)])
    cells = nonzero(keep)
    parent = nodes.parent[cells]
    return Nodes(
        torch.where(parent < 0, -1, before[parent]),
        nodes.label[cells],
        nodes.word[cells],
        before[nodes.offsets],
        nodes.width,
    )


def with_word_leaves(
    nodes: Nodes, labels: Dictionary, words: Dictionary
) -> tuple[Nodes, Dictionary]:
    """Each word as a leaf labelled with it, and the dictionary of labels and words together."""
    device = nodes.parent.device
    names, (of_label, of_word) = Dictionary.merge([labels, words])
    grows = (nodes.word >= 0) & (nodes.label >= 0)
    extra = torch.cat([grows.new_zeros(1, dtype=torch.int64), grows.long().cumsum(0)])
    size = len(nodes) + int(extra[-1])
    place = torch.arange(len(nodes), device=device) + extra[:-1]
    leaf = nonzero(grows)
    leaf_place = place[leaf] + 1
    word = remap(nodes.word, of_word)
    label = torch.empty(size, dtype=torch.int64, device=device)
    parent = torch.empty_like(label)
    label[place] = torch.where(nodes.label < 0, word, remap(nodes.label, of_label))
    label[leaf_place] = word[leaf]
    parent[place] = torch.where(nodes.parent < 0, -1, place[nodes.parent.clamp(min=0)])
    parent[leaf_place] = place[leaf]
    offsets = nodes.offsets + extra[nodes.offsets]
    none = torch.full_like(label, -1)
    return Nodes(parent, label, none, offsets, 2 * nodes.width), names


def remap(ids: Tensor, table: Tensor) -> Tensor:
    """New ids for old ones; -1 stays."""
    if not table.shape[0]:
        return ids
    return torch.where(ids < 0, -1, table.to(ids.device)[ids.clamp(min=0)])
