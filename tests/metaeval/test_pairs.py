"""Kendall's taus, their WMT variants and accuracy against plain counting of pairs."""

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
from tensormt.metaeval import pairs

NAN = float("nan")


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


def test_darr_leaves_out_small_human_gaps():
    human, metric = tied(1, (40,), 100), tied(2, (40,))
    counts = oracle_pairs(human.tolist(), metric.tolist(), least_gap=2.0)
    ours = metaeval.tau_wmt10(human, metric, least_gap=2.0).item()
    assert ours == pytest.approx(FORMULAS["tau_wmt10"](**counts), abs=1e-14)
    assert sum(counts.values()) < 40 * 39 // 2


def test_a_perfect_order_is_1_and_no_more():
    for items in range(2, 40):
        x = torch.arange(items, dtype=torch.float64)
        assert metaeval.tau_b(x, x).item() <= 1
        assert metaeval.tau_b(x, -x).item() >= -1


def test_infinite_scores_are_no_masked_items():
    x = torch.tensor([1.0, 2.0, math.inf, 5.0])
    mask = torch.tensor([True, True, True, False])
    expected = scipy.stats.kendalltau([1, 2, 3], [1, 2, 3], variant="c").statistic
    assert metaeval.tau_c(x, x, mask).item() == pytest.approx(expected)
