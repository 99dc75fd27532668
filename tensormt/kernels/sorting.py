"""Sort, search and runs of equal values, on a CPU by numpy (see arrays.py).

`run_edges` and `runs` have sizes that depend on the data: on CUDA each costs one host sync.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from tensormt.kernels.arrays import FEW, Array, nonzero, spread

__all__ = [
    "argsort",
    "run_edges",
    "runs",
    "search",
    "sort",
    "sort_groups",
    "sort_rows",
    "sum_runs",
]


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
