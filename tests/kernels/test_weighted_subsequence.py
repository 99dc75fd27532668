"""The weighted common subsequence against the textbook's program."""

import pytest
from edit_oracles import weighted
from hypothesis import given
from hypothesis import strategies as st
from kernels.test_edit_distance import SYMBOLS, sequences

from tensormt.kernels.weighted_subsequence import weighted_subsequences


@given(
    st.lists(st.tuples(SYMBOLS, SYMBOLS), max_size=8),
    st.sampled_from([1, 1.2, 2]),
    st.sampled_from([1, 30, 1 << 18]),
)
def test_equal_to_the_textbook(pairs, weight, cells):
    one, two = (sequences([pair[k] for pair in pairs]) for k in (0, 1))
    expected = [weighted(*pair, weight) for pair in pairs]
    assert weighted_subsequences(one, two, weight, cells).tolist() == pytest.approx(expected)


def test_lin_2004():
    """ABCD in a row counts more than with words between (section 4): 16 and 4 by f(k) = k²."""
    reference, near, far = [0, 1, 2, 3, 4, 5, 6], [0, 1, 2, 3, 7, 8, 9], [0, 7, 1, 9, 2, 8, 3]
    found = weighted_subsequences(sequences([near, far]), sequences([reference] * 2), 2)
    assert found.tolist() == [16, 4]
