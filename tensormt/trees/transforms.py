"""Other views of the same trees: without words, with every word as a leaf of its own, or with the
names of arcs beside the words of dependency trees."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from tensormt.kernels.backend import nonzero, take, take_or
from tensormt.kernels.nodes import Nodes
from tensormt.text.dictionary import Dictionary


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
        None if nodes.known_depth is None else nodes.known_depth[cells],
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
    # every node moves behind the leaves before it; a leaf comes right after its node
    place = torch.arange(len(nodes), device=device) + extra[:-1]
    stem = nonzero(grows)
    leaf = take(place, stem) + 1

    def laid(of_nodes: Tensor, of_leaves: Tensor | int) -> Tensor:
        cells = torch.empty(size, dtype=torch.int64, device=device)
        cells[place] = of_nodes
        cells[leaf] = of_leaves
        return cells

    word = take_or(of_word, nodes.word, -1)
    above = torch.where(nodes.parent < 0, -1, place[nodes.parent.clamp(min=0)])
    depth, position = nodes.known_depth, nodes.known_position
    grown = Nodes(
        laid(above, take(place, stem)),
        laid(
            torch.where(nodes.label < 0, word, take_or(of_label, nodes.label, -1)),
            take(word, stem),
        ),
        torch.full((size,), -1, dtype=torch.int64, device=device),
        nodes.offsets + extra[nodes.offsets],
        2 * nodes.width,
        None if depth is None else laid(depth, take(depth, stem) + 1),
        None if position is None else laid(position, 0),
    )
    return grown, names


def with_relations(
    nodes: Nodes, words: Dictionary, relations: Dictionary
) -> tuple[Nodes, Dictionary]:
    """Dependency nodes labelled with word and relation, and the dictionary of these pairs."""
    assert nodes.relation is not None
    pairs, label = torch.unique(
        nodes.word * max(len(relations), 1) + nodes.relation, return_inverse=True
    )
    # a tab stands in no word of CoNLL-U and in no token, so that no pair looks like a word
    names = [
        f"{words[pair // len(relations)]}\t{relations[pair % len(relations)]}"
        for pair in pairs.tolist()
    ]
    return replace(nodes, label=label), Dictionary(names)


def renamed(nodes: Nodes, of_label: Tensor, of_word: Tensor) -> Nodes:
    """The same trees with new ids of labels and words, given the new one of every old one."""
    return replace(
        nodes, label=take_or(of_label, nodes.label, -1), word=take_or(of_word, nodes.word, -1)
    )
