"""Matching by cosine against a slow definition."""

import pytest
import soft_oracle
import torch
from hypothesis import given
from hypothesis import strategies as st

from tensormt.kernels.soft_matching import cosines, greedy, leave_out, one_to_one

SIZES = st.lists(st.tuples(st.integers(1, 7), st.integers(1, 7)), min_size=1, max_size=5)


@pytest.mark.parametrize("once", [False, True])
@given(
    sizes=SIZES,
    seed=st.integers(0, 99),
    threshold=st.sampled_from([0.0, 0.4]),
    wide=st.booleans(),  # a multiple of 8 takes another way of multiplication
)
def test_equal_to_taking_one_pair_at_a_time(once, sizes, seed, threshold, wide):
    random = torch.Generator().manual_seed(seed)
    sides = []
    for column in zip(*sizes, strict=True):
        rows = [torch.randn(size, 3, generator=random) for size in column]
        size = 8 if wide else max(column) + 1
        padded = [torch.cat([row, row[-1:].expand(size - len(row), -1)]) for row in rows]
        real = torch.arange(size) < torch.tensor(column)[:, None]
        sides.append((torch.stack(padded), real, rows))
    (one, real, own), (two, other_real, other) = sides
    table = cosines(one, two, 1 / one.norm(dim=2), 1 / two.norm(dim=2))
    table = leave_out(table, real, other_real)
    found = (one_to_one if once else greedy)(table, threshold)
    definition = soft_oracle.one_to_one if once else soft_oracle.greedy
    for row, (hyp, ref) in enumerate(zip(own, other, strict=True)):
        expected = definition(hyp.tolist(), ref.tolist(), threshold)
        for side, values, to in zip(expected, found[:2], found[2:], strict=True):
            cosine, partner = zip(*side, strict=True)
            assert values[row, : len(side)].tolist() == pytest.approx(cosine, abs=1e-5)
            assert [None if k < 0 else k for k in to[row, : len(side)].tolist()] == list(partner)
            assert not values[row, len(side) :].any()
            assert (to[row, len(side) :] == -1).all()


def test_equal_cosines_are_taken_in_the_order_of_the_text():
    table = torch.ones(1, 2, 3)
    found = one_to_one(table, 0.0)
    assert found.hyp_to.tolist() == [[0, 1]]
    assert found.ref_to.tolist() == [[0, 1, -1]]


def test_nothing_reaches_the_threshold():
    found = one_to_one(torch.full((2, 2, 2), 0.3), 0.5)
    assert not found.hyp.any()
    assert (found.ref_to == -1).all()
