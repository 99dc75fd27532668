"""Matching of units by the cosine of their vectors, for many pairs of texts at once.

    greedy        each unit takes the most similar unit of the other side, which may be taken often
    one to one    pairs are taken by falling cosine; each unit belongs to at most one pair

Both leave out pairs whose cosine is below a threshold. One-to-one matching takes, in each round,
all pairs that are the best of their row and of their column among what is left. The pair with the
largest cosine is always among them, and taking a pair that is best for both sides never changes
which other pairs are taken, so the result is that of taking one pair at a time. Of equal cosines
the pair of the first unit of the hypothesis comes first, then that of the first unit of the
reference. A round works on the units that are left: after the first it is a small part of them.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from tensormt.kernels.backend import nonzero, products, take

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


def cosines(hyp: Tensor, ref: Tensor, hyp_scale: Tensor, ref_scale: Tensor) -> Tensor:
    """Return the cosines of vectors [b,T,D] and [b,U,D], [b,T,U].

    Args:
        hyp: Vectors of the hypotheses [b,T,D].
        ref: Vectors of the references [b,U,D].
        hyp_scale: One over the lengths of the vectors [b,T].
        ref_scale: The same of the references [b,U].
    """
    return products(hyp, ref).mul_(hyp_scale[:, :, None]).mul_(ref_scale[:, None, :])


def leave_out(table: Tensor, hyp: Tensor, ref: Tensor) -> Tensor:
    """Set the cosines [b,T,U] of units that are not real, bool [b,T], [b,U], below -1, in place."""
    return table.masked_fill_(~hyp[:, :, None], _NONE).masked_fill_(~ref[:, None, :], _NONE)


def with_heads(table: Tensor, hyp: Tensor, ref: Tensor) -> Tensor:
    """Return the similarities of pairs of words and heads: the product of both cosines.

    Args:
        table: Cosines of words [b,T,U]; padding is below -1.
        hyp: Place of the head of each word, int64 [b,T].
        ref: The same of the reference, int64 [b,U].

    Returns:
        [b,T,U], -1 where one of the two is not positive; padding stays below -1.
    """
    heads = _chosen(table, hyp, ref)
    both = (table * heads).where((table > 0) & (heads > 0), -1.0)
    return both.masked_fill_(table < -1, _NONE)


def _chosen(table: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Rows [b,t] and columns [b,u] of a table [b,T,U], [b,t,u]."""
    number, height, width = table.shape
    first = torch.arange(number, device=table.device)[:, None]
    lines = take(table.view(-1, width), (rows + first * height).flatten())
    index = columns[:, None, :].expand(-1, rows.shape[1], -1)
    return lines.view(number, -1, width).gather(2, index)


def greedy(table: Tensor, threshold: float) -> Matching:
    """Match each unit with the most similar one of the other side.

    Args:
        table: Cosines [b,T,U]; units that are left out are below -1.
        threshold: Smallest cosine of a match.
    """
    hyp, hyp_to = table.max(2)
    ref, ref_to = table.max(1)
    found = []
    for values, places in ((hyp, hyp_to), (ref, ref_to)):
        taken = values >= threshold
        found.append((values.where(taken, 0.0), places.where(taken, -1)))
    return Matching(found[0][0], found[1][0], found[0][1], found[1][1])


def one_to_one(table: Tensor, threshold: float) -> Matching:
    """Match each unit at most once, the pairs with the largest cosines first.

    Two host synchronisations for each round.

    Args:
        table: Cosines [b,T,U]; units that are left out are below -1.
        threshold: Smallest cosine of a match.
    """
    number, height, width = table.shape
    hyp, ref = table.new_zeros(number * height), table.new_zeros(number * width)
    hyp_to = torch.full(hyp.shape, -1, dtype=torch.int64, device=table.device)
    ref_to = torch.full(ref.shape, -1, dtype=torch.int64, device=table.device)
    # which unit of all segments each row and column of the table is
    own = torch.arange(number * height, device=table.device).view(number, height)
    other = torch.arange(number * width, device=table.device).view(number, width)
    while table.numel():
        value, place = table.max(2)
        largest, first = table.max(1)
        line = torch.arange(table.shape[1], device=table.device)
        rows, columns = value >= threshold, largest >= threshold
        taken = (first.gather(1, place) == line).logical_and_(rows)
        cells = nonzero(taken)
        if not cells.shape[0]:
            break
        partner = take(place.view(-1), cells)
        partner += cells.div(table.shape[1], rounding_mode="floor") * table.shape[2]
        unit, to = take(own.reshape(-1), cells), take(other.reshape(-1), partner)
        hyp[unit] = ref[to] = take(value.view(-1), cells)
        hyp_to[unit], ref_to[to] = to % width, unit % height
        columns.view(-1)[partner] = False
        table, own, other = _left(table, own, other, rows & ~taken, columns)
    return Matching(
        hyp.view(number, height),
        ref.view(number, width),
        hyp_to.view(number, height),
        ref_to.view(number, width),
    )


def _left(
    table: Tensor, own: Tensor, other: Tensor, rows: Tensor, columns: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The table of the rows and columns that are left, bool [b,T], [b,U], in their order."""
    some = nonzero(rows.any(1) & columns.any(1))
    if some.shape[0] < rows.shape[0]:
        table, own, other, rows, columns = (
            take(part, some) for part in (table, own, other, rows, columns)
        )
    if not some.shape[0]:
        return table, own, other
    hyp, real_hyp = _places(rows)
    ref, real_ref = _places(columns)
    table = leave_out(_chosen(table, hyp, ref), real_hyp, real_ref)
    return table, own.gather(1, hyp), other.gather(1, ref)


def _places(left: Tensor) -> tuple[Tensor, Tensor]:
    """Where each row of a mask [b,T] is True, int64 [b,t], and which of these are real, bool."""
    rank = left.cumsum(1)
    counts = rank[:, -1:]
    most = int(counts.max())
    place = torch.arange(left.shape[1], device=left.device).expand(left.shape)
    found = torch.zeros(left.shape[0], most + 1, dtype=torch.int64, device=left.device)
    found.scatter_(1, (rank - 1).masked_fill_(~left, most), place)
    return found[:, :most], torch.arange(most, device=left.device) < counts
