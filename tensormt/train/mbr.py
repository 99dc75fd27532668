"""Minimum Bayes risk decoding: the hypothesis that is most like all pseudo-references.

    ŷ = argmax over hypotheses h of  Σ over pseudo-references r of  weight(r) · metric(h, r)

(Kumar & Byrne 2004; Eikema & Aziz 2020). `Reward.utility` and `TextReward.utility` give the table
[B,H,R] of a metric between all pairs; `Reward.aggregate` and `TextReward.aggregate` its estimate
[B,H] with averaged references, which `best` ranks too. Samples of a model weigh equally; hypotheses
of a beam by their probabilities:

    best = nbest(reward.utility(samples), 3, log_probabilities=scores)      # indices, scores [B,3]
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from tensormt.errors import TensorMTError


class Best(NamedTuple):
    """The best N hypotheses, best first: indices int64 [B,N] and scores [B,N]."""

    indices: Tensor
    scores: Tensor


def shares(
    like: Tensor, weights: Tensor | None = None, log_probabilities: Tensor | None = None
) -> Tensor:
    """The weights of references [...,R], float64, of sum 1: equal, given, or by probability."""
    if weights is not None and log_probabilities is not None:
        raise TensorMTError("weights and log_probabilities are both given: give one of them")
    given = weights if log_probabilities is None else log_probabilities
    if given is None:
        given = torch.ones(like.shape, dtype=torch.float64, device=like.device)
    if given.shape != like.shape:
        raise TensorMTError(
            f"weights of shape {list(given.shape)} for references {list(like.shape)}: "
            "expected one for each"
        )
    given = given.detach().to(torch.float64)
    if log_probabilities is not None:
        return given.softmax(-1)
    return given / given.sum(-1, keepdim=True)


def nbest(
    utility: Tensor,
    number: int = 1,
    weights: Tensor | None = None,
    log_probabilities: Tensor | None = None,
) -> Best:
    """The N hypotheses of the highest expected utility, from [B,H,R] (hypothesis, reference).

    weights [B,R] of the references (default: equal), or their log_probabilities [B,R], which need
    not be normalised. Of equals the first comes first.
    """
    share = shares(utility[..., 0, :], weights, log_probabilities)
    return best((utility * share[..., None, :].to(utility.dtype)).sum(-1), number)


def best(expected: Tensor, number: int = 1) -> Best:
    """The N hypotheses of the highest expected utility [B,H]; of equals the first comes first."""
    if not 1 <= number <= expected.shape[-1]:
        raise TensorMTError(
            f"the best {number} of {expected.shape[-1]} hypotheses: expected 1 to "
            f"{expected.shape[-1]}"
        )
    score, index = expected.sort(dim=-1, descending=True, stable=True)
    return Best(index[..., :number], score[..., :number])


def mbr(
    utility: Tensor, weights: Tensor | None = None, log_probabilities: Tensor | None = None
) -> Tensor:
    """The hypothesis of the highest expected utility, int64 [B], from [B,H,R]; see `nbest`."""
    return nbest(utility, 1, weights, log_probabilities).indices[..., 0]
