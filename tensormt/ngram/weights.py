"""The weight of every single match: NIST's information, Qin & Specia's recurrence, Zipf's law.

    Info(w₁…wₙ) = log₂( count(w₁…wₙ₋₁) / count(w₁…wₙ) )          counts over all references
    R(g)  = diver(n) · log₁₀( n + M(g)/refno )                    Qin & Specia (2015), Eq. 6
    R′(g) = log₁₀( 1 + r·f / refno )                              Eq. 7, f frequency, r rank

Every function gives one float64 tensor [m] an order, a value for each of the comparison's places.
"""

from __future__ import annotations

import torch
from torch import Tensor

from tensormt.kernels.backend import equal
from tensormt.ngram.frequencies import Frequencies
from tensormt.ngram.match_table import MatchTable, ReferenceStats


def information(part: MatchTable, counts: list[Tensor] | None, words: int) -> list[Tensor]:
    """Info of each n-gram in bits, 0 where it was never counted.

    Counts are those of the test set and words its number of words; counts None: those of each
    segment's own references.
    """
    info = []
    for number, here in enumerate(part.places):
        count = here.counts.sum(0, dtype=torch.int64) if counts is None else counts[number]
        if number:
            below = part.places[number - 1]
            before = (
                here.pick(below.order.counts).sum(0, dtype=torch.int64)
                if counts is None
                else here.pick(below.spread(counts[number - 1]))
            )
        elif counts is None:
            before = here.of_segments(part.refs.lengths.sum(0))
        else:
            before = torch.full_like(count, words)
        # what was counted has a beginning that was counted, as often or more
        ratio = torch.where(count > 0, before, 1) / count.clamp_min(1).double()
        info.append(torch.log2(ratio))
    return info


def recurrence(part: MatchTable, occurrences: bool) -> list[Tensor]:
    """R(g) of each n-gram; M(g) counts references, or all occurrences in them."""
    diver = part.refs.diversity(len(part.orders))
    number = part.refs.number.clamp_min(1).double()
    weights = []
    for n, here in enumerate(part.places, 1):
        times = here.counts.sum(0, dtype=torch.int64) if occurrences else (here.counts > 0).sum(0)
        share = times / here.of_segments(number)
        weights.append(here.of_segments(diver[:, n - 1]) * _shared(n, share))
    return weights


def recurrence_sums(part: MatchTable) -> Tensor:
    """R(g) summed over the clipped matches, float64 [...,N], where M(g) counts references.

    Matches that as many references hold have one weight in a segment, so it is enough to count
    them: bytes, where `recurrence` takes a logarithm for each place.
    """
    orders = part.orders
    diver = part.refs.diversity(len(orders))
    number = part.refs.number.clamp_min(1).double()[:, None]
    order = torch.arange(1, len(orders) + 1, device=number.device)
    streams = orders[0].counts.shape[0]
    holders = [each.holders for each in orders]
    total = number.new_zeros(())
    for times in range(1, streams + 1):
        here = torch.full((), times, dtype=holders[0].dtype, device=number.device)
        held = [m & equal(h, here) for m, h in zip(part.clipped, holders, strict=True)]
        weight = diver * _shared(order, times / number)
        total = total + part.along_text(held) * part.along(weight)
    return total


def _shared(order: Tensor | int, share: Tensor) -> Tensor:
    """R(g) without diver(n), given the order and M(g)/refno."""
    return torch.log10(order + share)


def zipf(part: MatchTable, counts: list[Tensor], table: Frequencies) -> list[Tensor]:
    """R′(g) of each n-gram, given its counts in the test set."""
    number = part.refs.number.clamp_min(1)
    return [
        torch.log10(1 + table.rank(count, len(counts)) * count / here.of_segments(number))
        for here, count in zip(part.places, counts, strict=True)
    ]


def single(refs: ReferenceStats, max_order: int, table: Frequencies | None) -> Tensor:
    """The weight of an n-gram that stands once, in one reference, float64 [b,N]; table: Zipf's."""
    number = refs.number.double()[:, None]
    real = number.clamp_min(1)
    if table is None:
        order = torch.arange(1, max_order + 1, device=number.device)
        weight = refs.diversity(max_order) * _shared(order, 1 / real)
    else:
        rank = table.rank(torch.ones(1, dtype=torch.int64, device=number.device), max_order)
        weight = torch.log10(1 + rank / real).expand(-1, max_order)
    return torch.where(number > 0, weight, 0.0)
