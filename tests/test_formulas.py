"""Formulas give the same for numpy arrays and torch tensors, and the papers' numbers."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tensormt.formulas import (
    as_float64,
    brevity_penalty,
    column,
    each,
    exp,
    log,
    namespace,
    part,
    ratio,
    round_for_ties,
    running_total,
    total,
    where,
)


def test_namespaces():
    assert namespace(torch.ones(1)) is torch
    assert namespace(np.ones(1)) is np
    assert as_float64(torch.ones(1, dtype=torch.int64)).dtype == torch.float64
    assert as_float64(np.ones(1, np.int64)).dtype == np.float64


@pytest.mark.parametrize("make", [torch.tensor, np.array])
def test_brevity_penalty(make):
    """Papineni et al. 2002: 1 at equal length, exp(1 - r/c) below it."""
    lengths, expected = [5, 4, 10, 0], [1, 0.7788007830714049, 1, 0]
    penalty = brevity_penalty(make(lengths), make([5, 5, 5, 5]))
    assert penalty.tolist() == pytest.approx(expected, rel=1e-15)
    assert [brevity_penalty(c, 5) for c in lengths] == pytest.approx(expected, rel=1e-15)


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=40))
def test_sums_add_from_the_first_to_the_last(values):
    """To the last bit: the best of several references is the same in torch and in plain Python."""
    expected = 0.0
    for value in values:
        expected += value
    assert total(values) == expected
    for make in (torch.tensor, np.array):
        rows = make([values, values[::-1]], dtype=namespace(make([0])).float64)
        assert total(rows)[0] == expected
        assert total(rows.T.contiguous().T if make is torch.tensor else rows)[0] == expected


@given(st.lists(st.integers(0, 9), min_size=4, max_size=9))
@pytest.mark.parametrize("make", [torch.tensor, np.array])
def test_lists_of_numbers_are_rows_of_arrays(make, row):
    """What a list gives is what its row in an array gives."""
    array = as_float64(make([row, row]))

    def same(function):
        found = function(row)
        found = found if isinstance(found, list) else [found]
        expected = np.asarray(function(array))[0]
        assert found == pytest.approx(np.atleast_1d(expected).tolist(), rel=1e-15)

    same(lambda rows: part(rows, 1, None, 2))
    same(lambda rows: column(rows, 2))
    same(running_total)
    same(lambda rows: total(each(lambda a: a > 3, rows)))
    same(lambda rows: each(lambda a: where(a > 3, a, 0), rows))
    same(lambda rows: each(lambda a: exp(a / 2), rows))
    same(lambda rows: each(lambda a: log(a / 2), rows))
    same(lambda rows: each(lambda a, b: ratio(a, b, 0.5), part(rows, 0, 2), part(rows, 2, 4)))


@pytest.mark.parametrize("make", [torch.tensor, np.array])
def test_rounding_noise_does_not_decide(make):
    def doubles(values):
        return make(values, dtype=namespace(make([0])).float64)

    exact = doubles([0.3, 1e-37, 12345.678, 0.0, -0.7])
    noisy = exact * (1 + 3e-16) + doubles([1e-17, 0, 0, 0, 0])
    assert exact.tolist() != noisy.tolist()
    assert round_for_ties(exact).tolist() == round_for_ties(noisy).tolist()
    assert round_for_ties(exact).tolist() == pytest.approx(exact.tolist(), rel=1e-12, abs=0)
    nothing, *large = round_for_ties(doubles([np.nan, np.inf, 1e300])).tolist()
    assert np.isnan(nothing)
    assert large == [np.inf, pytest.approx(1e300, rel=1e-12)]
