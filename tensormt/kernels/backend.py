"""Array operations whose implementation depends on the device: numpy on a CPU, torch elsewhere.

This is the only module of the package that tests on which device a tensor is. Some operations are
slow in torch on a CPU (sort, search, nonzero, repeat, comparison of short integers). For CPU
tensors they run in numpy on the same memory, without a copy; on other devices and inside
`torch.compile` they run in torch. The results are equal, and always tensors. The sizes of the
results of `nonzero`, `run_edges` and `runs` depend on the data: on CUDA each of these functions
synchronises once with the host.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from itertools import accumulate
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Array = NDArray[Any]


def on_cpu(tensor: Tensor) -> bool:
    """True if the tensor is on a CPU: its values can be read without a synchronisation."""
    return tensor.device.type == "cpu"


def is_readable(tensor: Tensor) -> bool:
    """True if the tensor is strided and has values: it is neither sparse nor on the meta device."""
    return tensor.layout == torch.strided and tensor.device.type != "meta"


@lru_cache(maxsize=16)
def _runs_triton(device: torch.device) -> bool:
    """True if kernels in Triton can run on a device."""
    if device.type != "cuda" or find_spec("triton") is None:
        return False
    return torch.cuda.get_device_capability(device) >= (7, 0)


def has_triton(tensor: Tensor) -> bool:
    """True if kernels in Triton can run where the tensor is: on CUDA, if Triton is installed."""
    return _runs_triton(tensor.device)


_BUDGET = 1 << 30  # bytes of temporary tensors on a device whose memory is unknown


@lru_cache(maxsize=16)
def _budget(device: torch.device) -> int:
    """Bytes of temporary tensors on a device: a sixteenth of its memory."""
    if device.type != "cuda":
        return _BUDGET
    return int(torch.cuda.get_device_properties(device).total_memory) // 16


def at_a_time(tensor: Tensor, in_cache: int, size: int) -> int:
    """Return how many items are processed at a time on the device of a tensor.

    Args:
        tensor: any tensor of the device.
        in_cache: number of items whose temporary tensors fit into a CPU's cache. On other devices
            starting an operation takes longer than the operation: there are as many items as
            memory allows.
        size: bytes of temporary tensors that an item takes.
    """
    if on_cpu(tensor):
        return in_cache
    known = _BUDGET if torch.compiler.is_compiling() else _budget(tensor.device)
    return max(known // size, in_cache)


def move(tensors: Sequence[Tensor], device: torch.device | str) -> list[Tensor]:
    """Send integer tensors, [n] each, to a device in one copy; all get the longest dtype of them.

    To a GPU they go as int32 where they fit, from pinned memory, and nobody waits for the copy.
    """
    target = torch.device(device)
    sizes = [tensor.shape[0] for tensor in tensors]
    packed = torch.cat(list(tensors))
    if target.type == "cuda" and on_cpu(packed):
        fits = not packed.shape[0] or int(packed.abs().max()) < 1 << 31
        short = torch.int32 if fits else torch.int64
        pinned = torch.empty(sum(sizes), dtype=short, device="cpu", pin_memory=True)
        packed = pinned.copy_(packed).to(target, non_blocking=True).to(packed.dtype)
    return list(torch.split(packed.to(target), sizes))


def join(tensors: Sequence[Tensor]) -> Tensor:
    """Concatenate tensors along the first axis; a single one is not copied."""
    return tensors[0] if len(tensors) == 1 else torch.cat(list(tensors))


def _uses_numpy(tensor: Tensor) -> bool:
    """True if numpy handles the tensor: on a CPU, unless torch.compile traces the call."""
    return tensor.device.type == "cpu" and not torch.compiler.is_compiling()


def as_array(tensor: Tensor) -> Any:
    """Return a CPU tensor as a numpy array on the same memory, other tensors as they are.

    For loops of many operations on short arrays, of which numpy does each in a third of torch's
    time. Code that uses operators and indexing alone serves both.
    """
    return tensor.numpy() if _uses_numpy(tensor) else tensor


def host_array(tensor: Tensor) -> Array:
    """Return a tensor as a numpy array; the values of another device are copied."""
    array: Array = tensor.cpu().numpy()
    return array


def array_module(values: Any) -> Any:
    """Return numpy or torch, whose functions take such values as `as_array` returns."""
    return np if isinstance(values, np.ndarray) else torch


def indices(mask: Any) -> Any:
    """`nonzero` of a flat mask that `as_array` returned, as such an array."""
    return np.flatnonzero(mask) if isinstance(mask, np.ndarray) else nonzero(mask)


def swap_bytes(values: Any) -> Any:
    """Reverse the bytes of int64 values of any shape, an array that `as_array` returned."""
    if isinstance(values, np.ndarray):
        return values.byteswap()
    octets = values.flatten().view(torch.uint8).view(-1, 8)
    return octets.flip(-1).view(-1).view(torch.int64).view(values.shape)


def as_floats(values: Any) -> Any:
    """Return the bits of int64 values as float64, likewise, read as int64."""
    if isinstance(values, np.ndarray):
        return values.astype(np.float64).view(np.int64)
    return values.to(torch.float64).view(torch.int64)


def equal(left: Tensor, right: Tensor) -> Tensor:
    """Compare two integer tensors (broadcast) for equality, bool.

    numpy compares short integers about five times faster than torch.
    """
    if _uses_numpy(left):
        return torch.from_numpy(np.equal(left.numpy(), right.numpy()))
    return left == right


def bytes_equal(left: Tensor, right: Tensor) -> Tensor:
    """Compare two integer tensors (broadcast) for equality: uint8 on a CPU, elsewhere bool."""
    if _uses_numpy(left):
        return torch.from_numpy(np.equal(left.numpy(), right.numpy()).view(np.uint8))
    # not as bytes, by .view or .to: the code that torch.compile (inductor) makes of it for AVX2
    # gives wrong results
    return left == right


def less(values: Tensor, bound: int) -> Tensor:
    """Return which values [...] are below a bound, bool [...]."""
    if _uses_numpy(values):
        return torch.from_numpy(np.less(values.numpy(), bound))
    return values < bound


def count_below(values: Tensor, bounds: Sequence[int]) -> Tensor:
    """Return for each value [...] the number of bounds that it is below, int8 [...]."""
    if _uses_numpy(values):
        array = values.numpy()
        counts = np.zeros(array.shape, np.int8)
        for bound in bounds:
            counts += np.less(array, bound).view(np.int8)
        return torch.from_numpy(counts)
    result = torch.zeros(values.shape, dtype=torch.int8, device=values.device)
    for bound in bounds:
        result += values < bound
    return result


# the constants of splitmix64: signed for torch, unsigned for numpy
_FACTORS = np.array([0xBF58476D1CE4E5B9, 0x94D049BB133111EB], np.uint64)
_FIRST, _SECOND = _FACTORS.view(np.int64).tolist()
_SHIFTS = np.array([30, 27, 31], np.uint64)


def mix(keys: Tensor) -> Tensor:
    """Scramble int64 keys of any shape, element by element, by the finaliser of splitmix64."""
    if _uses_numpy(keys):
        bits = keys.numpy().view(np.uint64)
        bits = ((bits >> _SHIFTS[0]) ^ bits) * _FACTORS[0]
        bits = ((bits >> _SHIFTS[1]) ^ bits) * _FACTORS[1]
        return torch.from_numpy(((bits >> _SHIFTS[2]) ^ bits).view(np.int64))
    # torch shifts int64 arithmetically; the mask makes the shift logical
    keys = (keys >> 30).bitwise_and_((1 << 34) - 1).bitwise_xor_(keys).mul_(_FIRST)
    keys = (keys >> 27).bitwise_and_((1 << 37) - 1).bitwise_xor_(keys).mul_(_SECOND)
    return (keys >> 31).bitwise_and_((1 << 33) - 1).bitwise_xor_(keys)


def nonzero(mask: Tensor) -> Tensor:
    """Return the flat indices, int64 ascending, where a mask of any shape is True."""
    if _uses_numpy(mask):
        return torch.from_numpy(np.flatnonzero(mask.numpy()))
    return mask.flatten().nonzero().squeeze(1)


def take(values: Tensor, index: Tensor) -> Tensor:
    """Return values[index] along the first axis; index_select is faster than indexing."""
    return values.index_select(0, index)


def take_or(values: Tensor, index: Tensor, none: int) -> Tensor:
    """Return values [n] at an index [m], `none` where the index is -1, on the index's device."""
    padded = torch.cat([values.new_full((1,), none), values])
    return take(padded.to(index.device), index + 1)


