"""The only module that asks on which device a tensor lies.

A few operations are slow in torch on a CPU (sort, search, nonzero, take, repeat, comparisons of
short integers): for CPU tensors they run in numpy on the same memory, without a copy; on any other
device they run in torch, with equal results. All other modules are plain torch. The result sizes of
`nonzero`, `run_edges` and `runs` depend on the data: on CUDA each costs one host synchronisation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

__all__ = [
    "FEW",
    "argsort",
    "bytes_equal",
    "copies",
    "count_below",
    "equal",
    "few",
    "less",
    "nonzero",
    "owners",
    "ranges",
    "repeat",
    "rows_added",
    "rows_any",
    "rows_at",
    "run_edges",
    "runs",
    "search",
    "sort",
    "sort_groups",
    "sort_rows",
    "spread",
    "sum_runs",
    "take",
    "take_columns",
    "take_or",
    "turned",
]

Array = NDArray[Any]

_NUMPY: dict[torch.dtype, Any] = {torch.uint8: np.uint8, torch.int32: np.int32}

FEW = 1 << 11  # values: below this number the calls take longer than the work


def few(count: int, device: torch.device, most: int = FEW) -> bool:
    """Whether so many values lie on a CPU and are so few that calls take longer than the work."""
    return device.type == "cpu" and count <= most


def spread(first: Array, sizes: Array) -> Array:
    """The cells first, first + 1, … of every group, one group after the other."""
    shift = np.repeat(first - (np.cumsum(sizes) - sizes), sizes)
    cells: Array = np.arange(len(shift)) + shift
    return cells


def equal(left: Tensor, right: Tensor) -> Tensor:
    """Element-wise equality (broadcast), bool; numpy compares short integers five times faster."""
    if left.device.type == "cpu":
        return torch.from_numpy(np.equal(left.numpy(), right.numpy()))
    return left == right


def bytes_equal(left: Tensor, right: Tensor) -> Any:
    """Equality (broadcast) as bytes 0 and 1: on a CPU a numpy array, elsewhere a tensor.

    Slices and `&` work alike on both; numpy joins bytes twice as fast, and small arrays five times.
    """
    if left.device.type == "cpu" and not torch.compiler.is_compiling():
        return np.equal(left.numpy(), right.numpy()).view(np.uint8)
    return (left == right).view(torch.uint8)


def rows_added(table: Any, dtype: torch.dtype) -> Tensor:
    """The sum along the first axis of what `bytes_equal` gave, in a type of integers."""
    if isinstance(table, Tensor):
        return table.sum(0, dtype=dtype)
    return torch.from_numpy(np.add.reduce(table, 0, _NUMPY[dtype]))


def rows_any(table: Any) -> Any:
    """The largest along the first axis of what `bytes_equal` gave, in the same kind of array."""
    return table.amax(0) if isinstance(table, Tensor) else table.max(0)


def less(values: Tensor, bound: int) -> Tensor:
    """Which of the values are below a bound, bool; numpy compares integers three times faster."""
    if values.device.type == "cpu":
        return torch.from_numpy(np.less(values.numpy(), bound))
    return values < bound


def count_below(values: Tensor, bounds: Sequence[int]) -> Tensor:
    """How many of the bounds each value is below, int8."""
    if values.device.type == "cpu":
        array = values.numpy()
        count = np.zeros(array.shape, np.int8)
        for bound in bounds:
            count += np.less(array, bound).view(np.int8)
        return torch.from_numpy(count)
    count_there = torch.zeros(values.shape, dtype=torch.int8, device=values.device)
    for bound in bounds:
        count_there += values < bound
    return count_there


def nonzero(mask: Tensor) -> Tensor:
    """The flat positions (int64, rising) at which a mask of any shape holds."""
    if mask.device.type == "cpu":
        return torch.from_numpy(np.flatnonzero(mask.numpy()))
    return mask.flatten().nonzero().squeeze(1)


def take(values: Tensor, index: Tensor) -> Tensor:
    """values[index] for one-dimensional tensors: index_select is three times faster on a CPU."""
    return values.index_select(0, index)


def take_or(values: Tensor, index: Tensor, none: int) -> Tensor:
    """values[index] where -1 stands for `none`, on the device of the index."""
    padded = torch.cat([values.new_full((1,), none), values])
    return take(padded.to(index.device), index + 1)


def take_columns(values: Tensor, index: Tensor) -> Tensor:
    """values[..., index]: numpy takes from short integers twice as fast, from rows four times."""
    if values.device.type == "cpu":
        return torch.from_numpy(values.numpy().take(index.numpy(), axis=-1))
    return values.index_select(-1, index)


def turned(values: Tensor) -> Tensor:
    """Values [...,m,n] as [...,n,m], contiguous: numpy turns short integers three times faster."""
    if values.device.type == "cpu":
        return torch.from_numpy(np.ascontiguousarray(values.numpy().swapaxes(-1, -2)))
    return values.transpose(-1, -2).contiguous()


def rows_at(values: Tensor, starts: Tensor, width: int) -> Tensor:
    """The `width` values from each of the starts [m] on, [m,width]; beyond the last it is anything.

    On a CPU whole rows are copied, four times faster than value by value.
    """
    if values.device.type == "cpu":
        array = values.numpy()
        missing = int(starts.max()) + width - len(array) if starts.shape[0] else width
        if missing > 0:
            array = np.concatenate([array, np.zeros(missing, array.dtype)])
        shape, step = (len(array) - width + 1, width), array.strides[0]
        windows = np.lib.stride_tricks.as_strided(array, shape, (step, step))
        return torch.from_numpy(windows[starts.numpy()])
    if not values.shape[0]:
        return values.new_zeros(starts.shape[0], width)
    places = starts[:, None] + torch.arange(width, device=values.device)
    return values[places.clamp_(max=values.shape[0] - 1)]


def ranges(first: Tensor, sizes: Tensor) -> Tensor:
    """The numbers first, first + 1, … of every item, as many as its size, end to end."""
    if first.device.type == "cpu":
        return torch.from_numpy(spread(first.numpy(), sizes.numpy()))
    numbers = torch.repeat_interleave(first - (sizes.cumsum(0) - sizes), sizes)
    return numbers.add_(torch.arange(numbers.shape[0], device=first.device))


def owners(counts: Tensor, total: int | None = None) -> Tensor:
    """For counts [n]: the owner of every item, [sum(counts)]; `total` as for `repeat`."""
    if counts.device.type == "cpu":
        return torch.from_numpy(np.repeat(np.arange(counts.shape[0]), counts.numpy()))
    return torch.repeat_interleave(counts, output_size=total)


def copies(values: Tensor, counts: Tensor, total: int | None = None) -> Tensor:
    """Values [n], each as often as its count says, [sum(counts)]; `total` as for `repeat`."""
    if counts.device.type == "cpu":
        return torch.from_numpy(np.repeat(values.numpy(), counts.numpy()))
    return torch.repeat_interleave(values, counts, output_size=total)


def repeat(counts: Tensor, total: int | None = None) -> tuple[Tensor, Tensor]:
    """For counts [n]: the owner of every item and its number within it, both [sum(counts)].

    Where the host knows the sum, `total` saves a sync.
    """
    owner = owners(counts, total)
    start = counts.cumsum(0) - counts
    return owner, torch.arange(owner.shape[0], device=counts.device).sub_(take(start, owner))


def sort(values: Tensor) -> Tensor:
    """The values [n] in rising order."""
    if values.device.type == "cpu":
        return torch.from_numpy(np.sort(values.numpy()))
    return torch.sort(values).values


def argsort(values: Tensor) -> Tensor:
    """The stable order [n] (int64) that sorts the values [n]."""
    if values.device.type == "cpu":
        array = values.numpy()
        if array.dtype != np.int64 or len(array) < 2:
            return torch.from_numpy(np.argsort(array, kind="stable"))
        # numpy sorts 16 bits by radix; by the upper 16 the rest is nearly in order, which is three
        # times faster than all at once; differences wrap around to the right ones without a sign
        low = array.min()
        shift = max((int(array.max()) - int(low)).bit_length() - 16, 0)
        upper = (array - low).view(np.uint64)
        if shift:
            upper >>= np.uint64(shift)
        order = np.argsort(upper.astype(np.uint16), kind="stable")
        if shift:
            order = order[np.argsort(array[order], kind="stable")]
        return torch.from_numpy(order)
    return torch.sort(values, stable=True).indices


def sort_groups(
    sides: Sequence[tuple[Tensor, Tensor]], groups: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Values of several sides, (values [m], group [m]) each, sorted within every group.

    Values are int64 below the largest one; the groups of a side rise, in 0…G-1. Returns the values
    [n] of all sides, group after group, their groups [n], and where each group starts [G].
    """
    if sides[0][0].device.type == "cpu":
        few = sum(values.shape[0] for values, _ in sides) < FEW
        by_size = _sort_few if few else _sort_rows
        found = by_size([(values.numpy(), group.numpy()) for values, group in sides], groups)
        ordered, group, start = (torch.from_numpy(array) for array in found)
        return ordered, group, start
    by_value = torch.sort(torch.cat([values for values, _ in sides]))
    joined = torch.cat([group for _, group in sides])[by_value.indices]
    by_group = torch.sort(joined, stable=True)
    numbers = torch.arange(groups, device=joined.device)
    start = torch.searchsorted(by_group.values, numbers)
    return by_value.values[by_group.indices], by_group.values, start


