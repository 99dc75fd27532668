"""Every operation against plain Python, on a CPU (numpy) and on a stand-in for a device (torch)."""

import pytest
import torch
from fake_cuda import DeviceTensor, FakeCuda, to_host
from hypothesis import given
from hypothesis import strategies as st

from tensormt.kernels import backend

values = st.lists(st.integers(-5, 5), max_size=40)
INTEGERS = [torch.uint8, torch.int16, torch.int32, torch.int64]


def tensor(numbers, dtype=torch.int64):
    return torch.tensor(numbers, dtype=dtype)


def on_both(function, *tensors):
    """The result on a CPU, after checking that the device gives the same tensors there."""
    found = function(*tensors)
    with FakeCuda():
        there = function(*(t.to("cuda") for t in tensors))
    results = (f if isinstance(f, tuple) else (f,) for f in (found, there))
    for here, away in zip(*results, strict=True):
        assert isinstance(here, torch.Tensor)
        assert isinstance(away, DeviceTensor)
        assert here.dtype == away.dtype
        assert here.shape == away.shape
        assert torch.equal(here, to_host(away))
    return found


@given(values, values)
def test_sorting_searching_and_repeating(first, second):
    a, b, ordered = tensor(first), tensor(second), tensor(sorted(first))
    sizes = [max(n, 0) for n in second]
    counts = b.clamp(min=0)
    starts = [i for i, n in enumerate(sorted(first)) if not i or sorted(first)[i - 1] != n]
    for found, expected in (
        (on_both(backend.sort, a), sorted(first)),
        (on_both(backend.argsort, a), sorted(range(len(first)), key=first.__getitem__)),
        (on_both(backend.search, ordered, b), [sum(o < n for o in first) for n in second]),
        (
            on_both(lambda x, y: backend.search(x, y, right=True), ordered, b),
            [sum(o <= n for o in first) for n in second],
        ),
        (on_both(lambda x: backend.nonzero(x > 0), a), [i for i, n in enumerate(first) if n > 0]),
        (on_both(backend.copies, b, counts), [size for size in sizes for _ in range(size)]),
        (on_both(backend.runs, ordered)[0], starts),
        (on_both(backend.runs, ordered)[1], [first.count(sorted(first)[i]) for i in starts]),
        (on_both(backend.repeat, counts)[0], [i for i, n in enumerate(sizes) for _ in range(n)]),
        (on_both(backend.repeat, counts)[1], [number for n in sizes for number in range(n)]),
    ):
        assert found.tolist() == expected


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 6)), max_size=12))
def test_ranges(items):
    first, sizes = (tensor([item[k] for item in items]) for k in (0, 1))
    expected = [start + k for start, size in items for k in range(size)]
    assert on_both(backend.ranges, first, sizes).tolist() == expected


@pytest.mark.on_a_cpu
@given(values, st.sampled_from(INTEGERS[1:]))
def test_comparisons(numbers, dtype):
    row = tensor(numbers, dtype)
    column = row[:, None]
    same = [[a == b for b in numbers] for a in numbers]
    assert on_both(backend.equal, column, row).tolist() == same
    assert backend.bytes_equal(column, row).dtype == torch.uint8
    found = on_both(lambda a, b: backend.bytes_equal(a, b).to(torch.uint8), column, row)
    assert found.tolist() == [[int(cell) for cell in line] for line in same]
    assert on_both(lambda x: backend.less(x, 2), row).tolist() == [n < 2 for n in numbers]
    counted = on_both(lambda x: backend.count_below(x, [-2, 0, 4]), row)
    assert counted.dtype == torch.int8
    assert counted.tolist() == [sum(n < bound for bound in (-2, 0, 4)) for n in numbers]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_picking_values(dtype):
    table = torch.arange(24).to(dtype).view(2, 3, 4)
    index = tensor([3, 0, 0])
    assert torch.equal(on_both(backend.take_columns, table, index), table[..., [3, 0, 0]])
    turned = on_both(backend.transpose, table)
    assert turned.is_contiguous()
    assert torch.equal(turned, table.mT)
    assert torch.equal(on_both(backend.take, table[0], index % 3), table[0][[0, 0, 0]])
    flat = table.flatten()
    picked = on_both(lambda x, i: backend.take_or(x, i, 7), flat, tensor([-1, 5, 23, -1]))
    assert picked.tolist() == [7, 5, 23, 7]
    starts = tensor([20, 0, 7])
    for device in ("cpu", "cuda"):
        with FakeCuda():
            rows = to_host(backend.rows_at(flat.to(device), starts.to(device), 5))
        assert rows.shape == (3, 5)
        assert rows[:, :4].tolist() == [[start + k for k in range(4)] for start in (20, 0, 7)]
        assert rows[1:, 4].tolist() == [4, 11]  # beyond the end the value is undefined


