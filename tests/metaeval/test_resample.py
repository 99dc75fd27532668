"""Bootstrap intervals and the permutation test of two metrics."""

import itertools
import random

import numpy as np
import pytest
import scipy.stats
import torch
from metaeval.score_samples import tied

from tensormt import metaeval
from tensormt.errors import TensorMTError
from tensormt.metaeval.resample import p_value, standardize


def by(statistic, grouping="none"):
    return lambda human, metric: metaeval.correlate(human, metric, statistic, grouping)


def interval(human, metric, statistic, **options):
    def draws(systems, segments):
        return metaeval.correlate(human, metric, statistic, systems=systems, segments=segments)

    return metaeval.bootstrap(draws, *human.shape, **options)


def test_bootstrap_interval_covers_and_is_reproducible():
    torch.manual_seed(1)
    truth = torch.randn(6, 60, dtype=torch.float64)
    human = truth + torch.randn(6, 60, dtype=torch.float64)
    value = interval(human, truth, "pearson", resamples=300)
    assert value.low < value.value < value.high
    assert value.value == pytest.approx(scipy.stats.pearsonr(human.flatten(), truth.flatten())[0])
    # Fisher's interval for 360 pairs is ±0.05 around 0.7.
    assert 0.03 < value.high - value.low < 0.2
    assert value == interval(human, truth, "pearson", resamples=300)
    wider = interval(human, truth, "pearson", resamples=300, level=0.99)
    assert wider.high - wider.low > value.high - value.low
    systems = interval(human, truth, "tau_b", resamples=50, draw=["systems", "segments"])
    assert systems.low < systems.value < systems.high


def test_bootstrap_of_equal_tables_is_exact():
    human = tied(3, (4, 20), 1000)
    value = interval(human, human * 2 + 1, "spearman", resamples=50)
    assert (value.low, value.value, value.high) == pytest.approx((1, 1, 1), abs=1e-12)


def test_bootstrap_draws_whole_segments():
    """A draw keeps the systems of a segment together, and has as many segments as there are."""
    seen = []

    def watch(systems, segments):
        seen.append((systems, segments))
        return torch.zeros(1 if segments is None else len(segments), dtype=torch.float64)

    metaeval.bootstrap(watch, 3, 7, resamples=20)
    assert sum(len(segments) for _, segments in seen[:-1]) == 20
    assert all(systems is None for systems, _ in seen)
    assert all((segments.sum(dim=1) == 7).all() for _, segments in seen[:-1])
    metaeval.bootstrap(watch, 3, 7, resamples=20, draw=["systems"])
    assert seen[-2][1] is None or seen[-2][0] is not None


@pytest.mark.parametrize("units", ["both", "systems", "segments"])
def test_permutation_tells_a_good_metric_from_noise(units):
    torch.manual_seed(2)
    human = torch.randn(8, 40, dtype=torch.float64) + torch.randn(8, 1, dtype=torch.float64)
    good = human + 0.3 * torch.randn(8, 40, dtype=torch.float64)
    noise = torch.randn(8, 40, dtype=torch.float64)
    better = metaeval.permutation(
        human, good, 100 * noise, by("pearson"), units=units, resamples=200
    )
    assert better.value > 0.5
    assert better.p < 0.05
    same = metaeval.permutation(human, good, good, by("pearson"), units=units, resamples=200)
    assert same.value == 0
    assert same.p == 1
    worse = metaeval.permutation(
        human, noise, good, by("pearson"), units=units, resamples=200, two_sided=False
    )
    assert worse.p > 0.95


def test_permutation_equals_a_loop_over_all_exchanges():
    """With 2 × 2 outputs all 16 exchanges can be listed: p converges to their share."""
    human = torch.tensor([[1.0, 2.0], [4.0, 3.0]], dtype=torch.float64)
    first = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float64)
    second = torch.tensor([[20.0, 10.0], [30.0, -70.0]], dtype=torch.float64)

    def z(values):
        values = values.numpy().flatten()
        return (values - values.mean()) / values.std()

    one, two, people = z(first), z(second), human.numpy().flatten()

    def difference(swap):
        swap = np.array(swap)
        return (
            np.corrcoef(np.where(swap, two, one), people)[0, 1]
            - np.corrcoef(np.where(swap, one, two), people)[0, 1]
        )

    seen = difference([False] * 4)
    share = np.mean(
        [
            abs(difference(s)) >= abs(seen) - 1e-12
            for s in itertools.product([False, True], repeat=4)
        ]
    )
    ours = metaeval.permutation(human, first, second, by("pearson"), resamples=4000)
    assert ours.value == pytest.approx(seen, abs=1e-12)
    assert ours.p == pytest.approx(share, abs=0.03)


def test_false_alarms_are_as_rare_as_promised():
    random.seed(0)
    torch.manual_seed(0)
    alarms = 0
    for seed in range(60):
        human = torch.randn(5, 12, dtype=torch.float64)
        first, second = (human + torch.randn(5, 12, dtype=torch.float64) for _ in range(2))
        test = metaeval.permutation(human, first, second, by("pearson"), resamples=99, seed=seed)
        alarms += test.p <= 0.1
    assert alarms <= 14


def test_wrong_resampling():
    human = tied(1, (3, 4))
    with pytest.raises(TensorMTError, match="resamples is 0"):
        interval(human, human, "pearson", resamples=0)
    with pytest.raises(TensorMTError, match="units is 'rows', expected"):
        metaeval.permutation(human, human, human, by("pearson"), units="rows")


def test_p_values_by_counting():
    """Shares of differences at least as large, the observed one included; NaN counts as large."""
    nan = float("nan")
    rows, observed = [[0.1, 0.2], [-0.4, nan], [0.3, 0.1]], [0.3, 0.15]
    null, seen = torch.tensor(rows), torch.tensor(observed)
    for two_sided, size in ((True, abs), (False, lambda value: value)):
        for k in range(2):
            large = [r[k] != r[k] or size(r[k]) >= observed[k] - 1e-9 for r in rows]
            assert p_value(null, seen, two_sided)[k] == (sum(large) + 1) / 4
    assert p_value(null[:, 0], torch.tensor(nan)).isnan()


def test_standardized_scores():
    scores = torch.tensor([[1.0, 2.0], [6.0, 100.0]], dtype=torch.float64)
    present = torch.tensor([[True, True], [True, False]])
    found = standardize(scores, present)
    values = np.array([1.0, 2.0, 6.0])
    assert found[present].tolist() == pytest.approx(((values - 3) / values.std()).tolist())
    assert found[1, 1].isnan()
    assert standardize(torch.full((2, 2), 3.0), present)[present].tolist() == [0, 0, 0]


@pytest.mark.parametrize("scale", [1e300, 1e154, 1e-160, 1e-310])
def test_standardized_scores_of_any_scale(scale):
    scores = tied(1, (3, 8), 10**6)
    everywhere = torch.ones(3, 8, dtype=torch.bool)
    expected = standardize(scores, everywhere)
    assert torch.allclose(standardize(scores * scale, everywhere), expected, atol=1e-9)


def test_p_values_of_the_first_permutations():
    null = torch.tensor([[0.1, 0.3], [0.3, 0.3], [0.3, 0.0], [0.0, 0.3]])
    draws = torch.tensor([1, 3])
    found = p_value(null, torch.tensor([0.2, 0.2]), draws=draws)
    assert found.tolist() == [(0 + 1) / (1 + 1), (2 + 1) / (3 + 1)]
