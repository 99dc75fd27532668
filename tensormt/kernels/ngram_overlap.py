"""Number of n-grams that two sequences share, for all orders at once, by one sort.

    shared(n) = Σ over n-grams g of min( count of g in one, count of g in the other )

Every position of a sequence becomes one int64 key: the N symbols that start there, packed from the
highest bits down. After sorting, the positions that share their first n symbols are adjacent for
every n: a run ends where two neighbours differ within n symbols. A cumulative sum of +1 for each
position of the first sequence and -1 for each of the other changes over a run by the difference of
the two counts, and

    2 · min(a, b) = a + b - |a - b|

so only the sum of absolute differences is needed. Runs of order n are unions of runs of order
n + 1: orders are processed from the longest down, over fewer and fewer positions. The sequences of
each side are padded with a symbol of their own, so that n-grams that include padding are never
shared. If there are so many kinds of symbols that N of them do not fit into a key, several symbols
are first replaced by one number that keeps their order, and the key holds these numbers.

Each pair is a row of a padded table, so pairs of similar length should be processed together. On a
device all orders are processed at once, over all positions; the only host synchronisations are the
widths, where they are not given.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.kernels.backend import (
    count_below,
    largest,
    less,
    nonzero,
    on_cpu,
    rows_at,
    run_edges,
    search,
    sort,
    sort_rows,
    sum_runs,
    take,
    take_columns,
)

_BITS = 60  # bits of a key; two more encode the side
_AT_ONCE = 3  # other sequences per sort, as sides 1, 2, 3
_LONG = 1 << 15  # positions of a row from which sums need 32 bits and each pair its own sort
_PACKED = {1: torch.int16, 2: torch.int32, 3: torch.int64}  # holds a sum of 16 bits for each side


class Sequences(NamedTuple):
    """B sequences of symbols from 1 to V.

    symbols: of all sequences, any integer dtype [n]; starts, lengths: where each sequence starts
    and how many symbols it has, int64 [B].
    """

    symbols: Tensor
    starts: Tensor
    lengths: Tensor

    def of(self, rows: slice | Tensor) -> Sequences:
        """Return the sequences rows int64 [b], or a slice."""
        if isinstance(rows, slice):
            return Sequences(self.symbols, self.starts[rows], self.lengths[rows])
        return Sequences(self.symbols, take(self.starts, rows), take(self.lengths, rows))


class _Form(NamedTuple):
    """Layout of a key: bits per symbol, symbols per piece, pieces per key."""

    bits: int
    fits: int
    pieces: int

    @classmethod
    def of(cls, kinds: int, max_order: int) -> _Form:
        bits = (kinds + 1).bit_length()
        fits = min(_BITS // bits, max_order)
        if fits < min(2, max_order):
            raise TensorMTError(f"{kinds:,} different symbols are too many for n-grams: give fewer")
        return cls(bits, fits, -(-max_order // fits))

    @property
    def reach(self) -> int:
        """Number of symbols of a key after the first one."""
        return self.pieces * self.fits - 1


def shared_ngrams(
    one: Sequences,
    others: Sequence[Sequences],
    kinds: int,
    max_order: int,
    longest: int | None = None,
) -> Tensor:
    """Count the n-grams that B sequences share with each of R others, int64 [R,B,N].

    Args:
        one: B sequences.
        others: R times B sequences.
        kinds: number of different symbols V.
        max_order: the longest n-grams, N.
        longest: no sequence is longer; saves host synchronisations.

    Fastest for about 100,000 symbols at a time, which fit a CPU's cache.
    """
    form = _Form.of(kinds, max_order)
    sides = [one, *others]
    batch = one.lengths.shape[0]
    widths = [largest(side.lengths, longest) if batch else 0 for side in sides]
    tables = [
        _windows(_padded(side, width, kinds + 1 if number else 0, form.reach), *form[:2], 1)
        for number, (side, width) in enumerate(zip(sides, widths, strict=True))
    ]
    pieces = None
    if form.pieces > 1:
        pieces = _different(tables)
        wide = pieces.shape[0].bit_length()
        if wide * form.pieces > _BITS:
            if batch == 1:
                raise TensorMTError(
                    f"n-grams of up to {max_order} of {kinds:,} different symbols are too many in "
                    "one segment: take a smaller order"
                )
            halves = torch.arange(batch, device=one.starts.device).tensor_split(2)
            return torch.cat(
                [
                    shared_ngrams(one.of(rows), [o.of(rows) for o in others], kinds, max_order)
                    for rows in halves
                ],
                1,
            )
        tables = [_windows(search(pieces, t) + 1, wide, form.pieces, form.fits) for t in tables]
    keys = [
        table.view(batch, width + form.reach)[:, :width]
        for table, width in zip(tables, widths, strict=True)
    ]
    at_once = _AT_ONCE if (1 + _AT_ONCE) * max(widths) < _LONG else 1
    found = []
    for first in range(1, len(sides), at_once):
        some = [keys[0], *keys[first : first + at_once]]
        found.append(_shared_at_once(some, pieces, form, max_order))
    return torch.cat(found)


def _shared_at_once(
    sides: Sequence[Tensor], pieces: Tensor | None, form: _Form, max_order: int
) -> Tensor:
    """`shared_ngrams` from the keys [B,T] of one side and of at most three others, by one sort."""
    batch, places = sides[0].shape[0], [side.shape[1] for side in sides]
    table = sides[0].new_empty(batch, sum(places))
    if not table.numel():
        return table.new_zeros(len(sides) - 1, batch, max_order)
    for number, (part, keys) in enumerate(zip(torch.split(table, places, 1), sides, strict=True)):
        torch.bitwise_or(keys << 2, number, out=part)
    flat = sort_rows(table).view(-1)
    apart = flat[1:] ^ flat[:-1]
    if pieces is None:
        same = count_below(apart, [4 << (form.bits * k) for k in range(form.fits)])
    else:
        same = _leading_of_pieces(flat >> 2, apart >> 2, pieces, form)
    gaps = _gaps(flat, same, batch, len(sides) - 1, max_order)
    totals = [places[0] + other for other in places[1:]]
    if len(set(totals)) == 1:  # a number needs no copy
        return (totals[0] - gaps) >> 1
    return (torch.tensor(totals, device=flat.device)[:, None, None] - gaps) >> 1


def _padded(side: Sequences, width: int, end: int, reach: int) -> Tensor:
    """Return the sequences as rows of a flattened table, int64, padded with `end`.

    Rows are `width + reach` long, and `reach` more symbols follow the last row.
    """
    rows = rows_at(side.symbols, side.starts, width + reach)
    places = torch.arange(width + reach, device=rows.device)
    rows.masked_fill_(places >= side.lengths[:, None], end)
    table = torch.full((rows.numel() + reach,), end, dtype=torch.int64, device=rows.device)
    table[: rows.numel()] = rows.view(-1)
    return table


def _windows(items: Tensor, bits: int, count: int, step: int) -> Tensor:
    """Pack `count` items at distances of `step` into one integer, for each first position.

    By repeated doubling: windows of 2ᵏ items are joined according to the bits of `count`.
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
    """Join windows of `size` items with the windows of `rest` items that follow them."""
    behind = second[size * step :]
    return (first[: behind.shape[0]] << (bits * rest)).bitwise_or_(behind)


