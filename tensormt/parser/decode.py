"""Decoding of batches of span scores into node tensors.

The best binary tree over span scores s(i,j) is found by a chart (kernels/charts.py; Stern et al.
2017; Zhang, Zhou and Li 2020, supar's decoder). With `marginals`, s(i,j) is the probability of the
span under the CRF, and the best tree has the largest expected number of correct spans (minimum
Bayes risk, Goodman 1996; supar's default).

A binary tree over n words has 2n−1 spans. In preorder, the left child of the span in slot p is in
slot p+1 and its right child in slot p+2k, where k is the number of words of the left child: no
stack is needed. Every slot has a label; `X|<>` (an inner node of the binarized
tree) stands for no node, `S::VP` for two nodes, one above the other. Cumulative sums of these
counts give the node indices, and the parent of the first node of a slot is the last node of the
nearest ancestor slot that has nodes.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from tensormt.kernels.backend import nonzero, repeat, take
from tensormt.kernels.charts import splits


@dataclass(frozen=True)
class Slots:
    """The spans of binary trees in preorder: int64 [B,P], P = 2T−1; width 0 is padding."""

    start: Tensor
    width: Tensor
    above: Tensor  # slot of the parent; 0 for the root


def best_slots(scores: Tensor, lengths: Tensor) -> Slots:
    """Find the best binary trees: scores float [B,T+1,T+1], lengths int64 [B] -> Slots [B,2T−1].

    From the widest spans down, every span of the tree gives its children their slots: four
    operations a width. One host synchronisation.
    """
    rows, posts = scores.shape[:2]
    slots, cells = max(2 * (posts - 1) - 1, 1), posts * posts
    place = torch.arange(posts, device=scores.device)
    # of all spans (width, start): words of the left child, the cells of both children, and how far
    # behind their parent's slot theirs are
    cut = splits(scores).transpose(1, 2).contiguous()
    right = place + place[:, None] * posts - (posts - 1) * cut
    children = torch.stack((torch.add(place, cut, alpha=posts), right), 1)
    behind = torch.stack((torch.ones_like(cut), 2 * cut), 1)
    # slot + 1 of the spans of the tree, 0 elsewhere; the extra cell receives children of no span
    number = torch.zeros(rows, cells + 1, dtype=torch.int64, device=scores.device)
    number.scatter_(1, lengths[:, None] * posts, 1)
    table = number[:, :cells].view(rows, 1, posts, posts)
    for size in range(posts - 1, 1, -1):
        own = table[:, :, size, : posts - size]
        target = children[:, :, size, : posts - size].masked_fill(own == 0, cells)
        number.scatter_(1, target.flatten(1), (own + behind[:, :, size, : posts - size]).flatten(1))
    number = number[:, :cells].flatten()
    return _in_slots(nonzero(number > 0), number, cut.flatten(), rows, posts, slots)


def _in_slots(
    span: Tensor, number: Tensor, cut: Tensor, rows: int, posts: int, slots: int
) -> Slots:
    """The spans of the trees, indices of tables [B,T+1,T+1], in the order of their slots."""
    place = span % (posts * posts)
    first = span // (posts * posts) * (slots + 1)  # an extra slot per row receives no children
    own = take(number, span) - 1
    width = place // posts
    found = torch.zeros(3, rows * (slots + 1), dtype=torch.int64, device=span.device)
    found[0].scatter_(0, first + own, place % posts)
    found[1].scatter_(0, first + own, width)
    for behind in (torch.ones_like(own), 2 * take(cut, span)):
        found[2].scatter_(0, first + torch.where(width > 1, own + behind, slots), own)
    return Slots(*found.view(3, rows, slots + 1)[:, :, :slots])


class LabelTable:
    """The node labels that every label of the model stands for, from top to bottom.

    parts int64 [2L,C] (ids of `names`, -1 beyond the end) and counts int64 [2L]; row l is label l
    of a span of several words, row L+l of a single word. For models without tags, `_` is the tag
    of every word.
    """

    def __init__(self, labels: list[str], root: str, tagged: bool, device: torch.device) -> None:
        chains = [[] if label.endswith("|<>") else label.split("::") for label in labels]
        word = [] if tagged else ["_"]
        chains = chains + [chain + word for chain in chains]
        self.names = sorted({root, *word, *(part for chain in chains for part in chain)})
        place = {name: i for i, name in enumerate(self.names)}
        depth = max([1, *(len(chain) for chain in chains)])
        rows = [[place[part] for part in chain] + [-1] * (depth - len(chain)) for chain in chains]
        self.root = place[root]
        self.labels = len(labels)
        self.parts = torch.tensor(rows, dtype=torch.int64, device=device)
        self.counts = torch.tensor([len(chain) for chain in chains], device=device)


@dataclass(frozen=True)
class Forest:
    """Concatenated nodes of sentences in preorder, all int64.

    label [n]; parent [n] is a position in the sentence, -1 for a root; word [n] is the position of
    the word in the sentence, -1 for an inner node; counts [B] is the number of nodes per sentence.
    """

    label: Tensor
    parent: Tensor
    word: Tensor
    counts: Tensor


def to_forest(slots: Slots, label: Tensor, table: LabelTable) -> Forest:
    """Convert labeled binary trees to nodes: Slots and label ids int64 [B,P] -> Forest."""
    rows, size = label.shape
    key = label + table.labels * (slots.width == 1)
    count = torch.where(slots.width > 0, table.counts[key], 0)
    ends = count.cumsum(1)
    first = ends - count

    # nearest slot, itself or an ancestor, that has nodes; an extra slot above all has "node −1"
    spare = torch.full((rows, 1), size, dtype=torch.int64, device=label.device)
    above = torch.cat((slots.above, spare), 1)
    above[:, 0] = size
    own = torch.arange(size + 1, device=label.device).expand(rows, -1)
    filled = torch.cat((count > 0, torch.ones_like(spare, dtype=torch.bool)), 1)
    nearest = torch.where(filled, own, above)
    for _ in range(size.bit_length()):
        nearest = nearest.gather(1, nearest)
    last = torch.cat((ends - 1, spare.new_full((rows, 1), -1)), 1)
    parent = last.gather(1, nearest.gather(1, above))[:, :size]

    owner, place = repeat(count.flatten())
    chain = key.flatten()[owner]
    word = (slots.width.flatten()[owner] == 1) & (place == table.counts[chain] - 1)
    return Forest(
        label=table.parts[chain, place],
        parent=torch.where(place == 0, parent.flatten()[owner], first.flatten()[owner] + place - 1),
        word=torch.where(word, slots.start.flatten()[owner], -1),
        counts=ends[:, -1],
    )