def _sort_few(sides: Sequence[tuple[Array, Array]], groups: int) -> tuple[Array, Array, Array]:
    """`sort_groups` by one sort: for few values the number of calls counts."""
    values = np.concatenate([values for values, _ in sides])
    group = np.concatenate([group for _, group in sides])
    order = np.lexsort((values, group))
    group = group[order]
    return values[order], group, np.searchsorted(group, np.arange(groups))


_WIDTHS = np.array([width for k in range(2, 62) for width in (1 << k, 3 << (k - 1))])


def _sort_rows(sides: Sequence[tuple[Array, Array]], groups: int) -> tuple[Array, Array, Array]:
    """`sort_groups` with one row a group: numpy sorts short rows ten times faster than one array.

    Groups of similar size share a matrix whose rows are padded with the largest integer; widths are
    rounded up to 2ᵏ or 3·2ᵏ⁻¹, so padding is a third at the most. All matrices lie end to end in
    one array of cells.
    """
    sizes = [np.bincount(group, minlength=groups) for _, group in sides]
    total = np.sum(sizes, axis=0)

    # the matrix of each group, and its row there: its rank among the groups of that matrix
    matrix = np.searchsorted(_WIDTHS, total)
    rows = np.bincount(matrix, minlength=1)
    by_matrix = np.argsort(matrix, kind="stable")
    row = np.empty(groups, np.int64)
    row[by_matrix] = np.arange(groups) - np.repeat(np.cumsum(rows) - rows, rows)

    # where each matrix starts among the cells, and where each group does
    widths = _WIDTHS[: len(rows)]
    edges = np.append(0, np.cumsum(rows * widths))
    first = edges[matrix] + row * widths[matrix]

    cells = np.full(edges[-1], np.iinfo(np.int64).max)
    free = first.copy()
    for (values, _), size in zip(sides, sizes, strict=True):
        cells[spread(free, size)] = values
        free += size
    for number in np.flatnonzero(rows):
        cells[edges[number] : edges[number + 1]].reshape(rows[number], -1).sort(axis=1)
    group = np.repeat(np.arange(groups), total)
    return cells[spread(first, total)], group, np.cumsum(total) - total


