"""N-gram keys: one int64 for each n-gram of a batch, the same in every batch.

    key(w₁…wₙ) = key(w₁…wₙ₋₁) · step + hash(wₙ)        modulo 2⁶⁴

The hashes are of the tokens' content, so keys of batches with different dictionaries agree, also
over processes and in files. They are mixed well enough for this plain polynomial: two n-grams share
a key with probability 2⁻⁶² or less, as step - 1 and step + 1 hold the factor 2 once or twice.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from tensormt.kernels.backend import copies, less, nonzero, owners, ranges, repeat
from tensormt.kernels.counts import Keys
from tensormt.kernels.matches import Occurrences
from tensormt.text.tokens import TokenBatch

_STEP = 0x5851F42D4C957F2B  # odd; less 1 it is 2 x odd, plus 1 it is 4 x odd


def longer(key: Tensor, word: Tensor) -> Tensor:
    """The keys of n-grams [m] with one more word, given its hashes [m]."""
    return torch.add(word, key, alpha=_STEP)


def orders(batch: TokenBatch, max_order: int) -> Iterator[tuple[Tensor, Tensor]]:
    """The n-grams of a batch, order by order from 1 to max_order, in the order of the text.

    Each order gives its keys and the places of their first tokens, both int64 [m].
    """
    words = batch.hashes
    # how far the end of the segment is, below 0; as bytes, which compare fast
    end = ranges(-batch.lengths, batch.lengths).clamp_min_(-100).to(torch.int8)
    key = words
    for order in range(1, max_order + 1):
        if order > 1:
            key = longer(key[:-1], words[order - 1 :])
        start = nonzero(less(end[: key.shape[0]], 1 - order))
        yield key.index_select(0, start), start


def rows(batch: TokenBatch, max_order: int) -> tuple[Tensor, Tensor]:
    """The n-grams that start at each of n tokens, a row an order, without host synchronisation.

    Their keys, int64 [N,n], and which of them do not go beyond their segment, bool [N,n].
    """
    size = batch.tokens.shape[0]
    words = torch.nn.functional.pad(batch.hashes, (0, max_order))
    keys = [words[:size]]
    for order in range(1, max_order):
        keys.append(longer(keys[-1], words[order : order + size]))
    end = copies(batch.lengths.cumsum(0), batch.lengths, size)
    left = end - torch.arange(size, device=batch.device)
    return torch.stack(keys), left > torch.arange(max_order, device=batch.device)[:, None]


def ngrams(batch: TokenBatch, max_order: int) -> Keys:
    """All n-grams up to max_order as keys of the groups `segment * max_order + order - 1`."""
    segment = owners(batch.lengths)
    groups, keys = [], []
    for order, (key, start) in enumerate(orders(batch, max_order)):
        groups.append(segment[start] * max_order + order)
        keys.append(key)
    return Keys(torch.cat(groups), torch.cat(keys))


def occurrences(batch: TokenBatch, max_order: int) -> Occurrences:
    """Return all n-grams of a batch up to an order, with their positions."""
    segment, place = repeat(batch.lengths)
    parts = []
    for order, (key, start) in enumerate(orders(batch, max_order), 1):
        number = torch.full_like(start, order)
        parts.append(Occurrences(segment[start], number, place[start], key))
    return Occurrences(*(torch.cat(part) for part in zip(*parts, strict=True)))
