"""Sorting of any integers, and within groups, against Python's sorted."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pretend import Watch, home

from tensormt.kernels import backend


def tensor(numbers):
    return torch.tensor(numbers, dtype=torch.int64)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=40), st.integers(0, 60))
def test_sorting_the_whole_range(numbers, shift):
    """Values of any size and spread, with repetitions: sorted and stable."""
    numbers = [number >> shift for number in numbers] * 2
    assert backend.sort(tensor(numbers)).tolist() == sorted(numbers)
    expected = sorted(range(len(numbers)), key=numbers.__getitem__)
    assert backend.argsort(tensor(numbers)).tolist() == expected


@given(st.integers(1, 9), st.lists(st.tuples(st.integers(0, 8), st.integers(-9, 9)), max_size=60))
def test_sorting_within_groups(groups, pairs):
    """Both paths, two sides: the values of each group rise, group after group."""
    pairs = [(group % groups, value) for group, value in pairs]
    sides = [sorted(pairs[::2], key=lambda p: p[0]), sorted(pairs[1::2], key=lambda p: p[0])]
    numbers = [[tensor([p[k] for p in side]) for k in (1, 0)] for side in sides]
    for device, few in (("cpu", 0), ("cpu", 1000), ("cuda", 0)):
        with Watch(), pytest.MonkeyPatch.context() as patch:
            patch.setattr(backend, "FEW", few)
            columns = [tuple(column.to(device) for column in side) for side in numbers]
            ordered, group, start = backend.sort_groups(columns, groups)
            edges = backend.run_edges(ordered, start)
        expected = sorted(pairs)
        assert home(ordered).tolist() == [value for _, value in expected]
        assert home(group).tolist() == [group for group, _ in expected]
        assert home(start).tolist() == [sum(p[0] < g for p in pairs) for g in range(groups)]
        if pairs:
            assert home(edges)[:-1].tolist() == [expected.index(p) for p in dict.fromkeys(expected)]
