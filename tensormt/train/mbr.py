"""Minimum Bayes risk decoding: the hypothesis with the highest expected utility.

    ŷ = argmax over hypotheses h of  Σ over pseudo-references r of  weight(r) · metric(h, r)

(Kumar & Byrne 2004; Eikema & Aziz 2020). `Reward.utility` and `TextReward.utility` compute the
table [B,H,R] of a metric for all pairs; `Reward.aggregate` and `TextReward.aggregate` estimate the
expected utility [B,H] with averaged references, which `best` ranks. Samples of a model have equal
weights; hypotheses of a beam are weighted by their probabilities:

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


def reference_weights(
    like: Tensor, weights: Tensor | None = None, log_probabilities: Tensor | None = None
) -> Tensor:
    """Return the weights of references, which sum to 1: equal, given, or by probability.

    Args:
        like: Tensor of the shape [...,R] of the weights.
        weights: Weights [...,R]; None: equal.
        log_probabilities: Log-probabilities [...,R], instead of weights.

    Returns:
        Weights float64 [...,R].

    Raises:
        TensorMTError: If both are given, or the shape is another one.

    >>> reference_weights(torch.zeros(2), weights=torch.tensor([1.0, 3.0])).tolist()
    [0.25, 0.75]
    """
    if weights is not None and log_probabilities is not None:
        raise TensorMTError("weights and log_probabilities are both given: pass one of them")
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
    """Return the N hypotheses of the highest expected utility; ties keep their order.

    Args:
        utility: Utility of every hypothesis with every reference, [B,H,R].
        number: Number N of hypotheses.
        weights: Weights of the references, [B,R]; None: equal.
        log_probabilities: Log-probabilities of the references [B,R], not necessarily normalized,
            instead of weights.

    Returns:
        Indices int64 [B,N] and expected utilities [B,N].

    Raises:
        TensorMTError: If N or the weights are invalid.

    >>> nbest(torch.tensor([[[1.0, 0.0], [0.5, 1.0]]]), 2).indices
    tensor([[1, 0]])
    """
    share = reference_weights(utility[..., 0, :], weights, log_probabilities)
    return best((utility * share[..., None, :].to(utility.dtype)).sum(-1), number)


def best(expected: Tensor, number: int = 1) -> Best:
    """Return the N hypotheses of the highest expected utility; ties keep their order.

    Args:
        expected: Expected utilities, [B,H].
        number: Number N of hypotheses.

    Returns:
        Indices int64 [B,N] and expected utilities [B,N].

    Raises:
        TensorMTError: If N is not between 1 and H.

    >>> best(torch.tensor([[0.1, 0.9, 0.5]]), 2).indices
    tensor([[1, 2]])
    """
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
    """Return the hypothesis of the highest expected utility.

    Args:
        utility: Utility of every hypothesis with every reference, [B,H,R].
        weights: Weights of the references, [B,R]; None: equal.
        log_probabilities: Log-probabilities of the references [B,R], instead of weights.

    Returns:
        Indices int64 [B].

    Raises:
        TensorMTError: If the weights are invalid.

    >>> mbr(torch.tensor([[[1.0, 0.0], [0.5, 1.0]]]))
    tensor([1])
    """
    return nbest(utility, 1, weights, log_probabilities).indices[..., 0]
