"""Longest common subsequence of many pairs of sequences, 64 cells at a time.

    L[i,j] = L[i-1,j-1] + 1 if textᵢ = patternⱼ else max( L[i-1,j], L[i,j-1] )

Neighbouring cells of a row differ by 0 or 1, so a row is a bit vector; the carry of an addition
runs through the matches of a row (Hyyrö 2004).
"""

from __future__ import annotations

import torch
from torch import Tensor

from tensormt.kernels.backend import as_array, take
from tensormt.kernels.bit_vectors import CELLS, Part, parts, popcount, runs_of
from tensormt.kernels.ngram_overlap import Sequences


def subsequences(text: Sequences, pattern: Sequences, cells: int = CELLS) -> Tensor:
    """Compute the length of the longest common subsequence of P pairs, int64 [P].

    Args:
        text: P sequences of symbols from 0 on.
        pattern: P sequences in the same symbols.
        cells: Cells of a part, which bounds memory.
    """
    found = torch.empty_like(text.lengths)
    for part in parts(text, pattern, cells):
        found[part.rows] = popcount(~_common(part) & part.ends).sum(0)
    return found


def common_places(text: Sequences, pattern: Sequences, cells: int = CELLS) -> Tensor:
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
    for part in parts(text, pattern, cells):
        needed = torch.zeros_like(part.matches)
        _common(part, needed)
        found[part.rows] = _taken(part, needed, width)
    return found[:, :width]


def _common(part: Part, keep: Tensor | None = None) -> Tensor:
    """The bits, int64 [W,p], that are 0 where the last row of L rises by one.

    keep: like the bits of matches, for the places where each row of L rises.
    """
    _, words, size = part.matches.shape
    state = part.text.new_full((words, size), -1)
    bits, cells = (as_array(own.flatten(-2)) for own in (part.matches, state))
    kept = None if keep is None else as_array(keep.flatten(1))
    carry = as_array(state.new_zeros((words + 1) * size))  # to the next integer, 0 or -1
    several = words > 1
    for steps, at in runs_of(part.active, words, size):
        own, behind = cells[at], slice(at.start + size, at.stop + size)
        for step, same in enumerate(bits[steps, at], steps.start):
            seed = own & same
            total = own + seed
            if several:
                total -= carry[at]
                carry[behind] = (seed | (own & ~total)) >> 63
            own ^= seed  # its places that are not the same
            own |= total
            if kept is not None:
                kept[step][at] = ~own
    return state


def _taken(part: Part, needed: Tensor, width: int) -> Tensor:
    """The places of a longest common subsequence in the patterns, bool [p,width+1]."""
    (_, words, size), height = needed.shape, len(part.active)
    pair = torch.arange(size, device=needed.device)
    i, j = part.text.clone(), part.pattern.clone()
    taken = torch.zeros(size * (width + 1), dtype=torch.bool, device=needed.device)
    first = pair * (width + 1)
    flat = [bits.reshape(-1) for bits in (part.matches, needed)]
    for _ in range(height + width if height else 0):
        row, column = (i - 1).clamp_min_(0), (j - 1).clamp_min_(0)
        word = column >> 6
        cell = ((row + word) * words + word).mul_(size).add_(pair)
        same, rises = (((take(bits, cell) >> (column & 63)) & 1).to(torch.bool) for bits in flat)
        inside = (i > 0) & (j > 0)
        same &= inside
        taken.index_copy_(0, torch.where(same, first + j - 1, first + width), same)
        i -= (inside & (same | rises)).to(torch.int64)
        j -= (inside & (same | ~rises)).to(torch.int64)
    return taken.view(size, -1)
