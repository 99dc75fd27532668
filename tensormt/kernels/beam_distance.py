"""Edit distance within a beam about the diagonal, as sacrebleu's TER computes it.

    D[i,j] as in edit_distance.py for ⌊i·N/H⌋ - b ≤ j < ⌊i·N/H⌋ + b, ∞ elsewhere

H words of the hypothesis, N of the reference, b = 25, or ⌈N/2H + 25⌉ if N > 50 H; the last row goes
on to N. A row is min(above, diagonal) and then a running minimum, since an insertion adds one:

    D[i,j] = j + min over k ≤ j of ( t[k] - k )        t[k] = min( D[i-1,k-1] + [≠], D[i-1,k] + 1 )

This is slower than bit vectors, and needed only where the path of least edits leaves the beam.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from tensormt.kernels.backend import as_array
from tensormt.kernels.bit_vectors import Part, unpack
from tensormt.kernels.edit_path import INSERTION, MATCH
from tensormt.kernels.shift_candidates import Candidates

BEAM = 25
# the sum of distance and difference of lengths up to which the path lies within the beam: a path of
# d edits is at most (d + |H - N|) / 2 places from the diagonal
SAFE = 2 * (BEAM - 1)
_FAR = 1 << 20  # stands for ∞
_CELLS = 1 << 24


def _bounds(text: Tensor, pattern: Tensor, row: Tensor) -> tuple[Tensor, Tensor]:
    """The first place of the beam in a row, and the one behind its last; all int64 [...]."""
    ratio = pattern.double() / text.clamp_min(1)
    wide = torch.where(ratio / 2 > BEAM, (ratio / 2 + BEAM).ceil(), float(BEAM)).to(torch.int64)
    middle = (row * ratio).floor().to(torch.int64)
    end = torch.where(row == text, pattern + 1, torch.minimum(pattern + 1, middle + wide))
    return (middle - wide).clamp_min(0), end


def within_beam(
    text: Tensor, pattern: Tensor, distance: Tensor, place: Tensor, edits: Tensor
) -> Tensor:
    """Say which paths of least edits lie within the beam, bool [p].

    Args:
        text: Lengths, int64 [p].
        pattern: Lengths, int64 [p].
        distance: int64 [p].
        place: As in `Alignment`, int64 [p,M].
        edits: As in `Alignment`, uint8 [p,M].
    """
    inside = distance + (text - pattern).abs() <= SAFE
    if bool(inside.all()):
        return inside
    size, width = place.shape
    column = torch.arange(1, width + 1, device=place.device).expand(size, width)
    sides = text[:, None], pattern[:, None]
    real = column <= sides[1]
    # in each column the path's first row is bound to the right, its last row to the left
    first = place + 1
    _, end = _bounds(*sides, first)
    good = (first == 0) | (column < end) | ~real
    following = torch.where(edits == INSERTION, place + 1, place)
    last = torch.cat([following[:, 1:], sides[0]], 1)
    last = torch.where(column == sides[1], sides[0], last)
    start, _ = _bounds(*sides, last)
    good &= (last <= 0) | (start <= column) | ~real
    left = torch.where(pattern > 0, following[:, 0] if width else text, text)
    start, _ = _bounds(text, pattern, left)
    return inside | (good.all(1) & ((left <= 0) | (start <= 0)))


class BeamRound:
    """One round of pairs: distances within the beam.

    Args:
        part: The pairs.
    """

    def __init__(self, part: Part) -> None:
        self.text, self.pattern = text, pattern = part.text, part.pattern
        self.width = int(pattern.max()) if len(pattern) else 0
        same = unpack(part.matches, self.width)
        self.cost = (1 - same.to(torch.int32)).permute(2, 0, 1).contiguous()
        self._table = torch.stack(self._rows(self.cost, text, pattern), 1)
        pair = torch.arange(len(text), device=text.device)
        self.distance = self._table[pair, text, pattern].to(torch.int64)

    def align(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return place, edits and errors of all pairs as `Alignment` has them."""
        table, size, device = self._table, len(self.text), self.text.device
        pair = torch.arange(size, device=device)
        i, j = self.text, self.pattern
        real = torch.arange(self.width, device=device) < j[:, None]
        height = self.cost.shape[1]
        place = torch.full((size, self.width + 1), -1, dtype=torch.int64, device=device)
        edits = torch.zeros(size, self.width + 1, dtype=torch.uint8, device=device)
        errors = torch.zeros(size, height + 1, dtype=torch.bool, device=device)
        cost = torch.nn.functional.pad(self.cost, (0, 1, 0, 1))
        for _ in range(height + self.width):
            here = table[pair, i, j]
            up, back = (i - 1).clamp_min(0), (j - 1).clamp_min(0)
            step = cost[pair, up, back]
            inside = (i > 0) & (j > 0)
            diagonal = inside & (table[pair, up, back] + step == here)
            down = (i > 0) & ~diagonal & ((j == 0) | (table[pair, up, j] + 1 == here))
            insert = (j > 0) & ~diagonal & ~down
            across, along = diagonal | insert, diagonal | down
            wrong = ~diagonal | (step > 0)
            at = torch.where(across, back, self.width)
            place[pair, at] = i - 1
            edits[pair, at] = insert.to(torch.uint8) * 2 + (diagonal & wrong)
            errors[pair, torch.where(along, up, height)] = wrong
            i, j = i - along.to(torch.int64), j - across.to(torch.int64)
        place = place[:, : self.width].masked_fill(~real, -1)
        edits = edits[:, : self.width].masked_fill(~real, MATCH)
        return place, edits, errors[:, :height]

    def distances(self, candidates: Candidates) -> Any:
        """Return the distances of candidate shifts, int64 [c]."""
        pairs = torch.as_tensor(candidates.pair)
        found = torch.empty_like(pairs)
        height = self.cost.shape[1]
        size = max(_CELLS // max(height * self.width, 1), 1)
        places = as_array(torch.arange(height, device=found.device)[:, None])
        for low in range(0, len(found), size):
            some = Candidates(*(part[low : low + size] for part in candidates))
            own, source = torch.as_tensor(some.pair), torch.as_tensor(some.source(places))
            cost = self.cost[own[:, None], source.clamp(max=height - 1).t()]
            text, pattern = self.text[own], self.pattern[own]
            table = torch.stack(self._rows(cost, text, pattern), 1)
            pair = torch.arange(len(text), device=found.device)
            found[low : low + size] = table[pair, text, pattern].to(torch.int64)
        return as_array(found)

    def _rows(self, cost: Tensor, text: Tensor, pattern: Tensor) -> list[Tensor]:
        """The rows of D, int32 [p,M+1] each, from the costs of substitutions [p,T,M]."""
        column = torch.arange(cost.shape[2] + 1, device=cost.device, dtype=torch.int32)
        row = column.expand(len(text), -1)
        rows = [row]
        for step in range(1, cost.shape[1] + 1):
            low, high = _bounds(text, pattern, torch.full_like(text, step))
            new = row + 1
            new[:, 1:] = torch.minimum(new[:, 1:], row[:, :-1] + cost[:, step - 1])
            inside = (column >= low[:, None]) & (column < high[:, None])
            new = torch.where(inside, new, _FAR)
            row = torch.where(inside, (new - column).cummin(1).values + column, _FAR)
            row = row.clamp_max(_FAR).to(torch.int32)
            rows.append(row)
        return rows
