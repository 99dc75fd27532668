"""The clipped counter: one engine for every kind of key (subtrees, headword chains, n-grams).

    clipped(group) = Σ over keys k of min( count_hyp(k), max over references r of count_r(k) )

A group is a segment, or a segment and an order: the caller numbers them. Every occurrence becomes
one int64, `group | key bits | side` (side 0 is the hypothesis, 1…R the references); one sort puts
equal keys of a group side by side, the run lengths are the counts.

The group and the side take their bits from the key: with at most 2¹³ groups and 7 references the
key keeps 47 bits, so a group of 100 keys has a false match with probability 4·10⁻¹¹. Callers keep
the number of groups small by working in chunks of segments. One host sync a call (the number of
runs).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from tensormt.irregular import runs, sort

__all__ = ["Keys", "clipped", "totals"]


class Keys(NamedTuple):
    """Occurrences of keys: group [n] in 0…G-1 and key [n], both int64, in any order."""

    group: Tensor
    key: Tensor


def totals(keys: Keys, groups: int) -> Tensor:
    """Number of occurrences in each group, int64 [G]."""
    zeros = torch.zeros(groups, dtype=torch.int64, device=keys.group.device)
    return zeros.index_add_(0, keys.group, torch.ones_like(keys.group))


def clipped(hyp: Keys, refs: Sequence[Keys], groups: int) -> Tensor:
    """Clipped matches of the hypothesis's keys in the references, int64 [G]."""
    side_bits = len(refs).bit_length()
    key_bits = 63 - side_bits - max(groups - 1, 1).bit_length()
    low = (1 << key_bits) - 1
    packed = [
        (((keys.group << key_bits) | (keys.key & low)) << side_bits) | side
        for side, keys in enumerate((hyp, *refs))
    ]
    ordered = sort(torch.cat(packed))
    starts, count = runs(ordered)
    value = ordered[starts]
    owner = value >> side_bits
    # a hypothesis run (side 0) stands before the reference runs of its key: at most R follow
    best = torch.zeros_like(count)
    for step in range(1, min(len(refs), value.shape[0] - 1) + 1):
        same = owner[step:] == owner[:-step]
        best[:-step] = torch.maximum(best[:-step], count[step:] * same)
    of_hyp = (value & ((1 << side_bits) - 1)) == 0
    matches = torch.minimum(count, best) * of_hyp
    return torch.zeros(groups, dtype=torch.int64, device=matches.device).index_add_(
        0, owner >> key_bits, matches
    )
