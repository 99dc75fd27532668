"""Pairs of sequences as bit vectors: for each word of a text the places of the pattern it equals.

The dynamic programs of edit_distance.py and subsequence.py compute 64 cells of a row by a few
integer operations on these bits. Patterns of more than 64 places take several integers. Pairs are
sorted by the length of the text, the longest first: pairs that are finished leave a step by a
shorter slice.
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

CELLS = 1 << 22  # cells (text x pattern) of a part, a byte each while they are compared
_KINDS = 512  # symbols are looked up if there are so few of them, and a cell is a bit


class Part(NamedTuple):
    """Some pairs, p of them, in the order of falling text lengths.

    rows int64 [p]: numbers of the pairs; matches int64 [T,W,p]: bit j of integer w is set where the
    word of the text equals that of place 64 w + j of the pattern; text, pattern: lengths, int64
    [p]; active: for each step the number of pairs whose text is longer.
    """

    rows: Tensor
    matches: Tensor
    text: Tensor
    pattern: Tensor
    active: list[int]

    @property
    def ends(self) -> Tensor:
        """The bits of the pattern's places, int64 [W,p]."""
        return ends_of(self.pattern, self.matches.shape[1])


def ends_of(lengths: Tensor, words: int) -> Tensor:
    """Set as many bits as each of the lengths [p] says, int64 [W,p]."""
    first = 64 * torch.arange(words, device=lengths.device)
    left = (lengths - first[:, None]).clamp(0, 64)
    return torch.where(left == 64, -1, (1 << (left & 63)) - 1)


def active_of(sizes: list[int]) -> list[int]:
    """Return for each step how many of the falling sizes are larger.

    >>> active_of([3, 1, 1])
    [3, 1, 1]
    """
    rising = sizes[::-1]
    return [len(sizes) - bisect_right(rising, step) for step in range(sizes[0] if sizes else 0)]


def parts(text: Sequences, pattern: Sequences, cells: int = CELLS) -> Iterator[Part]:
    """Split pairs into parts of bounded size. Four host synchronisations, and none for a part.

    Args:
        text: P sequences of symbols from 0 on.
        pattern: P sequences in the same symbols.
        cells: Cells of a part, unless a single pair has more.
    """
    kinds = kinds_of(text, pattern)
    few = kinds <= _KINDS
    text, pattern = narrow(text, kinds), narrow(pattern, kinds)
    for rows, height, width, active in split(text.lengths, pattern.lengths, cells << 3 * few):
        one, two = text.of(rows), pattern.of(rows)
        if few:
            own, other = columns(one, height, kinds), columns(two, width, kinds + 1)
            matches = look_up(own, other, kinds)
        else:
            own, other = columns(one, height, -1), columns(two, -(-width // 8) * 8, -2)
            matches = pack(bytes_equal(own[:, None], other))
        yield Part(rows, matches, one.lengths, two.lengths, active)


def narrow(side: Sequences, kinds: int) -> Sequences:
    """Return sequences of symbols below `kinds` as int16 where they fit: twice as fast."""
    fits = kinds < 1 << 15
    return side._replace(symbols=side.symbols.to(torch.int16)) if fits else side


def kinds_of(text: Sequences, pattern: Sequences) -> int:
    """Return one more than the largest symbol. Two host synchronisations."""
    return 1 + max(int(s.symbols.max()) if len(s.symbols) else 0 for s in (text, pattern))


def split(
    text: Tensor, pattern: Tensor, cells: int
) -> Iterator[tuple[Tensor, int, int, list[int]]]:
    """Split pairs by the lengths [P] of both sides.

    Yields the pairs of a part in the order of falling text lengths, int64 [p], the longest text and
    pattern, and the active pairs of each step.
    """
    order = argsort(text).flip(0)
    sizes, widths = take(text, order).tolist(), take(pattern, order).tolist()
    low = 0
    while low < len(sizes):
        most = min(low + cells // max(sizes[low], 1), len(sizes))
        fits = partial(_cells, low, sizes, widths)
        high = low + max(bisect_right(range(low + 1, most + 1), cells, key=fits), 1)
        yield order[low:high], sizes[low], max(widths[low:high]), active_of(sizes[low:high])
        low = high


def _cells(low: int, sizes: list[int], widths: list[int], high: int) -> int:
    """Cells of the pairs low…high-1, the first of which has the longest text."""
    return (high - low) * max(sizes[low], 1) * max(widths[low:high])


def columns(side: Sequences, width: int, end: int) -> Tensor:
    """Return sequences as columns [width,p], padded with `end`."""
    rows = rows_at(side.symbols, side.starts, width)
    places = torch.arange(width, device=rows.device)
    return transpose(rows.masked_fill_(places >= side.lengths[:, None], end))


def look_up(text: Tensor, pattern: Tensor, kinds: int) -> Tensor:
    """Return what `pack` gives for texts [T,p] and patterns [M,p] of few kinds of symbols.

    The bits of each kind are set in a table [kinds,W,p], in which symbols of the text are looked
    up. Padding is the symbol `kinds` in texts and the next one in patterns.
    """
    (height, pairs), width = text.shape, pattern.shape[0]
    words = max(-(-width // 64), 1)
    pair = torch.arange(pairs, device=text.device)
    place = torch.arange(width, device=text.device)[:, None]
    table = torch.zeros((kinds + 2) * words * pairs, dtype=torch.int64, device=text.device)
    cells = (pattern.to(torch.int64) * words + (place >> 6)).mul_(pairs).add_(pair)
    bits = torch.ones_like(place) << (place & 63)
    table.index_add_(0, cells.view(-1), bits.expand_as(cells).reshape(-1))
    row = text.to(torch.int64).mul_(words * pairs).add_(pair)
    found = torch.empty(height, words, pairs, dtype=torch.int64, device=text.device)
    for word in range(words):
        found[:, word] = take(table, (row + word * pairs).view(-1)).view_as(row)
    return found


def pack(same: Tensor) -> Tensor:
    """Pack comparisons, uint8 [T,M,p] of 0 and 1, M a multiple of 8, into int64 [T,W,p]."""
    height, width, pairs = same.shape
    octets = width // 8
    same = same.view(height, octets, 8, pairs)
    packed = same[:, :, 7]
    for bit in range(6, -1, -1):
        packed = (packed << 1).bitwise_or_(same[:, :, bit])
    shape = (height, max(-(-octets // 8), 1), pairs)
    found = torch.zeros(shape, dtype=torch.int64, device=same.device)
    for octet in range(octets):
        found[:, octet // 8] |= packed[:, octet].to(torch.int64) << (8 * (octet % 8))
    return found


def popcount(bits: Tensor) -> Tensor:
    """Count the bits of int64 values of any shape."""
    bits = bits - ((bits >> 1) & 0x5555555555555555)
    bits = (bits & 0x3333333333333333) + ((bits >> 2) & 0x3333333333333333)
    bits = (bits + (bits >> 4)) & 0x0F0F0F0F0F0F0F0F
    return (bits * 0x0101010101010101) >> 56
