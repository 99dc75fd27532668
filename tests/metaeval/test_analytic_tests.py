"""p-values and intervals against scipy and worked numbers; Williams' test and its formula."""

import math

import numpy as np
import pytest
import scipy.stats
import torch

from tensormt import metaeval
from tensormt.errors import TensorMTError


def rows(seed, count, n):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(count, n)))


def test_fisher_equals_scipy():
    human, metric = rows(1, 2, 15)
    found = metaeval.correlation_test("pearson", human, human + metric, 0.9)
    peer = scipy.stats.pearsonr(human, human + metric)
    assert found.p == pytest.approx(peer.pvalue)
    interval = peer.confidence_interval(0.9)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    gap = torch.tensor([float("nan")], dtype=torch.float64)
    longer = metaeval.correlation_test(
        "pearson", torch.cat([human, gap]), torch.cat([human + metric, gap])
    )
    assert longer == metaeval.correlation_test("pearson", human, human + metric)


def test_rank_correlations_by_hand():
    """ρ = 0.8 of n = 5: artanh 0.8 ± 1.96 √(1.06/2); τ = 0.6: artanh 0.6 ± 1.96 √(0.437/1)."""
    human = torch.tensor([1.0, 2, 3, 4, 5], dtype=torch.float64)
    metric = torch.tensor([2.0, 1, 4, 3, 5], dtype=torch.float64)
    for name, value, spread in (("spearman", 0.8, 1.06 / 2), ("tau_b", 0.6, 0.437)):
        found = metaeval.correlation_test(name, human, metric)
        width = 1.959963984540054 * math.sqrt(spread)
        assert found.low == pytest.approx(math.tanh(math.atanh(value) - width))
        assert found.high == pytest.approx(math.tanh(math.atanh(value) + width))


def test_where_theory_says_nothing():
    human = rows(1, 1, 9)[0]
    assert metaeval.correlation_test("accuracy", human, human).p is None
    assert metaeval.correlation_test("pearson", human[:3], human[:3]).p is None
    assert metaeval.correlation_test("pearson", human, torch.ones_like(human)).low is None
    assert metaeval.correlation_test("pearson", human, 2 * human).high == pytest.approx(1)


def test_williams_by_hand():
    """Graham & Baldwin 2014's formula with r12 = .6, r13 = .4, r23 = .5, n = 30."""
    r12, r13, r23, n = 0.6, 0.4, 0.5, 30
    root = np.linalg.cholesky([[1, r12, r13], [r12, 1, r23], [r13, r23, 1]])
    noise, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(n, 4)) + 0.0)
    noise = noise - noise.mean(axis=0)
    noise, _ = np.linalg.qr(noise)
    human, first, second = torch.from_numpy((noise[:, :3] @ root.T).T.copy())
    K = 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23
    t = (r12 - r13) * math.sqrt(
        (n - 1) * (1 + r23) / (2 * K * (n - 1) / (n - 3) + ((r12 + r13) ** 2 / 4) * (1 - r23) ** 3)
    )
    difference, p = metaeval.williams(human, first, second)
    assert difference == pytest.approx(0.2)
    assert p == pytest.approx(2 * scipy.stats.t.sf(t, n - 3))
    _, one = metaeval.williams(human, first, second, two_sided=False)
    assert one == pytest.approx(p / 2)
    assert metaeval.williams(human, second, first, two_sided=False)[1] == pytest.approx(1 - one)
    assert metaeval.williams(human, first, first * 2)[1] == 1
    with pytest.raises(TensorMTError, match="at least 4 items"):
        metaeval.williams(human[:3], first[:3], second[:3])


@pytest.mark.parametrize("n", [10, 100])
def test_williams_keeps_the_null(n):
    alarms = 0
    rng = np.random.default_rng(n)
    for _ in range(1000):
        human = rng.normal(size=n)
        first, second = (torch.from_numpy(human + rng.normal(size=n)) for _ in range(2))
        alarms += metaeval.williams(torch.from_numpy(human), first, second)[1] < 0.05
    assert 0.029 <= alarms / 1000 <= 0.071
