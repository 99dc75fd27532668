"""Comparisons, nonzero, take and repeat: the few operations that CPU torch does slowly.

On CPU tensors they run in numpy on the same memory (no copy), on any other device in torch, with
equal results (so do those of sorting.py); everything else in the package is plain torch and never
asks which device it is on. The size of `nonzero` depends on the data: on CUDA one host sync.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

__all__ = [
    "FEW",
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
    "spread",
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
