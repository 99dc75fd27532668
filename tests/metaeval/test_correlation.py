"""Pearson, Spearman and ranks against scipy."""

import itertools
import math

import numpy as np
import pytest
import scipy.stats
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from metaeval.score_samples import tied

from tensormt import metaeval
from tensormt.metaeval.correlation import unit_scale

NAN = float("nan")


SCIPY = {
    "pearson": lambda x, y: scipy.stats.pearsonr(x, y)[0],
    "spearman": lambda x, y: scipy.stats.spearmanr(x, y)[0],
    "tau_b": lambda x, y: scipy.stats.kendalltau(x, y, variant="b")[0],
    "tau_c": lambda x, y: scipy.stats.kendalltau(x, y, variant="c")[0],
}


@pytest.mark.parametrize("name", SCIPY)
@pytest.mark.parametrize("levels", [2, 6, 10**6])
def test_equal_to_scipy_in_batches_with_ties_and_masks(name, levels):
    x, y = tied(1, (4, 5, 37), levels), tied(2, (4, 5, 37), levels)
    mask = torch.from_numpy(np.random.default_rng(3).random((4, 5, 37)) < 0.8)
    ours = getattr(metaeval, name)
    plain, masked = ours(x, y), ours(x, y, mask)
    filled = ours(x.masked_fill(~mask, NAN), y.masked_fill(~mask, 1e9), mask)
    assert plain.shape == (4, 5)
    for i, j in itertools.product(range(4), range(5)):
        expected = SCIPY[name](x[i, j], y[i, j])
        assert plain[i, j].item() == pytest.approx(expected, abs=1e-12)
        keep = mask[i, j]
        expected = SCIPY[name](x[i, j][keep], y[i, j][keep])
        assert masked[i, j].item() == pytest.approx(expected, abs=1e-12)
        assert filled[i, j].item() == pytest.approx(expected, abs=1e-12)


def test_ranks_equal_scipy():
    x = tied(5, (6, 30))
    expected = scipy.stats.rankdata(x.numpy(), axis=-1)
    assert metaeval.ranks(x).dtype == torch.float64
    assert torch.equal(metaeval.ranks(x), torch.from_numpy(expected))
    infinite, mask = torch.tensor([2.0, math.inf, 0.0]), torch.tensor([True, True, False])
    assert metaeval.ranks(infinite, mask)[:2].tolist() == [1.0, 2.0]


@pytest.mark.parametrize("name", SCIPY)
def test_a_constant_side_or_a_single_item_has_no_correlation(name):
    ours = getattr(metaeval, name)
    constant, varied = torch.full((7,), 0.1, dtype=torch.float64), tied(0, (7,))
    assert ours(constant, varied).isnan()
    assert ours(varied, constant).isnan()
    assert ours(varied[:1], varied[:1]).isnan()


@given(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=20), st.floats(-100, 100))
@settings(deadline=None)
def test_pearson_of_a_rising_line_is_1(values, shift):
    x = torch.tensor(values, dtype=torch.float64)
    if x.max() - x.min() > 1e-3:
        assert metaeval.pearson(x, x * 3 + shift).item() == pytest.approx(1, abs=1e-6)
        assert metaeval.spearman(x, x**3).item() <= 1


@pytest.mark.parametrize("scale", [1e300, 1e154, 1e-160, 1e-310])
@pytest.mark.parametrize("name", SCIPY)
def test_the_scale_of_scores_does_not_matter(name, scale):
    """Squares of such scores overflow or underflow; 1e-310 keeps ten digits."""
    x, y = tied(1, (4, 20), 10**6), tied(2, (4, 20), 10**6)
    ours = getattr(metaeval, name)
    expected = ours(x, y)
    assert torch.allclose(ours(x * scale, y), expected, atol=1e-9)
    assert torch.allclose(ours(x, y * scale), expected, atol=1e-9)
    weights = torch.from_numpy(np.random.default_rng(3).integers(0, 3, (4, 20)))
    found = ours(x * scale, y * scale, weights)
    assert torch.allclose(found, ours(x, y, weights), atol=1e-9)


def test_scaling_is_exact():
    values = tied(1, (3, 7), 10**6) * 1e-170
    scaled, exponent = unit_scale(values, -1)
    assert torch.equal(torch.ldexp(scaled, exponent), values)
    assert ((scaled.abs().amax(dim=-1) >= 0.5) & (scaled.abs() <= 1).all(dim=-1)).all()
    infinite = torch.tensor([math.inf, NAN, 3.0, -1.0])
    assert unit_scale(infinite, -1)[0].nan_to_num(9).tolist()[1:] == [9, 0.75, -0.25]
    assert unit_scale(torch.zeros(2), -1)[0].tolist() == [0, 0]
