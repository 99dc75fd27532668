"""Rewards of K sampled outputs per segment, and losses that use them.

    reward = Reward(tm.BLEU(effective_order=True), pad=0, eos=1)
    r = reward(samples, refs)                             # [B,K,T], [B,R,T'] → float64 [B,K]
    loss = minimum_risk(log_probabilities, r, mask=distinct(samples))       # Shen et al. (2016)
    loss = policy_gradient(log_probabilities, leave_one_out(r))     # REINFORCE, self-critical

Minimum risk training renormalizes the probabilities of the model over the samples:

    Q(k) = p(k)^α / Σⱼ p(j)^α        risk = − Σₖ Q(k) · reward(k)

`shaped` assigns to every token the gain of its prefix, reward(y₁…yₜ) − reward(y₁…yₜ₋₁); the gains
of a sample sum to its reward. `utility` is the metric between samples and pseudo-references, for
minimum Bayes risk decoding (train/mbr.py); `aggregate` estimates it with averaged references;
`self_score` scores each sample with all others as references (self-BLEU, a measure of diversity).
Rewards have no gradient, and there is no synchronization with the device.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.metric import Metric
from tensormt.train.functional import scores, statistics
from tensormt.train.mbr import reference_weights
from tensormt.train.mbr_aggregation import matches_with_average, matches_with_others
from tensormt.train.naming import as_metric
from tensormt.train.special_tokens import IGNORED, ContentIds, Ids, SpecialIds
from tensormt.train.trainers import GrpoReward


class Reward:
    """A metric on token ids as a reward.

    Args:
        metric: Metric of n-grams, or its name with options.
        pad: Ids of padding.
        eos: Ids of the end.
        bos: Ids of the beginning.
        skip: Ids that are left out everywhere.
        special: All special ids, instead of the four arguments before.

    >>> from tensormt.ngram.bleu import BLEU
    >>> reward = Reward(BLEU(max_order=2), pad=0)
    >>> samples = torch.tensor([[[5, 6, 7], [5, 8, 0]]])
    >>> reward(samples, torch.tensor([[[5, 6, 7]]])).shape
    torch.Size([1, 2])
    """

    def __init__(
        self,
        metric: Metric[Any] | str,
        *,
        pad: Ids = None,
        eos: Ids = None,
        bos: Ids = None,
        skip: Ids = None,
        special: SpecialIds | None = None,
    ) -> None:
        self.metric = as_metric(metric)
        self.special = special or SpecialIds(pad, eos, bos, skip)
        self.tokenizer: Any = None

    @classmethod
    def from_tokenizer(cls, metric: Metric[Any], tokenizer: Any, model: Any = None) -> Reward:
        """Make a reward with the special ids of a Hugging Face tokenizer.

        Args:
            metric: Metric of n-grams.
            tokenizer: Tokenizer, which also encodes references that `grpo` receives as text.
            model: Model whose configuration has further special ids.
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
        """Compute rewards.

        Args:
            samples: Ids of K samples per segment, int [B,K,T], or of one, int [B,T].
            refs: Ids of references, int [B,R,T'].
            lengths: Lengths of the samples, int [B,K] or [B]; None: given by the special ids.
            ref_lengths: Lengths of the references, int [B,R]; None: given by the special ids.

        Returns:
            Segment scores, float64 [B,K] or [B].
        """
        return scores(self.metric, samples, refs, lengths, ref_lengths, special=self.special)

    @torch.no_grad()
    def shaped(
        self,
        samples: Tensor,
        refs: Tensor,
        lengths: Tensor | None = None,
        ref_lengths: Tensor | None = None,
    ) -> Tensor:
        """Compute the gain of every token, float64 [B,K,T] or [B,T]; 0 for special ids.

        Arguments are those of `__call__`.
        """
        words, own = self.special.read(samples, lengths), self.special.read(refs, ref_lengths)
        found = statistics(
            self.metric, words.ids, own.ids, words.lengths, own.lengths, prefixes=True
        )
        gains = self.metric.score(found, segment=True).diff(dim=-1)
        # back to the original positions
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
        """Score every sample with every pseudo-reference alone.

        Args:
            samples: Ids of hypotheses, int [B,H,T].
            lengths: Their lengths, int [B,H]; None: given by the special ids.
            refs: Ids of pseudo-references, int [B,R,T']; None: the samples.
            ref_lengths: Their lengths, int [B,R]; None: given by the special ids.

        Returns:
            Scores of hypothesis i with reference j, float64 [B,H,R].
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
        """Score every sample with the average of the pseudo-references, in time linear in H + R.

        Args:
            samples: Ids of hypotheses, int [B,H,T].
            lengths: Their lengths, int [B,H]; None: given by the special ids.
            refs: Ids of pseudo-references, int [B,R,T']; None: the samples.
            ref_lengths: Their lengths, int [B,R]; None: given by the special ids.
            weights: Weights of the references, [B,R]; None: equal.
            log_probabilities: Log-probabilities of the references [B,R], instead of weights.

        Returns:
            Scores float64 [B,H].

        Raises:
            TensorMTError: If the metric is not one of clipped matches.
        """
        if not getattr(self.metric, "clips_only", False):
            raise TensorMTError(
                f"{self.metric.name} does not support averaged references: use a metric of "
                "clipped matches such as BLEU, or utility()"
            )
        metric: Any = self.metric
        hyp, own = self._pools(samples, lengths, refs, ref_lengths)
        share = reference_weights(own.lengths, weights, log_probabilities)
        pool = matches_with_average(
            hyp.ids, hyp.lengths, own.ids, own.lengths, share, max_order=metric.max_order
        )
        found: Tensor = self.metric.score(metric.count(pool, None), segment=True)
        return found.view(hyp.lengths.shape)

    @torch.no_grad()
    def self_score(self, samples: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Score every sample [B,K,T] with all others as its references, float64 [B,K].

        Time is almost linear in K for metrics of clipped matches (BLEU), otherwise about K³.

        Raises:
            TensorMTError: If there are fewer than 2 samples.
        """
        ids, lengths, _ = self._words(samples, lengths)
        size, number, width = ids.shape
        if number < 2:
            raise TensorMTError(f"{number} samples per segment: expected at least 2")
        if getattr(self.metric, "clips_only", False):
            metric: Any = self.metric
            pool = matches_with_others(ids, lengths, metric.max_order)
            found: Tensor = self.metric.score(metric.count(pool, None), segment=True)
            return found.view(size, number)
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

    def _words(self, samples: Tensor, lengths: Tensor | None) -> ContentIds:
        if samples.dim() != 3:
            raise TensorMTError(f"samples of shape {list(samples.shape)}: expected [B,K,T]")
        return self.special.read(samples, lengths)

    def _pools(
        self,
        samples: Tensor,
        lengths: Tensor | None,
        refs: Tensor | None,
        ref_lengths: Tensor | None,
    ) -> tuple[ContentIds, ContentIds]:
        """Hypotheses and pseudo-references, which are the hypotheses if there are none."""
        hyp = self._words(samples, lengths)
        return hyp, hyp if refs is None else self._words(refs, ref_lengths)

    def lists(self, ids: Sequence[Sequence[int]], refs: Sequence[Sequence[Any]]) -> Tensor:
        """Compute rewards float64 [n] of n lists of ids, with references [n][R] as ids or text."""
        rows = [[self._encoded(ref) for ref in own] for own in refs]
        number = max((len(row) for row in rows), default=1)
        empty: list[int] = []
        rows = [row + [empty] * (number - len(row)) for row in rows]
        flat = _padded([ref for row in rows for ref in row])
        return self(_padded(ids), flat.view(len(rows), number, -1))

    def _encoded(self, ref: Any) -> list[int]:
        """A reference as ids; text is encoded by the tokenizer."""
        if not isinstance(ref, str):
            return [int(k) for k in ref]
        if self.tokenizer is None:
            raise TensorMTError(
                "a reference is text, but the reward compares ids: use Reward.from_tokenizer, or "
                "pass ids"
            )
        found = self.tokenizer(ref, add_special_tokens=False)["input_ids"]
        return [int(k) for k in found]

    def grpo(
        self, column: str = "references", *, name: str | None = None, scale: float = 1.0
    ) -> GrpoReward:
        """Return a reward function for TRL's trainers, which compares `completion_ids`.

        Args:
            column: Column of the data set with references as text, messages or ids.
            name: Name in logs; None: made from the metric and the options.
            scale: Largest reward.
        """
        return GrpoReward(self.metric, self.lists, column, name, scale, ids=True)

    def __repr__(self) -> str:
        return f"Reward({self.metric!r}, special={self.special})"


def _padded(rows: Sequence[Sequence[int]]) -> Tensor:
    """Rows of ids as one tensor [n,T], padded with −100."""
    width = max((len(row) for row in rows), default=0)
    filled = [[*row, *[IGNORED] * (width - len(row))] for row in rows]
    return torch.tensor(filled, dtype=torch.int64, device="cpu").view(len(rows), width)


def leave_one_out(rewards: Tensor) -> Tensor:
    """Subtract from each reward the mean reward of the other samples.

    Args:
        rewards: Rewards [...,K].

    Returns:
        Advantages [...,K].

    Raises:
        TensorMTError: If K is below 2.

    >>> leave_one_out(torch.tensor([[1.0, 3.0]]))
    tensor([[-2.,  2.]])
    """
    number = rewards.shape[-1]
    if number < 2:
        raise TensorMTError(f"{number} samples per segment: expected at least 2")
    return (rewards - rewards.mean(-1, keepdim=True)) * (number / (number - 1))


def against_greedy(rewards: Tensor, greedy: Tensor) -> Tensor:
    """Subtract the reward of the greedy output (self-critical training, Rennie et al. 2017).

    Args:
        rewards: Rewards of samples [...,K].
        greedy: Rewards of greedy outputs [...].

    Returns:
        Advantages [...,K].

    >>> against_greedy(torch.tensor([[1.0, 3.0]]), torch.tensor([2.0]))
    tensor([[-1.,  1.]])
    """
    return rewards - greedy[..., None]


def minimum_risk(
    log_probabilities: Tensor, rewards: Tensor, alpha: float = 1.0, mask: Tensor | None = None
) -> Tensor:
    """Compute the expected negative reward under the renormalized probabilities of samples.

    Args:
        log_probabilities: Log-probabilities of samples, summed over their tokens, [B,K].
        rewards: Rewards [B,K].
        alpha: Sharpness of the renormalized distribution; small values flatten it.
        mask: Samples that count, bool [B,K]; repeated samples should count once (`distinct`).

    Returns:
        Mean over segments, [].

    >>> minimum_risk(torch.zeros(1, 2), torch.tensor([[0.0, 1.0]]))
    tensor(-0.5000)
    """
    sharp = alpha * log_probabilities
    real = torch.ones_like(sharp, dtype=torch.bool) if mask is None else mask
    # segments in which no sample counts add 0, with finite gradients
    any_real = real.any(-1, keepdim=True)
    share = sharp.masked_fill(~(real | ~any_real), -torch.inf).softmax(-1)
    worth = torch.where(real, rewards.detach().to(share.dtype), 0)
    return -(share * worth * any_real).sum() / any_real.sum().clamp_min(1)


def policy_gradient(
    log_probabilities: Tensor, advantages: Tensor, mask: Tensor | None = None
) -> Tensor:
    """Compute the REINFORCE loss: minus the mean of advantage times log-probability.

    Args:
        log_probabilities: Log-probabilities of samples [B,K], or of tokens [B,K,T].
        advantages: Advantages of the same shape.
        mask: Values that count, bool of the same shape; None: all.

    Returns:
        Loss, [].

    >>> policy_gradient(torch.tensor([[-1.0, -2.0]]), torch.tensor([[1.0, -1.0]]))
    tensor(-0.5000)
    """
    gain = advantages.detach().to(log_probabilities.dtype)
    if mask is None:
        return -(gain * log_probabilities).mean()
    # log-probabilities of padding may be -inf: they are replaced before the product
    real = torch.where(mask, log_probabilities, 0)
    return -(gain * real * mask).sum() / mask.sum().clamp_min(1)
