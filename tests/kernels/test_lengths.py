"""Closest reference lengths against min."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from tensormt.kernels.lengths import closest


@given(st.integers(0, 9), st.lists(st.integers(0, 9), min_size=1, max_size=4))
def test_closest_length(hyp, refs):
    present = [ref for ref in refs if ref]
    expected = min((abs(ref - hyp), ref) for ref in present)[1] if present else 0
    assert closest(torch.tensor([hyp]), torch.tensor([refs])).tolist() == [expected]


def test_closest_length_prefers_the_shorter():
    refs = torch.tensor([[5, 3, 9], [1, 0, 3]])
    assert closest(torch.tensor([4, 2]), refs).tolist() == [3, 1]
    assert closest(torch.tensor([0, 9]), refs).tolist() == [3, 3]