def take_columns(values: Tensor, index: Tensor) -> Tensor:
    """Return values[..., index] for an index [m]."""
    if _uses_numpy(values):
        return torch.from_numpy(values.numpy().take(index.numpy(), axis=-1))
    return values.index_select(-1, index)


def products(left: Tensor, right: Tensor) -> Tensor:
    """Return the products of matrices [b,m,k] with the transposes of [b,n,k], [b,m,n].

    numpy multiplies small matrices of odd sizes faster than torch.
    """
    if _uses_numpy(left):
        return torch.from_numpy(np.matmul(left.numpy(), right.numpy().swapaxes(1, 2)))
    return torch.bmm(left, right.transpose(1, 2))


def transpose(values: Tensor) -> Tensor:
    """Return values [...,m,n] as a contiguous tensor [...,n,m]."""
    if _uses_numpy(values):
        return torch.from_numpy(np.ascontiguousarray(values.numpy().swapaxes(-1, -2)))
    return values.transpose(-1, -2).contiguous()


def largest(values: Tensor, bound: int | None = None) -> int:
    """Return the largest value; a bound, where one is known, on devices on which reading waits."""
    return int(values.max()) if bound is None or on_cpu(values) else bound


def fill_behind(columns: Tensor, lengths: Tensor, padding: int) -> Tensor:
    """Return columns [...,T,b] of short integers with padding behind lengths [...,b].

    The columns are overwritten.
    """
    dtype = columns.dtype
    place = torch.arange(columns.shape[-2], device=columns.device, dtype=dtype)[:, None]
    if not on_cpu(columns):
        return columns.masked_fill_(place >= lengths[..., None, :], padding)
    # multiplying short integers is five times faster than masked_fill
    inside = (place < lengths.to(dtype)[..., None, :]).to(dtype)
    return columns.sub_(padding).mul_(inside).add_(padding)