def _different(tables: list[Tensor]) -> Tensor:
    """Return the different keys of all sides in ascending order."""
    ordered = sort(torch.cat(tables))
    return take(ordered, run_edges(ordered)[:-1])


def _leading_of_pieces(keys: Tensor, apart: Tensor, pieces: Tensor, form: _Form) -> Tensor:
    """Count the leading symbols that neighbouring keys share: equal pieces, then part of one."""
    bits, fits, count = form
    wide = pieces.shape[0].bit_length()
    whole = count_below(apart, [1 << (wide * k) for k in range(count)]).to(torch.int64)
    shift = (count - 1 - whole).clamp_min(0) * wide
    numbers = (((side >> shift) & ((1 << wide) - 1)) - 1 for side in (keys[1:], keys[:-1]))
    one, two = (take(pieces, n.clamp(0, pieces.shape[0] - 1)) for n in numbers)
    part = count_below(one ^ two, [1 << (bits * k) for k in range(fits)]).to(torch.int64)
    return whole * fits + torch.where(whole < count, part.clamp_max(fits - 1), 0)


def _gaps(flat: Tensor, same: Tensor, rows: int, others: int, max_order: int) -> Tensor:
    """Return Σ |count in one - count in another| over the n-grams of each row, int64 [R,B,N].

    flat: the sorted rows, concatenated, with the side in the lowest bits; same: how many leading
    symbols each position shares with the previous one. The sums of all sides are packed into one
    integer, 16 bits each; differences of sums that wrapped around are still correct.
    """
    width = flat.shape[0] // rows
    field = torch.int16 if width < _LONG else torch.int32
    bits, packed = (16, _PACKED[others]) if width < _LONG else (32, torch.int32)
    bounds = torch.arange(rows + 1, device=flat.device) * width
    lead = torch.full((flat.shape[0] + 1,), -1, dtype=same.dtype, device=flat.device)
    lead[1:-1] = same
    lead.index_fill_(0, bounds, -1)
    ones = [1 << (bits * k) for k in range(others)]
    steps = _steps((sum(ones), *(-one for one in ones)), packed, flat.device)
    sums = torch.zeros(flat.shape[0] + 1, dtype=packed, device=flat.device)
    torch.cumsum(take(steps, flat & 3), 0, dtype=packed, out=sums[1:])
    borrowed = sum(ones[:-1]) << (bits - 1)

    def absolute(gaps: Tensor) -> Tensor:
        if borrowed:  # undo the borrow that a negative field takes from the next one
            gaps.add_(borrowed).bitwise_xor_(borrowed)
        gaps.view(field).abs_()
        return gaps

    if on_cpu(flat):
        found = torch.empty(max_order, rows, dtype=packed, device=flat.device)
        for order in range(max_order, 0, -1):
            kept = nonzero(less(lead, order))
            lead, sums = take_columns(lead, kept), take_columns(sums, kept)
            bounds = search(kept, bounds)
            found[order - 1] = sum_runs(absolute(sums[1:] - sums[:-1]), bounds[:-1])
    else:
        # all orders at once, without a size that depends on the data: every position that ends a
        # run looks back to where the run began
        ends = lead < torch.arange(1, max_order + 1, device=flat.device)[:, None]
        short = torch.int32 if flat.shape[0] < 1 << 31 else torch.int64
        place = torch.arange(flat.shape[0] + 1, dtype=short, device=flat.device)
        began = (ends * place).cummax(1).values[:, :-1]
        gaps = absolute(sums[1:] - sums[began]).mul_(ends[:, 1:])
        found = gaps.view(max_order, rows, width).sum(-1, dtype=packed)
    fields = found.view(field).view(max_order, rows, -1)[..., :others]
    return fields.permute(2, 1, 0).to(torch.int64)


@lru_cache(maxsize=32)
def _steps(values: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    """What each side adds to the sums; cached, so do not modify it."""
    return torch.tensor(values, dtype=dtype, device=device)
