"""Edit distance (Levenshtein) of many pairs of sequences, 64 cells at a time, and the edits.

    D[i,j] = min( D[i-1,j-1] + [textᵢ ≠ patternⱼ],  D[i-1,j] + 1,  D[i,j-1] + 1 )

Neighbouring cells of a row differ by -1, 0 or 1, so a row is two bit vectors, of which a step
computes 64 bits by a dozen integer operations (Myers 1999; Hyyrö 2003): the carry of an addition
runs through the matches of a row. Every operation works on the rows of all pairs; patterns of more
than 64 places take several integers, through which carries and shifts go on.

The same program keeps, if asked, the bits from which the edits are read backwards (`align`): of
equally cheap edits, those of both words come first (match or substitution), then the deletion of a
word of the text, then the insertion of a word of the pattern.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from tensormt.kernels.backend import take
from tensormt.kernels.bit_vectors import CELLS, Part, parts, popcount
from tensormt.kernels.ngram_overlap import Sequences

MATCH, SUBSTITUTION, INSERTION = 0, 1, 2  # what `Alignment.edits` says of a word of the pattern


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
        found[part.rows] = _distance(part)
    return found


def align(text: Sequences, pattern: Sequences, cells: int = CELLS) -> Alignment:
    """Find the edits that turn the texts of P pairs into their patterns.

    Args:
        text: P sequences of symbols from 0 on.
        pattern: P sequences in the same symbols.
        cells: Cells of a part, which bounds memory.
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
        keep = torch.zeros_like(part.matches), torch.zeros_like(part.matches)
        found.distance[part.rows] = _distance(part, keep)
        own = read_back(part, *keep)
        for whole, some in zip(found[1:], own, strict=True):
            whole[part.rows, : some.shape[1]] = some
    return found


def _distance(part: Part, keep: tuple[Tensor, Tensor] | None = None) -> Tensor:
    """The distance of each pair of a part, int64 [p]; `keep` as for `advance`."""
    above = part.text.new_full(part.matches.shape[1:], -1)
    below = torch.zeros_like(above)
    advance(part.matches, part.active, above, below, keep)
    return part.text + rise(above, below, part.ends)


def rise(above: Tensor, below: Tensor, ends: Tensor) -> Tensor:
    """Return how much a row rises over the pattern, int64 [p], given its state [W,p]."""
    return (popcount(above & ends) - popcount(below & ends)).sum(0)


def advance(
    matches: Tensor,
    active: Sequence[int],
    above: Tensor,
    below: Tensor,
    keep: tuple[Tensor, Tensor] | None = None,
    states: Tensor | None = None,
) -> None:
    """Go through the words of the texts, a row of D at a time.

    Args:
        matches: Bits of the places that equal each word, int64 [T,W,p].
        active: Pairs of each step: the first so many.
        above: Cells that are one above that of the previous place of the pattern, int64 [W,p];
            changed in place, all bits set at first.
        below: Cells that are one below, likewise; no bit set at first.
        keep: Two tensors like matches, for the cells that are reached by both words, and else by
            the deletion of a word of the text.
        states: For `above` and `below` before each step, int64 [T,2,W,p].
    """
    words = matches.shape[1]
    for step, left in enumerate(active):
        if states is not None:
            states[step, 0, :, :left], states[step, 1, :, :left] = above[:, :left], below[:, :left]
        carry: Tensor | int = 0
        more: Tensor | int = 1  # the first column rises with every word of the text
        less: Tensor | int = 0
        for word in range(words):
            same = matches[step, word, :left]
            up, down = above[word, :left], below[word, :left]
            seed = same & up
            total = seed + up
            if word:
                total += carry
            # cells equal to the one before both words
            level = (total ^ up).bitwise_or_(same).bitwise_or_(down)
            rising = (up | level).bitwise_not_().bitwise_or_(down)
            falling = up & level
            if keep is not None:
                both = torch.bitwise_or(same, ~level, out=keep[0][step, word, :left])
                torch.bitwise_and(rising, ~both, out=keep[1][step, word, :left])
            one, two = (rising << 1).bitwise_or_(more), falling << 1
            if word:
                two |= less
            if word + 1 < words:
                carry = ((seed | (up & ~total)) >> 63) & 1
                more, less = (rising >> 63) & 1, (falling >> 63) & 1
            torch.bitwise_and(one, level, out=down)
            torch.bitwise_or(two, (one | level).bitwise_not_(), out=up)


def read_back(part: Part, both: Tensor, delete: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Read the edits from the last cell to the first, all pairs at once.

    Args:
        part: The pairs.
        both: Bits of the cells that are reached by both words, int64 [T,W,p].
        delete: Bits of the cells that are else reached by a deletion from the text.

    Returns:
        place [p,M], edits [p,M] and errors [p,T] as in `Alignment`.
    """
    height, words, size = both.shape
    width = int(part.pattern.max()) if size else 0
    device = part.rows.device
    pair = torch.arange(size, device=device)
    i, j = part.text.clone(), part.pattern.clone()
    # one more column takes what is written for finished pairs
    place = torch.full((size * (width + 1),), -1, dtype=torch.int64, device=device)
    edits = torch.zeros(size * (width + 1), dtype=torch.uint8, device=device)
    errors = torch.zeros(size * (height + 1), dtype=torch.bool, device=device)
    first, last = pair * (width + 1), pair * (height + 1)
    flat = [bits.reshape(-1) for bits in (part.matches, both, delete)]
    for _ in range(height + width if height else 0):
        row, column = (i - 1).clamp_min_(0), (j - 1).clamp_min_(0)
        cell = (row * words + (column >> 6)).mul_(size).add_(pair)
        bit = column & 63
        same, diagonal, down = (((take(bits, cell) >> bit) & 1).to(torch.bool) for bits in flat)
        inside = (i > 0) & (j > 0)
        diagonal &= inside
        down = (down & inside) | ((j == 0) & (i > 0))
        same &= diagonal
        insert = (j > 0) & ~diagonal & ~down
        across = diagonal | insert
        at = torch.where(across, first + j - 1, first + width)
        place.index_copy_(0, at, i - 1)
        edits.index_copy_(0, at, insert.to(torch.uint8).mul_(2).add_(diagonal & ~same))
        along = diagonal | down
        errors.index_copy_(0, torch.where(along, last + i - 1, last + height), ~same)
        i -= along.to(torch.int64)
        j -= across.to(torch.int64)
    if not height:
        edits.view(size, -1)[:, :width] = INSERTION
    real = torch.arange(width, device=device) < part.pattern[:, None]
    place = place.view(size, -1)[:, :width].masked_fill_(~real, -1)
    edits = edits.view(size, -1)[:, :width].masked_fill_(~real, MATCH)
    return place, edits, errors.view(size, -1)[:, :height]
