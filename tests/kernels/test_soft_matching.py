"""Matching by cosine against a slow definition."""

import pytest
import soft_oracle
import torch
from hypothesis import given
from hypothesis import strategies as st

from tensormt.kernels.soft_matching import cosines, match, pad

SIZES = st.lists(st.tuples(st.integers(1, 7), st.integers(1, 7)), min_size=1, max_size=5)


@pytest.mark.parametrize("once", [False, True])
@given(sizes=SIZES, seed=st.integers(0, 99), threshold=st.sampled_from([0.0, 0.4]))
def test_equal_to_taking_one_pair_at_a_time(once, sizes, seed, threshold):
    random = torch.Generator().manual_seed(seed)
    sides = []
    for column in zip(*sizes, strict=True):
        lengths = torch.tensor(column)
        flat = torch.nn.functional.normalize(torch.randn(sum(column), 3, generator=random), dim=-1)
        place, real = pad(lengths.cumsum(0) - lengths, lengths, int(lengths.max()) + 1)
        sides.append((flat, place, real, flat.split(list(column))))
    (one, place, real, own), (two, other_place, other_real, other) = sides
    table = cosines(one[place], two[other_place], real, other_real)
    found = match(table, once, threshold)
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
    found = match(table, True, 0.0)
    assert found.hyp_to.tolist() == [[0, 1]]
    assert found.ref_to.tolist() == [[0, 1, -1]]


def test_nothing_reaches_the_threshold():
    found = match(torch.full((2, 2, 2), 0.3), True, 0.5)
    assert not found.hyp.any()
    assert (found.ref_to == -1).all()
