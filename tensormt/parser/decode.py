"""Decoding of batches of span scores into node tensors.

The best binary tree over span scores s(i,j) is found by a chart (kernels/charts.py; Stern et al.
2017; Zhang, Zhou and Li 2020, supar's decoder). With `marginals`, s(i,j) is the probability of the
span under the CRF, and the best tree has the largest expected number of correct spans (minimum
Bayes risk, Goodman 1996; supar's default).

The spans of a tree are in preorder, each in a slot with a label; `X|<>` (an inner node of the
binarized tree) stands for no node, `S::VP` for two nodes, one above the other. Cumulative sums of
these counts give the node indices, and the parent of the first node of a slot is the last node of
the nearest ancestor slot that has nodes.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from tensormt.kernels.backend import repeat
from tensormt.kernels.charts import best_trees


@dataclass(frozen=True)
class Slots:
    """The spans of binary trees in preorder: int64 [B,P], P = 2T−1; width 0 is padding."""

    start: Tensor
    width: Tensor
    above: Tensor  # slot of the parent; 0 for the root


def best_slots(scores: Tensor, lengths: Tensor) -> Slots:
    """Find the best binary trees: scores float [B,T+1,T+1], lengths int64 [B] -> Slots [B,2T−1]."""
    return Slots(*best_trees(scores, lengths))


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
