"""Tie calibration against trying every threshold."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from metaeval.score_samples import tied

from tensormt import metaeval
from tensormt.errors import TensorMTError
from tensormt.metaeval.calibration import pair_outcomes


def oracle_calibration(human, metric, mask):
    """Try every difference as ε, group by group."""
    groups = []
    for h_row, m_row, kept in zip(human, metric, mask, strict=True):
        items = [(h, m) for h, m, k in zip(h_row, m_row, kept, strict=True) if k]
        if len(items) > 1:
            pairs = itertools.combinations(items, 2)
            groups.append([(a[0] - b[0], round(a[1] - b[1], 9)) for a, b in pairs])
    best = (-1.0, 0.0)
    for epsilon in sorted({0.0} | {abs(m) for g in groups for _, m in g}):
        shares = []
        for g in groups:
            right = 0
            for h, m in g:
                tie = abs(m) <= epsilon
                right += (h == 0 and tie) or (h != 0 and not tie and (h > 0) == (m > 0))
            shares.append(right / len(g))
        value = sum(shares) / len(shares)
        if value > best[0] + 1e-12:
            best = (value, epsilon)
    return best


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from([2, 3, 50]))
def test_tie_calibration_equals_trying_every_threshold(seed, levels):
    human, metric = tied(seed, (2, 5, 6), 3), tied(seed + 1, (2, 5, 6), levels)
    mask = torch.from_numpy(np.random.default_rng(seed).random((2, 5, 6)) < 0.8)
    mask[:, 0, :2] = True
    value, epsilon = metaeval.calibrated_accuracy(human, metric, mask)
    for k in range(2):
        expected = oracle_calibration(human[k].tolist(), metric[k].tolist(), mask[k].tolist())
        assert value[k].item() == pytest.approx(expected[0], abs=1e-12)
        assert epsilon[k].item() == pytest.approx(expected[1], abs=1e-9)
        assert value[k] >= metaeval.accuracy(human[k], metric[k], mask[k]).nanmean() - 1e-12


def test_too_many_pairs():
    many, other = tied(1, (5000,), 300), tied(2, (5000,), 10**6)
    with pytest.raises(TensorMTError, match="too many pairs for tie calibration"):
        metaeval.correlate(many.expand(2, -1), other.expand(2, -1), "accuracy_ties")


def test_outcomes_of_pairs_by_hand():
    """Pairs (0, 1), (0, 2), (1, 2): at ε = 0.1 the metric ties the first pair."""
    human, metric = torch.tensor([[1.0, 1.0, 2.0]]), torch.tensor([[0.5, 0.6, 0.2]])
    assert pair_outcomes(human, metric).tolist() == [[False, False, False]]
    assert pair_outcomes(human, metric, 0.101).tolist() == [[True, False, False]]


def test_equal_human_scores_are_all_right_and_no_more():
    """One group of every size: the shares of their pairs have no exact sum."""
    metric = tied(1, (40, 24), 10**6)
    sizes = torch.arange(40)[:, None] % 23 + 2
    mask = torch.arange(24) < sizes
    for pooled in (False, True):
        value, epsilon = metaeval.calibrated_accuracy(
            torch.ones_like(metric), metric, mask, pooled=pooled
        )
        assert value.item() == pytest.approx(1, abs=1e-12)
        assert value <= 1
        assert epsilon > 0


@pytest.mark.parametrize("shape", [(1, 1), (5, 1), (2, 3, 1)])
def test_groups_without_a_pair_have_no_accuracy(shape):
    scores = tied(1, shape)
    for found in metaeval.calibrated_accuracy(scores, scores):
        assert found.shape == shape[:-2]
        assert found.isnan().all()
    wide = torch.cat([scores, scores + 1], dim=-1)
    lone = torch.tensor([True, False])  # a pair, of which one item is missing
    for found in metaeval.calibrated_accuracy(wide, wide, lone):
        assert found.isnan().all()


@pytest.mark.parametrize("scale", [1e307, 1e154, 1e-160, 1e-310])
def test_the_scale_of_scores_does_not_matter(scale):
    human, metric = tied(1, (5, 6), 3), tied(2, (5, 6), 50)
    expected = metaeval.calibrated_accuracy(human, metric)
    value, epsilon = metaeval.calibrated_accuracy(human * scale, metric * scale)
    assert value.item() == pytest.approx(expected[0].item(), abs=1e-12)
    assert epsilon.item() / scale == pytest.approx(expected[1].item(), rel=1e-6)
