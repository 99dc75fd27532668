"""Weights for individual subtrees and headword chains, learned from people's scores.

Liu & Gildea (2005) close with the idea: not all subtrees matter equally, so learn what each is
worth. STM, HWCM and DSTM count keys; here each key g has a weight w(g) = exp θ(g), and

    P(n) = Σ over matched keys of order n of w / Σ over all keys of the hypothesis of order n of w

takes the place of clipped(n) / count(n) (tensormt.syntax.learned_weights, which makes a metric of a
file of weights); here θ is learned. An L2 penalty keeps the weights of rare keys near 1.

    learned = Learned("stm:balance=f1")
    features = learned.features(hyp, refs)                    # once; TreeBatch and R of them
    learned.fit(features, human)                              # or rankings: groups=segment numbers
    learned.save("stm.safetensors"); tm.score(…, metrics=["learned:stm.safetensors"])
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import Module, Parameter

from tensormt.registry import make
from tensormt.syntax.learned_weights import (
    Features,
    LearnedMetric,
    features_of,
    load_weights,
    rows_of,
    save_weights,
)
from tensormt.trees.batch import TreeBatch


class Learned(Module):
    """STM, HWCM or DSTM with learned weights; `spec` as in the registry."""

    def __init__(self, spec: str = "stm:balance=f1", buckets: int = 1 << 16) -> None:
        super().__init__()
        self.spec, self.buckets = spec, buckets
        self.theta = Parameter(torch.zeros(buckets, dtype=torch.float64, device="cpu"))
        self.metric = LearnedMetric(make(spec), self.theta).metric

    def features(self, hyp: TreeBatch, refs: Sequence[TreeBatch]) -> Features:
        """Hashed keys and matches of aligned trees; empty reference trees are absent."""
        return features_of(self.metric, self.buckets, hyp, refs)

    def forward(self, *inputs: Any) -> Tensor:
        """Segment scores [B] of `features`, or of trees (hyp, refs); an empty hypothesis has 0."""
        features = inputs[0] if isinstance(inputs[0], Features) else self.features(*inputs)
        score = self.metric.score(rows_of(self.metric, features, self.theta), segment=True)
        return torch.where(features.present, score, 0).amax(0)

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
        used = torch.cat([s.bucket for s in (*features.hyp, *features.refs)])
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
        """Write the weights and what they belong to, for `learned:FILE`."""
        save_weights(path, self.spec, self.metric.signature, self.theta)

    @classmethod
    def load(cls, path: str | Path) -> Learned:
        """Read what `save` wrote."""
        spec, theta = load_weights(path)
        new = cls(spec, theta.shape[0])
        with torch.no_grad():
            new.theta.copy_(theta)
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