def search(ordered: Tensor, values: Tensor, *, right: bool = False) -> Tensor:
    """Where each of values [m] would be inserted into ordered [n], as int64 [m]."""
    if values.device.type == "cpu":
        side: Literal["left", "right"] = "right" if right else "left"
        return torch.from_numpy(np.searchsorted(ordered.numpy(), values.numpy(), side=side))
    return torch.searchsorted(ordered, values, right=right)


def sum_runs(values: Tensor, starts: Tensor) -> Tensor:
    """Sums of values [...,n] over the runs that begin at `starts` [m], none of them empty: [...,m].

    They have the type of the values, in which they must have room.
    """
    if values.device.type == "cpu":
        array = values.numpy()
        return torch.from_numpy(np.add.reduceat(array, starts.numpy(), axis=-1, dtype=array.dtype))
    upto = torch.nn.functional.pad(values.cumsum(-1, dtype=values.dtype), (1, 0))
    ends = torch.cat([starts[1:], starts.new_full((1,), values.shape[-1])])
    return upto.index_select(-1, ends) - upto.index_select(-1, starts)


def sort_rows(table: Tensor) -> Tensor:
    """The rows of a table [m,n] each in rising order; on a CPU in place."""
    if table.device.type == "cpu":
        table.numpy().sort(axis=1)
        return table
    return torch.sort(table, dim=1).values


def run_edges(ordered: Tensor, breaks: Tensor | None = None) -> Tensor:
    """Where the runs of equal values in ordered [n] start, and n at the end, int64.

    A run also ends before each of the places `breaks` (0…n).
    """
    if ordered.device.type == "cpu":
        array = ordered.numpy()
        edge = np.ones(len(array) + 1, bool)
        np.not_equal(array[1:], array[:-1], out=edge[1 : len(array)])
        if breaks is not None:
            edge[breaks.numpy()] = True
        return torch.from_numpy(np.flatnonzero(edge))
    first = torch.ones(ordered.shape[0] + 1, dtype=torch.bool, device=ordered.device)
    if ordered.shape[0]:
        torch.ne(ordered[1:], ordered[:-1], out=first[1:-1])
    if breaks is not None:
        first.index_fill_(0, breaks, True)
    return nonzero(first)


def runs(ordered: Tensor) -> tuple[Tensor, Tensor]:
    """Starts and lengths (int64) of the runs of equal values in ordered [n]."""
    edges = run_edges(ordered)
    return edges[:-1], edges[1:] - edges[:-1]
