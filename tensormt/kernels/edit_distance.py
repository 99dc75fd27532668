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
from typing import Any, NamedTuple

import torch
from torch import Tensor

from tensormt.kernels.backend import as_array, take
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
    bits, high, low = as_array(matches), as_array(above), as_array(below)
    kept = [as_array(part) for part in keep or ()]
    history = None if states is None else as_array(states)
    for step, left in enumerate(active):
        if history is not None:
            history[step, 0, :, :left], history[step, 1, :, :left] = high[:, :left], low[:, :left]
        carry, more, less = 0, 1, 0  # the first column rises with every word of the text
        for word in range(words):
            same, up, down = bits[step, word, :left], high[word, :left], low[word, :left]
            seed = same & up
            total = seed + up
            if word:
                total += carry
            level = total ^ up  # cells equal to the one before both words
            level |= same
            level |= down
            rising = ~(up | level)
            rising |= down
            falling = up & level
            if kept:
                both = same | ~level
                kept[0][step, word, :left] = both
                kept[1][step, word, :left] = rising & ~both
            one, two = rising << 1, falling << 1
            one |= more
            if word:
                two |= less
            if word + 1 < words:
                carry = ((seed | (up & ~total)) >> 63) & 1
                more, less = (rising >> 63) & 1, (falling >> 63) & 1
            low[word, :left] = one & level
            one |= level
            high[word, :left] = two | ~one


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
    # one more column takes what is written where the word of the pattern stays
    place = torch.full((size * (width + 1),), -1, dtype=torch.int64, device=device)
    inserted = torch.zeros(size * (width + 1), dtype=torch.bool, device=device)
    _walk(
        [as_array(part) for part in (i, j, pair, pair * (width + 1))],
        [as_array(bits.reshape(-1)) for bits in (both, delete)],
        (as_array(place), as_array(inserted)),
        (height, width, words),
    )
    place = place.view(size, -1)[:, :width]
    real = torch.arange(width, device=device) < part.pattern[:, None]
    place.masked_fill_(~real, -1)
    inserted = inserted.view(size, -1)[:, :width] if height else torch.ones_like(real)
    # matched if the words are equal that meet
    index = torch.arange(width, device=device)
    cell = (place.clamp_min(0) * words + (index >> 6)).mul_(size).add_(pair[:, None])
    matched = torch.zeros_like(real)
    if height:
        matched = (
            (take(part.matches.reshape(-1), cell.view(-1)).view_as(cell) >> (index & 63)) & 1
        ) > 0
    matched &= real & ~inserted
    edits = torch.where(matched, MATCH, torch.where(inserted, INSERTION, SUBSTITUTION))
    edits = edits.to(torch.uint8).masked_fill_(~real, MATCH)
    errors = torch.arange(height + 1, device=device) < part.text[:, None]
    errors.scatter_(1, torch.where(matched, place, height), torch.zeros_like(matched))
    return place, edits, errors[:, :height]


def _walk(state: Any, bits: Any, out: Any, shape: tuple[int, int, int]) -> None:
    """Go from the last cell of each pair to the first, all pairs at once.

    state: i, j, the number of the pair and its first place in `out`; bits: of the cells that are
    reached by both words, and by a deletion; out: place and inserted; shape: T, M, W.
    """
    i, j, pair, first = state
    (height, width, words), size = shape, len(pair)
    for step in range(height + width if height else 0):
        if step % 8 == 7 and not bool((i + j).any()):
            break
        some, more = (i > 0) * 1, (j > 0) * 1
        row, column = i - some, j - more
        cell = ((row * words + (column >> 6)) * size) + pair
        column &= 63
        diagonal, down = ((part[cell] >> column) & 1 for part in bits)
        diagonal &= some & more
        down = (down | (more ^ 1)) & some & ~diagonal
        insert = more & ~diagonal & ~down
        across = diagonal | insert
        # place j - 1, or the last one
        at = first + (across * (j - 1 - width) + width)
        out[0][at] = i - 1
        out[1][at] = insert > 0
        i -= diagonal | down
        j -= across
