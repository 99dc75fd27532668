"""Matching of units by the cosine of their vectors, for many pairs of texts at once.

    greedy        each unit takes the most similar unit of the other side, which may be taken often
    one to one    pairs are taken by falling cosine; each unit belongs to at most one pair

Both leave out pairs whose cosine is below a threshold. One-to-one matching takes, in each round,
all pairs that are the best of their row and of their column among what is left. The pair with the
largest cosine is always among them, and taking a pair that is best for both sides never changes
which other pairs are taken, so the result is that of taking one pair at a time. Of equal cosines
the pair of the first unit of the hypothesis comes first, then that of the first unit of the
reference.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

_NONE = -2.0  # below every cosine


class Matching(NamedTuple):
    """What the units of b pairs of texts match, with padding.

    hyp, ref float32 [b,T], [b,U]: the cosine with which each unit is matched, 0 where it is not;
    hyp_to, ref_to int64: the unit of the other side, -1 where there is none.
    """

    hyp: Tensor
    ref: Tensor
    hyp_to: Tensor
    ref_to: Tensor


def pad(starts: Tensor, lengths: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """Return the places of the units of each text, int64 [b,width], and which are real, bool."""
    place = torch.arange(width, device=starts.device)
    real = place < lengths[:, None]
    return (starts[:, None] + place).masked_fill_(~real, 0), real


def cosines(hyp: Tensor, ref: Tensor, real_hyp: Tensor, real_ref: Tensor) -> Tensor:
    """Return the cosines of unit vectors [b,T,D] and [b,U,D], [b,T,U]; padding is below -1."""
    found = torch.bmm(hyp, ref.transpose(1, 2))
    return found.masked_fill_(~(real_hyp[:, :, None] & real_ref[:, None, :]), _NONE)


def with_heads(table: Tensor, hyp: Tensor, ref: Tensor) -> Tensor:
    """Return the similarities of pairs of words and heads: the product of both cosines.

    Args:
        table: Cosines of words [b,T,U]; padding is below -1.
        hyp: Place of the head of each word, int64 [b,T].
        ref: The same of the reference, int64 [b,U].

    Returns:
        [b,T,U], -1 where one of the two is not positive; padding stays below -1.
    """
    heads = table.gather(1, hyp[:, :, None].expand_as(table))
    heads = heads.gather(2, ref[:, None, :].expand_as(table))
    both = (table * heads).where((table > 0) & (heads > 0), -1.0)
    return both.masked_fill_(table < -1, _NONE)


def match(table: Tensor, one_to_one: bool, threshold: float) -> Matching:
    """Match the units of both sides by their cosines [b,T,U]; padding is below -1."""
    return _one_to_one(table, threshold) if one_to_one else _greedy(table, threshold)


def _greedy(table: Tensor, threshold: float) -> Matching:
    hyp, hyp_to = table.max(2)
    ref, ref_to = table.max(1)
    found = []
    for values, places in ((hyp, hyp_to), (ref, ref_to)):
        taken = values >= threshold
        found.append((values.where(taken, 0.0), places.where(taken, -1)))
    return Matching(found[0][0], found[1][0], found[0][1], found[1][1])


def _one_to_one(table: Tensor, threshold: float) -> Matching:
    """One host synchronisation for each round."""
    left = table.masked_fill(table < threshold, _NONE)
    hyp, ref = left.new_zeros(left.shape[:2]), left.new_zeros(left.shape[0], left.shape[2])
    hyp_to = torch.full(hyp.shape, -1, dtype=torch.int64, device=left.device)
    ref_to = torch.full(ref.shape, -1, dtype=torch.int64, device=left.device)
    own = torch.arange(left.shape[1], device=left.device)
    while left.numel():
        value, place = left.max(2)
        best = left.max(1).indices.gather(1, place)
        taken = (best == own) & (value > _NONE)
        if not bool(taken.any()):
            break
        pair, unit = taken.nonzero(as_tuple=True)
        other = place[pair, unit]
        hyp[pair, unit] = ref[pair, other] = value[pair, unit]
        hyp_to[pair, unit], ref_to[pair, other] = other, unit
        left[pair, unit] = _NONE
        left[pair, :, other] = _NONE
    return Matching(hyp, ref, hyp_to, ref_to)
