"""Label scores of selected spans.

supar's label score of a span is biaffine in vectors of its two ends,

    s(label) = [x;1]ᵀ W_label [y;1]

and supar computes it for all n² spans of a sentence; a tree has 2n−1. Here it is one matrix product
of the outer products of the ends of selected spans and the flattened W_label. If the model predicts
tags, spans of one word are labeled with labels that end in a tag, and longer ones with the other
labels, so every word has a tag.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from tensormt.kernels.backend import at_a_time, nonzero
from tensormt.parser.decode import Slots

ROWS = 256  # spans per product whose outer products fit into a CPU's cache


def _with_one(ends: Tensor) -> Tensor:
    """[x;1] of the vectors of span ends, float [S,D] -> [S,D+1]."""
    return F.pad(ends, (0, 1), value=1.0)


def _scores(columns: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """Multiply outer products of [S,D+1] and columns [(D+1)²,L] -> [S,L]."""
    return (left[:, :, None] * right[:, None, :]).flatten(1) @ columns


def label_scores(weight: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """Compute biaffine scores: weight float [L,D+1,D+1], span ends float [S,D] -> float [S,L]."""
    return _scores(weight.flatten(1).T, _with_one(left), _with_one(right))


def label_ids(label_set: Tensor, weight: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """Find the best label of a set for each span: int64 [L], [L,D+1,D+1], [S,D] -> int64 [S]."""
    columns, left, right = weight.flatten(1).T, _with_one(left), _with_one(right)
    rows = at_a_time(left, ROWS, 8 * left.shape[1] ** 2)
    best = [
        _scores(columns, x, y).argmax(-1)
        for x, y in zip(torch.split(left, rows), torch.split(right, rows), strict=True)
    ]
    return label_set[torch.cat(best)]


class SpanLabeler:
    """Labels the spans of a batch.

    Args:
        weight: Weight of the model, float [L,D+1,D+1].
        narrow: Labels of spans of one word.
        wide: Labels of longer spans.
    """

    def __init__(self, weight: Tensor, narrow: list[int], wide: list[int]) -> None:
        # a treebank in which all spans have one word has no wide labels: all are allowed
        every = list(range(len(weight)))
        self.sets = [torch.tensor(ids or every, device=weight.device) for ids in (narrow, wide)]
        self.weights = [weight.detach()[ids].contiguous() for ids in self.sets]

    def __call__(self, left: Tensor, right: Tensor, slots: Slots) -> Tensor:
        """Label all slots: span ends float [B,T+1,D], Slots -> int64 [B,P], 0 in padding."""
        row = torch.arange(len(left), device=left.device)[:, None] * left.shape[1]
        start = (row + slots.start).flatten()
        end = start + slots.width.flatten()
        left, right = left.flatten(0, 1), right.flatten(0, 1)
        label = torch.zeros_like(start)
        for part, ids, weight in zip(
            (slots.width == 1, slots.width > 1), self.sets, self.weights, strict=True
        ):
            cells = nonzero(part)
            if len(cells):
                label[cells] = label_ids(ids, weight, left[start[cells]], right[end[cells]])
        return label.view_as(slots.start)