def rows_at(values: Tensor, starts: Tensor, width: int) -> Tensor:
    """Return windows of values [n] from each of the starts [m] on, [m,width].

    What a window holds beyond the end of the values is undefined.
    """
    if _uses_numpy(values):
        array = values.numpy()
        missing = int(starts.max()) + width - len(array) if starts.shape[0] else width
        if missing > 0:
            array = np.concatenate([array, np.zeros(missing, array.dtype)])
        # indexing a strided view copies whole windows, not single values
        shape, step = (len(array) - width + 1, width), array.strides[0]
        windows = np.lib.stride_tricks.as_strided(array, shape, (step, step))
        return torch.from_numpy(windows[starts.numpy()])
    if not values.shape[0]:
        return values.new_zeros(starts.shape[0], width)
    places = starts[:, None] + torch.arange(width, device=values.device)
    return values[places.clamp_(max=values.shape[0] - 1)]


def _ranges(first: Array, sizes: Array) -> Array:
    """`ranges` of numpy arrays."""
    shift = np.repeat(first - (np.cumsum(sizes) - sizes), sizes)
    numbers: Array = np.arange(len(shift)) + shift
    return numbers


def ranges(first: Tensor, sizes: Tensor) -> Tensor:
    """Concatenate the ranges first[i] … first[i] + sizes[i] - 1, int64 [sum(sizes)]."""
    if _uses_numpy(first):
        return torch.from_numpy(_ranges(first.numpy(), sizes.numpy()))
    numbers = torch.repeat_interleave(first - (sizes.cumsum(0) - sizes), sizes)
    return numbers.add_(torch.arange(numbers.shape[0], device=first.device))


