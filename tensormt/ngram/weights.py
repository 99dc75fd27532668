"""The weight of every single match: NIST's information, Qin & Specia's recurrence, Zipf's law.

    Info(w₁…wₙ) = log₂( count(w₁…wₙ₋₁) / count(w₁…wₙ) )          counts over all references
    R(g)  = diver(n) · log₁₀( n + M(g)/refno )                    Qin & Specia (2015), Eq. 6
    R′(g) = log₁₀( 1 + r·f / refno )                              Eq. 7, f frequency, r rank

All functions take the matches of some segments and give one tensor [T-n+1,b] for each order n; what
they hold where nothing matches is 0 or finite, and not to be used.
"""

from __future__ import annotations

import torch
from torch import Tensor

from tensormt import hashing
from tensormt.errors import TensorMTError
from tensormt.irregular import nonzero
from tensormt.ngram.columns import columns, tailed
from tensormt.ngram.frequencies import Frequencies
from tensormt.ngram.matching import Matches
from tensormt.ngram.references import References
from tensormt.tokens import TokenBatch

__all__ = ["counted", "information", "recurrence", "single", "zipf"]


def counted(part: Matches, hyp: TokenBatch, table: Frequencies) -> list[Tensor]:
    """How often each matched n-gram stands in the whole test set, int64 [T-n+1,b] an order."""
    words = columns(tailed(hyp.hashes), hyp, part.rows, 0)
    key = words
    found = []
    for number, order in enumerate(part.orders, 1):
        if number > 1:
            key = hashing.pair(key[:-1], words[number - 1 :])
        here = nonzero(order.counts.amax(0) > 0)
        frequency = table.of(number, key.reshape(-1)[here])
        if bool((frequency == 0).any()):
            raise TensorMTError(
                "the references hold an n-gram that the counts of the test set lack: "
                "fit the metric on all references that it is to score"
            )
        full = torch.zeros(order.rank.shape, dtype=torch.int64, device=key.device)
        full.view(-1)[here] = frequency
        found.append(full)
    return found


def information(counts: list[Tensor], words: Tensor | int) -> list[Tensor]:
    """Info of each n-gram in bits, given its counts by order and the number of words."""
    info = []
    for number, count in enumerate(counts):
        prefix = words if number == 0 else counts[number - 1][:-1]
        ratio = prefix / count.clamp_min(1).double()
        info.append(torch.where(count > 0, torch.log2(ratio), 0.0))
    return info


def recurrence(part: Matches, refs: References, occurrences: bool) -> list[Tensor]:
    """R(g) of each n-gram; M(g) counts references, or all occurrences in them."""
    diver = refs.diversity(len(part.orders))[part.rows]
    number = refs.number[part.rows]
    return [
        diver[:, n - 1]
        * torch.log10(n + (order.total if occurrences else order.holders) / number.double())
        for n, order in enumerate(part.orders, 1)
    ]


def zipf(counts: list[Tensor], number: Tensor, table: Frequencies) -> list[Tensor]:
    """R′(g) of each n-gram, given its counts by order and the number of references [b]."""
    return [torch.log10(1 + table.rank(count, len(counts)) * count / number) for count in counts]


def single(refs: References, max_order: int, table: Frequencies | None) -> Tensor:
    """The weight of an n-gram that stands once, in one reference, float64 [B,N]; table: Zipf's."""
    number = refs.number.double()[:, None]
    if table is None:
        order = torch.arange(1, max_order + 1, device=refs.device)
        return refs.diversity(max_order) * torch.log10(order + 1 / number)
    rank = table.rank(torch.ones(1, dtype=torch.int64, device=refs.device), max_order)
    return torch.log10(1 + rank / number).expand(-1, max_order)
