"""Edit distance and longest common subsequence of many pairs of sequences, 64 cells at a time.

    D[i,j] = min( D[i-1,j-1] + [textᵢ ≠ patternⱼ],  D[i-1,j] + 1,  D[i,j-1] + 1 )
    L[i,j] = L[i-1,j-1] + 1 if textᵢ = patternⱼ else max( L[i-1,j], L[i,j-1] )

Neighbouring cells of a row differ by -1, 0 or 1 (by 0 or 1 in L), so a row is two bit vectors (one)
of which a step computes 64 bits by a dozen integer operations (Myers 1999; Hyyrö 2003, 2004): the
carry of an addition runs through the matches of a row. Here every operation works on the rows of
all pairs [P]; longer patterns take several words, through which carries and shifts go on. Pairs are
sorted by the length of the text, so that a finished pair leaves the step by a shorter slice.

The same program keeps, if asked, the bits from which the edits are read backwards (`align`): of
equally cheap edits, those of both words come first (match or substitution), then the deletion of a
word of the text, then the insertion of a word of the pattern.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from tensormt.kernels.backend import argsort, bytes_equal, rows_at, take, transpose
from tensormt.kernels.ngram_overlap import Sequences

# cells (text x pattern) of a part: the bits of its matches take an eighth of so many bytes
_CELLS = 1 << 22
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


class _Part(NamedTuple):
    """Some pairs in the order of falling text lengths, padded."""

    rows: Tensor  # int64 [p]
    matches: Tensor  # int64 [T,W,p]: bit j of word w: textᵢ = pattern of place 64 w + j
    text: Tensor  # lengths, int64 [p]
    pattern: Tensor
    active: list[int]  # pairs whose text has more than i words

    @property
    def ends(self) -> Tensor:
        """The bits of the pattern's places, int64 [W,p]."""
        words = torch.arange(self.matches.shape[1], device=self.rows.device)
        left = (self.pattern - 64 * words[:, None]).clamp(0, 64)
        return torch.where(left == 64, -1, (1 << (left & 63)) - 1)


def distances(text: Sequences, pattern: Sequences, cells: int = _CELLS) -> Tensor:
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
    for part in _parts(text, pattern, cells):
        found[part.rows] = _distance(part)
    return found


def subsequences(text: Sequences, pattern: Sequences, cells: int = _CELLS) -> Tensor:
    """Compute the length of the longest common subsequence of P pairs, int64 [P].

    Args:
        text: P sequences of symbols from 0 on.
        pattern: P sequences in the same symbols.
        cells: Cells of a part, which bounds memory.
    """
    found = torch.empty_like(text.lengths)
    for part in _parts(text, pattern, cells):
        found[part.rows] = popcount(~_common(part) & part.ends).sum(0)
    return found


def common_places(text: Sequences, pattern: Sequences, cells: int = _CELLS) -> Tensor:
    """Find the places of a longest common subsequence in the patterns of P pairs, bool [P,M].

    Read from the ends of both: equal words are taken; else a word of the text is left out if the
    word of the pattern is needed, and the word of the pattern if not (rouge-score does the same).

    Args:
        text: P sequences of symbols from 0 on.
        pattern: P sequences in the same symbols.
        cells: Cells of a part, which bounds memory.
    """
    pairs, device = text.lengths.shape[0], text.lengths.device
    width = int(pattern.lengths.max()) if pairs else 0
    found = torch.zeros(pairs, width + 1, dtype=torch.bool, device=device)
    for part in _parts(text, pattern, cells):
        needed = torch.zeros_like(part.matches)
        _common(part, needed)
        found[part.rows] = _taken(part, needed, width)
    return found[:, :width]


def align(text: Sequences, pattern: Sequences, cells: int = _CELLS) -> Alignment:
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
    for part in _parts(text, pattern, cells):
        both = torch.zeros_like(part.matches)
        delete = torch.zeros_like(part.matches)
        found.distance[part.rows] = _distance(part, (both, delete))
        _read_back(part, both, delete, found)
    return found


def popcount(bits: Tensor) -> Tensor:
    """Count the bits of int64 values of any shape."""
    bits = bits - ((bits >> 1) & 0x5555555555555555)
    bits = (bits & 0x3333333333333333) + ((bits >> 2) & 0x3333333333333333)
    bits = (bits + (bits >> 4)) & 0x0F0F0F0F0F0F0F0F
    return (bits * 0x0101010101010101) >> 56


