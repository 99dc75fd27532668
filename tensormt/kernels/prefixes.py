"""Shared n-grams of pairs of sequences, all orders at once, from one sort.

    shared(n) = Σ over n-grams g of min( count of g in one, count of g in the other )

Every position of the sequences becomes one int64 key: the N symbols that start there, packed from
the highest bits down. Sorted, the positions that share their first n symbols stand side by side for
every n at once: a run ends where two neighbours differ within n symbols. One running sum goes up at
the first sequence's places and down at the other's; between the ends of a run it changes by the
difference of the two counts, and

    2 · min(a, b) = a + b - |a - b|

so a sum of absolute differences is all that is to be found. The runs of order n are made of those
of order n + 1: the orders go from the longest down, over fewer and fewer places. Beyond their ends
the sequences go on with symbols of their own: what reaches over an end is never shared, and the
padding of a row counts as n-grams that only one side has. Symbols of so many kinds that N of them
do not fit a key are first joined to pieces that do, numbered in their order; the key then holds
numbers.

A pair is a row of a padded table: give pairs of similar length together. Host syncs: the widths,
and one an order (the number of runs).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.kernels.arrays import (
    count_below,
    equal,
    less,
    nonzero,
    run_edges,
    search,
    sort,
    sort_rows,
    sum_runs,
    take,
    take_columns,
)

__all__ = ["Sequences", "shared_ngrams"]

_BITS = 60  # of a key; two more tell the side
_AT_ONCE = 3  # others in one sort, which have the sides 1, 2, 3


class Sequences(NamedTuple):
    """B sequences: symbols int64 [n] in 1…V, of which each takes `lengths` [B] from `starts`."""

    symbols: Tensor
    starts: Tensor
    lengths: Tensor

    def of(self, rows: Tensor) -> Sequences:
        """The chosen sequences."""
        return Sequences(self.symbols, take(self.starts, rows), take(self.lengths, rows))


def shared_ngrams(
    one: Sequences, others: Sequence[Sequences], kinds: int, max_order: int
) -> Tensor:
    """N-grams that B sequences share with each of R others, int64 [R,B,N]; `kinds` of symbols.

    Fastest for some 100,000 symbols at a time: more leave a CPU's cache.
    """
    bits = (kinds + 1).bit_length()
    fits = min(_BITS // bits, max_order)
    if fits < min(2, max_order):
        raise TensorMTError(f"{kinds:,} different symbols are too many for n-grams: give fewer")
    count = -(-max_order // fits)
    found = []
    for first in range(0, len(others), _AT_ONCE):
        sides = [one, *others[first : first + _AT_ONCE]]
        found.append(_shared_at_once(sides, kinds, bits, fits, count, max_order))
    return torch.cat(found)


def _shared_at_once(
    sides: list[Sequences], kinds: int, bits: int, fits: int, count: int, max_order: int
) -> Tensor:
    """The shared n-grams of the first side with each of the others, from one sort."""
    beyond = count * fits - 1
    widths = [_widest(side) + beyond for side in sides]
    tables = [
        _windows(_padded(side, width, 0 if side is sides[0] else kinds + 1, beyond), bits, fits, 1)
        for side, width in zip(sides, widths, strict=True)
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
        tables = [_windows(search(pieces, t) + 1, wide, count, fits) for t in tables]
    batch = sides[0].lengths.shape[0]
    places = [width - beyond for width in widths]
    keys = tables[0].new_empty(batch, sum(places))
    for number, (part, table) in enumerate(zip(torch.split(keys, places, 1), tables, strict=True)):
        rows = table.view(batch, part.shape[1] + beyond)[:, : part.shape[1]]
        torch.bitwise_or(rows << 2, number, out=part)
    keys = sort_rows(keys)
    if not keys.numel():
        return keys.new_zeros(len(sides) - 1, batch, max_order)
    flat = keys.view(-1)
    apart = (flat[1:] ^ flat[:-1]) >> 2
    if pieces is None:
        same = count_below(apart, [1 << (bits * k) for k in range(fits)])
    else:
        same = _leading_of_pieces(flat >> 2, apart, pieces, bits, fits, count)
    gaps = _gaps(flat, same, keys.shape[0], keys.shape[1], len(sides) - 1, max_order)
    both = torch.tensor([places[0] + other for other in places[1:]], device=flat.device)
    return (both[:, None, None] - gaps) >> 1


def _widest(side: Sequences) -> int:
    return int(side.lengths.max()) if side.lengths.shape[0] else 0


def _padded(side: Sequences, width: int, end: int, beyond: int) -> Tensor:
    """The sequences as rows of a table, flat, and so many more; `end` where there is no symbol."""
    rows = side.lengths.shape[0]
    places = torch.arange(width, device=side.symbols.device)
    table = side.symbols.new_full((rows * width + beyond,), end)
    if side.symbols.shape[0]:
        cells = (side.starts[:, None] + places).clamp_(max=side.symbols.shape[0] - 1)
        flat = table[: rows * width]
        torch.index_select(side.symbols, 0, cells.view(-1), out=flat)
        flat.view(rows, width).masked_fill_(places >= side.lengths[:, None], end)
    return table


def _windows(items: Tensor, bits: int, count: int, step: int) -> Tensor:
    """For each place the items there, `step` places on, …, `count` of them, packed.

    Windows of twice the size are made of two; what is over of `count` joins as it comes.
    """
    key, size, held = items, 1, (items, 0)
    while size <= count:
        if count & size:
            held = (
                (key, size)
                if not held[1]
                else (_joined(key, size, held[0], held[1], bits, step), size + held[1])
            )
        size *= 2
        if size <= count:
            key = _joined(key, size // 2, key, size // 2, bits, step)
    return held[0]


def _joined(first: Tensor, size: int, second: Tensor, rest: int, bits: int, step: int) -> Tensor:
    """Windows of size + rest items, from those of `size` and, behind them, those of `rest`."""
    behind = second[size * step :]
    return (first[: behind.shape[0]] << (bits * rest)) | behind


def _different(tables: list[Tensor]) -> Tensor:
    """The different keys of all sides, rising."""
    ordered = sort(torch.cat(tables))
    return take(ordered, run_edges(ordered)[:-1])


def _leading_of_pieces(
    keys: Tensor, apart: Tensor, pieces: Tensor, bits: int, fits: int, count: int
) -> Tensor:
    """How many leading symbols keys of numbered pieces share: whole pieces, then part of one."""
    wide = pieces.shape[0].bit_length()
    whole = count_below(apart, [1 << (wide * k) for k in range(count)]).to(torch.int64)
    shift = (count - 1 - whole).clamp_min(0) * wide
    numbers = (((side >> shift) & ((1 << wide) - 1)) - 1 for side in (keys[1:], keys[:-1]))
    one, two = (take(pieces, n.clamp(0, pieces.shape[0] - 1)) for n in numbers)
    part = count_below(one ^ two, [1 << (bits * k) for k in range(fits)]).to(torch.int64)
    return whole * fits + torch.where(whole < count, part.clamp_max(fits - 1), 0)


def _gaps(flat: Tensor, same: Tensor, rows: int, width: int, others: int, max_order: int) -> Tensor:
    """Σ |count in the first - count in another| over the n-grams of each row, int64 [R,B,N].

    flat: sorted rows end to end, the side in the lowest bits; same: how many symbols each place
    shares with the one before.
    """
    bounds = torch.arange(rows + 1, device=flat.device) * width
    lead = torch.full((flat.shape[0] + 1,), -1, dtype=same.dtype, device=flat.device)
    lead[1:-1] = same
    lead.index_fill_(0, bounds, -1)
    # differences of sums that wrap around are still right
    whole = torch.int16 if width < 1 << 15 else torch.int32
    side = (flat & 3).to(torch.int8)
    own = equal(side, side.new_zeros(())).view(torch.int8)
    upto = torch.zeros(others, flat.shape[0] + 1, dtype=whole, device=flat.device)
    for number, sums in enumerate(upto, 1):
        step = own - equal(side, side.new_full((), number)).view(torch.int8)
        torch.cumsum(step, 0, dtype=whole, out=sums[1:])
    found = torch.empty(others, max_order, rows, dtype=torch.int64, device=flat.device)
    for order in range(max_order, 0, -1):
        kept = nonzero(less(lead, order))
        lead, upto = take_columns(lead, kept), take_columns(upto, kept)
        bounds = search(kept, bounds)
        found[:, order - 1] = sum_runs((upto[:, 1:] - upto[:, :-1]).abs_(), bounds[:-1])
    return found.transpose(1, 2)
