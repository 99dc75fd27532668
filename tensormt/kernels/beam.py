"""The beam about the diagonal to which sacrebleu's TER confines edit distances.

    D[i,j] as in edit_distance.py for ⌊i·N/H⌋ - b ≤ j < ⌊i·N/H⌋ + b, ∞ elsewhere

H words of the hypothesis, N of the reference, b = 25, or ⌈N/2H + 25⌉ if N > 50 H; the first row is
whole, and the last one goes on to N.

The cells outside may as well have finite values, if a step by both words that begins or ends there
never counts as a match: each step outside costs 1 then, so that the k-th cell beyond the border of
a row is at least k above the cell on it, and a path along the border is no dearer than one outside.
So the bit vectors of edit_distance.py compute distances within the beam from fewer matches. Paths
that edit_path.py reads back stay inside, too, if they take no such step by both words: coming back
from k cells outside by a deletion costs k + 1 more than the cell on the border, and the way along
the row, by insertions, k. tests/kernels/test_beam.py compares both with sacrebleu, with beams so
narrow that nearly every path touches the border.
"""

from __future__ import annotations

import torch
from torch import Tensor

from tensormt.kernels.bit_vectors import Part, ends_of, in_steps
from tensormt.kernels.edit_path import INSERTION

BEAM = 25


def _bounds(text: Tensor, pattern: Tensor, row: Tensor, width: int = BEAM) -> tuple[Tensor, Tensor]:
    """The first place of the beam in a row, and the one behind its last; all int64 [...]."""
    ratio = pattern.double() / text.clamp_min(1)
    wide = torch.where(ratio / 2 > width, (ratio / 2 + width).ceil(), float(width)).to(torch.int64)
    middle = (row * ratio).floor().to(torch.int64)
    end = torch.where(row == text, pattern + 1, torch.minimum(pattern + 1, middle + wide))
    return (middle - wide).clamp_min(0), end


def surely_within_beam(
    text: Tensor, pattern: Tensor, distance: Tensor, width: int = BEAM
) -> Tensor:
    """Say of which pairs all paths of least edits lie within the beam, bool [p].

    Args:
        text: Lengths, int64 [p].
        pattern: Lengths, int64 [p].
        distance: int64 [p].
        width: b, the places of the beam on each side of the diagonal.
    """
    # a path of d edits is at most (d + |H - N|) / 2 places from the diagonal
    return distance + (text - pattern).abs() <= 2 * (width - 1)


def within_beam(
    text: Tensor,
    pattern: Tensor,
    distance: Tensor,
    place: Tensor,
    edits: Tensor,
    width: int = BEAM,
) -> Tensor:
    """Say which paths of least edits lie within the beam, bool [p].

    Args:
        text: Lengths, int64 [p].
        pattern: Lengths, int64 [p].
        distance: int64 [p].
        place: As in `Alignment`, int64 [p,M].
        edits: As in `Alignment`, uint8 [p,M].
        width: b, the places of the beam on each side of the diagonal.
    """
    inside = surely_within_beam(text, pattern, distance, width)
    if bool(inside.all()):
        return inside
    size, last_place = place.shape
    column = torch.arange(1, last_place + 1, device=place.device).expand(size, last_place)
    sides = text[:, None], pattern[:, None]
    real = column <= sides[1]
    # in each column the path's first row is bound to the right, its last row to the left
    first = place + 1
    _, end = _bounds(*sides, first, width)
    good = (first == 0) | (column < end) | ~real
    following = torch.where(edits == INSERTION, place + 1, place)
    last = torch.cat([following[:, 1:], sides[0]], 1)
    last = torch.where(column == sides[1], sides[0], last)
    start, _ = _bounds(*sides, last, width)
    good &= (last <= 0) | (start <= column) | ~real
    left = torch.where(pattern > 0, following[:, 0] if last_place else text, text)
    start, _ = _bounds(text, pattern, left, width)
    return inside | (good.all(1) & ((left <= 0) | (start <= 0)))


def beam_of(part: Part, width: int = BEAM) -> Tensor:
    """Return the places to which steps by both words within the beam lead, as `Part.matches`.

    Args:
        part: The pairs.
        width: b, the places of the beam on each side of the diagonal.
    """
    words, height = part.matches.shape[1], len(part.active)
    row = torch.arange(height + 1, device=part.text.device)[:, None]
    start, end = _bounds(part.text, part.pattern, row, width)
    end[0] = part.pattern + 1  # the first row is whole
    # bit j - 1 is place j of a row
    first = torch.maximum(start[1:], start[:-1] + 1) - 1
    last = torch.minimum(end[1:], end[:-1] + 1) - 1
    return in_steps(ends_of(last, words) & ~ends_of(first, words))
