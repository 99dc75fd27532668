"""Translation edit rate: shifts of words, then edits (Snover et al. 2006), for many pairs at once.

    edits = shifts + D(shifted hypothesis, reference)

A round aligns every hypothesis with its reference by least edits, lists the candidate shifts of all
of them, computes the edit distance of every candidate, and makes of each hypothesis the best shift
if it lowers the distance; pairs without such a shift are finished. Rules and limits are those of
sacrebleu's Tercom:

- candidates are those of kernels/shift_candidates.py;
- best is the largest gain, then the longest run, the earliest run, the earliest target;
- after 1,000 candidates of a pair no further shift is made;
- distances are those of a beam of 25 places about the diagonal.

A shift does not change which words there are, so D is never below the number of words that the bags
of words do not share: a pair that has reached it is finished. The beam changes nothing as long as
the path of least edits lies within it, which is verified; other pairs are done again within it
(kernels/beam.py). The distance of a candidate starts from the row of D at its first changed word,
since the rows before are those of the hypothesis itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from math import prod
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from tensormt.kernels.backend import argsort, array_module, as_array, indices, nonzero, take
from tensormt.kernels.beam import BEAM, beam_of, surely_within_beam, within_beam
from tensormt.kernels.bit_vectors import (
    Part,
    active_of,
    compare,
    gather,
    kinds_of,
    narrow,
    pack,
    split,
)
from tensormt.kernels.edit_distance import advance, all_states, distance_of, rise, states_at
from tensormt.kernels.edit_path import read_back
from tensormt.kernels.ngram_overlap import Sequences
from tensormt.kernels.shift_candidates import MAX_SIZE, Candidates, EqualWords, candidate_shifts

MAX_CANDIDATES = 1000
_CELLS = 1 << 21  # of a part
_CANDIDATES = 1 << 17  # words of candidates at a time
_FEW = 1 << 15  # integers that take as long as the operations of one more part
_BLOCK = 16  # parts whose pairs go through further rounds together


class Shift(NamedTuple):
    """Shifts of one round, [k] each: the pair, first word, number of words, where they go."""

    pair: Tensor
    start: Tensor
    size: Tensor
    target: Tensor


class _Pairs(NamedTuple):
    """p pairs of hypotheses and references, those with the longest hypotheses first."""

    part: Part
    equal: EqualWords
    least: Tensor  # words that the bags do not share: no distance is below
    checked: Tensor  # candidates so far
    shifts: Tensor

    def shifted(self, shifts: Candidates) -> _Pairs:
        """The pairs of some shifts, once these are made. A host synchronisation."""
        chosen, part = torch.as_tensor(shifts.pair), self.part
        rows, text, pattern = (take(own, chosen) for own in (part.rows, part.text, part.pattern))
        active = active_of(text.tolist())
        places = as_array(torch.arange(len(active), device=chosen.device)[:, None])
        matches = gather(as_array(part.matches), shifts.source(places), shifts.pair)
        words = max(-(-int(pattern.max()) // 64), 1) if active else 1
        if words < matches.shape[1]:  # long references are finished
            matches = matches[: len(active) + words - 1, :words].contiguous()
        equal = self.equal.shifted(shifts, len(part.rows))
        others = (take(own, chosen) for own in (self.least, self.checked, self.shifts + 1))
        return _Pairs(Part(rows, matches, text, pattern, active), equal, *others)

    @staticmethod
    def join(several: Sequence[_Pairs]) -> _Pairs:
        """The pairs of several parts, those with the longest hypotheses first."""
        parts = [pairs.part for pairs in several]
        words = max(part.matches.shape[1] for part in parts)
        steps = max(len(part.active) for part in parts) + words - 1
        tables = [
            pad(m, (0, 0, 0, words - m.shape[1], 0, steps - m.shape[0]))
            for m in (part.matches for part in parts)
        ]
        rows, text, pattern = (
            torch.cat([getattr(part, name) for part in parts])
            for name in ("rows", "text", "pattern")
        )
        rows_of = [part.active for part in parts]
        active = [
            sum(own[row] for own in rows_of if row < len(own)) for row in range(steps - words + 1)
        ]
        first = list(accumulate((len(part.rows) for part in parts), initial=0))
        equal = [
            pairs.equal._replace(pair=pairs.equal.pair + start)
            for pairs, start in zip(several, first, strict=False)
        ]
        join = array_module(equal[0].pair).concatenate
        return _Pairs(
            Part(rows, torch.cat(tables, 2), text, pattern, active),
            EqualWords(*(join(own) for own in zip(*equal, strict=True))),
            *(torch.cat(own) for own in zip(*(pairs[2:] for pairs in several), strict=True)),
        )


def translation_edits(
    text: Sequences,
    pattern: Sequences,
    unshared: Tensor,
    cells: int = _CELLS,
    made: list[Shift] | None = None,
    width: int = BEAM,
) -> Tensor:
    """Count shifts and edits that turn the hypotheses of P pairs into their references.

    Args:
        text: P hypotheses, of symbols from 0 on.
        pattern: P references, in the same symbols.
        unshared: max(H, N) - words in common, int64 [P].
        cells: Cells of a part, which bounds memory.
        made: If given, the shifts of each round are added, in order.
        width: Places of the beam on each side of the diagonal.

    Returns:
        int64 [P].
    """
    found = torch.empty_like(text.lengths)
    kinds = kinds_of(text, pattern)
    text, pattern = narrow(text, kinds), narrow(pattern, kinds)
    for block, _, _, _ in split(text.lengths, pattern.lengths, _BLOCK * cells):
        outside: list[Tensor] = []
        several = [
            _round(pairs, _Round(pairs.part, width), found, made, outside)
            for pairs in _first(text, pattern, unshared, block, cells)
        ]
        while several := _joined(several):
            several = [
                _round(own, _Round(own.part, width), found, made, outside) for own in several
            ]
        if not outside:
            continue
        again = torch.cat(outside)
        if made is not None:
            made[:] = [_without(shift, again) for shift in made]
        for pairs in _first(text, pattern, unshared, again, cells):
            while pairs.part.active:
                pairs = _round(pairs, _Round(pairs.part, width, True), found, made)
    return found


def _first(
    text: Sequences, pattern: Sequences, unshared: Tensor, rows: Tensor, cells: int
) -> Iterator[_Pairs]:
    """Some pairs before the first round, in parts."""
    one, two, least = text.of(rows), pattern.of(rows), take(unshared, rows)
    for own, height, width, active in split(one.lengths, two.lengths, cells):
        sides = one.of(own), two.of(own)
        same = compare(*sides, height, width)
        part = Part(take(rows, own), pack(same), sides[0].lengths, sides[1].lengths, active)
        none = torch.zeros_like(own)
        yield _Pairs(part, EqualWords.find(same), take(least, own), none, none)


def _joined(several: Sequence[_Pairs]) -> list[_Pairs]:
    """Join parts where this costs less than the operations of one more part."""
    found: list[_Pairs] = []
    for pairs in several:
        if not pairs.part.active:
            continue
        if found:
            both = [own.part.matches for own in (found[-1], pairs)]
            each = [max(own.shape[axis] for own in both) for axis in (0, 1)]
            more = prod(each) * sum(own.shape[2] for own in both)
            if more < sum(own.numel() for own in both) + _FEW:
                found[-1] = _Pairs.join([found[-1], pairs])
                continue
        found.append(pairs)
    return found


def _without(shift: Shift, pairs: Tensor) -> Shift:
    kept = nonzero(~torch.isin(shift.pair, pairs))
    return Shift(*(take(part, kept) for part in shift))


def _round(
    pairs: _Pairs,
    here: _Round,
    found: Tensor,
    made: list[Shift] | None,
    outside: list[Tensor] | None = None,
) -> _Pairs:
    """Make the best shift of each pair; return the shifted pairs that further shifts may help.

    Args:
        pairs: The pairs.
        here: Their distances and edits.
        found: Takes shifts and edits of the pairs, int64 [P].
        made: Takes the shifts.
        outside: Takes pairs whose path leaves the beam, unless all distances are within it.
    """
    part, distance = pairs.part, here.distance
    found[part.rows] = pairs.shifts + distance
    wanted = distance > pairs.least
    place, edits, errors = here.align()
    if outside is not None:
        inside = within_beam(part.text, part.pattern, distance, place, edits, here.width)
        if not bool(inside.all()):
            outside.append(take(part.rows, nonzero(~inside)))
            wanted &= inside
    candidates = candidate_shifts(
        pairs.equal, part.matches, part.text, place, edits > 0, errors, wanted
    )
    number = torch.bincount(torch.as_tensor(candidates.pair), minlength=len(distance))
    checked = pairs.checked + number
    few = as_array(checked < MAX_CANDIDATES)[candidates.pair]
    candidates = candidates.of(indices(few & (candidates.new != candidates.start)))
    best, gain = _best(candidates, distance, here)
    chosen = torch.as_tensor(best.pair)
    if made is not None:
        others = map(torch.as_tensor, (best.start, best.size, best.new))
        made.append(Shift(take(part.rows, chosen), *others))
    rows, text, pattern, before, least, shifts = (
        take(own, chosen)
        for own in (part.rows, part.text, part.pattern, distance, pairs.least, pairs.shifts)
    )
    after = before - torch.as_tensor(gain)
    found[rows] = shifts + 1 + after
    goes_on = after > least
    if outside is not None:
        goes_on |= ~surely_within_beam(text, pattern, after, here.width)
    return pairs._replace(checked=checked).shifted(best.of(indices(as_array(goes_on))))


class _Round:
    """One round of pairs: distances by bit vectors.

    Args:
        part: The pairs.
        width: Places of the beam on each side of the diagonal.
        within: Whether distances are those within the beam.
    """

    def __init__(self, part: Part, width: int, within: bool = False) -> None:
        self.part, self.width = part, width
        self.beam = beam_of(part, width) if within else None
        self.inside = part
        if self.beam is not None:
            self.inside = part._replace(matches=part.matches & self.beam)
        self.states = all_states(self.inside.matches, part.active)
        self.distance = distance_of(part, self.states)

    def align(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return place, edits and errors of all pairs, as `read_back` does."""
        return read_back(self.inside, self.states, self.beam)

    def distances(self, candidates: Candidates) -> Any:
        """Return the distances of candidates, int64 [c]."""
        text = as_array(self.part.text)[candidates.pair]
        first = candidates.first
        left = torch.as_tensor(text - first)
        order = argsort(left).flip(0)
        sizes = take(left, order).tolist()
        found, order = text + 0, as_array(order)
        low = 0
        while low < len(sizes):
            high = min(low + max(_CANDIDATES // max(sizes[low], 1), 1), len(sizes))
            rows = order[low:high]
            some, active = candidates.of(rows), active_of(sizes[low:high])
            found[rows] += self._rises(some, first[rows], active)
            low = high
        return found

    def _rises(self, candidates: Candidates, first: Any, active: list[int]) -> Any:
        """How much the last row of each candidate rises, given the first words that change."""
        states, ends = as_array(self.states), as_array(self.part.ends)
        number = as_array(torch.arange(len(active), device=self.states.device)[:, None])
        last = len(self.part.active) - 1
        source = (candidates.moved(number) + number + first).clip(max=last)
        matches = gather(as_array(self.part.matches), source, candidates.pair)
        if self.beam is not None:
            row = (number + first).clip(max=last)
            matches &= gather(as_array(self.beam), row, candidates.pair)
        state = torch.as_tensor(states_at(states, first, candidates.pair))
        above, below = map(as_array, advance(matches, active, *state))
        return rise(above, below, ends[:, candidates.pair])


def _best(candidates: Candidates, distance: Tensor, here: _Round) -> tuple[Candidates, Any]:
    """Of each pair the candidate of the largest gain, if there is one, and its gain [c].

    Pairs ascend.
    """
    gain = as_array(distance)[candidates.pair] - here.distances(candidates)
    better = indices(gain > 0)
    candidates, gain = candidates.of(better), gain[better]
    # one number that sorts by gain, size, start and target
    limit = 1 << 21
    rank = (gain * (MAX_SIZE + 1) + candidates.size) * limit + (limit - 1 - candidates.start)
    rank = (rank << 21) + (limit - 1 - candidates.target)
    pair = torch.as_tensor(candidates.pair)
    top = torch.zeros_like(distance).scatter_reduce(0, pair, torch.as_tensor(rank), "amax")
    winners = indices(rank == as_array(top)[candidates.pair])
    # several may be the same shift: one of each pair
    last = as_array(torch.full_like(distance, -1))
    last[candidates.pair[winners]] = winners
    last = last[last >= 0]
    return candidates.of(last), gain[last]
