"""The edits of least cost, read from the last cell of D to the first, of many pairs at once.

Of equally cheap edits, those of both words come first (match or substitution), then the deletion of
a word of the text, then the insertion of a word of the pattern. So a path leaves a row of D at its
last cell that is reached by both words or by a deletion, up to where it entered the row; the cells
behind it are insertions. With the bits of a row in the opposite order this is the lowest bit that
is set, x & -x.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from tensormt.kernels.backend import array_module, as_array, transpose
from tensormt.kernels.bit_vectors import Part, reverse, runs_of, single_bit

MATCH, SUBSTITUTION, INSERTION = 0, 1, 2  # what `Alignment.edits` says of a word of the pattern


def read_back(
    part: Part, states: Tensor, beam: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Read the edits of all pairs.

    Args:
        part: The pairs.
        states: Of all rows, as `all_states` returns them, int64 [T+W,3,W,p].
        beam: Bits of the places to which a step by both words may lead, as the matches of the part,
            which have no others; None: all.

    Returns:
        place [p,M], edits [p,M] and errors [p,T] as in `Alignment`.
    """
    (steps, words, size), device = part.matches.shape, part.rows.device
    height = len(part.active)
    width = int(part.pattern.max()) if size else 0
    line = as_array(torch.arange(height, device=device)[:, None])
    text, matches, kept = map(as_array, (part.text, part.matches, states))
    module = array_module(text)
    real = line < text
    filled = real * -1  # all bits of rows that a pair has
    above, below, level = (kept[:steps, plane] for plane in range(3))
    both = matches | ~level
    stops = both | below
    if beam is not None:
        both &= as_array(beam)
        stops = both | level & below | ~(level | above | below)
    for word in range(words):  # other rows are left where they were entered
        both[word : word + height, word] &= filled
        stops[word : word + height, word] |= ~filled
    both, stops = reverse(both), reverse(stops)
    exits = _exits(both, stops, part)
    # the place at which a path leaves each row, -1 before the first; by both words, and equal ones
    column = filled * 0 - 1
    across, matched = column == 0, column == 0
    for word in range(words):
        rows = slice(word, word + height)
        bit = exits[rows, word]
        place = 63 - single_bit(bit)
        diagonal = bit & both[rows, word]
        same = (matches[rows, word] >> (place & 63)) & (diagonal != 0)
        column = module.where(bit != 0, place + 64 * word, column)
        across |= diagonal != 0
        matched |= (same & 1) != 0
    across &= real
    matched &= real
    # a word of the pattern follows all words of the text whose rows are left before or at it
    first = as_array(torch.arange(size, device=device)) * (width + 1)
    end = size * (width + 1)
    entered = module.where(real, column + first + ~across, end)
    used = module.bincount(entered.reshape(-1), minlength=end + 1)[:end]
    place = torch.as_tensor(used.reshape(size, width + 1).cumsum(1)[:, :width] - 1)
    edits = as_array(torch.full((end,), INSERTION, dtype=torch.int64, device=device))
    edits[module.where(across, column, width) + first] = ~matched * SUBSTITUTION
    found = torch.as_tensor(edits.reshape(size, width + 1)[:, :width]).to(torch.uint8)
    outside = torch.arange(width, device=device) >= part.pattern[:, None]
    errors = transpose(torch.as_tensor(real & ~matched))
    return place.masked_fill_(outside, -1), found.masked_fill_(outside, MATCH), errors


def _exits(both: Any, stops: Any, part: Part) -> Any:
    """The bits at which paths leave the rows, int64 [T+W-1,W,p]; none if at the first column."""
    steps, words, size = both.shape
    exits = both * 0
    bits, ends, found = (own.reshape(steps, words * size) for own in (both, stops, exits))
    inside = reverse(as_array(part.ends)).reshape(-1)  # places up to the current one
    several = words > 1
    # whether a path has not left a row in the integers behind, 0 or -1
    going_on = as_array(part.text.new_full(((words + 1) * size if several else 0,), -1))
    sign = as_array(part.text.new_full((words * size,), 63))
    for steps, at in reversed(runs_of(part.active, words, size)):
        here = inside[at]
        if several:
            behind, by = slice(at.start + size, at.stop + size), sign[at]
        for step in reversed(range(steps.start, steps.stop)):
            bit = ends[step][at] & here
            bit &= -bit
            if several:
                open_ = going_on[behind]
                bit &= open_
            found[step][at] = bit
            new = -bit
            if several:
                left = (bit | new) >> by
                new |= ~open_
                going_on[at] = open_ & ~left
            new ^= bit & bits[step][at]
            here[:] = new
    return exits
