"""Agreement between raters, and kappa (Qin & Specia 2015, section 4.5, Table 1).

An item is agreed upon if at least two of its judgments are equal, and

    kappa = (agreement − chance) / (1 − chance)        chance = 0.2 on a scale of 1 to 5
"""

from __future__ import annotations

import torch
from torch import Tensor

from tensormt.errors import TensorMTError


def item_agreement(judgments: Tensor) -> Tensor:
    """Compute the share of items for which two raters gave the same judgment.

    Args:
        judgments: Judgments [...,B,J] of B items by J raters; NaN: no judgment. Items with fewer
            than two judgments are left out.

    Returns:
        Share of agreed items, float64 [...].

    Raises:
        TensorMTError: If there are fewer than two dimensions.

    >>> item_agreement(torch.tensor([[1.0, 1.0], [1.0, 2.0]]))
    tensor(0.5000, dtype=torch.float64)
    """
    same, judged = _pairs(judgments)
    return _share(same.any(-1), judged.sum(-1) >= 2)


def rater_agreement(judgments: Tensor) -> Tensor:
    """Compute for each rater the share of items on which another rater agrees.

    Args:
        judgments: Judgments [...,B,J], as for `item_agreement`.

    Returns:
        Share for each rater, float64 [...,J].

    Raises:
        TensorMTError: If there are fewer than two dimensions.

    >>> rater_agreement(torch.tensor([[1.0, 1.0, 2.0], [3.0, 3.0, 3.0]])).tolist()
    [1.0, 1.0, 0.5]
    """
    same, judged = _pairs(judgments)
    shared = judged & (judged.sum(-1, keepdim=True) >= 2)
    return _share(same.transpose(-1, -2), shared.transpose(-1, -2))


def kappa(share: Tensor, chance: float = 0.2) -> Tensor:
    """Correct shares of agreement for chance.

    Args:
        share: Shares of agreement [...].
        chance: Agreement of random judgments, at least 0 and below 1.

    Returns:
        Kappa, [...].

    Raises:
        TensorMTError: If `chance` is out of range.

    >>> round(float(kappa(torch.tensor(0.6))), 3)
    0.5
    """
    if not 0 <= chance < 1:
        raise TensorMTError(f"chance is {chance}: expected at least 0 and less than 1")
    return (share - chance) / (1 - chance)


def _pairs(judgments: Tensor) -> tuple[Tensor, Tensor]:
    """Whether each judgment [...,B,J] equals one of another rater, and whether it exists."""
    if judgments.dim() < 2:
        raise TensorMTError(
            f"judgments of shape {list(judgments.shape)}: expected [...,items,raters]"
        )
    scores = judgments.double()
    equal = scores[..., :, None] == scores[..., None, :]
    other = ~torch.eye(scores.shape[-1], dtype=torch.bool, device=scores.device)
    return (equal & other).any(-1), ~scores.isnan()


def _share(hits: Tensor, present: Tensor) -> Tensor:
    """The share of hits among the present values along the last axis; 0 if there is none."""
    return (hits & present).sum(-1).double() / present.sum(-1).clamp_min(1)
