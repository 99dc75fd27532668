"""Edit distance (Levenshtein) of many pairs of sequences, 64 cells at a time, and the edits.

    D[i,j] = min( D[i-1,j-1] + [textᵢ ≠ patternⱼ],  D[i-1,j] + 1,  D[i,j-1] + 1 )

Neighbouring cells of a row differ by -1, 0 or 1, so a row is two bit vectors, of which a step
computes 64 bits by a dozen integer operations (Myers 1999; Hyyrö 2003): the carry of an addition
runs through the matches of a row. Every operation works on the rows of all pairs; patterns of more
than 64 places take several integers, through which carries and shifts go on (bit_vectors.py).

The same program keeps, if asked, the bits from which the edits are read backwards (edit_path.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from torch import Tensor

from tensormt.kernels.backend import array_module, as_array
from tensormt.kernels.bit_vectors import CELLS, Part, parts, popcount, runs_of
from tensormt.kernels.edit_path import read_back
from tensormt.kernels.ngram_overlap import Sequences


class Alignment(NamedTuple):
    """The edits that turn texts into patterns, for P pairs.

    distance int64 [P]; place int64 [P,M]: for each word of the pattern the index of the last word
    of the text that was used up to it, -1 if none; edits uint8 [P,M]: MATCH, SUBSTITUTION or
    INSERTION of each word of the pattern; errors bool [P,T]: which words of the text are not
    matched. Beyond the lengths of a pair: place -1, MATCH, False.
    """

    distance: Tensor
    place: Tensor
    edits: Tensor
    errors: Tensor


def distances(text: Sequences, pattern: Sequences, cells: int = CELLS) -> Tensor:
    """Compute the edit distance (Levenshtein) of P pairs.

    Args:
        text: P sequences of symbols from 0 on.
        pattern: P sequences in the same symbols.
        cells: Cells of a part, which bounds memory.

    Returns:
        int64 [P].

    >>> ids = torch.tensor([1, 2, 3, 4, 1, 3, 4, 5])
    >>> one, two = (Sequences(ids, torch.tensor([k]), torch.tensor([4])) for k in (0, 4))
    >>> distances(one, two).tolist()
    [2]
    """
    found = torch.empty_like(text.lengths)
    for part in parts(text, pattern, cells):
        above = part.text.new_full(part.matches.shape[1:], -1)
        above, below = advance(part.matches, part.active, above, torch.zeros_like(above))
        found[part.rows] = part.text + rise(above, below, part.ends)
    return found


def align(
    text: Sequences,
    pattern: Sequences,
    cells: int = CELLS,
    beam_of: Callable[[Part], Tensor] | None = None,
) -> Alignment:
    """Find the edits that turn the texts of P pairs into their patterns.

    Args:
        text: P sequences of symbols from 0 on.
        pattern: P sequences in the same symbols.
        cells: Cells of a part, which bounds memory.
        beam_of: Returns the beam of a part, as `read_back` takes it.
    """
    pairs, device = text.lengths.shape[0], text.lengths.device
    width, height = (int(side.lengths.max()) if pairs else 0 for side in (pattern, text))
    found = Alignment(
        torch.empty_like(text.lengths),
        torch.full((pairs, width), -1, dtype=torch.int64, device=device),
        torch.zeros(pairs, width, dtype=torch.uint8, device=device),
        torch.zeros(pairs, height, dtype=torch.bool, device=device),
    )
    for part in parts(text, pattern, cells):
        beam = None if beam_of is None else beam_of(part)
        if beam is not None:
            part = part._replace(matches=part.matches & beam)
        states = all_states(part.matches, part.active)
        found.distance[part.rows] = distance_of(part, states)
        own = read_back(part, states, beam)
        for whole, some in zip(found[1:], own, strict=True):
            whole[part.rows, : some.shape[1]] = some
    return found


def all_states(matches: Tensor, active: Sequence[int]) -> Tensor:
    """Return `states` of `advance` for all rows of pairs, int64 [T+W,3,W,p]."""
    steps, words, size = matches.shape
    states = matches.new_empty(max(steps, words - 1) + 1, 3, words, size)
    for word in range(words):  # each integer at its first step
        states[word, 0, word], states[word, 1, word] = -1, 0
    advance(matches, active, states[0, 0], states[0, 1], states)
    return states


def states_at(states: Any, rows: Any, pairs: Any) -> Any:
    """Return `above` and `below` before rows [c] of pairs [c], int64 [2,W,c].

    All are arrays as `as_array` returns them.
    """
    _, planes, words, size = states.shape
    flat, at = states.reshape(-1), rows * (planes * words * size) + pairs
    places = [(word * planes * words + word) * size for word in range(words)]
    found = [flat[at + (place + side * words * size)] for side in (0, 1) for place in places]
    return array_module(flat).stack(found).reshape(2, words, -1)


def distance_of(part: Part, states: Tensor) -> Tensor:
    """Return the distance of each pair of a part, int64 [p], from the states of all rows."""
    pairs = torch.arange(len(part.text), device=states.device)
    above, below = states_at(*(as_array(own) for own in (states, part.text, pairs)))
    return part.text + torch.as_tensor(rise(above, below, as_array(part.ends)))


def rise(above: Any, below: Any, ends: Any) -> Any:
    """Return how much a row rises over the pattern, int64 [p], given its state [W,p]."""
    return (popcount(above & ends) - popcount(below & ends)).sum(0)


def advance(
    matches: Tensor,
    active: Sequence[int],
    above: Tensor,
    below: Tensor,
    states: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Go through the words of the texts, a row of D at a time.

    Args:
        matches: Bits of the places that equal each word, int64 [T+W-1,W,p], as in `Part`.
        active: Pairs of each row: the first so many.
        above: Cells that are one above that of the previous place of the pattern, int64 [W,p];
            overwritten, all bits set before the first word.
        below: Cells that are one below, likewise; no bit set before the first word.
        states: For `above` and `below` before each step, and the cells that the step leaves equal
            to those before both words, int64 [T+W,3,W,p]; instead of above and below.

    Returns:
        above and below after the last word of each pair; not with `states`.
    """
    (_, words, size), several = matches.shape, matches.shape[1] > 1
    # one axis for all integers: numpy is three times as fast on it
    bits, high, low = (as_array(own.flatten(-2)) for own in (matches, above, below))
    module, history = array_module(bits), None if states is None else as_array(states.flatten(2))
    both, either, differ = module.bitwise_and, module.bitwise_or, module.bitwise_xor
    add = module.add
    ends = (above.clone(), below.clone()) if several and history is None else (above, below)
    last = [as_array(end.view(-1)) for end in ends]
    ended = _ended(active, words, size) if several and history is None else {}
    levels = as_array(matches.new_empty(words * size))
    # cells along a row that do not rise, and those that fall; the same shifted by one place
    edges, shifted = (as_array(matches.new_empty(2, words * size)) for _ in range(2))
    # what goes on to the next integer, 0 or -1. The first column rises with every word of the text.
    # The sum carries exactly where the last cell falls: one bit serves both.
    onward = as_array(matches.new_zeros(2, (words + 1) * size if several else 0))
    sign = as_array(matches.new_full((2, words * size if several else 0), 63))
    for steps, at in runs_of(active, words, size):
        same, edge, moved = bits[steps, at], edges[:, at], shifted[:, at]
        flat, fall, flat_on, fall_on = edge[0], edge[1], moved[0], moved[1]
        if several:
            carried, by = onward[:, at], sign[:, at]
            carry, going_on = carried[1], onward[:, at.start + size : at.stop + size]
        if history is None:
            up, down, level = high[at], low[at], levels[at]
            new_up, new_down = up, down
        else:
            planes = history[steps.start : steps.stop + 1, :, at]
            new_up, new_down = planes[0][0], planes[0][1]
        for row in range(len(same)):
            if history is not None:  # indexing is faster than unpacking
                up, down, level, after = new_up, new_down, planes[row][2], planes[row + 1]
                new_up, new_down = after[0], after[1]
            equal = same[row]
            both(equal, up, out=level)
            level += up
            if several:
                level -= carry
            level ^= up
            level |= equal
            level |= down  # cells equal to the one before both words
            either(level, up, out=flat)
            flat ^= down
            both(level, up, out=fall)
            add(edge, edge, out=moved)
            if several:
                moved -= carried
                edge >>= by
                going_on[:] = edge
            both(level, flat_on, out=flat)
            differ(level, flat, out=new_down)
            flat_on ^= flat
            either(flat_on, fall_on, out=new_up)
            for own in ended.get(steps.start + row, ()):
                last[0][own], last[1][own] = high[own], low[own]
    return ends


def _ended(active: Sequence[int], words: int, size: int) -> dict[int, list[slice]]:
    """Return for each step, of those with any, the integers of pairs whose text ends there."""
    found: dict[int, list[slice]] = {}
    for row, (now, later) in enumerate(pairwise([*active, 0])):
        if later < now:
            for word in range(words):
                own = slice(word * size + later, word * size + now)
                found.setdefault(row + word, []).append(own)
    return found
