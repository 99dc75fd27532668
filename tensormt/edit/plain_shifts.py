"""Translation edit rate in plain Python: the definition, for one hypothesis and one reference.

    edits = shifts + D(shifted hypothesis, reference)

The rules are those of `tensormt.kernels.shifts` and `tensormt.kernels.shift_candidates`, which
shift many pairs at once. A row of the table D is two integers of any size, whose bits say where it
rises and falls from one word of the reference to the next (Myers 1999; Hyyrö 2003); the beam is a
mask on the matches (`tensormt.kernels.beam`). This module imports no torch.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import accumulate
from math import ceil
from typing import NamedTuple

from tensormt.plain import clipped, count

MAX_SIZE, MAX_DISTANCE = 10, 50
MAX_CANDIDATES = 1000
BEAM = 25

Words = Sequence[Hashable]


def shift_work(hyp: Words, ref: Words) -> int:
    """Return about how many rows of D the search computes: equal words, times words."""
    others = count(ref)
    return len(hyp) * sum(number * others.get(word, 0) for word, number in count(hyp).items())


class _Row(NamedTuple):
    """A row of D, and from what it was computed; bit j - 1 belongs to word j of the reference."""

    rises: int  # of the row before
    falls: int  # of the row before
    equal: int  # words of the reference that equal the word of this row
    level: int  # cells equal to the cell before both words


class _Alignment(NamedTuple):
    """Read from the edits of least cost."""

    place: list[int]  # for each word of the reference the last word used up to it, -1: none
    hyp_errors: list[int]  # errors among the first so many words of the hypothesis
    ref_errors: list[int]  # errors among the first so many words of the reference


def translation_edits(
    hyp: Words, ref: Words, width: int = BEAM, max_candidates: int = MAX_CANDIDATES
) -> int:
    """Count the shifts and edits that turn a hypothesis into its reference, as Tercom does.

    Args:
        hyp: The words of the hypothesis.
        ref: The words of the reference.
        width: Places of the beam on each side of the diagonal.
        max_candidates: Once so many shifts have been tried, none is made any more.

    >>> translation_edits("home the dog ran away".split(), "the dog ran home".split())
    2
    """
    words, table = list(hyp), _Table(ref, len(hyp), width)
    least = max(len(hyp), len(ref)) - clipped(hyp, [ref])  # a shift does not change the words
    shifts = checked = 0
    while True:
        distance, rows = table.distance(words)
        best, shifted = (0, 0, 0, 0), words
        if distance > least:
            for start, size, target in table.candidates(words, table.align(rows)):
                checked += 1
                if checked == max_candidates:
                    return shifts + distance
                new = target - size if target > start + size else min(target, len(words) - size)
                if new == start:
                    continue
                moved = _moved(words, start, size, new)
                after, _ = table.distance(moved, rows[: min(start, new) + 1])
                rank = distance - after, size, -start, -target
                if after < distance and rank > best:
                    best, shifted = rank, moved
        if shifted is words:
            return shifts + distance
        words = shifted
        shifts += 1


def _moved(words: list[Hashable], start: int, size: int, new: int) -> list[Hashable]:
    """The words once a run of them is moved to a new place."""
    others = words[:start] + words[start + size :]
    return others[:new] + words[start : start + size] + others[new:]


class _Table:
    """Edit distances of hypotheses of one length to a reference, within the beam.

    Args:
        ref: The reference.
        height: The number of words of the hypotheses.
        width: Places of the beam on each side of the diagonal.
    """

    def __init__(self, ref: Words, height: int, width: int) -> None:
        self.ref = ref
        self.places: dict[Hashable, list[int]] = {}
        for place, word in enumerate(ref):
            self.places.setdefault(word, []).append(place)
        self._bits = {word: sum(1 << j for j in own) for word, own in self.places.items()}
        self._beam = list(_beam(height, len(ref), width))

    def distance(self, words: list[Hashable], rows: Sequence[_Row] = ()) -> tuple[int, list[_Row]]:
        """Return the distance of a hypothesis, and the rows of its table.

        Args:
            words: The hypothesis.
            rows: The first rows, which another hypothesis has too but for the last one's word.
        """
        found, every = list(rows[:-1]), (1 << len(self.ref)) - 1
        rises, falls = rows[-1][:2] if rows else (every, 0)
        bits = self._bits.get
        for row in range(len(found), len(words)):
            equal = bits(words[row], 0) & self._beam[row]
            level = ((equal & rises) + rises ^ rises | equal | falls) & every
            found.append(_Row(rises, falls, equal, level))
            flat, fall = ((level | rises) ^ falls) << 1, (level & rises) << 1
            rises, falls = (flat & ~level | fall) & every, level & ~flat
        return len(words) + rises.bit_count() - falls.bit_count(), found

    def align(self, rows: Sequence[_Row]) -> _Alignment:
        """Read the edits from the end: both words before a deletion before an insertion."""
        i, j = len(rows), len(self.ref)
        place, hyp_errors, ref_errors = [-1] * j, [1] * i, [1] * j
        while i and j:
            rises, falls, equal, level = rows[i - 1]
            bit = 1 << j - 1
            if (equal | ~level & self._beam[i - 1]) & bit:
                i, j = i - 1, j - 1
                place[j] = i
                if equal & bit:
                    hyp_errors[i] = ref_errors[j] = 0
            elif (level & falls | ~(level | rises | falls)) & bit:
                i -= 1
            else:
                j -= 1
                place[j] = i - 1
        sums = (list(accumulate(errors, initial=0)) for errors in (hyp_errors, ref_errors))
        return _Alignment(place, *sums)

    def candidates(
        self, words: list[Hashable], alignment: _Alignment
    ) -> Iterator[tuple[int, int, int]]:
        """Yield the first word and number of words of each run that may move, and its target."""
        place, hyp_errors, ref_errors = alignment
        for start, word in enumerate(words):
            for other in self.places.get(word, ()):
                ahead = place[other] - start
                if not ahead or abs(start - other) > MAX_DISTANCE:
                    continue
                most = min(MAX_SIZE, len(words) - start, len(self.ref) - other)
                if ahead > 0:  # the reference's first word is not aligned within the run
                    most = min(most, ahead)
                for size in range(1, most + 1):
                    if words[start + size - 1] != self.ref[other + size - 1]:
                        break
                    if hyp_errors[start + size] == hyp_errors[start]:
                        continue
                    if ref_errors[other + size] == ref_errors[other]:
                        continue
                    last = None
                    for before in range(other - 1, other + size):
                        target = place[before] + 1 if before >= 0 else 0
                        if target != last:
                            yield start, size, target
                        last = target


def _beam(height: int, length: int, width: int) -> Iterator[int]:
    """The places of each row to which steps by both words within the beam lead, as bits."""
    ratio = length / max(height, 1)
    wide = ceil(ratio / 2 + width) if ratio / 2 > width else width
    first, end = 0, length + 1  # the first row is whole
    for row in range(1, height + 1):
        before = first + 1, end + 1  # one place behind those of the row before
        middle = int(row * ratio)
        first = max(middle - wide, 0)
        end = min(middle + wide, length + 1) if row < height else length + 1
        low, high = max(before[0], first), min(before[1], end)
        yield (1 << high - 1) - (1 << low - 1) if high > low else 0
