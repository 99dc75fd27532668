"""Look-up against Python's `in`: keys that lie evenly or not, what is absent, both ends."""

import random

import pytest
import torch
from fake_cuda import DeviceTensor, FakeCuda, to_host
from hypothesis import given
from hypothesis import strategies as st

from tensormt.kernels.sorted_index import SortedIndex

LEAST, MOST = -(1 << 63), (1 << 63) - 1
whole = st.one_of(
    st.integers(LEAST, MOST), st.integers(-60, 60), st.sampled_from([LEAST, LEAST + 1, MOST - 1])
)


def agrees(keys, asked, share=0):
    """Queries one by one, some of them before the table is built, and all at once."""
    keys = sorted(set(keys))
    ready = SortedIndex(torch.tensor(keys), share or len(keys) + 1)
    for part in ([[key] for key in asked[:5]] if share else []) + [asked]:
        place, known = ready.find(torch.tensor(part, dtype=torch.int64))
        assert known.tolist() == [key in keys for key in part]
        at = zip(place.tolist(), known, part, strict=True)
        assert all(keys[p] == key for p, there, key in at if there)
        assert all(0 <= p < len(keys) for p in place.tolist())
    return ready


@given(st.sets(whole, min_size=1, max_size=80), st.lists(whole, max_size=30), st.integers(0, 3))
def test_any_keys(keys, asked, share):
    agrees(keys, [*asked, *list(keys)[:20], MOST, LEAST], share)


@pytest.mark.on_a_cpu
def test_even_keys_use_the_table_and_uneven_ones_are_searched():
    rng = random.Random(3)
    even = [rng.randint(LEAST, MOST) for _ in range(3000)]
    uneven = [*range(1000), MOST]
    asked = [*rng.sample(even, 500), *(rng.randint(LEAST, MOST) for _ in range(500)), LEAST, MOST]
    assert agrees(even, [*asked, *uneven[::7]])._first is not None
    assert agrees(uneven, [*asked, *uneven[::7]])._first is None


@pytest.mark.on_a_cpu
def test_a_few_questions_are_searched():
    ready = SortedIndex(torch.arange(0, 1 << 62, 1 << 50))  # 4096 keys
    for _ in range(4):
        ready.find(torch.arange(30))
    assert ready._first is None
    ready.find(torch.arange(30))
    assert ready._first is not None


def test_on_another_device():
    keys, asked = torch.tensor([-9, -2, 3, 1 << 60]), torch.tensor([3, 4, 1 << 60])
    with FakeCuda():
        place, known = SortedIndex(keys.to("cuda")).find(asked.to("cuda"))
    assert isinstance(place, DeviceTensor)
    assert to_host(known).tolist() == [True, False, True]
    assert to_host(place)[[0, 2]].tolist() == [2, 3]
