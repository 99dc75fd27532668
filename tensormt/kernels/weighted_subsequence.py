"""Weighted longest common subsequence (Lin 2004): matches in a row count more.

    c[i,j] = c[i-1,j-1] + f(k+1) - f(k),  k = w[i-1,j-1],  w[i,j] = k + 1     if textᵢ = patternⱼ
    c[i,j] = max( c[i-1,j], c[i,j-1] ),                    w[i,j] = 0         otherwise

with f(k) = k^weight. The cells of an anti-diagonal i + j = d depend on the two before it, so each
step computes one anti-diagonal of all pairs.
"""

from __future__ import annotations

import torch
from torch import Tensor

from tensormt.kernels.backend import argsort, rows_at, take
from tensormt.kernels.ngram_overlap import Sequences

_CELLS = 1 << 18  # pairs x places of a part


def weighted_subsequences(
    text: Sequences, pattern: Sequences, weight: float, cells: int = _CELLS
) -> Tensor:
    """Compute the weighted longest common subsequence of P pairs, float64 [P].

    Args:
        text: P sequences of symbols from 0 on.
        pattern: P sequences in the same symbols.
        weight: Exponent of f.
        cells: Pairs times places of a part, which bounds memory.
    """
    order = argsort(text.lengths)
    sizes = take(text.lengths, order).tolist()
    found = torch.zeros(len(sizes), dtype=torch.float64, device=order.device)
    low = 0
    while low < len(sizes):
        high = low + 1
        while high < len(sizes) and (high - low + 1) * (sizes[high] + 1) <= cells:
            high += 1
        rows = order[low:high]
        if sizes[high - 1]:
            found[rows] = _part(text.of(rows), pattern.of(rows), sizes[high - 1], weight)
        low = high
    return found


def _part(text: Sequences, pattern: Sequences, height: int, weight: float) -> Tensor:
    """The same for some pairs, whose longest text is known."""
    pairs, device = text.lengths.shape[0], text.lengths.device
    width = int(pattern.lengths.max())
    own = rows_at(text.symbols, text.starts, height)
    # the pattern backwards between paddings: at step d the places d-1, d-2, … face the text
    places = torch.arange(width - 1, -1, -1, device=device)
    other = rows_at(pattern.symbols, pattern.starts, width).flip(1)
    other = other.masked_fill_(places >= pattern.lengths[:, None], -1)
    ends = other.new_full((pairs, height), -1)
    other = torch.cat([ends, other, ends], 1)
    power = torch.arange(min(height, width) + 2, device=device, dtype=torch.float64) ** weight
    gain = power[1:] - power[:-1]
    before = torch.zeros(pairs, height + 1, dtype=torch.float64, device=device)
    last = torch.zeros_like(before)
    runs_before = torch.zeros_like(before, dtype=torch.int64)
    runs_last = torch.zeros_like(runs_before)
    found = torch.zeros(pairs, dtype=torch.float64, device=device)
    total = text.lengths + pattern.lengths
    for step in range(2, height + width + 1):
        # cell i of the diagonal has the place step - i of the pattern; column 0 stays 0
        first = height + width - step + 1
        same = own == other[:, first : first + height]
        run = torch.where(same, runs_before[:, :-1], 0)
        here = torch.where(
            same,
            before[:, :-1] + take(gain, run.reshape(-1)).view_as(run),
            torch.maximum(last[:, :-1], last[:, 1:]),
        )
        here[:, step - 1 :] = 0.0  # before the pattern's first place
        before[:, 1:], runs_before[:, 1:] = here, run + same.to(torch.int64)
        before, last = last, before
        runs_before, runs_last = runs_last, runs_before
        ended = total == step
        found = torch.where(ended, last.gather(1, text.lengths[:, None])[:, 0], found)
    return found
