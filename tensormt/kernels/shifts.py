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
the path of least edits lies within it, which is verified; other pairs are done again with the
distances of kernels/beam_distance.py. The distance of a candidate starts from the row of D at its
first changed word, since the rows before are those of the hypothesis itself.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from tensormt.kernels.backend import argsort, bytes_equal, nonzero, take
from tensormt.kernels.beam_distance import SAFE, BeamRound, within_beam
from tensormt.kernels.bit_vectors import (
    Part,
    active_of,
    columns,
    ends_of,
    kinds_of,
    narrow,
    pack,
    split,
)
from tensormt.kernels.edit_distance import advance, read_back, rise
from tensormt.kernels.ngram_overlap import Sequences
from tensormt.kernels.shift_candidates import MAX_SIZE, Candidates, candidate_shifts

MAX_CANDIDATES = 1000
_CELLS = 1 << 21  # of a part
_CANDIDATES = 1 << 17  # words of candidates at a time
_BLOCK = 16  # parts whose pairs go through the rounds together


class Shift(NamedTuple):
    """Shifts of one round, [k] each: the pair, first word, number of words, where they go."""

    pair: Tensor
    start: Tensor
    size: Tensor
    target: Tensor


class _Pairs(NamedTuple):
    """Hypotheses and references of p pairs."""

    rows: Tensor  # numbers of the pairs
    words: Tensor  # [T,p]
    refs: Tensor  # [M,p], M a multiple of 8 above the longest reference
    text: Tensor  # lengths
    pattern: Tensor
    least: Tensor  # words that the bags do not share: no distance is below
    checked: Tensor  # candidates so far
    shifts: Tensor

    def of(self, chosen: Tensor) -> _Pairs:
        """Some of the pairs."""
        return _Pairs(*(part.index_select(-1, chosen) for part in self))


