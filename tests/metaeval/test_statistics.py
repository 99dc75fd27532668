"""Correlations against scipy, the WMT variants and tie calibration against plain counting."""

import itertools
import math
import random

import numpy as np
import pytest
import scipy.stats
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pretend import Away, Watch, home

from tensormt import metaeval
from tensormt.errors import TensorMTError
from tensormt.metaeval import pairs

NAN = float("nan")


def tied(seed, shape, levels=6):
    return torch.from_numpy(np.random.default_rng(seed).integers(0, levels, shape) / 7.0 - 0.4)


# ---------------------------------------------------------------- equality with scipy
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


# ---------------------------------------------------------------- pairs
def oracle_pairs(human, metric, least_gap=0.0):
    counts = dict.fromkeys("CDHMB", 0)
    for (h, m), (g, n) in itertools.combinations(zip(human, metric, strict=True), 2):
        if least_gap and abs(h - g) < least_gap:
            continue
        if h == g:
            counts["B" if m == n else "H"] += 1
        elif m == n:
            counts["M"] += 1
        else:
            counts["C" if (h > g) == (m > n) else "D"] += 1
    return counts


FORMULAS = {
    "tau_a": lambda C, D, H, M, B: (C - D) / (C + D + H + M + B),
    "tau_b": lambda C, D, H, M, B: (C - D) / math.sqrt((C + D + H) * (C + D + M)),
    "tau_wmt10": lambda C, D, H, M, B: (C - D - M) / (C + D + M),
    "tau_wmt13": lambda C, D, H, M, B: (C - D) / (C + D),
    "tau_wmt14": lambda C, D, H, M, B: (C - D) / (C + D + M),
    "accuracy": lambda C, D, H, M, B: (C + B) / (C + D + H + M + B),
}


def test_pairs_and_their_formulas():
    human, metric = tied(1, (3, 2, 17)), tied(2, (3, 2, 17), 9)
    counted = metaeval.count_pairs(human, metric)
    for i, j in itertools.product(range(3), range(2)):
        counts = oracle_pairs(human[i, j].tolist(), metric[i, j].tolist())
        assert [
            counted.concordant[i, j],
            counted.discordant[i, j],
            counted.human_ties[i, j],
            counted.metric_ties[i, j],
            counted.both_ties[i, j],
        ] == list(counts.values())
        assert counted.total[i, j] == 17 * 16 // 2
        for name, formula in FORMULAS.items():
            ours = getattr(metaeval, name)(human, metric)[i, j].item()
            assert ours == pytest.approx(formula(**counts), abs=1e-14)


def test_blocks_change_nothing():
    """More cells than a block has: many rows, or with a least gap all pairs of many items."""
    human, metric = tied(1, (4, 900)), tied(2, (4, 900), 9)
    times = pairs.BLOCK // human.numel() + 1
    alone = metaeval.count_pairs(human, metric).stacked()
    many = metaeval.count_pairs(human.repeat(times, 1), metric.repeat(times, 1)).stacked()
    assert torch.equal(many, alone.repeat(times, 1))
    assert human.numel() * 900 > pairs.BLOCK
    gap = pairs.count_pairs(human, metric, least_gap=0.2)
    for k in range(4):
        one, two = human[k, :, None] - human[k], metric[k, :, None] - metric[k]
        for counted, kind in ((gap.concordant, two > 0), (gap.discordant, two < 0)):
            assert counted[k] == (kind & (one >= 0.2)).sum()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9), st.integers(1, 40), st.sampled_from([1, 2, 5, 1000]))
def test_counting_without_looking_at_pairs(seed, items, levels):
    human, metric = tied(seed, (3, items), levels), tied(seed + 1, (3, items), 4)
    mask = torch.from_numpy(np.random.default_rng(seed).random((3, items)) < 0.7)
    counted = metaeval.count_pairs(human.masked_fill(~mask, NAN), metric, mask)
    for k in range(3):
        keep = mask[k]
        counts = oracle_pairs(human[k][keep].tolist(), metric[k][keep].tolist())
        ours = (
            counted.concordant,
            counted.discordant,
            counted.human_ties,
            counted.metric_ties,
            counted.both_ties,
        )
        assert [part[k].item() for part in ours] == list(counts.values())


