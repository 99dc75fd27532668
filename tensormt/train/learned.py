"""Learned weights of subtrees and headword chains, from human scores.

Liu & Gildea (2005) suggest to learn weights of subtrees, since they are not equally important. STM,
HWCM and DSTM count keys; here each key g has a weight w(g) = exp θ(g), and

    P(n) = Σ over matched keys of order n of w / Σ over all keys of the hypothesis of order n of w

replaces clipped(n) / count(n). This module learns θ; `tensormt.syntax.learned_weights` is the
metric with given weights. An L2 penalty keeps the weights of rare keys near 1.

    learned = Learned("stm:balance=f1")
    features = learned.features(hyp, refs)                    # once; TreeBatch and R of them
    learned.fit(features, human)                              # with groups=…: rankings in groups
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
    """STM, HWCM or DSTM with learned weights.

    Args:
        spec: Name and options of the metric.
        buckets: Number of weights, to which keys are hashed.

    Raises:
        TensorMTError: If the metric is another one.

    >>> learned = Learned("stm:max_depth=2", buckets=64)
    >>> trees = TreeBatch.from_brackets(["(S (NP (DT the) (NN dog)) (VP (VBD ran)))"])
    >>> learned(trees, [trees]).tolist()
    [1.0]
    """

    def __init__(self, spec: str = "stm:balance=f1", buckets: int = 1 << 16) -> None:
        super().__init__()
        self.spec, self.buckets = spec, buckets
        self.theta = Parameter(torch.zeros(buckets, dtype=torch.float64, device="cpu"))
        self.metric = LearnedMetric(make(spec), self.theta).metric

    def features(self, hyp: TreeBatch, refs: Sequence[TreeBatch]) -> Features:
        """Compute hashed keys and matches of aligned trees; empty reference trees are missing."""
        return features_of(self.metric, self.buckets, hyp, refs)

    def forward(self, *inputs: Any) -> Tensor:
        """Compute segment scores [B] of `features` or of trees (hyp, refs); 0 for empty ones."""
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
        """Learn θ from human scores with Adam.

        Args:
            features: Features of B segments.
            human: Human scores, float [B].
            groups: Group of every segment, int64 [B], such as the source: the loss is a pairwise
                ranking loss within groups; None: one minus Pearson's correlation.
            steps: Number of steps.
            rate: Learning rate.
            penalty: Weight of the sum of squares of θ over the keys of `features`.

        Returns:
            The loss of every step.
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
        """Write the weights and the name of the metric, for the metric `learned:FILE`."""
        save_weights(path, self.spec, self.metric.signature, self.theta)

    @classmethod
    def load(cls, path: str | Path) -> Learned:
        """Load what `save` wrote."""
        spec, theta = load_weights(path)
        new = cls(spec, theta.shape[0])
        with torch.no_grad():
            new.theta.copy_(theta)
        return new


def correlation_loss(score: Tensor, human: Tensor) -> Tensor:
    """Compute one minus Pearson's correlation of scores [B] and human scores [B], []."""
    x, y = (side.to(torch.float64) - side.to(torch.float64).mean() for side in (score, human))
    size = torch.linalg.vector_norm(x) * torch.linalg.vector_norm(y)
    loss: Tensor = 1 - torch.dot(x, y) / size.clamp_min(1e-12)
    return loss


def ranking_loss(score: Tensor, human: Tensor, groups: Tensor, scale: float = 0.05) -> Tensor:
    """Compute the mean logistic loss of all pairs of a group with different human scores, [].

    Args:
        score: Scores [B].
        human: Human scores [B].
        groups: Groups [B].
        scale: Unit of differences of scores.
    """
    better = (human[:, None] > human) & (groups[:, None] == groups)
    gap = (score[:, None] - score) / scale
    loss = torch.nn.functional.softplus(-gap) * better
    return loss.sum() / better.sum().clamp_min(1)
