"""A tree kernel with similarities of labels, differentiable in the similarities and the decay.

    K(a, b) = Σ over node pairs C(x, y)
    C(x, y) = 0 if x or y has no child or they have different numbers of children, else
              decay · σ(x, y) · Π over children k of σ(x_k, y_k) · (1 + C(x_k, y_k))

σ is a similarity of labels; with the identity matrix this is the kernel of Collins & Duffy (2001)
in kernels/tree_kernel.py. All pairs of nodes contribute, so time and memory are proportional to the
product of the numbers of nodes: use this kernel for training and the exact one for scoring. The
recursion proceeds level by level from the deepest one, and each level depends on the one below
only. It is linear in σ, so gradients are correct also where σ is 0; sums are float64 numbers, which
at decay 1 suffice for trees of about 500 tokens.
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
    """Compute log K of aligned trees.

    Args:
        left: B trees, converted by `skeleton()`, `lexicalized()` or `dependencies()` if needed.
        right: B trees.
        similarity: Similarity of every label of `left` with every label of `right`, [L,L'].
        decay: Decay, a number or [].

    Returns:
        log K [B] of the type of the similarity; −inf if K is 0.

    Raises:
        TensorMTError: If numbers of trees differ, or the shape of `similarity` is another one.

    >>> trees = TreeBatch.from_brackets(["(S (NP (NN dogs)) (VP (VBP run)))"]).skeleton()
    >>> soft_log_kernel(trees, trees, torch.eye(len(trees.labels)), 1.0).exp().round()
    tensor([6.])
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
        # every node of this level is paired with all nodes of the other tree
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
            below = similarity.new_ones(1)  # not used, but indexing needs a non-empty tensor
    some = total > 0
    return torch.where(some, torch.where(some, total, 1.0).log(), -math.inf)


def _children(nodes: Nodes) -> Tensor:
    """The children of every node in order, int64 [n,A], padded with -1."""
    width = int(nodes.arity.max()) if len(nodes) else 0
    table = torch.full(
        (len(nodes), max(width, 1)), -1, dtype=torch.int64, device=nodes.parent.device
    )
    node = nonzero(nodes.parent >= 0)
    table[nodes.parent[node], nodes.position[node]] = node
    return table


class SoftKernel(Module):
    """The cosine of soft kernels with learned similarities of labels and a learned decay.

    Labels have vectors f ≥ 0 of length 1; σ = f·f′ is between 0 and 1 and a kernel itself. At first
    σ is the identity, so the module starts as the exact cosine.

    Args:
        labels: All labels that can occur.
        decay: Initial decay, between 0 and 1.

    Raises:
        TensorMTError: If the decay is out of range.

    >>> trees = TreeBatch.from_brackets(["(S (NP (NN dogs)) (VP (VBP run)))"]).skeleton()
    >>> SoftKernel(trees.labels.strings)(trees, trees).detach().round(decimals=6)
    tensor([1.], dtype=torch.float64)
    """

    def __init__(self, labels: Sequence[str], decay: float = 0.5) -> None:
        super().__init__()
        if not 0 < decay < 1:
            raise TensorMTError(f"decay is {decay}: expected above 0 and below 1")
        self.labels = Dictionary(dict.fromkeys(labels))
        count = len(self.labels)
        self.vectors = Parameter(torch.eye(count, dtype=torch.float64, device="cpu"))
        start = torch.tensor(math.log(decay / (1 - decay)), dtype=torch.float64, device="cpu")
        self.raw_decay = Parameter(start)

    def get_extra_state(self) -> Tensor:
        """Return the labels as bytes, which are saved with the state."""
        joined = "\n".join(self.labels.strings).encode()
        return torch.frombuffer(bytearray(joined), dtype=torch.uint8).clone()

    def set_extra_state(self, state: Tensor) -> None:
        """Restore the labels of a saved state."""
        labels = bytes(state.tolist()).decode().split("\n")
        if len(labels) != len(self.labels):
            raise TensorMTError(
                f"the saved kernel has {len(labels)} labels, this one {len(self.labels)}: "
                "use SoftKernel.from_state"
            )
        self.labels = Dictionary(labels)

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> SoftKernel:
        """Make the kernel of a `state_dict`, with its labels."""
        labels = bytes(state["_extra_state"].tolist()).decode().split("\n")
        new = cls(labels)
        new.load_state_dict(state)
        return new

    @property
    def decay(self) -> Tensor:
        """The decay, between 0 and 1, []."""
        return self.raw_decay.sigmoid()

    def similarity(self) -> Tensor:
        """Compute the similarities of the labels, [L,L]."""
        # the gradient of clamp at 0, the initial value, is 1
        vectors: Tensor = self.vectors.clamp(min=0)
        vectors = vectors / vectors.norm(dim=1, keepdim=True).clamp_min(1e-12)
        return torch.mm(vectors, vectors.t())

    def forward(self, hyp: TreeBatch, ref: TreeBatch) -> Tensor:
        """Compute the cosine of the soft kernels of aligned trees, [B]; 0 without a production."""
        own = [self._log(tree, tree) for tree in (hyp, ref)]
        both = self._log(hyp, ref)
        some = both > -math.inf
        cosine = torch.where(some, both - (own[0] + own[1]) / 2, 0.0).exp()
        return torch.where(some, cosine, 0.0)

    def _log(self, left: TreeBatch, right: TreeBatch) -> Tensor:
        rows, columns = self._index(left), self._index(right)
        return soft_log_kernel(left, right, self.similarity()[rows][:, columns], self.decay)

    def _index(self, batch: TreeBatch) -> Tensor:
        """The positions of a batch's labels among those of the module, int64 [L']."""
        index = batch.labels.among(self.labels)
        unknown = nonzero(index == len(self.labels)).tolist()
        if unknown:
            raise TensorMTError(
                f"label {batch.labels[unknown[0]]!r} is not among the {len(self.labels)} labels of "
                "this kernel: make it with all labels that can occur"
            )
        return index.to(self.vectors.device)
