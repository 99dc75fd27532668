"""Segments laid out as columns [T,b], in parts of similar length that fit the cache.

The comparison of ngrams.py wants tokens along the first axis and segments along the last, so that
every step runs over contiguous segments; sorting by length keeps the padding small.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from tensormt.kernels.backend import argsort, turned
from tensormt.kernels.ngrams import LONGEST

__all__ = ["column_type", "columns", "cut", "parts", "tailed"]

# cells (reference position x hypothesis position x segment) compared at a time: fits the cache
_CELLS = 3 << 18
_REFERENCES = 4  # more of them make the parts smaller
# segments and cells that are not worth a sort by length
_FEW = 64
_FEW_CELLS = 1 << 14


def cut(lengths: list[int], references: int = 1) -> Iterator[tuple[int, int]]:
    """Cut rising lengths into parts of limited size: from, to; none mixes short and long ones."""
    low = 0
    cells = _CELLS * _REFERENCES // max(references, _REFERENCES)
    while low < len(lengths):
        short = lengths[low] <= LONGEST
        # a part may be as large as its first segment allows; then its last one decides
        high = low + _segments(lengths[low], cells)
        while high > low + 1:
            high = min(high, len(lengths))
            fits = max(_segments(lengths[high - 1], cells), 1)
            if high - low <= fits:
                break
            high = max(low + fits, low + (high - low) * 3 // 4)
        high = max(high, low + 1)
        if short and lengths[high - 1] > LONGEST:
            high = next(k for k in range(low, high) if lengths[k] > LONGEST)
        yield low, high
        low = high


def parts(longest: Tensor, references: int) -> Iterator[tuple[Tensor | slice, int]]:
    """Rows of similar length [b] that are laid out together, and the length of the longest.

    Every row is in exactly one part; a few short ones make one as they are. One host sync.
    """
    if 0 < longest.shape[0] <= _FEW:
        sizes = longest.tolist()
        top = max(sizes)
        if len(sizes) == 1 or len(sizes) * top * top <= _FEW_CELLS:
            yield slice(None), top
            return
    order = argsort(longest)
    sizes = longest[order].tolist()
    for low, high in cut(sizes, references):
        yield order[low:high], sizes[high - 1]


def _segments(length: int, cells: int) -> int:
    """How many segments of a length a part of so many cells may hold."""
    length = max(length, 1)
    return cells // (length * length if length <= LONGEST else length)


def column_type(ids: int) -> torch.dtype:
    """The shortest integer type for so many ids, one more id, and two kinds of padding."""
    return torch.int16 if ids < (1 << 15) - 2 else torch.int32


def tailed(tokens: Tensor, width: int = LONGEST) -> Tensor:
    """Tokens [n] with a tail, so that a window of `width` may start at any of them."""
    return torch.nn.functional.pad(tokens, (0, width + 1))


def columns(tokens: Tensor, starts: Tensor, lengths: Tensor, side: int, spare: int = 0) -> Tensor:
    """Segments as [...,T+spare,b], given where they start in tailed tokens and lengths [...,b].

    Padding is the smallest integer of the type plus the side. One host sync (the width).
    """
    width = int(lengths.max()) + spare
    # a view of all windows of this width: picking one copies a run of tokens
    windows = tokens.as_strided((max(tokens.shape[0] - width + 1, 0), width), (1, 1))
    laid = windows.index_select(0, starts.reshape(-1)).view(*starts.shape, width)
    place = torch.arange(width, device=tokens.device, dtype=tokens.dtype)[:, None]
    padding = torch.iinfo(tokens.dtype).min + side
    inside = (place < lengths.to(tokens.dtype)[..., None, :]).to(tokens.dtype)
    # what lies beyond is padding: short integers multiply five times faster than they are masked
    return turned(laid).sub_(padding).mul_(inside).add_(padding)