def translation_edits(
    text: Sequences,
    pattern: Sequences,
    unshared: Tensor,
    cells: int = _CELLS,
    made: list[Shift] | None = None,
) -> Tensor:
    """Count shifts and edits that turn the hypotheses of P pairs into their references.

    Args:
        text: P hypotheses, of symbols from 0 on.
        pattern: P references, in the same symbols.
        unshared: max(H, N) - words in common, int64 [P].
        cells: Cells of a part, which bounds memory.
        made: If given, the shifts of each round are added, in order.

    Returns:
        int64 [P].
    """
    found = torch.empty_like(text.lengths)
    outside: list[Tensor] = []
    kinds = kinds_of(text, pattern)
    text, pattern = narrow(text, kinds), narrow(pattern, kinds)
    for rows, height, width, _ in split(text.lengths, pattern.lengths, _BLOCK * cells):
        one, two = text.of(rows), pattern.of(rows)
        pairs = _Pairs(
            rows,
            columns(one, height, -1),
            columns(two, (width // 8 + 1) * 8, -2),
            one.lengths,
            two.lengths,
            take(unshared, rows),
            torch.zeros_like(rows),
            torch.zeros_like(rows),
        )
        first, left = pairs, len(outside)
        while len(pairs.rows):
            pairs = _round(pairs, found, made, cells, outside)
        if len(again := torch.cat([first.rows[:0], *outside[left:]])):
            if made is not None:
                made[:] = [_without(shift, again) for shift in made]
            pairs = first.of(nonzero(torch.isin(first.rows, again)))
            while len(pairs.rows):
                pairs = _round(pairs, found, made, cells, None)
    return found


def _without(shift: Shift, pairs: Tensor) -> Shift:
    kept = nonzero(~torch.isin(shift.pair, pairs))
    return Shift(*(take(part, kept) for part in shift))


def _round(
    pairs: _Pairs, found: Tensor, made: list[Shift] | None, cells: int, outside: list[Tensor] | None
) -> _Pairs:
    """Make the best shift of each pair; return the pairs that were shifted.

    found [P] takes shifts and edits of all pairs. outside: for pairs whose path leaves the beam;
    None: compute distances within the beam.
    """
    kept, words, checked = [], [], []
    for rows, height, width, active in split(pairs.text, pairs.pattern, cells):
        some = pairs.of(rows)
        some = some._replace(words=some.words[:height], refs=some.refs[: (width // 8 + 1) * 8])
        same = bytes_equal(some.words[:, None], some.refs)
        here = (
            BeamRound(same, some.text, some.pattern)
            if outside is None
            else _Round(same, some, active)
        )
        distance = here.distance
        found[some.rows] = some.shifts + distance
        gap = (some.text - some.pattern).abs()
        open_ = nonzero((distance > some.least) | (distance + gap > SAFE))
        if not len(open_):
            continue
        place, edits, errors = here.align(open_)
        if outside is not None:
            lengths = take(some.text, open_), take(some.pattern, open_)
            inside = within_beam(*lengths, take(distance, open_), place, edits)
            if not bool(inside.all()):
                outside.append(take(some.rows, take(open_, nonzero(~inside))))
            keep = nonzero(inside & take(distance > some.least, open_))
            open_, place, edits, errors = (take(p, keep) for p in (open_, place, edits, errors))
        found_shifts = candidate_shifts(
            same, open_, take(some.text, open_), place, edits > 0, errors
        )
        count = take(some.checked, open_)
        count = count + torch.bincount(found_shifts.pair, minlength=len(open_))
        few = nonzero(take(count < MAX_CANDIDATES, found_shifts.pair))
        found_shifts = found_shifts.of(few)
        found_shifts = found_shifts._replace(pair=take(open_, found_shifts.pair))
        best = _best(found_shifts, distance, here)
        if made is not None:
            made.append(Shift(take(some.rows, best.pair), best.start, best.size, best.new))
        whole = torch.zeros_like(distance)
        whole[open_] = count
        checked.append(take(whole, best.pair))
        places = torch.arange(height, device=distance.device)[:, None]
        shifted = pairs.words[:, rows[best.pair]]
        shifted[:height] = some.words[best.source(places), best.pair]
        words.append(shifted)
        kept.append(take(rows, best.pair))
    if not kept:
        return pairs.of(pairs.rows[:0])
    new = pairs.of(torch.cat(kept))
    return new._replace(
        words=torch.cat(words, 1), checked=torch.cat(checked), shifts=new.shifts + 1
    )


class _Round:
    """One round of pairs: distances by bit vectors.

    Args:
        same: Which words are equal, uint8 [T,M,p].
        pairs: The pairs, those with the longest hypotheses first.
        active: Pairs of each step.
    """

    def __init__(self, same: Tensor, pairs: _Pairs, active: list[int]) -> None:
        self.part = part = Part(pairs.rows, pack(same), pairs.text, pairs.pattern, active)
        above = part.text.new_full(part.matches.shape[1:], -1)
        below = torch.zeros_like(above)
        self._keep = torch.zeros_like(part.matches), torch.zeros_like(part.matches)
        height, words, size = part.matches.shape
        self.states = part.text.new_zeros(height, 2, words, size)
        advance(part.matches, active, above, below, self._keep, self.states)
        self.distance = part.text + rise(above, below, part.ends)

    def align(self, chosen: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return place, edits and errors of some pairs, as `read_back` does."""
        part = self.part
        matches, *keep = (bits.index_select(2, chosen) for bits in (part.matches, *self._keep))
        rows, text, pattern = (take(p, chosen) for p in (part.rows, part.text, part.pattern))
        return read_back(Part(rows, matches, text, pattern, []), *keep)

    def distances(self, candidates: Candidates) -> Tensor:
        """Return the distances of candidates, int64 [c]."""
        first = torch.minimum(candidates.start, candidates.new)
        left = take(self.part.text, candidates.pair) - first
        order = argsort(left).flip(0)
        sizes = take(left, order).tolist()
        found = torch.empty_like(left)
        low = 0
        while low < len(sizes):
            high = min(low + max(_CANDIDATES // max(sizes[low], 1), 1), len(sizes))
            rows = order[low:high]
            some = candidates.of(rows)
            found[rows] = self._part(some, take(first, rows), active_of(sizes[low:high]))
            low = high
        return found

    def _part(self, candidates: Candidates, first: Tensor, active: list[int]) -> Tensor:
        _, words, size = self.part.matches.shape
        step = torch.arange(len(active), device=first.device)[:, None]
        source = candidates.source(first + step).clamp_(max=self.part.matches.shape[0] - 1)
        flat = self.part.matches.reshape(-1)
        matches = torch.stack(
            [
                take(flat, ((source * words + word) * size + candidates.pair).reshape(-1))
                for word in range(words)
            ]
        )
        matches = matches.view(words, len(active), -1).transpose(0, 1)
        state = self.states.reshape(-1)
        above, below = (
            torch.stack(
                [
                    take(state, ((first * 2 + side) * words + word) * size + candidates.pair)
                    for word in range(words)
                ]
            )
            for side in (0, 1)
        )
        advance(matches, active, above, below)
        lengths = take(self.part.pattern, candidates.pair)
        ends = ends_of(lengths, words)
        return take(self.part.text, candidates.pair) + rise(above, below, ends)


def _best(candidates: Candidates, distance: Tensor, here: _Round | BeamRound) -> Candidates:
    """Of each pair the candidate of the largest gain, if there is a gain; pairs ascend."""
    candidates = candidates.of(nonzero(candidates.new != candidates.start))
    gain = take(distance, candidates.pair) - here.distances(candidates)
    better = nonzero(gain > 0)
    candidates, gain = candidates.of(better), take(gain, better)
    # one number that sorts by gain, size, start and target
    limit = 1 << 21
    rank = (gain * (MAX_SIZE + 1) + candidates.size) * limit + (limit - 1 - candidates.start)
    rank = (rank << 21) + (limit - 1 - candidates.target)
    top = torch.zeros_like(distance).scatter_reduce(0, candidates.pair, rank, "amax")
    winners = nonzero(rank == take(top, candidates.pair))
    # several may be the same shift: the last one of each pair
    last = torch.full_like(distance, -1)
    last[take(candidates.pair, winners)] = winners
    return candidates.of(last[nonzero(last >= 0)])