def owners(counts: Tensor, total: int | None = None) -> Tensor:
    """Repeat each index i of counts [n] counts[i] times, int64 [sum(counts)].

    `total`: the sum of the counts, where the host knows it; saves a synchronisation.
    """
    if _uses_numpy(counts):
        return torch.from_numpy(np.repeat(np.arange(counts.shape[0]), counts.numpy()))
    return torch.repeat_interleave(counts, output_size=total)


def copies(values: Tensor, counts: Tensor, total: int | None = None) -> Tensor:
    """Repeat each of values [n] counts [n] times, [sum(counts)]; `total` as for `owners`."""
    if _uses_numpy(counts):
        return torch.from_numpy(np.repeat(values.numpy(), counts.numpy()))
    return torch.repeat_interleave(values, counts, output_size=total)


def repeat(counts: Tensor, total: int | None = None) -> tuple[Tensor, Tensor]:
    """Return `owners` of counts [n] and each item's number within its owner.

    Both are int64 [sum(counts)]; `total` as for `owners`.
    """
    owner = owners(counts, total)
    start = counts.cumsum(0) - counts
    return owner, torch.arange(owner.shape[0], device=counts.device).sub_(take(start, owner))


def sort(values: Tensor) -> Tensor:
    """Return values [n] in ascending order."""
    if _uses_numpy(values):
        return torch.from_numpy(np.sort(values.numpy()))
    return torch.sort(values).values


def argsort(values: Tensor) -> Tensor:
    """Return the stable permutation, int64 [n], that sorts values [n] in ascending order."""
    if not _uses_numpy(values):
        return torch.sort(values, stable=True).indices
    array = values.numpy()
    if array.dtype != np.int64 or len(array) < 2:
        return torch.from_numpy(np.argsort(array, kind="stable"))
    # numpy uses radix sort for 16 bits. After a sort by the upper 16 bits the values are nearly in
    # order, which makes the second sort fast: three times faster in all. The subtraction may wrap
    # around; read as unsigned integers the differences are correct.
    low = array.min()
    shift = max((int(array.max()) - int(low)).bit_length() - 16, 0)
    upper = (array - low).view(np.uint64)
    if shift:
        upper >>= np.uint64(shift)
    order = np.argsort(upper.astype(np.uint16), kind="stable")
    if shift:
        order = order[np.argsort(array[order], kind="stable")]
    return torch.from_numpy(order)


def sort_groups(sides: Sequence[tuple[Tensor, Tensor]], groups: int) -> tuple[Tensor, Tensor]:
    """Merge several sides and sort the values within each group.

    Args:
        sides: values and their groups, both int64 [m], for each side. On a CPU, the groups of a
            side are ascending, from 0 to G-1.
        groups: the number of groups G.

    Returns:
        The values [n] of all sides, group by group and ascending within each, and their groups [n].
    """
    if _uses_numpy(sides[0][0]):
        arrays = [(values.numpy(), group.numpy()) for values, group in sides]
        ordered, owner = map(torch.from_numpy, _sort_as_rows(arrays, groups))
        return ordered, owner
    by_value = torch.sort(join([values for values, _ in sides]))
    by_group = torch.sort(join([group for _, group in sides])[by_value.indices], stable=True)
    return by_value.values[by_group.indices], by_group.values


_WIDTHS = np.array([width for k in range(2, 62) for width in (1 << k, 3 << (k - 1))])


