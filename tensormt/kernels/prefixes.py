"""Shared n-grams of pairs of sequences, all orders at once, from one sort.

    shared(n) = Σ over n-grams g of min( count of g in one, count of g in the other )

Every position of both sequences becomes one int64 key: the N symbols that start there, packed from
the highest bits down. Sorted, the positions that share their first n symbols stand side by side for
every n at once: a run ends where two neighbours differ within n symbols, and the counts of either
side are differences of one running sum. The runs of order n are made of those of order n + 1, so
the orders go from the longest down. Beyond their ends the sequences go on with symbols of their
own: what reaches over an end is never shared. Symbols of so many kinds that N of them do not fit a
key are first joined to pieces that do, numbered in their order; the key then holds numbers.

A pair is a row of a padded table: give pairs of similar length together. Host syncs: the widths,
and one an order (the number of runs).
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.kernels.arrays import less, nonzero, repeat, run_edges, search, sort, sort_rows, take

__all__ = ["Sequences", "shared_ngrams"]

_BITS = 61  # of a key; one more tells the side, and the largest integer is padding


class Sequences(NamedTuple):
    """B sequences end to end: symbols int64 [n] in 1…V, lengths int64 [B]."""

    symbols: Tensor
    lengths: Tensor


def shared_ngrams(one: Sequences, two: Sequences, kinds: int, max_order: int) -> Tensor:
    """Shared n-grams of B pairs of sequences of at most `kinds` symbols, int64 [B,N].

    Fastest for some 20,000 symbols at a time, whose arrays stay in a CPU's cache.
    """
    bits = (kinds + 1).bit_length()
    fits = min(_BITS // bits, max_order)
    if fits < min(2, max_order):
        raise TensorMTError(f"{kinds:,} different symbols are too many for n-grams: give fewer")
    count = -(-max_order // fits)
    beyond = count * fits - 1
    tables = [
        _windows(_padded(side, end, beyond), bits, fits, 1)
        for side, end in ((one, 0), (two, kinds + 1))
    ]
    pieces = None
    if count > 1:
        pieces = _different(tables)
        wide = pieces.shape[0].bit_length()
        if wide * count > _BITS:
            raise TensorMTError(
                f"{pieces.shape[0]:,} different pieces of text are too many at once: score fewer "
                "segments at a time"
            )
        numbers = [search(pieces, t.reshape(-1)).view(t.shape) + 1 for t in tables]
        tables = [_windows(number, wide, count, fits) for number in numbers]
    keys = sort_rows(torch.cat([_sided(tables[0], one, 0), _sided(tables[1], two, 1)], 1))
    flat = keys.view(-1)
    apart = (flat >> 1)[1:] ^ (flat >> 1)[:-1]
    if pieces is None:
        same = _leading(apart, bits, fits)
    else:
        same = _leading_of_pieces(flat >> 1, apart, pieces, bits, fits, count)
    return _shared(flat & 1, same, keys.shape[0], keys.shape[1], max_order)


def _padded(side: Sequences, end: int, beyond: int) -> Tensor:
    """The sequences as rows, and so many more columns; `end` where they have no symbol."""
    rows = side.lengths.shape[0]
    width = (int(side.lengths.max()) if rows else 0) + beyond
    table = torch.full((rows, width), end, dtype=torch.int64, device=side.symbols.device)
    owner, place = repeat(side.lengths)
    table.view(-1).scatter_(0, owner * width + place, side.symbols)
    return table


def _windows(table: Tensor, bits: int, count: int, step: int) -> Tensor:
    """For each place of the rows the items there, `step` places on, …, `count` of them, packed."""
    width = table.shape[1] - (count - 1) * step
    key = table[:, :width]
    for k in range(1, count):
        key = (key << bits) | table[:, k * step : k * step + width]
    return key


def _different(tables: list[Tensor]) -> Tensor:
    """The different keys of both sides, rising."""
    ordered = sort(torch.cat([table.reshape(-1) for table in tables]))
    return take(ordered, run_edges(ordered)[:-1])


def _sided(table: Tensor, side: Sequences, number: int) -> Tensor:
    """Keys with their side in the lowest bit; the largest integer beyond the sequences."""
    beyond = torch.arange(table.shape[1], device=table.device) >= side.lengths[:, None]
    return ((table << 1) | number).masked_fill_(beyond, torch.iinfo(torch.int64).max)


def _leading(apart: Tensor, bits: int, count: int) -> Tensor:
    """How many leading items two keys share, int8, from the bits in which they differ."""
    same = torch.zeros(apart.shape, dtype=torch.int8, device=apart.device)
    for k in range(count):
        same += less(apart, 1 << (bits * k))
    return same


def _leading_of_pieces(
    keys: Tensor, apart: Tensor, pieces: Tensor, bits: int, fits: int, count: int
) -> Tensor:
    """How many leading symbols keys of numbered pieces share: whole pieces, then part of one."""
    wide = pieces.shape[0].bit_length()
    whole = _leading(apart, wide, count).to(torch.int64)
    shift = (count - 1 - whole).clamp_min(0) * wide
    numbers = (((side >> shift) & ((1 << wide) - 1)) - 1 for side in (keys[1:], keys[:-1]))
    one, two = (take(pieces, n.clamp(0, pieces.shape[0] - 1)) for n in numbers)
    part = _leading(one ^ two, bits, fits).to(torch.int64)
    return whole * fits + torch.where(whole < count, part.clamp_max(fits - 1), 0)


def _shared(second: Tensor, same: Tensor, rows: int, width: int, max_order: int) -> Tensor:
    """Shared n-grams [B,N] of sorted rows end to end: which places are of the second sequence,
    and how many symbols each shares with the one before."""
    bounds = torch.arange(rows + 1, device=second.device) * width
    lead = torch.full((second.shape[0] + 1,), -1, dtype=same.dtype, device=second.device)
    lead[1:-1] = same
    lead.index_fill_(0, bounds, -1)
    place = nonzero(less(lead, max_order))
    lead = take(lead, place)
    upto = take(torch.cat([second.new_zeros(1), second.cumsum(0)]), place)
    counts = []
    for order in range(max_order, 0, -1):
        if order < max_order:
            kept = nonzero(less(lead, order))
            place, lead, upto = take(place, kept), take(lead, kept), take(upto, kept)
        theirs = upto[1:] - upto[:-1]
        both = torch.minimum(place[1:] - place[:-1] - theirs, theirs)
        total = torch.cat([both.new_zeros(1), both.cumsum(0)])
        total = take(total, search(place, bounds))
        counts.append(total[1:] - total[:-1])
    return torch.stack(counts[::-1], 1)
