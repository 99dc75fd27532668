"""Candidate shifts of translation edit rate: which runs of words may move, and where to.

A candidate moves a run of at most 10 words that stands in the reference too, at most 50 places
away, if some of its words are errors, and some of the reference's words there, and the reference's
first word is not aligned within the run. It goes behind the word that is aligned with the
reference's word before the run, or with any word of the run; equal targets count once.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from tensormt.kernels.backend import nonzero, repeat, take

MAX_SIZE, MAX_DISTANCE = 10, 50


class Candidates(NamedTuple):
    """Candidate shifts, int64 [c] each.

    pair; start: the first word of the run; size: its number of words; target: the word of the
    hypothesis before which it goes; new: the place of the first word once it is shifted.
    """

    pair: Tensor
    start: Tensor
    size: Tensor
    target: Tensor
    new: Tensor

    def of(self, rows: Tensor) -> Candidates:
        """Return some of the candidates."""
        return Candidates(*(take(part, rows) for part in self))

    def source(self, places: Tensor) -> Tensor:
        """Return where the words at places [...,c] come from, once each shift is made."""
        inside = (places >= self.new) & (places < self.new + self.size)
        # words between the old and the new place make room
        back = (places >= self.new + self.size) & (places < self.start + self.size)
        on = (places >= self.start) & (places < self.new)
        moved = torch.where(inside, self.start - self.new, torch.where(back, -self.size, 0))
        return places + torch.where(on, self.size, moved)


def candidate_shifts(
    same: Tensor, chosen: Tensor, lengths: Tensor, place: Tensor, wrong: Tensor, errors: Tensor
) -> Candidates:
    """List the candidate shifts of p pairs, which are numbered from 0.

    Args:
        same: Which words of hypotheses and references are equal, uint8 [T,M,q], of more pairs; at
            least one place of padding ends every reference.
        chosen: Which of them the p pairs are, int64 [p].
        lengths: Lengths of the hypotheses, int64 [p].
        place: For each word of the reference the last word of the hypothesis that is aligned with
            it or a word before it, int64 [p,N]; -1: none.
        wrong: Which words of the reference are errors, bool [p,N].
        errors: Which words of the hypothesis are errors, bool [p,T].

    Host synchronisations: the numbers of equal words, and of candidates of each size.
    """
    height, width, size = same.shape
    reference = place.shape[1]
    # sums of errors before each word, and the target behind the word of each place
    before = [pad(e.to(torch.int32).cumsum(1), (1, 0)) for e in (errors, wrong)]
    own_errors, other_errors = (table.reshape(-1) for table in before)
    targets = pad(place + 1, (1, 0)).reshape(-1)
    flat = same.view(torch.bool).reshape(-1)
    cells = nonzero(flat)
    line = cells // size
    number = torch.full((size,), -1, dtype=torch.int64, device=same.device)
    number[chosen] = torch.arange(len(chosen), device=same.device)
    pair = take(number, cells - line * size)
    if len(chosen) < size:
        wanted = nonzero(pair >= 0)
        cells, line, pair = (take(part, wanted) for part in (cells, line, pair))
    start = line // width
    other = line - start * width
    own_at, other_at = pair * (height + 1) + start, pair * (reference + 1) + other
    ahead = take(targets, other_at + 1) - 1 - start  # from the run to the word aligned with it
    # most words stand where they should: a run that begins with one is no candidate
    apart = nonzero((ahead != 0) & ((start - other).abs() <= MAX_DISTANCE))
    state = [take(part, apart) for part in (cells, own_at, other_at, ahead, pair, start)]
    own_before, other_before = take(own_errors, state[1]), take(other_errors, state[2])
    found: list[list[Tensor]] = []
    for length in range(1, MAX_SIZE + 1):
        cells, own_at, other_at, ahead, pair, start = state
        wanted = take(own_errors, own_at + length) > own_before
        wanted &= take(other_errors, other_at + length) > other_before
        rows = nonzero(wanted)
        sizes = torch.full_like(rows, length)
        found.append([*(take(part, rows) for part in (pair, start, other_at)), sizes])
        # the runs that go on, but to the word aligned with their first; padding ends a reference
        after = cells + length * (width + 1) * size
        inside = (ahead != length) & (start + length < height) & (after < len(flat))
        inside &= take(flat, after.clamp_(max=max(len(flat) - 1, 0)))
        goes_on = nonzero(inside)
        state = [take(part, goes_on) for part in state]
        own_before, other_before = take(own_before, goes_on), take(other_before, goes_on)
        if not len(goes_on):
            break
    pair, start, other_at, size_of = (torch.cat(part) for part in zip(*found, strict=True))
    # behind the word before the run, and behind each of its words; equal targets once
    owner, offset = repeat(size_of + 1)
    at = take(other_at, owner) + offset
    target = take(targets, at)
    fresh = nonzero((offset == 0) | (target != take(targets, (at - 1).clamp_min(0))))
    owner, target = take(owner, fresh), take(target, fresh)
    pair, start, size_of = (take(part, owner) for part in (pair, start, size_of))
    new = torch.where(
        target > start + size_of,
        target - size_of,
        torch.minimum(target, take(lengths, pair) - size_of),
    )
    return Candidates(pair, start, size_of, target, torch.where(target < start, target, new))