def test_many_items_and_extreme_scores():
    human = torch.tensor([math.inf, -math.inf, 1e300, -1e300, 0.0], dtype=torch.float64)
    assert metaeval.tau_b(human, human).item() == pytest.approx(1, abs=1e-12)
    assert metaeval.tau_b(human, -human).item() == pytest.approx(-1, abs=1e-12)
    many, other = tied(1, (5000,), 300), tied(2, (5000,), 10**6)
    expected = scipy.stats.kendalltau(many, other)[0]
    assert metaeval.tau_b(many, other).item() == pytest.approx(expected, abs=1e-12)
    with pytest.raises(TensorMTError, match="too many pairs for tie calibration"):
        metaeval.correlate(many.expand(2, -1), other.expand(2, -1), "accuracy_ties")


def test_darr_leaves_out_small_human_gaps():
    human, metric = tied(1, (40,), 100), tied(2, (40,))
    counts = oracle_pairs(human.tolist(), metric.tolist(), least_gap=2.0)
    ours = metaeval.tau_wmt10(human, metric, least_gap=2.0).item()
    assert ours == pytest.approx(FORMULAS["tau_wmt10"](**counts), abs=1e-14)
    assert sum(counts.values()) < 40 * 39 // 2


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


# ---------------------------------------------------------------- levels and groupings
def test_groupings_are_means_of_loops():
    human, metric = tied(1, (5, 8)), tied(2, (5, 8))
    human[0, 1] = human[4] = NAN
    metric[2, 2] = NAN
    real = ~(human.isnan() | metric.isnan())

    def r(rows):
        values = []
        for h, m, kept in rows:
            if kept.sum() > 1 and len(set(h[kept].tolist())) > 1 and len(set(m[kept].tolist())) > 1:
                values.append(scipy.stats.pearsonr(h[kept], m[kept])[0])
        return sum(values) / len(values)

    by_system = r(zip(human, metric, real, strict=True))
    by_segment = r(zip(human.T, metric.T, real.T, strict=True))
    together = r([(human.flatten(), metric.flatten(), real.flatten())])
    for grouping, expected in (
        ("system", by_system),
        ("segment", by_segment),
        ("none", together),
    ):
        ours = metaeval.correlate(human, metric, "pearson", grouping).item()
        assert ours == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", metaeval.STATISTICS)
@pytest.mark.parametrize("grouping", ["segment", "system", "none"])
def test_a_batch_of_tables_equals_a_loop(name, grouping):
    human, metric = tied(1, (3, 4, 6)), tied(2, (3, 4, 6))
    whole = metaeval.correlate(human, metric, name, grouping)
    for k in range(3):
        one = metaeval.correlate(human[k], metric[k], name, grouping)
        torch.testing.assert_close(whole[k], one, rtol=0, atol=1e-13, equal_nan=True)


@pytest.mark.parametrize("name", metaeval.STATISTICS)
def test_everything_stays_on_the_device_without_waiting(name):
    human, metric = tied(1, (4, 6)), tied(2, (4, 6))
    with Watch() as watch:
        there = metaeval.correlate(human.to("cuda"), metric.to("cuda"), name, "segment")
    assert isinstance(there, Away)
    assert torch.equal(home(there), metaeval.correlate(human, metric, name, "segment"))
    assert watch.syncs == {}


def test_documents_and_systems():
    scores = torch.tensor([[1.0, 3.0, 5.0], [2.0, NAN, NAN]], dtype=torch.float64)
    means = metaeval.document_means(scores, torch.tensor([0, 0, 1]), 2)
    assert means.tolist()[0] == [2.0, 5.0]
    assert means[1, 0] == 2.0
    assert means[1, 1].isnan()
    x, y = tied(1, (9,), 100), tied(2, (9,), 100)
    expected = scipy.stats.pearsonr(x, y)[0]
    assert metaeval.correlate_systems(x, y).item() == pytest.approx(expected, abs=1e-12)


def test_wrong_names_and_shapes():
    human = tied(1, (3, 4))
    with pytest.raises(TensorMTError, match="statistic is 'r', expected pearson"):
        metaeval.correlate(human, human, "r")
    with pytest.raises(TensorMTError, match="grouping is 'all', expected"):
        metaeval.correlate(human, human, "tau_b", "all")
    with pytest.raises(TensorMTError, match=r"human scores are \[3, 4\], metric scores \[4, 3\]"):
        metaeval.correlate(human, human.T)


# ---------------------------------------------------------------- resampling
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
