"""Rewards: K sampled outputs a segment in, a number for each out, and the losses that use them.

    reward = Reward(tm.BLEU(effective_order=True), pad=0)
    r = reward(samples, refs)                             # [B,K,T], [B,R,T'] → float64 [B,K]
    loss = minimum_risk(log_probabilities, r)             # Shen et al. (2016)
    loss = policy_gradient(log_probabilities, leave_one_out(r))     # REINFORCE, self-critical

Minimum risk renormalises the model's probabilities over the samples and takes the expectation:

    Q(k) = p(k)^α / Σⱼ p(j)^α        risk = − Σₖ Q(k) · reward(k)

`shaped` gives every token the gain of its prefix, reward(y₁…yₜ) − reward(y₁…yₜ₋₁); the gains of a
sample add up to its reward. `utility` is the metric between all pairs of samples [B,K,K], for
minimum Bayes risk decoding; `self_score` each sample against all others at once (self-BLEU, a
measure of how alike the samples are). Rewards carry no gradient; nothing waits for the device.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.metric import Metric
from tensormt.train.functional import Pad, lengths_of, scores, statistics

__all__ = [
    "Reward",
    "against_greedy",
    "leave_one_out",
    "mbr",
    "minimum_risk",
    "policy_gradient",
]


class Reward:
    """A metric on token ids as a reward; `pad` ends a segment, see `functional`."""

    def __init__(self, metric: Metric[Any], *, pad: Pad = None) -> None:
        self.metric, self.pad = metric, pad

    @torch.no_grad()
    def __call__(
        self,
        samples: Tensor,
        refs: Tensor,
        lengths: Tensor | None = None,
        ref_lengths: Tensor | None = None,
    ) -> Tensor:
        """Float64 [B,K] of samples [B,K,T] and refs [B,R,T'], lengths [B,K] and [B,R]; or [B]."""
        return scores(self.metric, samples, refs, lengths, ref_lengths, pad=self.pad)

    @torch.no_grad()
    def shaped(
        self,
        samples: Tensor,
        refs: Tensor,
        lengths: Tensor | None = None,
        ref_lengths: Tensor | None = None,
    ) -> Tensor:
        """The gain of every token, float64 [B,K,T] (or [B,T]); 0 beyond the end."""
        found = statistics(
            self.metric, samples, refs, lengths, ref_lengths, pad=self.pad, prefixes=True
        )
        return self.metric.score(found, segment=True).diff(dim=-1)

    @torch.no_grad()
    def utility(self, samples: Tensor, lengths: Tensor | None = None) -> Tensor:
        """The score of every sample with every sample as its reference, float64 [B,K,K].

        [b,i,j] has i as the hypothesis and j as the reference.
        """
        lengths = self._lengths(samples, lengths)
        size, number, width = samples.shape
        hyps = samples[:, None].expand(size, number, number, width)
        # every reference j is a segment of its own with all samples i as its hypotheses
        table = scores(
            self.metric,
            hyps.reshape(size * number, number, width),
            samples.reshape(size * number, 1, width),
            lengths[:, None].expand(size, number, number).reshape(size * number, number),
            lengths.reshape(size * number, 1),
        )
        return table.view(size, number, number).transpose(1, 2)

    @torch.no_grad()
    def self_score(self, samples: Tensor, lengths: Tensor | None = None) -> Tensor:
        """The score of every sample with all others as its references, float64 [B,K]."""
        lengths = self._lengths(samples, lengths)
        size, number, width = samples.shape
        if number < 2:
            raise TensorMTError(f"{number} samples a segment have no others: give at least 2")
        index = torch.arange(number, device=samples.device)
        others = (index[:, None] + index[1:]) % number
        found = scores(
            self.metric,
            samples.reshape(size * number, width),
            samples[:, others].reshape(size * number, number - 1, width),
            lengths.reshape(-1),
            lengths[:, others].reshape(size * number, number - 1),
        )
        return found.view(size, number)

    def _lengths(self, samples: Tensor, lengths: Tensor | None) -> Tensor:
        if samples.dim() != 3:
            raise TensorMTError(f"samples of shape {list(samples.shape)}: expected [B,K,T]")
        return lengths_of(samples, lengths, self.pad)

    def __repr__(self) -> str:
        return f"Reward({self.metric!r}, pad={self.pad})"


def leave_one_out(rewards: Tensor) -> Tensor:
    """Rewards [...,K] less the mean of the other samples' rewards, [...,K]."""
    number = rewards.shape[-1]
    if number < 2:
        raise TensorMTError(f"{number} samples a segment have no others: give at least 2")
    return (rewards - rewards.mean(-1, keepdim=True)) * (number / (number - 1))


def against_greedy(rewards: Tensor, greedy: Tensor) -> Tensor:
    """Rewards [...,K] less that of the greedy output [...] (self-critical, Rennie et al. 2017)."""
    return rewards - greedy[..., None]


def minimum_risk(
    log_probabilities: Tensor, rewards: Tensor, alpha: float = 1.0, mask: Tensor | None = None
) -> Tensor:
    """The expected negative reward under the renormalised samples, mean over segments, [].

    log_probabilities [B,K] are sums over each sample's tokens, rewards [B,K], mask bool [B,K] of
    samples that count (repeated samples are to count once). A small alpha flattens Q.
    """
    sharp = alpha * log_probabilities
    real = torch.ones_like(sharp, dtype=torch.bool) if mask is None else mask
    # segments without a sample that counts add 0, and their gradients stay finite
    any_real = real.any(-1, keepdim=True)
    share = sharp.masked_fill(~(real | ~any_real), -torch.inf).softmax(-1)
    worth = torch.where(real, rewards.detach().to(share.dtype), 0)
    return -(share * worth * any_real).sum() / any_real.sum().clamp_min(1)


def policy_gradient(
    log_probabilities: Tensor, advantages: Tensor, mask: Tensor | None = None
) -> Tensor:
    """REINFORCE: minus the mean of advantage times log-probability, [].

    Shapes [B,K] for whole samples, or [B,K,T] for shaped rewards with a mask bool of real tokens.
    """
    gain = advantages.detach().to(log_probabilities.dtype)
    if mask is None:
        return -(gain * log_probabilities).mean()
    # padding may hold -inf: it is cut off before the product
    real = torch.where(mask, log_probabilities, 0)
    return -(gain * real * mask).sum() / mask.sum().clamp_min(1)


def mbr(utility: Tensor, weights: Tensor | None = None) -> Tensor:
    """The sample of the highest mean utility, int64 [B], from [B,K,K] (hypothesis, reference).

    weights [B,K] of the samples as references (default: equal); of equals the first is taken.
    """
    share = torch.ones_like(utility[..., 0, :]) if weights is None else weights
    return (utility * share.to(utility.dtype)[..., None, :]).sum(-1).argmax(-1)
