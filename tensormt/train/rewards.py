"""Rewards: K sampled outputs a segment in, a number for each out, and the losses that use them.

    reward = Reward(tm.BLEU(effective_order=True), pad=0, eos=1)
    r = reward(samples, refs)                             # [B,K,T], [B,R,T'] → float64 [B,K]
    loss = minimum_risk(log_probabilities, r, mask=distinct(samples))       # Shen et al. (2016)
    loss = policy_gradient(log_probabilities, leave_one_out(r))     # REINFORCE, self-critical

Minimum risk renormalises the model's probabilities over the samples and takes the expectation:

    Q(k) = p(k)^α / Σⱼ p(j)^α        risk = − Σₖ Q(k) · reward(k)

`shaped` gives every token the gain of its prefix, reward(y₁…yₜ) − reward(y₁…yₜ₋₁); the gains of a
sample add up to its reward. `utility` is the metric between samples and pseudo-references, for
minimum Bayes risk decoding (train/mbr.py); `aggregate` its estimate by averaged references;
`self_score` each sample against all others at once (self-BLEU, a measure of how alike the samples
are). Rewards carry no gradient; nothing waits for the device.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.metric import Metric
from tensormt.train.functional import scores, statistics
from tensormt.train.mbr import shares
from tensormt.train.mbr_aggregation import averaged, others
from tensormt.train.special_tokens import IGNORED, Ids, SpecialIds, Words
from tensormt.train.trainers import GrpoReward


class Reward:
    """A metric on token ids as a reward; what is no word is said by the ids of
    train/special_tokens.py.
    """

    def __init__(
        self,
        metric: Metric[Any],
        *,
        pad: Ids = None,
        eos: Ids = None,
        bos: Ids = None,
        skip: Ids = None,
        special: SpecialIds | None = None,
    ) -> None:
        self.metric = metric
        self.special = special or SpecialIds(pad, eos, bos, skip)
        self.tokenizer: Any = None

    @classmethod
    def from_tokenizer(cls, metric: Metric[Any], tokenizer: Any, model: Any = None) -> Reward:
        """A reward that knows the special ids of a Hugging Face tokenizer (and of a model).

        The tokenizer also makes ids of references that `grpo` is given as text.
        """
        new = cls(metric, special=SpecialIds.from_tokenizer(tokenizer, model))
        new.tokenizer = tokenizer
        return new

    @torch.no_grad()
    def __call__(
        self,
        samples: Tensor,
        refs: Tensor,
        lengths: Tensor | None = None,
        ref_lengths: Tensor | None = None,
    ) -> Tensor:
        """Float64 [B,K] of samples [B,K,T] and refs [B,R,T'], lengths [B,K] and [B,R]; or [B]."""
        return scores(self.metric, samples, refs, lengths, ref_lengths, special=self.special)

    @torch.no_grad()
    def shaped(
        self,
        samples: Tensor,
        refs: Tensor,
        lengths: Tensor | None = None,
        ref_lengths: Tensor | None = None,
    ) -> Tensor:
        """The gain of every token, float64 [B,K,T] (or [B,T]); 0 for what is no word."""
        words, own = self.special.read(samples, lengths), self.special.read(refs, ref_lengths)
        found = statistics(
            self.metric, words.ids, own.ids, words.lengths, own.lengths, prefixes=True
        )
        gains = self.metric.score(found, segment=True).diff(dim=-1)
        # back to where each word stood
        place = (words.kept.cumsum(-1) - 1).clamp_min(0)
        return torch.where(words.kept, gains.gather(-1, place), 0.0)

    @torch.no_grad()
    def utility(
        self,
        samples: Tensor,
        lengths: Tensor | None = None,
        refs: Tensor | None = None,
        ref_lengths: Tensor | None = None,
    ) -> Tensor:
        """Every sample with every pseudo-reference alone, float64 [B,H,R] of [B,H,T], [B,R,T'].

        [b,i,j] has i as the hypothesis and j as the reference; without refs the samples are it.
        """
        hyp, own = self._pools(samples, lengths, refs, ref_lengths)
        return scores(self.metric, hyp.ids, own.ids, hyp.lengths, own.lengths, per_reference=True)

    @torch.no_grad()
    def aggregate(
        self,
        samples: Tensor,
        lengths: Tensor | None = None,
        refs: Tensor | None = None,
        ref_lengths: Tensor | None = None,
        *,
        weights: Tensor | None = None,
        log_probabilities: Tensor | None = None,
    ) -> Tensor:
        """Every sample with the average of the pseudo-references, float64 [B,H].

        N-gram counts and lengths are averaged once, so time is linear in H + R. The references'
        weights are [B,R], or come from their log_probabilities [B,R].
        """
        if not getattr(self.metric, "clips_only", False):
            raise TensorMTError(
                f"{self.metric.name} has no average of references: take a metric of clipped "
                "matches such as BLEU, or utility()"
            )
        metric: Any = self.metric
        hyp, own = self._pools(samples, lengths, refs, ref_lengths)
        share = shares(own.lengths, weights, log_probabilities)
        pool = averaged(
            hyp.ids, hyp.lengths, own.ids, own.lengths, share, max_order=metric.max_order
        )
        found = self.metric.score(metric.count(pool, None), segment=True)
        return found.view(hyp.lengths.shape)

    @torch.no_grad()
    def self_score(self, samples: Tensor, lengths: Tensor | None = None) -> Tensor:
        """The score of every sample with all others as its references, float64 [B,K].

        Time is nearly linear in K for metrics of clipped matches (BLEU), else about K³.
        """
        ids, lengths, _ = self._words(samples, lengths)
        size, number, width = ids.shape
        if number < 2:
            raise TensorMTError(f"{number} samples a segment have no others: give at least 2")
        if getattr(self.metric, "clips_only", False):
            metric: Any = self.metric
            pool = others(ids, lengths, metric.max_order)
            return self.metric.score(metric.count(pool, None), segment=True).view(size, number)
        index = torch.arange(number, device=samples.device)
        rest = (index[:, None] + index[1:]) % number
        found = scores(
            self.metric,
            ids.reshape(size * number, width),
            ids[:, rest].reshape(size * number, number - 1, width),
            lengths.reshape(-1),
            lengths[:, rest].reshape(size * number, number - 1),
        )
        return found.view(size, number)

    def _words(self, samples: Tensor, lengths: Tensor | None) -> Words:
        if samples.dim() != 3:
            raise TensorMTError(f"samples of shape {list(samples.shape)}: expected [B,K,T]")
        return self.special.read(samples, lengths)

    def _pools(
        self,
        samples: Tensor,
        lengths: Tensor | None,
        refs: Tensor | None,
        ref_lengths: Tensor | None,
    ) -> tuple[Words, Words]:
        """Hypotheses and pseudo-references, which are the same where none are given."""
        hyp = self._words(samples, lengths)
        return hyp, hyp if refs is None else self._words(refs, ref_lengths)

    def lists(self, ids: Sequence[Sequence[int]], refs: Sequence[Sequence[Any]]) -> Tensor:
        """Float64 [n] of ids [n] of any lengths with references [n][R], ids or text each."""
        rows = [[self._encoded(ref) for ref in own] for own in refs]
        number = max((len(row) for row in rows), default=1)
        empty: list[int] = []
        rows = [row + [empty] * (number - len(row)) for row in rows]
        flat = _padded([ref for row in rows for ref in row])
        return self(_padded(ids), flat.view(len(rows), number, -1))

    def _encoded(self, ref: Any) -> list[int]:
        """A reference as ids: as it is, or made of text by the tokenizer."""
        if not isinstance(ref, str):
            return [int(k) for k in ref]
        if self.tokenizer is None:
            raise TensorMTError(
                "a reference is text, the reward compares ids: make it with Reward.from_tokenizer, "
                "or give ids"
            )
        found = self.tokenizer(ref, add_special_tokens=False)["input_ids"]
        return [int(k) for k in found]

    def grpo(
        self, column: str = "references", *, name: str | None = None, scale: float = 1.0
    ) -> GrpoReward:
        """A reward function as TRL's trainers call it, on `completion_ids`: nothing is decoded.

        `column` holds references as text, as messages or as ids; see `TextReward.grpo`.
        """
        return GrpoReward(self.metric, self.lists, column, name, scale, ids=True)

    def __repr__(self) -> str:
        return f"Reward({self.metric!r}, special={self.special})"


def _padded(rows: Sequence[Sequence[int]]) -> Tensor:
    """Rows of ids as one tensor [n,T], filled with what is never a word."""
    width = max((len(row) for row in rows), default=0)
    filled = [[*row, *[IGNORED] * (width - len(row))] for row in rows]
    return torch.tensor(filled, dtype=torch.int64, device="cpu").view(len(rows), width)


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
    samples that count (repeated samples are to count once: `distinct`). A small alpha flattens Q.
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
