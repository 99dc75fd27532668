"""Candidate shifts of translation edit rate: which runs of words may move, and where to.

A candidate moves a run of at most 10 words that stands in the reference too, at most 50 places
away, if some of its words are errors, and some of the reference's words there, and the reference's
first word is not aligned within the run. It goes behind the word that is aligned with the
reference's word before the run, or with any word of the run; equal targets count once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from tensormt.kernels.backend import array_module, as_array, indices, nonzero, repeat

MAX_SIZE, MAX_DISTANCE = 10, 50


class Candidates(NamedTuple):
    """Candidate shifts, int64 [c] each, arrays as `as_array` returns them.

    pair; start: the first word of the run; size: its number of words; target: the word of the
    hypothesis before which it goes; new: the place of the first word once it is shifted.
    """

    pair: Any
    start: Any
    size: Any
    target: Any
    new: Any

    def of(self, rows: Any) -> Candidates:
        """Return some of the candidates."""
        return Candidates(*(part[rows] for part in self))

    @property
    def first(self) -> Any:
        """The first place whose word changes, [c]."""
        return array_module(self.new).minimum(self.start, self.new)

    def moved(self, number: Any) -> Any:
        """Return how far behind its new place a word stood; numbers [...,c] from `first` on."""
        # two neighbouring runs change places: the words behind the first one, and the first one
        on = self.new - self.start
        whole = abs(on) + self.size
        behind = array_module(on).where(on > 0, on, self.size)
        return (number < behind) * whole - (number < whole) * behind

    def source(self, places: Any) -> Any:
        """Return where the words at places [...,c] come from, once each shift is made."""
        number = places - self.first
        return places + self.moved(number) * (number >= 0)


class EqualWords(NamedTuple):
    """Words of hypotheses that equal words of their references, int64 [n] each, likewise.

    pair; start: the place of the word; other: that of the reference's word.
    """

    pair: Any
    start: Any
    other: Any

    def of(self, rows: Any) -> EqualWords:
        """Return some of them."""
        return EqualWords(*(part[rows] for part in self))

    @staticmethod
    def find(same: Tensor) -> EqualWords:
        """List what is equal, given comparisons as bytes of 0 and 1 [T,M,p]."""
        _, width, size = same.shape
        cells = as_array(nonzero(same.view(torch.bool)))
        line = cells // size
        start = line // width
        return EqualWords(cells - line * size, start, line - start * width)

    def shifted(self, shifts: Candidates, size: int) -> EqualWords:
        """Return those of the shifted pairs, of all p, as they stand then; pairs are renumbered."""
        chosen = torch.as_tensor(shifts.pair)
        number = as_array(chosen.new_full((size,), -1))
        number[shifts.pair] = as_array(torch.arange(len(chosen), device=chosen.device))
        pair = number[self.pair]
        kept = indices(pair >= 0)
        _, start, other = self.of(kept)
        pair = pair[kept]
        back = shifts._replace(start=shifts.new, new=shifts.start).of(pair)
        return EqualWords(pair, back.source(start), other)

    def runs(self, matches: Any) -> Any:
        """Count the equal words from each one on, at most MAX_SIZE, int64 [n].

        Args:
            matches: The bits of equal places, int64 [T+W-1,W,p], as in `Part`.
        """
        steps, words, size = matches.shape
        flat, where = matches.reshape(-1), array_module(matches).where
        found = self.pair * 0 + 1
        left, step, other = indices(found > 0), self.start + 0, self.other + 0
        pair = self.pair
        for _ in range(1, MAX_SIZE):
            step += 1
            other += 1
            word = other >> 6
            inside = (step + word < steps) & (word < words)
            at = where(inside, ((step + word) * words + word) * size + pair, 0)
            goes_on = indices(((flat[at] >> (other & 63)) & inside) > 0)
            if not len(goes_on):
                break
            left, step, other, pair = (part[goes_on] for part in (left, step, other, pair))
            found[left] += 1
        return found


def candidate_shifts(
    equal: EqualWords,
    matches: Tensor,
    lengths: Tensor,
    place: Tensor,
    wrong: Tensor,
    errors: Tensor,
    wanted: Tensor,
) -> Candidates:
    """List the candidate shifts of p pairs.

    Args:
        equal: The equal words of the pairs.
        matches: The bits of equal places, int64 [T+W-1,W,p], as in `Part`.
        lengths: Lengths of the hypotheses, int64 [p].
        place: For each word of the reference the last word of the hypothesis that is aligned with
            it or a word before it, int64 [p,N]; -1: none.
        wrong: Which words of the reference are errors, bool [p,N].
        errors: Which words of the hypothesis are errors, bool [p,T].
        wanted: Pairs whose candidates are listed, bool [p].

    Host synchronisations: the numbers of runs and of candidates, before and behind each condition.
    """
    height, reference = errors.shape[1], place.shape[1]
    # sums of errors before each word, and the target behind the word of each place
    sums = [pad(e.to(torch.int32).cumsum(1), (1, 0)) for e in (errors, wrong)]
    tables = *sums, pad(place + 1, (1, 0))
    own_errors, other_errors, targets = (as_array(table.reshape(-1)) for table in tables)
    where = array_module(targets).where
    other_at = equal.pair * (reference + 1) + equal.other
    ahead = targets[other_at + 1] - 1 - equal.start  # from the run to what is aligned with it
    # most words stand where they should: a run that begins with one is no candidate
    apart = indices((ahead != 0) & as_array(wanted)[equal.pair])
    equal, ahead, other_at = equal.of(apart), ahead[apart], other_at[apart]
    near = indices(abs(equal.start - equal.other) <= MAX_DISTANCE)
    equal, ahead, other_at = equal.of(near), ahead[near], other_at[near]
    # runs of all sizes, but not as long as to reach the word that is aligned with their first
    most = equal.runs(as_array(matches))
    most = where((ahead > 0) & (ahead < most), ahead, most)
    owner, size_of = map(as_array, repeat(torch.as_tensor(most)))
    size_of += 1
    pair, start, other_at = equal.pair[owner], equal.start[owner], other_at[owner]
    own_at = pair * (height + 1) + start
    useful = own_errors[own_at + size_of] > own_errors[own_at]
    useful &= other_errors[other_at + size_of] > other_errors[other_at]
    rows = indices(useful)
    pair, start, other_at, size_of = (part[rows] for part in (pair, start, other_at, size_of))
    # behind the word before the run, and behind each of its words; equal targets once
    owner, offset = map(as_array, repeat(torch.as_tensor(size_of + 1)))
    at = other_at[owner] + offset
    target = targets[at]
    fresh = indices((offset == 0) | (target != targets[at - (offset > 0) * 1]))
    owner, target = owner[fresh], target[fresh]
    pair, start, size_of = pair[owner], start[owner], size_of[owner]
    last = as_array(lengths)[pair] - size_of
    new = where(target > start + size_of, target - size_of, where(target < last, target, last))
    return Candidates(pair, start, size_of, target, where(target < start, target, new))