def _parts(text: Sequences, pattern: Sequences, cells: int) -> Iterator[_Part]:
    """Pairs of similar length, with the bits of their matches. One host synchronisation a part."""
    order = argsort(text.lengths).flip(0)
    sizes = take(text.lengths, order).tolist()
    widths = take(pattern.lengths, order).tolist()
    low = 0
    while low < len(sizes):
        most = min(low + cells // max(sizes[low], 1), len(sizes))
        fits = partial(_cells, low, sizes, widths)
        high = low + max(bisect_right(range(low + 1, most + 1), cells, key=fits), 1)
        rows = order[low:high]
        one, two = text.of(rows), pattern.of(rows)
        height, width = sizes[low], max(widths[low:high])
        own, other = _columns(one, height, -1), _columns(two, -(-width // 8) * 8, -2)
        rising = sizes[low:high][::-1]
        active = [high - low - bisect_right(rising, step) for step in range(height)]
        yield _Part(rows, _match_bits(own, other), one.lengths, two.lengths, active)
        low = high


def _cells(low: int, sizes: list[int], widths: list[int], high: int) -> int:
    """Cells of the pairs low…high-1, the first of which has the longest text."""
    return (high - low) * max(sizes[low], 1) * max(widths[low:high])


def _columns(side: Sequences, width: int, end: int) -> Tensor:
    """The sequences as columns [width,p], padded."""
    rows = rows_at(side.symbols, side.starts, width)
    places = torch.arange(width, device=rows.device)
    return transpose(rows.masked_fill_(places >= side.lengths[:, None], end))


def _match_bits(text: Tensor, pattern: Tensor) -> Tensor:
    """Compare the symbols of texts [T,p] with those of patterns [M,p], 64 in an integer.

    M is a multiple of 8. Returns int64 [T,W,p]: bit j of word w is set where the symbol of the text
    equals that of place 64 w + j of the pattern.
    """
    height, pairs = text.shape
    octets = pattern.shape[0] // 8
    same = bytes_equal(text[:, None], pattern).view(height, octets, 8, pairs)
    packed = same[:, :, 7]
    for bit in range(6, -1, -1):
        packed = (packed << 1).bitwise_or_(same[:, :, bit])
    shape = (height, max(-(-octets // 8), 1), pairs)
    found = torch.zeros(shape, dtype=torch.int64, device=text.device)
    for octet in range(octets):
        found[:, octet // 8] |= packed[:, octet].to(torch.int64) << (8 * (octet % 8))
    return found


def _distance(part: _Part, keep: tuple[Tensor, Tensor] | None = None) -> Tensor:
    """The distance of each pair of a part, int64 [p].

    keep: two tensors like the bits of matches, for those of the cells that are reached by both
    words, and else by the deletion of a word of the text.
    """
    words = part.matches.shape[1]
    # cells that are one above, or one below, their neighbour of the previous place of the pattern
    above = part.text.new_full((words, len(part.text)), -1)
    below = torch.zeros_like(above)
    for step, left in enumerate(part.active):
        carry: Tensor | int = 0
        more: Tensor | int = 1  # the first column rises with every word of the text
        less: Tensor | int = 0
        for word in range(words):
            same = part.matches[step, word, :left]
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
    ends = part.ends
    return part.text + (popcount(above & ends) - popcount(below & ends)).sum(0)


def _common(part: _Part, keep: Tensor | None = None) -> Tensor:
    """The bits, int64 [W,p], that are 0 where the last row of L rises by one.

    keep: like the bits of matches, for the places where each row of L rises.
    """
    words = part.matches.shape[1]
    state = part.text.new_full((words, len(part.text)), -1)
    for step, left in enumerate(part.active):
        carry: Tensor | int = 0
        for word in range(words):
            same, own = part.matches[step, word, :left], state[word, :left]
            seed = own & same
            total = own + seed
            if word:
                total += carry
            if word + 1 < words:
                carry = ((seed | (own & ~total)) >> 63) & 1
            torch.bitwise_or(total, own & ~same, out=own)
            if keep is not None:
                torch.bitwise_not(own, out=keep[step, word, :left])
    return state


def _taken(part: _Part, needed: Tensor, width: int) -> Tensor:
    """The places of a longest common subsequence in the patterns, bool [p,width+1]."""
    height, words, size = needed.shape
    pair = torch.arange(size, device=needed.device)
    i, j = part.text.clone(), part.pattern.clone()
    taken = torch.zeros(size * (width + 1), dtype=torch.bool, device=needed.device)
    first = pair * (width + 1)
    flat = [bits.reshape(-1) for bits in (part.matches, needed)]
    for _ in range(height + width if height else 0):
        row, column = (i - 1).clamp_min_(0), (j - 1).clamp_min_(0)
        cell = (row * words + (column >> 6)).mul_(size).add_(pair)
        same, rises = (((take(bits, cell) >> (column & 63)) & 1).to(torch.bool) for bits in flat)
        inside = (i > 0) & (j > 0)
        same &= inside
        taken.index_copy_(0, torch.where(same, first + j - 1, first + width), same)
        i -= (inside & (same | rises)).to(torch.int64)
        j -= (inside & (same | ~rises)).to(torch.int64)
    return taken.view(size, -1)


def _read_back(part: _Part, both: Tensor, delete: Tensor, found: Alignment) -> None:
    """Read the edits from the last cell to the first, all pairs at once, into `found`."""
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
    found.place[part.rows, :width] = place.view(size, -1)[:, :width].masked_fill_(~real, -1)
    found.edits[part.rows, :width] = edits.view(size, -1)[:, :width].masked_fill_(~real, MATCH)
    found.errors[part.rows, :height] = errors.view(size, -1)[:, :height]