def _sort_as_rows(sides: Sequence[tuple[Array, Array]], groups: int) -> tuple[Array, Array]:
    """`sort_groups` with one matrix row per group.

    numpy sorts many short rows ten times faster than one long array. Groups of similar size share a
    matrix whose rows are padded with the largest integer; widths are rounded up to 2ᵏ or 3·2ᵏ⁻¹, so
    at most a third is padding. All matrices are stored one after the other in one array of cells.
    """
    sizes = [np.bincount(group, minlength=groups) for _, group in sides]
    total = np.sum(sizes, axis=0)

    # the matrix of each group and its row there: its rank among the groups of that matrix
    matrix = np.searchsorted(_WIDTHS, total)
    rows = np.bincount(matrix, minlength=1)
    by_matrix = np.argsort(matrix, kind="stable")
    row = np.empty(groups, np.int64)
    row[by_matrix] = np.arange(groups) - np.repeat(np.cumsum(rows) - rows, rows)

    # the first cell of each matrix and of each group
    widths = _WIDTHS[: len(rows)]
    edges = np.append(0, np.cumsum(rows * widths))
    first = edges[matrix] + row * widths[matrix]

    cells = np.full(edges[-1], np.iinfo(np.int64).max)
    free = first.copy()
    for (values, _), size in zip(sides, sizes, strict=True):
        cells[_ranges(free, size)] = values
        free += size
    for number in np.flatnonzero(rows):
        cells[edges[number] : edges[number + 1]].reshape(rows[number], -1).sort(axis=1)
    group = np.repeat(np.arange(groups), total)
    return cells[_ranges(first, total)], group


def count_values(values: Tensor, size: int) -> Tensor:
    """Count how often each of 0…size-1 occurs in values [n], int64 [size]."""
    if _uses_numpy(values):
        return torch.from_numpy(np.bincount(values.numpy(), minlength=size))
    # not bincount, which reads the smallest and the largest value
    counts = torch.zeros(size, dtype=torch.int64, device=values.device)
    index = values.to(torch.int64)
    return counts.index_add_(0, index, torch.ones_like(index))


def search(ordered: Tensor, values: Tensor, *, right: bool = False) -> Tensor:
    """Return where values [m] would be inserted into ordered [n], int64 [m].

    `right`: after equal values, not before them.
    """
    if _uses_numpy(values):
        side: Literal["left", "right"] = "right" if right else "left"
        return torch.from_numpy(np.searchsorted(ordered.numpy(), values.numpy(), side=side))
    return torch.searchsorted(ordered, values, right=right)


def running_sum(values: Tensor) -> Tensor:
    """Return the cumulative sums of values [T,...] along the first axis; T is at least 1."""
    strict = torch.are_deterministic_algorithms_enabled() and not on_cpu(values)
    if strict and values.is_floating_point():
        # CUDA has no deterministic cumsum of floating-point numbers
        return torch.stack(list(accumulate(values.unbind(0))))
    return values.cumsum(0)


def sum_runs(values: Tensor, starts: Tensor) -> Tensor:
    """Sum values [...,n] over the runs that begin at `starts` [m], none of them empty, [...,m].

    The sums have the dtype of the values and must fit into it.
    """
    if _uses_numpy(values):
        array = values.numpy()
        return torch.from_numpy(np.add.reduceat(array, starts.numpy(), axis=-1, dtype=array.dtype))
    sums = torch.nn.functional.pad(values.cumsum(-1, dtype=values.dtype), (1, 0))
    ends = torch.cat([starts[1:], starts.new_full((1,), values.shape[-1])])
    return sums.index_select(-1, ends) - sums.index_select(-1, starts)


def sort_rows(table: Tensor) -> Tensor:
    """Sort each row of a table [m,n] in ascending order; may overwrite the table."""
    if _uses_numpy(table):
        table.numpy().sort(axis=1)
        return table
    return torch.sort(table, dim=1).values


def run_edges(ordered: Tensor) -> Tensor:
    """Return the starts of the runs of equal values in ordered [n], followed by n, int64."""
    if _uses_numpy(ordered):
        array = ordered.numpy()
        edge = np.ones(len(array) + 1, bool)
        np.not_equal(array[1:], array[:-1], out=edge[1 : len(array)])
        return torch.from_numpy(np.flatnonzero(edge))
    first = torch.ones(ordered.shape[0] + 1, dtype=torch.bool, device=ordered.device)
    if ordered.shape[0]:
        torch.ne(ordered[1:], ordered[:-1], out=first[1:-1])
    return nonzero(first)


def runs(ordered: Tensor) -> tuple[Tensor, Tensor]:
    """Return the starts and lengths, int64 [m] each, of the runs of equal values in ordered [n]."""
    edges = run_edges(ordered)
    return edges[:-1], edges[1:] - edges[:-1]
