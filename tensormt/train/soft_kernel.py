"""A tree kernel in which labels are more or less alike, with gradients to likeness and decay.

    K(a, b) = Σ over node pairs C(x, y)
    C(x, y) = 0 where x or y has no child or they have different numbers of children, else
              decay · σ(x, y) · Π over children k of σ(x_k, y_k) · (1 + C(x_k, y_k))

σ is a similarity of labels; with the identity matrix it is the kernel of Collins & Duffy (2001) in
kernels/tree_kernel.py. Where labels are alike every pair of nodes counts, so time and memory grow
with the product of two trees' nodes: this is for training, the exact kernel for scoring. The
recursion runs level by level from the deepest, and each level needs the one below it only. It is
linear in σ, so gradients are right also where σ is 0; sums are plain float64 numbers, which at
decay 1 hold trees of about 500 tokens.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import Module, Parameter

from tensormt.errors import TensorMTError
from tensormt.kernels.backend import nonzero, repeat
from tensormt.kernels.nodes import Nodes
from tensormt.metric import check_aligned
from tensormt.text.dictionary import Dictionary
from tensormt.trees.batch import TreeBatch


def soft_log_kernel(
    left: TreeBatch, right: TreeBatch, similarity: Tensor, decay: Tensor | float
) -> Tensor:
    """log K(left b, right b) of aligned trees, [B]; -inf where K is 0.

    similarity [L,L'] has a row for each of left.labels and a column for each of right.labels;
    its type is that of the result. Trees are compared as they are: give `skeleton()`,
    `lexicalized()` or `dependencies()`.
    """
    check_aligned(left, [right])
    shape = (len(left.labels), len(right.labels))
    if similarity.shape != shape:
        raise TensorMTError(
            f"similarity of shape {list(similarity.shape)} for {shape[0]} and {shape[1]} labels: "
            f"expected {list(shape)}"
        )
    a, b = left.nodes, right.nodes
    ours, theirs = _children(a), _children(b)
    total = similarity.new_zeros(len(left))
    below, start = similarity.new_ones(1), torch.zeros_like(a.parent)
    for level in reversed(a.levels):
        segment = a.segment[level]
        number = b.lengths[segment]
        # every node of this level meets all nodes of the other tree
        owner, place = repeat(number)
        x, y = level[owner], b.offsets[segment][owner] + place
        alike = similarity[a.label[x], b.label[y]]
        cells = nonzero((a.arity[x] == b.arity[y]) & (a.arity[x] > 0))
        x, y = x[cells], y[cells]
        width = min(ours.shape[1], theirs.shape[1])
        kids, others = ours[x, :width], theirs[y, :width]
        pair = start[kids.clamp_min(0)] + others - b.offsets[a.segment[x]][:, None]
        factors = torch.where(kids >= 0, below[torch.where(kids >= 0, pair, 0)], 1.0)
        common = decay * alike[cells] * factors.prod(1)
        total = total.index_add(0, a.segment[x], common)
        below = alike * (1 + torch.zeros_like(alike).index_put((cells,), common))
        start[level] = number.cumsum(0) - number
        if not below.shape[0]:
            below = similarity.new_ones(1)  # nobody reads it, but indexing wants a cell
    some = total > 0
    return torch.where(some, torch.where(some, total, 1.0).log(), -math.inf)


def _children(nodes: Nodes) -> Tensor:
    """The children of every node in order, int64 [n,A]; -1 where there is none."""
    width = int(nodes.arity.max()) if len(nodes) else 0
    table = torch.full(
        (len(nodes), max(width, 1)), -1, dtype=torch.int64, device=nodes.parent.device
    )
    node = nonzero(nodes.parent >= 0)
    table[nodes.parent[node], nodes.position[node]] = node
    return table


class SoftKernel(Module):
    """The cosine of soft kernels with a learned likeness of labels and a learned decay.

    Labels have vectors f ≥ 0 of length 1; σ = f·f′ lies between 0 and 1 and is a kernel itself. At
    the start every label is like itself alone, so the module starts as the exact cosine.
    """

    def __init__(self, labels: Sequence[str], decay: float = 0.5) -> None:
        """The labels that can be met; 0 < decay < 1 is where the decay starts."""
        super().__init__()
        if not 0 < decay < 1:
            raise TensorMTError(f"decay is {decay}: expected above 0 and below 1")
        self.labels = Dictionary(dict.fromkeys(labels))
        count = len(self.labels)
        self.vectors = Parameter(torch.eye(count, dtype=torch.float64, device="cpu"))
        start = torch.tensor(math.log(decay / (1 - decay)), dtype=torch.float64, device="cpu")
        self.raw_decay = Parameter(start)

    def get_extra_state(self) -> Tensor:
        """The labels, which are saved with the state: as bytes, so that any format takes them."""
        joined = "\n".join(self.labels.strings).encode()
        return torch.frombuffer(bytearray(joined), dtype=torch.uint8).clone()

    def set_extra_state(self, state: Tensor) -> None:
        """Take the labels of a saved state: its vectors are theirs, in their order."""
        labels = bytes(state.tolist()).decode().split("\n")
        if len(labels) != len(self.labels):
            raise TensorMTError(
                f"the saved kernel has {len(labels)} labels, this one {len(self.labels)}: "
                "make it with SoftKernel.from_state"
            )
        self.labels = Dictionary(labels)

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> SoftKernel:
        """The kernel that a `state_dict` was taken of, with its labels."""
        labels = bytes(state["_extra_state"].tolist()).decode().split("\n")
        new = cls(labels)
        new.load_state_dict(state)
        return new

    @property
    def decay(self) -> Tensor:
        """The decay, between 0 and 1, []."""
        return self.raw_decay.sigmoid()

    def similarity(self) -> Tensor:
        """How alike the labels are, [L,L]."""
        # the clamp lets gradients through at 0, where labels start
        vectors: Tensor = self.vectors.clamp(min=0)
        vectors = vectors / vectors.norm(dim=1, keepdim=True).clamp_min(1e-12)
        return torch.mm(vectors, vectors.t())

    def forward(self, hyp: TreeBatch, ref: TreeBatch) -> Tensor:
        """Cosine of the soft kernels of aligned trees, [B]; 0 where a tree has no production."""
        own = [self._log(tree, tree) for tree in (hyp, ref)]
        both = self._log(hyp, ref)
        some = both > -math.inf
        cosine = torch.where(some, both - (own[0] + own[1]) / 2, 0.0).exp()
        return torch.where(some, cosine, 0.0)

    def _log(self, left: TreeBatch, right: TreeBatch) -> Tensor:
        rows, columns = self._index(left), self._index(right)
        return soft_log_kernel(left, right, self.similarity()[rows][:, columns], self.decay)

    def _index(self, batch: TreeBatch) -> Tensor:
        """The places of a batch's labels in the module's list, int64 [L']."""
        index = batch.labels.among(self.labels)
        strange = nonzero(index == len(self.labels)).tolist()
        if strange:
            raise TensorMTError(
                f"label {batch.labels[strange[0]]!r} is not among the {len(self.labels)} labels of "
                "this kernel: make it with all labels that can be met"
            )
        return index.to(self.vectors.device)
