"""Weights for individual subtrees and headword chains, learned from people's scores.

Liu & Gildea (2005) close with the idea: not all subtrees matter equally, so learn what each is
worth. STM, HWCM and DSTM count keys; here each key g has a weight w(g) = exp θ(g), and

    P(n) = Σ over matched keys of order n of w / Σ over all keys of the hypothesis of order n of w

takes the place of clipped(n) / count(n); recall and F1 likewise, for each reference alone. θ = 0 is
the metric itself. Keys are hashed into a table of buckets, so θ is one vector; an L2 penalty keeps
the weights of rare keys near 1.

    learned = Learned("stm:balance=f1")
    features = learned.features(hyp, refs)                    # once; TreeBatch and R of them
    learned.fit(features, human)                              # or rankings: groups=segment numbers
    learned.save("stm.safetensors"); Learned.load("stm.safetensors")(hyp, refs)       # [B]
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import Module, Parameter

from tensormt.data.tensors import load_tensors, save_tensors
from tensormt.errors import TensorMTError
from tensormt.kernels.counts import Keys, occurrences
from tensormt.registry import make
from tensormt.syntax.fractions import Fractions
from tensormt.trees.batch import TreeBatch

__all__ = ["Features", "Learned", "correlation_loss", "ranking_loss"]

_FORMAT = "tensormt learned weights 1"
_CHUNK = 2048  # segments at a time, so that keys keep their bits in the counter
_SIDES = {"precision": (True, False), "recall": (False, True), "f1": (True, True)}


class Share(NamedTuple):
    """Keys of one side: group [n] = segment · orders + order, bucket [n], and whether matched."""

    group: Tensor
    bucket: Tensor
    matched: Tensor


class Features(NamedTuple):
    """What the weights need of B segments: for each reference the keys of either side, or None.

    With `precision` there is one entry, the hypothesis against all references together.
    """

    segments: int
    hyp: list[Share | None]
    refs: list[Share | None]
    present: Tensor  # bool [B,R]: references that are there
    some: Tensor  # bool [B]: hypotheses that are not empty


Sides = list[Share | None]


class Learned(Module):
    """STM, HWCM or DSTM with learned weights; `spec` as in the registry."""

    def __init__(self, spec: str = "stm:balance=f1", buckets: int = 1 << 16) -> None:
        super().__init__()
        metric = make(spec)
        if getattr(metric, "balance", None) not in _SIDES:
            raise TensorMTError(
                f"{spec!r} has no weights to learn: use stm, hwcm or dstm with balance "
                "precision, recall or f1"
            )
        fractions: Any = metric
        self.metric: Fractions = fractions
        self.spec, self.buckets = spec, buckets
        self.theta = Parameter(torch.zeros(buckets, dtype=torch.float64, device="cpu"))

    def features(self, hyp: TreeBatch, refs: Sequence[TreeBatch]) -> Features:
        """Hashed keys and matches of aligned trees; empty reference trees are absent."""
        self.metric.check(hyp, refs)
        batches = [self.metric.trees(batch) for batch in (hyp, *refs)]
        present = torch.stack([ref.lengths > 0 for ref in refs], 1)
        parts = list(zip(*(batch.chunks(_CHUNK) for batch in batches), strict=True))
        starts = [k * _CHUNK * self.metric.orders for k in range(len(parts))]
        hyp_sides, ref_sides = zip(*(self._chunk(*part) for part in parts), strict=True)
        return Features(
            len(hyp),
            [_joined(column, starts) for column in zip(*hyp_sides, strict=True)],
            [_joined(column, starts) for column in zip(*ref_sides, strict=True)],
            present,
            hyp.lengths > 0,
        )

    def _chunk(self, hyp: TreeBatch, *refs: TreeBatch) -> tuple[Sides, Sides]:
        groups = len(hyp) * self.metric.orders
        own, others = self.metric.keys(hyp), [self.metric.keys(ref) for ref in refs]
        want_hyp, want_refs = _SIDES[self.metric.balance]
        if not want_refs:
            return [self._share(own, others, groups)], [None]
        return (
            [self._share(own, [ref], groups) if want_hyp else None for ref in others],
            [self._share(ref, [own], groups) for ref in others],
        )

    def _share(self, keys: Keys, others: list[Keys], groups: int) -> Share:
        rank, counts = occurrences(keys, others, groups)
        # groups come order by order; here segment by segment, so that chunks can be joined
        size = max(groups // self.metric.orders, 1)
        segment, order = keys.group % size, keys.group // size
        # a key of two orders (a lone word) has a weight in each
        bucket = (keys.key + order * 0x9E3779B1) % self.buckets
        return Share(segment * self.metric.orders + order, bucket, rank < counts.amax(0))

    def forward(self, *inputs: Any) -> Tensor:
        """Segment scores [B] of `features`, or of trees (hyp, refs); an empty hypothesis has 0."""
        features = inputs[0] if isinstance(inputs[0], Features) else self.features(*inputs)
        size = features.segments
        best = self.theta.new_zeros(size)
        for k, pair in enumerate(zip(features.hyp, features.refs, strict=True)):
            sides = [self._mean(side, size) for side in pair if side is not None]
            score = sides[0]
            if len(sides) == 2:
                total = sides[0] + sides[1]
                some = total > 0
                score = torch.where(some, 2 * sides[0] * sides[1] / torch.where(some, total, 1), 0)
            single = len(features.hyp) > 1
            present = features.present[:, k] if single else features.present.any(1)
            best = torch.maximum(best, torch.where(present & features.some, score, 0))
        return best

    def _mean(self, share: Share, size: int) -> Tensor:
        """The mean over the orders that have keys of the weighted fractions, [B]."""
        weight = self.theta.exp()[share.bucket]
        cells = weight.new_zeros(size * self.metric.orders)
        whole = cells.index_add(0, share.group, weight).view(size, -1)
        part = cells.index_add(0, share.group, weight * share.matched).view(size, -1)
        present = whole > 0
        fraction = part / torch.where(present, whole, 1)
        fraction = torch.where(part > 0, fraction, self.metric.epsilon) * present
        return fraction.sum(1) / present.sum(1).clamp_min(1)

    def fit(
        self,
        features: Features,
        human: Tensor,
        groups: Tensor | None = None,
        *,
        steps: int = 100,
        rate: float = 0.05,
        penalty: float = 1e-4,
    ) -> list[float]:
        """Learn θ from human scores [B] by Adam; the loss of every step.

        Without groups the loss is one minus Pearson's correlation over all segments; with groups
        int64 [B] only the ranking of segments of one group counts (outputs for one source).
        `penalty` is on the sum of the squares of θ over the keys seen.
        """
        used = torch.cat([s.bucket for s in (*features.hyp, *features.refs) if s is not None])
        share = torch.bincount(used, minlength=self.buckets).to(self.theta.dtype) > 0
        optimizer = torch.optim.Adam([self.theta], lr=rate)
        losses = []
        for _ in range(steps):
            optimizer.zero_grad()
            score = self(features)
            loss = (
                correlation_loss(score, human)
                if groups is None
                else ranking_loss(score, human, groups)
            )
            losses.append(loss.detach())
            total: Tensor = loss + penalty * (self.theta.square() * share).sum()
            torch.autograd.backward(total)
            optimizer.step()
        found: list[float] = torch.stack(losses).tolist() if losses else []
        return found

    def save(self, path: str | Path) -> None:
        """Write the weights and what they belong to: tensors and names, no pickle."""
        about = {"spec": self.spec, "buckets": self.buckets, "signature": self.metric.signature}
        save_tensors(path, _FORMAT, {"theta": self.theta}, about)

    @classmethod
    def load(cls, path: str | Path) -> Learned:
        """Read what `save` wrote."""
        about, tensors = load_tensors(path, _FORMAT, "learned weights")
        new = cls(about["spec"], about["buckets"])
        with torch.no_grad():
            new.theta.copy_(tensors["theta"])
        return new


def correlation_loss(score: Tensor, human: Tensor) -> Tensor:
    """One minus Pearson's r of scores [B] and human scores [B], []."""
    x, y = (side.to(torch.float64) - side.to(torch.float64).mean() for side in (score, human))
    size = torch.linalg.vector_norm(x) * torch.linalg.vector_norm(y)
    loss: Tensor = 1 - torch.dot(x, y) / size.clamp_min(1e-12)
    return loss


def ranking_loss(score: Tensor, human: Tensor, groups: Tensor, scale: float = 0.05) -> Tensor:
    """Mean logistic loss of all pairs of one group [B] that people rank, [].

    `scale` is the difference of scores that counts as a clear decision.
    """
    better = (human[:, None] > human) & (groups[:, None] == groups)
    gap = (score[:, None] - score) / scale
    loss = torch.nn.functional.softplus(-gap) * better
    return loss.sum() / better.sum().clamp_min(1)


def _joined(shares: Sequence[Share | None], starts: Sequence[int]) -> Share | None:
    """Chunks of one side one after the other, their groups moved to where each starts."""
    real = [(share, start) for share, start in zip(shares, starts, strict=True) if share]
    if not real:
        return None
    return Share(
        torch.cat([share.group + start for share, start in real]),
        torch.cat([share.bucket for share, _ in real]),
        torch.cat([share.matched for share, _ in real]),
    )
