"""The weight of every single match: NIST's information, Qin & Specia's recurrence, Zipf's law.

    Info(w₁…wₙ) = log₂( count(w₁…wₙ₋₁) / count(w₁…wₙ) )          counts over all references
    R(g)  = diver(n) · log₁₀( n + M(g)/refno )                    Qin & Specia (2015), Eq. 6
    R′(g) = log₁₀( 1 + r·f / refno )                              Eq. 7, f frequency, r rank

Weights are computed where they are needed: `held` lists the m places of an order at which the
n-gram stands in a reference, and all other functions give one tensor [m] for each order.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.kernels.arrays import nonzero
from tensormt.kernels.columns import columns, tailed
from tensormt.kernels.ngrams import Order
from tensormt.ngram.frequencies import Frequencies
from tensormt.ngram.keys import longer
from tensormt.ngram.matching import Matches
from tensormt.ngram.references import References
from tensormt.text.tokens import TokenBatch

__all__ = ["Held", "counted", "held", "information", "recurrence", "single", "zipf"]


class Held(NamedTuple):
    """The n-grams of one order that stand in a reference, int64 [m]: place, segment; bool: match.

    A place is counted in the [T-n+1,b] of the order's tensors, so that it names the first token
    and the segment, and is the same for the n-gram without its last word.
    """

    place: Tensor
    column: Tensor
    matched: Tensor

    def sums(self, weight: Tensor, segments: int) -> Tensor:
        """The weights [m] of the matches summed by segment, float64 [b]."""
        zeros = torch.zeros(segments, dtype=torch.float64, device=weight.device)
        return zeros.index_add_(0, self.column, weight * self.matched)


def held(order: Order) -> Held:
    """Where the n-grams of an order stand in a reference."""
    best = order.counts.amax(0)
    place = nonzero(best > 0)
    matched = (order.rank < best).reshape(-1).index_select(0, place)
    return Held(place, place % max(best.shape[1], 1), matched)


def _counts(order: Order, place: Tensor) -> Tensor:
    """Counts in each reference at some places, [R,m]."""
    return order.counts.flatten(1).index_select(1, place)


def counted(part: Matches, found: list[Held], hyp: TokenBatch, table: Frequencies) -> list[Tensor]:
    """How often each held n-gram stands in the whole test set, int64 [m] an order."""
    words = columns(tailed(hyp.hashes), part.starts, hyp.lengths[part.rows], 0).view(-1)
    keys = words.clone()
    counts = []
    for number, here in enumerate(found, 1):
        key = keys.index_select(0, here.place)
        if number > 1:
            # an n-gram that is held was held without its last word: its key is in place
            last = here.place + (number - 1) * part.rows.shape[0]
            key = longer(key, words.index_select(0, last))
            keys.scatter_(0, here.place, key)
        counts.append(table.of(number, key))
    if bool(torch.stack([(count == 0).any() for count in counts]).any()):
        raise TensorMTError(
            "the references hold an n-gram that the counts of the test set lack: "
            "fit the metric on all references that it is to score"
        )
    return counts


def information(
    part: Matches, found: list[Held], counts: list[Tensor] | None, words: Tensor | int
) -> list[Tensor]:
    """Info of each held n-gram in bits, float64 [m] an order.

    Counts are those of the test set and words its number of words; or None and the words of each
    segment's references [b], for counts in the segment's references alone.
    """
    info = []
    for number, here in enumerate(found):
        if counts is None:
            count = _counts(part.orders[number], here.place).sum(0, dtype=torch.int64)
        else:
            count = counts[number]
        if number == 0:
            prefix = words if isinstance(words, int) else words.index_select(0, here.column)
        elif counts is None:
            prefix = _counts(part.orders[number - 1], here.place).sum(0, dtype=torch.int64)
        else:
            before = found[number - 1].place
            spread = count.new_zeros(part.orders[number - 1].rank.numel())
            spread.scatter_(0, before, counts[number - 1])
            prefix = spread.index_select(0, here.place)
        info.append(torch.log2(prefix / count.double()))
    return info


def recurrence(
    part: Matches, found: list[Held], refs: References, occurrences: bool
) -> list[Tensor]:
    """R(g) of each held n-gram; M(g) counts references, or all occurrences in them."""
    diver = refs.diversity(len(found))[part.rows]
    number = refs.number[part.rows].double()
    weights = []
    for n, (here, order) in enumerate(zip(found, part.orders, strict=True), 1):
        counts = _counts(order, here.place)
        times = counts.sum(0, dtype=torch.int64) if occurrences else (counts > 0).sum(0)
        share = times / number.index_select(0, here.column)
        spread = diver[:, n - 1].index_select(0, here.column)
        weights.append(spread * torch.log10(n + share))
    return weights


def zipf(
    found: list[Held], counts: list[Tensor], number: Tensor, table: Frequencies
) -> list[Tensor]:
    """R′(g) of each held n-gram, given its counts and the number of references [b]."""
    return [
        torch.log10(1 + table.rank(count, len(found)) * count / number[here.column])
        for here, count in zip(found, counts, strict=True)
    ]


def single(refs: References, max_order: int, table: Frequencies | None) -> Tensor:
    """The weight of an n-gram that stands once, in one reference, float64 [B,N]; table: Zipf's."""
    number = refs.number.double()[:, None]
    if table is None:
        order = torch.arange(1, max_order + 1, device=refs.device)
        return refs.diversity(max_order) * torch.log10(order + 1 / number)
    rank = table.rank(torch.ones(1, dtype=torch.int64, device=refs.device), max_order)
    return torch.log10(1 + rank / number).expand(-1, max_order)
