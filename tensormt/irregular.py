"""Sort, search, nonzero and run lengths: the few operations that CPU torch does slowly.

On CPU tensors they run in numpy on the same memory (no copy), on any other device in torch, with
equal results; everything else in the package is plain torch and never asks which device it is on.
`nonzero` and `runs` have sizes that depend on the data: on CUDA each costs one host sync.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

__all__ = ["argsort", "equal", "nonzero", "repeat", "runs", "search", "sort", "sort_groups"]

Array = NDArray[Any]


def sort(values: Tensor) -> Tensor:
    """The values [n] in rising order."""
    if values.device.type == "cpu":
        array = values.numpy()
        return torch.from_numpy(np.sort(array[_roughly(array)], kind="stable"))
    return torch.sort(values).values


def argsort(values: Tensor) -> Tensor:
    """The stable order [n] (int64) that sorts the values [n]."""
    if values.device.type == "cpu":
        array = values.numpy()
        order = _roughly(array)
        return torch.from_numpy(order[np.argsort(array[order], kind="stable")])
    return torch.sort(values, stable=True).indices


def _roughly(array: Array) -> Array:
    """A stable order of int64 [n] by their upper 16 bits of difference, which numpy sorts by radix.

    What is left to sort then is nearly in order: three times faster than all at once.
    """
    if len(array) < 2 or array.dtype != np.int64:
        return np.arange(len(array))
    low = array.min()
    shift = max((int(array.max()) - int(low)).bit_length() - 16, 0)
    # differences wrap around to the right ones when read without a sign
    upper = (array - low).view(np.uint64) >> np.uint64(shift)
    return np.argsort(upper.astype(np.uint16), kind="stable")


def sort_groups(values: Tensor, group: Tensor, groups: int) -> tuple[Tensor, Tensor]:
    """The values [n] of each group in rising order, group after group, and the groups [n].

    Values are int64 below the largest one; group is int64 in 0…G-1, in any order.
    """
    if values.device.type == "cpu":
        ordered, owner = _sort_rows(values.numpy(), group.numpy(), groups)
        return torch.from_numpy(ordered), torch.from_numpy(owner)
    by_value = torch.sort(values)
    by_group = torch.sort(group[by_value.indices], stable=True)
    return by_value.values[by_group.indices], by_group.values


def _sort_rows(values: Array, group: Array, groups: int) -> tuple[Array, Array]:
    """`sort_groups` with one row a group: numpy sorts short rows ten times faster than one array.

    Groups of similar size share a matrix whose rows are padded with the largest integer; sizes are
    rounded up to 2ᵏ or 3·2ᵏ⁻¹, so padding is a third at the most.
    """
    small = group.astype(np.uint16) if groups <= 1 << 16 else group  # 16-bit keys sort by radix
    order = np.argsort(small, kind="stable")
    sizes = np.bincount(group, minlength=groups)
    steps = np.array([w for k in range(2, 63) for w in (1 << k, 3 << (k - 1))])
    kind = np.searchsorted(steps, sizes)
    rows = np.bincount(kind, minlength=1)
    starts = np.append(0, np.cumsum(rows * steps[: len(rows)]))
    by_kind = np.argsort(kind, kind="stable")
    place = np.arange(groups) - np.append(0, np.cumsum(rows))[kind[by_kind]]
    first = np.empty(groups, np.int64)
    first[by_kind] = starts[kind[by_kind]] + place * steps[kind[by_kind]]
    owner = np.repeat(np.arange(groups), sizes)
    cells = np.arange(len(values)) + np.repeat(first - (np.cumsum(sizes) - sizes), sizes)
    table = np.full(starts[-1], np.iinfo(np.int64).max)
    table[cells] = values[order]
    for number in np.flatnonzero(rows):
        table[starts[number] : starts[number + 1]].reshape(rows[number], -1).sort(axis=1)
    return table[cells], owner


def search(ordered: Tensor, values: Tensor, *, right: bool = False) -> Tensor:
    """Where each of values [m] would be inserted into ordered [n], as int64 [m]."""
    if values.device.type == "cpu":
        side: Literal["left", "right"] = "right" if right else "left"
        return torch.from_numpy(np.searchsorted(ordered.numpy(), values.numpy(), side=side))
    return torch.searchsorted(ordered, values, right=right)


def equal(left: Tensor, right: Tensor) -> Tensor:
    """Element-wise equality (broadcast), bool; numpy compares short integers five times faster."""
    if left.device.type == "cpu":
        return torch.from_numpy(np.equal(left.numpy(), right.numpy()))
    return left == right


def nonzero(mask: Tensor) -> Tensor:
    """The flat positions (int64, rising) at which a mask of any shape holds."""
    if mask.device.type == "cpu":
        return torch.from_numpy(np.flatnonzero(mask.numpy()))
    return mask.flatten().nonzero().squeeze(1)


def runs(ordered: Tensor, *also: Tensor) -> tuple[Tensor, Tensor]:
    """Starts and lengths (int64) of the runs of equal values in ordered [n] (and in `also`)."""
    first = torch.ones(ordered.shape[0] + 1, dtype=torch.bool, device=ordered.device)
    if not ordered.shape[0]:
        empty = nonzero(first[1:])
        return empty, empty
    torch.ne(ordered[1:], ordered[:-1], out=first[1:-1])
    for other in also:
        first[1:-1] |= other[1:] != other[:-1]
    edges = nonzero(first)
    return edges[:-1], edges[1:] - edges[:-1]


def repeat(counts: Tensor) -> tuple[Tensor, Tensor]:
    """For counts [n]: the owner of every item and its number within it, both [sum(counts)]."""
    if counts.device.type == "cpu":
        owner = torch.from_numpy(np.repeat(np.arange(counts.shape[0]), counts.numpy()))
    else:
        owner = torch.repeat_interleave(counts)
    start = counts.cumsum(0) - counts
    return owner, torch.arange(owner.shape[0], device=counts.device) - start[owner]
