"""Segments as columns [T,b], in parts of similar length, as large as a cache or a device allows.

The comparison of ngrams.py needs tokens along the first axis and segments along the last, so that
every operation runs over contiguous segments. Sorting segments by length keeps the padding small.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from tensormt.kernels.backend import argsort, at_a_time, fill_behind, largest, transpose
from tensormt.kernels.ngrams import LONGEST

# cells (reference position x hypothesis position x segment) per part that fit a CPU's cache, and
# bytes of a cell on other devices
_CELLS, _BYTES = 3 << 18, 12
_REFERENCES = 4  # more references than this make the parts smaller


def cut(
    lengths: list[int], references: int = 1, longest: int = LONGEST, cells: int = _CELLS
) -> Iterator[tuple[int, int]]:
    """Split ascending lengths into parts of up to so many cells: start, stop.

    No part contains both segments of up to `longest` tokens and longer ones.
    """
    low = 0
    cells = _shared(cells, references)
    while low < len(lengths):
        # at first as many segments as would fit if all were as short as the first one, then fewer
        high = low + _segments(lengths[low], cells, longest)
        while high > low + 1:
            high = min(high, len(lengths))
            fits = max(_segments(lengths[high - 1], cells, longest), 1)
            if high - low <= fits:
                break
            high = max(low + fits, low + (high - low) * 3 // 4)
        high = max(high, low + 1)
        if lengths[low] <= longest < lengths[high - 1]:
            high = next(k for k in range(low, high) if lengths[k] > longest)
        yield low, high
        low = high


def parts(
    lengths: Tensor, references: int, longest: int = LONGEST
) -> Iterator[tuple[slice | Tensor, int]]:
    """Split segments into parts of similar length; each segment is in exactly one part.

    Args:
        lengths: of each segment with its references the longest text, int64 [B].
        references: their number R.
        longest: no part contains both segments of up to so many tokens and longer ones.

    Yields the segments of a part, int64 [b], or a slice if it has them all, and the largest of
    their lengths. One host synchronisation, two if there are several parts.
    """
    number, cells = lengths.shape[0], at_a_time(lengths, _CELLS, _BYTES)
    size = int(lengths.max()) if number else 0
    if size <= longest and number <= _segments(size, _shared(cells, references), longest):
        if number:
            yield slice(0, number), size
        return
    order = argsort(lengths)
    sizes = lengths[order].tolist()
    for low, high in cut(sizes, references, longest, cells):
        yield order[low:high], sizes[high - 1]


def _shared(cells: int, references: int) -> int:
    """How many cells each reference has, where there are many."""
    return cells * _REFERENCES // max(references, _REFERENCES)


def _segments(length: int, cells: int, longest: int) -> int:
    """How many segments of a length fit into so many cells."""
    length = max(length, 1)
    return cells // (length * length if length <= longest else length)


def column_type(ids: int) -> torch.dtype:
    """The shortest integer dtype for so many ids, one more id and two kinds of padding."""
    return torch.int16 if ids < (1 << 15) - 2 else torch.int32


def tailed(tokens: Tensor, width: int = LONGEST) -> Tensor:
    """Pad tokens [n] at the end, so that a window of `width` may start at any of them."""
    return torch.nn.functional.pad(tokens, (0, width + 1))


def columns(
    tokens: Tensor,
    starts: Tensor,
    lengths: Tensor,
    side: int,
    spare: int = 0,
    longest: int | None = None,
) -> Tensor:
    """Return segments as columns [...,T+spare,b].

    Args:
        tokens: all tokens with a tail (`tailed`), integers [n].
        starts: index of the first token of each segment, int64 [...,b].
        lengths: int64 [...,b].
        side: padding is the smallest integer of the dtype plus the side.
        spare: additional rows of padding.
        longest: no length is larger; T is then this number on a device, which saves a host
            synchronisation, and elsewhere the largest length.
    """
    width = largest(lengths, longest) + spare
    # indexing a view of all windows of this width copies contiguous runs of tokens
    windows = tokens.as_strided((max(tokens.shape[0] - width + 1, 0), width), (1, 1))
    laid = windows.index_select(0, starts.reshape(-1)).view(*starts.shape, width)
    return fill_behind(transpose(laid), lengths, torch.iinfo(tokens.dtype).min + side)
