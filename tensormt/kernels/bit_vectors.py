"""Pairs of sequences as bit vectors: for each word of a text the places of the pattern it equals.

The dynamic programs of edit_distance.py and subsequence.py compute 64 cells of a row by a few
integer operations on these bits. Patterns of more than 64 places take several integers; the one of
place 64 w on is processed w steps after the first, when the carries of the integer before it are
known, so that an operation works on all integers of all pairs. Pairs are sorted by the length of
the text, the longest first: finished pairs of a single integer leave a step by a shorter slice.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from tensormt.kernels.backend import (
    argsort,
    as_array,
    as_floats,
    bytes_equal,
    rows_at,
    swap_bytes,
    take,
    transpose,
)
from tensormt.kernels.ngram_overlap import Sequences

CELLS = 1 << 21  # cells (text x pattern) of a part, a byte each while they are compared
_KINDS = 512  # symbols are looked up if there are so few of them, and a cell is a bit


class Part(NamedTuple):
    """Some pairs, p of them, in the order of falling text lengths.

    rows int64 [p]: numbers of the pairs; matches int64 [T+W-1,W,p]: bit j of integer w in step i+w
    is set where word i of the text equals that of place 64 w + j of the pattern; text, pattern:
    lengths, int64 [p]; active: for each word of the longest text the number of pairs that have one
    there.
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
    """Set as many bits as each of the lengths [...,p] says, int64 [...,W,p]."""
    first = 64 * torch.arange(words, device=lengths.device)
    left = (lengths[..., None, :] - first[:, None]).clamp(0, 64)
    return torch.where(left == 64, -1, (1 << (left & 63)) - 1)


def in_steps(rows: Tensor) -> Tensor:
    """Return the integers of rows [T,W,p] in the steps in which they are used, [T+W-1,W,p]."""
    height, words, size = rows.shape
    if words == 1:
        return rows
    found = rows.new_zeros(_steps(height, words), words, size)
    for word in range(words):
        found[word : word + height, word] = rows[:, word]
    return found


def active_of(sizes: list[int]) -> list[int]:
    """Return for each step how many of the falling sizes are larger.

    >>> active_of([3, 1, 1])
    [3, 1, 1]
    """
    rising = sizes[::-1]
    return [len(sizes) - bisect_right(rising, step) for step in range(sizes[0] if sizes else 0)]


