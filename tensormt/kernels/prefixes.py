"""Shared n-grams of pairs of sequences, all orders at once, from one sort.

    shared(n) = Σ over n-grams g of min( count of g in one, count of g in the other )

Every position of the sequences becomes one int64 key: the N symbols that start there, packed from
the highest bits down. Sorted, the positions that share their first n symbols stand side by side for
every n at once: a run ends where two neighbours differ within n symbols. One running sum goes up at
the first sequence's places and down at the other's; between the ends of a run it changes by the
difference of the two counts, and

    2 · min(a, b) = a + b - |a - b|

so a sum of absolute differences is all that is to be found. The runs of order n are made of those
of order n + 1: the orders go from the longest down, over fewer and fewer places. Behind their ends
the sequences of each side have symbols of their own: what reaches over an end is never shared, and
the padding of a row counts as n-grams that only one side has. Symbols of so many kinds that N of
them do not fit a key are first joined to pieces that do, numbered in their order; the key then
holds numbers.

A pair is a row of a padded table: give pairs of similar length together. Host syncs: the widths,
and one an order (the number of runs).
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.kernels.arrays import (
    count_below,
    less,
    nonzero,
    rows_at,
    run_edges,
    search,
    sort,
    sort_rows,
    sum_runs,
    take,
    take_columns,
)

__all__ = ["Sequences", "reach", "shared_ngrams"]

_BITS = 60  # of a key; two more tell the side
_AT_ONCE = 3  # others in one sort, which have the sides 1, 2, 3
_LONG = 1 << 15  # places of a row: so many need wider sums, and one sort for each other
_WHOLE = {1: torch.int16, 2: torch.int32, 3: torch.int64}  # room for a sum of 16 bits for each


class Sequences(NamedTuple):
    """S sides of B sequences in one tensor of symbols, int64 [n].

    Sequence b of side s takes lengths[s,b] symbols of 1…V from starts[s,b]; as many symbols as
    `reach` says stand behind it, unless it is empty: 0 on the first side, V+1 on the others.
    """

    symbols: Tensor
    starts: Tensor
    lengths: Tensor


class _Form(NamedTuple):
    """How V kinds of symbols fill a key: bits of each, symbols of a piece, pieces of a key."""

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


def reach(kinds: int, max_order: int) -> int:
    """How many symbols behind a sequence of V kinds of symbols are looked at."""
    form = _Form.of(kinds, max_order)
    return form.pieces * form.fits - 1


def shared_ngrams(sequences: Sequences, kinds: int, max_order: int) -> Tensor:
    """N-grams that the first side's sequences share with each other side's, int64 [S-1,B,N].

    Fastest for some 100,000 symbols at a time: more leave a CPU's cache.
    """
    form = _Form.of(kinds, max_order)
    sides, batch = sequences.lengths.shape
    widths = sequences.lengths.amax(1).tolist() if batch else [0] * sides
    keys, ends, pieces = _keys(sequences.symbols, kinds, form, max(widths))
    found = []
    at_once = _AT_ONCE if (1 + _AT_ONCE) * max(widths) < _LONG else 1
    for first in range(1, sides, at_once):
        chosen = [0, *range(first, min(first + at_once, sides))]
        places = [widths[side] for side in chosen]
        table = keys.new_empty(batch, sum(places))
        parts = zip(torch.split(table, places, 1), chosen, strict=True)
        for number, (part, side) in enumerate(parts):
            rows = rows_at(keys, sequences.starts[side], part.shape[1])
            steps = torch.arange(part.shape[1], device=rows.device)
            rows.masked_fill_(steps >= sequences.lengths[side, :, None], ends[side > 0])
            torch.bitwise_or(rows, number, out=part)
        if not table.numel():
            found.append(table.new_zeros(len(chosen) - 1, batch, max_order))
            continue
        flat = sort_rows(table).view(-1)
        apart = flat[1:] ^ flat[:-1]
        if pieces is None:
            same = count_below(apart, [4 << (form.bits * k) for k in range(form.fits)])
        else:
            same = _leading_of_pieces(flat >> 2, apart >> 2, pieces, form)
        gaps = _gaps(flat, same, batch, len(chosen) - 1, max_order)
        both = torch.tensor([places[0] + other for other in places[1:]], device=flat.device)
        found.append((both[:, None, None] - gaps) >> 1)
    return torch.cat(found)


def _keys(
    symbols: Tensor, kinds: int, form: _Form, more: int
) -> tuple[Tensor, tuple[int, int], Tensor | None]:
    """The key at every place (and so many more), two bits free for the side; those of nothing but
    ends, on the first side and on others; and the numbered pieces, where keys are made of such."""
    ends = (0, _packed(kinds + 1, form.bits, form.fits))
    keys = _windows(symbols, form.bits, form.fits, 1)
    pieces = None
    if form.pieces > 1:
        pieces = _different(torch.cat([keys, keys.new_tensor(ends)]))
        wide = pieces.shape[0].bit_length()
        if wide * form.pieces > _BITS:
            raise TensorMTError(
                f"{pieces.shape[0]:,} different pieces of text are too many at once: score fewer "
                "segments at a time"
            )
        keys = _windows(search(pieces, keys) + 1, wide, form.pieces, form.fits)
        ends = (_packed(1, wide, form.pieces), _packed(pieces.shape[0], wide, form.pieces))
    shifted = keys.new_zeros(symbols.shape[0] + more)
    torch.bitwise_left_shift(keys, 2, out=shifted[: keys.shape[0]])
    return shifted, (ends[0] << 2, ends[1] << 2), pieces


def _packed(item: int, bits: int, count: int) -> int:
    """The same item, so many times."""
    return sum(item << (bits * k) for k in range(count))


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
    return (first[: behind.shape[0]] << (bits * rest)).bitwise_or_(behind)


def _different(keys: Tensor) -> Tensor:
    """The different keys, rising."""
    ordered = sort(keys)
    return take(ordered, run_edges(ordered)[:-1])


def _leading_of_pieces(keys: Tensor, apart: Tensor, pieces: Tensor, form: _Form) -> Tensor:
    """How many leading symbols keys of numbered pieces share: whole pieces, then part of one."""
    bits, fits, count = form
    wide = pieces.shape[0].bit_length()
    whole = count_below(apart, [1 << (wide * k) for k in range(count)]).to(torch.int64)
    shift = (count - 1 - whole).clamp_min(0) * wide
    numbers = (((side >> shift) & ((1 << wide) - 1)) - 1 for side in (keys[1:], keys[:-1]))
    one, two = (take(pieces, n.clamp(0, pieces.shape[0] - 1)) for n in numbers)
    part = count_below(one ^ two, [1 << (bits * k) for k in range(fits)]).to(torch.int64)
    return whole * fits + torch.where(whole < count, part.clamp_max(fits - 1), 0)


def _gaps(flat: Tensor, same: Tensor, rows: int, others: int, max_order: int) -> Tensor:
    """Σ |count in the first - count in another| over the n-grams of each row, int64 [R,B,N].

    flat: sorted rows end to end, the side in the lowest bits; same: how many symbols each place
    shares with the one before. The sums of all others stand in one integer, 16 bits each; sums that
    wrap around still have the right differences.
    """
    width = flat.shape[0] // rows
    field = torch.int16 if width < _LONG else torch.int32
    bits, whole = (16, _WHOLE[others]) if width < _LONG else (32, torch.int32)
    bounds = torch.arange(rows + 1, device=flat.device) * width
    lead = torch.full((flat.shape[0] + 1,), -1, dtype=same.dtype, device=flat.device)
    lead[1:-1] = same
    lead.index_fill_(0, bounds, -1)
    ones = [1 << (bits * k) for k in range(others)]
    steps = torch.tensor([sum(ones), *(-one for one in ones)], dtype=whole, device=flat.device)
    upto = torch.zeros(flat.shape[0] + 1, dtype=whole, device=flat.device)
    torch.cumsum(take(steps, flat & 3), 0, dtype=whole, out=upto[1:])
    borrowed = sum(ones[:-1]) << (bits - 1)
    found = torch.empty(max_order, rows, dtype=whole, device=flat.device)
    for order in range(max_order, 0, -1):
        kept = nonzero(less(lead, order))
        lead, upto = take_columns(lead, kept), take_columns(upto, kept)
        bounds = search(kept, bounds)
        gaps = upto[1:] - upto[:-1]
        if borrowed:  # a field below zero took one from the next: give it back
            gaps.add_(borrowed).bitwise_xor_(borrowed)
        gaps.view(field).abs_()
        found[order - 1] = sum_runs(gaps, bounds[:-1])
    fields = found.view(field).view(max_order, rows, -1)[..., :others]
    return fields.permute(2, 1, 0).to(torch.int64)