@given(st.lists(st.lists(st.integers(-9, 9), min_size=1, max_size=6), min_size=1, max_size=8))
def test_sums_of_runs(runs):
    flat = tensor([n for run in runs for n in run])
    starts = tensor([sum(map(len, runs[:k])) for k in range(len(runs))])
    table = torch.stack([flat, -flat])
    expected = [sum(run) for run in runs]
    found = on_both(backend.sum_runs, table, starts)
    assert found.tolist() == [expected, [-n for n in expected]]


def test_sorting_rows():
    table = tensor([[3, -1, 2], [0, 0, -5]])
    for device in ("cpu", "cuda"):
        with FakeCuda():
            found = backend.sort_rows(table.clone().to(device))
        assert to_host(found).tolist() == [[-1, 2, 3], [-5, 0, 0]]


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=40), st.integers(0, 60))
def test_sorting_the_whole_range(numbers, shift):
    """Values of any size and spread, with repetitions: sorted and stable."""
    numbers = [number >> shift for number in numbers] * 2
    assert backend.sort(tensor(numbers)).tolist() == sorted(numbers)
    expected = sorted(range(len(numbers)), key=numbers.__getitem__)
    assert backend.argsort(tensor(numbers)).tolist() == expected


@given(st.integers(1, 9), st.lists(st.tuples(st.integers(0, 8), st.integers(-9, 9)), max_size=60))
def test_sorting_within_groups(groups, pairs):
    """Two sides: the values of each group are ascending, group by group."""
    pairs = [(group % groups, value) for group, value in pairs]
    sides = [sorted(pairs[::2], key=lambda p: p[0]), sorted(pairs[1::2], key=lambda p: p[0])]
    columns = [tensor([p[k] for p in side]) for side in sides for k in (1, 0)]
    ordered, group = on_both(
        lambda a, b, c, d: backend.sort_groups([(a, b), (c, d)], groups), *columns
    )
    expected = sorted(pairs)
    assert ordered.tolist() == [value for _, value in expected]
    assert group.tolist() == [group for group, _ in expected]


@pytest.mark.on_a_cpu
def test_devices_and_layouts():
    plain = torch.zeros(2)
    assert backend.on_cpu(plain)
    assert backend.is_readable(plain)
    assert not backend.is_readable(plain.to_sparse())
    assert not backend.is_readable(torch.zeros(2, device="meta"))
    with FakeCuda():
        there = plain.to("cuda")
        assert not backend.on_cpu(there)
        assert backend.is_readable(there)


def test_compiled_comparison_is_plain_torch():
    """torch.compile traces the operations of the device, without a graph break."""
    left, right = torch.arange(6, dtype=torch.int16)[:, None], torch.arange(9, dtype=torch.int16)
    compiled = torch.compile(backend.bytes_equal, backend="eager", fullgraph=True)
    assert torch.equal(compiled(left, right).to(torch.uint8), backend.bytes_equal(left, right))


def test_tensors_move_in_one_copy():
    parts = [tensor(rows) for rows in ([1, 2], [], [3])]
    with FakeCuda() as cuda:
        found = backend.move(parts, "cuda")
    assert [to_host(part).tolist() for part in found] == [[1, 2], [], [3]]
    assert all(part.dtype == torch.int64 for part in found)
    assert [(copy.size, copy.blocks) for copy in cuda.copies] == [(3 * 4, False)]


def test_large_numbers_move_as_they_are():
    large = tensor([-(1 << 40), 5])
    with FakeCuda() as cuda:
        found = backend.move([large], "cuda")[0]
    assert to_host(found).tolist() == [-(1 << 40), 5]
    assert cuda.copies[0].size == 2 * 8
    assert backend.move([tensor([7])], "cpu")[0].tolist() == [7]


def test_joining():
    one = tensor([1, 2])
    assert backend.join([one]) is one
    assert backend.join([one, tensor([3])]).tolist() == [1, 2, 3]


@pytest.mark.on_a_cpu
def test_items_at_a_time():
    """What fits the cache on a CPU; elsewhere by memory, but never less."""
    here = torch.ones(1, device="cpu")
    assert backend.at_a_time(here, 7, 1) == 7
    with FakeCuda():  # a device of 16 GiB
        there = here.to("cuda")
        assert backend.at_a_time(there, 7, 1 << 20) == 1024
        assert backend.at_a_time(there, 7, 1 << 40) == 7


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int64])
def test_counting_values(dtype):
    values = tensor([3, 0, 3, 1], dtype)
    assert on_both(lambda x: backend.count_values(x, 6), values).tolist() == [1, 1, 0, 2, 0, 0]


@pytest.mark.parametrize("columns", [0, 5, 8, 24])
def test_products_of_matrices(columns):
    left, right = torch.randn(3, 7, 5), torch.randn(3, columns, 5)
    expected = torch.einsum("bmk,bnk->bmn", left, right)
    assert torch.allclose(backend.products(left, right), expected, atol=1e-5)