def runs_of(active: Sequence[int], words: int, size: int) -> list[tuple[slice, slice]]:
    """Return the steps, in runs, and the integers that each step of a run computes, of W·p.

    Args:
        active: Pairs of each row: the first so many. All pairs of several integers a row are
            computed to the last row.
        words: Integers of a pattern, W.
        size: Pairs, p.

    >>> runs_of([2, 2, 1], 1, 2)
    [(slice(0, 2, None), slice(0, 2, None)), (slice(2, 3, None), slice(0, 1, None))]
    >>> runs_of([2, 1], 2, 2)[1]
    (slice(1, 2, None), slice(0, 4, None))
    """
    rows, found = len(active), list[tuple[slice, slice]]()
    if words == 1:
        bounds = [(0, left) for left in active]
    else:
        bounds = [
            (max(step - rows + 1, 0) * size, min(step + 1, words) * size)
            for step in range(_steps(rows, words))
        ]
    first = 0
    for (low, high), own in groupby(bounds):
        past = first + len([*own])
        found.append((slice(first, past), slice(low, high)))
        first = past
    return found


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
            matches = pack(compare(one, two, height, width))
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
    sizes, widths = take(text, order).tolist(), np.array(take(pattern, order).tolist(), np.int64)
    low = 0
    while low < len(sizes):
        longest = max(sizes[low], 1)
        reach = np.maximum.accumulate(widths[low : low + max(cells // longest, 1)])
        taken = np.arange(1, len(reach) + 1) * np.maximum(reach, 1) * longest
        high = low + max(int(np.searchsorted(taken, cells, "right")), 1)
        width = int(reach[high - low - 1])
        yield order[low:high], sizes[low], width, active_of(sizes[low:high])
        low = high


def columns(side: Sequences, width: int, end: int) -> Tensor:
    """Return sequences as columns [width,p], padded with `end`."""
    rows = rows_at(side.symbols, side.starts, width)
    places = torch.arange(width, device=rows.device)
    return transpose(rows.masked_fill_(places >= side.lengths[:, None], end))


def compare(text: Sequences, pattern: Sequences, height: int, width: int) -> Tensor:
    """Say which words are equal, bytes of 0 and 1 [T,M,p]; M is a multiple of 8."""
    own, other = columns(text, height, -1), columns(pattern, -(-width // 8) * 8, -2)
    return bytes_equal(own[:, None], other)


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
    found = text.new_zeros(_steps(height, words), words, pairs, dtype=torch.int64)
    for word in range(words):
        found[word : word + height, word] = take(table, (row + word * pairs).view(-1)).view_as(row)
    return found


def _steps(height: int, words: int) -> int:
    return height + words - 1 if height else 0


def pack(same: Tensor) -> Tensor:
    """Pack comparisons, uint8 [T,M,p] of 0 and 1, M a multiple of 8, into int64 [T+W-1,W,p]."""
    height, width, pairs = same.shape
    octets = width // 8
    bits = as_array(same.to(torch.uint8).view(height, octets, 8, pairs))
    packed = bits[:, :, 7] + bits[:, :, 7]
    for bit in range(6, 0, -1):
        packed |= bits[:, :, bit]
        packed += packed  # a shift by one, which numpy and torch do not vectorise for bytes
    packed |= bits[:, :, 0]
    words = max(-(-octets // 8), 1)
    shape = _steps(height, words), words, pairs
    found = torch.zeros(shape, dtype=torch.int64, device=same.device)
    # the lowest octet of an integer is its first byte
    cells = as_array(found.view(torch.uint8).view(*shape, 8))
    for octet in range(octets):
        word, place = divmod(octet, 8)
        cells[word : word + height, word, :, place] = packed[:, octet]
    return found


def gather(matches: Any, rows: Any, pairs: Any) -> Tensor:
    """Return some words of some texts as texts; all are arrays as `as_array` returns them.

    Args:
        matches: As in `Part`, int64 [T+W-1,W,q].
        rows: Which words, int64 [t,p].
        pairs: Of which texts, int64 [p].

    Returns:
        As in `Part`, int64 [t+W-1,W,p].
    """
    _, words, size = matches.shape
    height, number = rows.shape
    flat, at = matches.reshape(-1), rows * (words * size) + pairs
    if words == 1:
        return torch.as_tensor(flat[at]).view(height, 1, number)
    found = torch.as_tensor(at).new_zeros(_steps(height, words), words, number)
    for word in range(words):
        found[word : word + height, word] = torch.as_tensor(flat[at])
        at += (words + 1) * size
    return found


def popcount(bits: Any) -> Any:
    """Count the bits of int64 values of any shape, a tensor or an array of `as_array`."""
    bits = bits - ((bits >> 1) & 0x5555555555555555)
    bits = (bits & 0x3333333333333333) + ((bits >> 2) & 0x3333333333333333)
    bits = (bits + (bits >> 4)) & 0x0F0F0F0F0F0F0F0F
    return (bits * 0x0101010101010101) >> 56


def reverse(bits: Any) -> Any:
    """Return int64 values, as `as_array` returns them, with their bits in the opposite order."""
    for shift, half in ((1, 0x5555555555555555), (2, 0x3333333333333333), (4, 0x0F0F0F0F0F0F0F0F)):
        upper = bits >> shift
        upper &= half
        bits = bits & half
        bits <<= shift
        bits |= upper
    return swap_bytes(bits)


def single_bit(bits: Any) -> Any:
    """Return the number of the bit that is set in int64 values, likewise; below 0 if none is."""
    found = as_floats(bits)
    found >>= 52
    found &= 0x7FF  # the exponent; that of bit 63 has the sign bit above it
    found -= 1023
    return found
