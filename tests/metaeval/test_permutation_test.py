"""Tests of all pairs at once: equal to one pair, to all exchanges, and true to the null."""

import itertools
import math

import pytest
import torch
from metaeval.score_samples import tied

from tensormt import metaeval
from tensormt.errors import TensorMTError
from tensormt.metaeval.grouping import GROUPINGS, STATISTICS
from tensormt.metaeval.permutation_test import pairwise_permutation

NAN = float("nan")


HUMAN = tied(1, (5, 12))
METRICS = torch.stack([(HUMAN + tied(seed, (5, 12), 20)) * 7 for seed in (2, 3, 4)]).round() / 7
HUMAN[0, 3] = METRICS[1, 2, 4] = NAN


def combinations():
    for statistic, grouping in itertools.product(STATISTICS, GROUPINGS):
        if grouping != "pooled" or statistic not in ("pearson", "spearman", "tau_c"):
            yield statistic, grouping


@pytest.mark.parametrize(("statistic", "grouping"), list(combinations()))
@pytest.mark.parametrize("units", ["both", "systems", "segments"])
def test_sums_equal_exchanged_tables(statistic, grouping, units):
    found = pairwise_permutation(HUMAN, METRICS, statistic, grouping, units, resamples=40)
    real = ~(HUMAN.isnan() | METRICS.isnan().any(dim=0))
    human = HUMAN.masked_fill(~real, NAN)

    def table(one, other):
        return metaeval.correlate(one, other, statistic, grouping)

    for k, metric in enumerate(METRICS):
        expected = table(human, metric.masked_fill(~real, NAN))
        torch.testing.assert_close(found.values[k], expected, rtol=0, atol=1e-12)
    for a, b in itertools.combinations(range(3), 2):
        one = metaeval.permutation(human, METRICS[a], METRICS[b], table, units=units, resamples=40)
        assert found.differences()[a, b].item() == pytest.approx(one.value, abs=1e-12)
        whole = {"segment": "segments", "pooled": "segments", "system": "systems"}.get(grouping)
        if statistic != "accuracy_ties" or units != whole:  # ε is kept there, not sought again
            assert found.p()[a, b].item() == pytest.approx(one.p, abs=1e-12)
            assert found.p()[b, a].item() == pytest.approx(one.p, abs=1e-12)


def oracle_outcomes(human, metric, epsilon):
    """Right or wrong, pair by pair, segment by segment."""
    found = []
    for n in range(len(human[0])):
        row = []
        for i, j in itertools.combinations(range(len(human)), 2):
            h, m = human[i][n] - human[j][n], metric[i][n] - metric[j][n]
            tie = abs(m) <= epsilon
            row.append((h == 0) if tie else h * m > 0)
        found.append(row)
    return found


@pytest.mark.parametrize("statistic", ["accuracy", "accuracy_ties"])
@pytest.mark.parametrize("grouping", ["segment", "pooled"])
def test_pairs_are_exchanged_one_by_one(statistic, grouping):
    """3 systems, 3 segments: 9 pairs, 512 exchanges of their outcomes, all of them listed."""
    human, metrics = tied(7, (3, 3), 3), tied(8, (2, 3, 3), 5)
    epsilon = [0.0, 0.0]
    if statistic == "accuracy_ties":
        _, found = metaeval.calibrated_accuracy(human.T.expand(2, 3, 3), metrics.transpose(1, 2))
        epsilon = found.tolist()
    right = [
        list(itertools.chain(*oracle_outcomes(human.tolist(), table.tolist(), e + 1e-9)))
        for table, e in zip(metrics, epsilon, strict=True)
    ]
    seen = sum(right[0]) / 9 - sum(right[1]) / 9
    as_large = 0
    for swap in itertools.product((False, True), repeat=9):
        gap = sum((b - a) if s else (a - b) for a, b, s in zip(*right, swap, strict=True)) / 9
        as_large += gap >= seen - 1e-12
    found = pairwise_permutation(human, metrics, statistic, grouping, "pairs", resamples=8000)
    assert found.differences()[0, 1].item() == pytest.approx(seen, abs=1e-12)
    assert found.p(two_sided=False)[0, 1].item() == pytest.approx(as_large / 512, abs=0.02)


@pytest.mark.parametrize("statistic", ["tau_a", "tau_b", "tau_wmt10", "tau_wmt13", "tau_wmt14"])
@pytest.mark.parametrize("grouping", ["segment", "pooled"])
def test_pairs_of_taus_keep_the_value(statistic, grouping):
    human, metrics = tied(7, (4, 9), 3), tied(8, (2, 4, 9), 5)
    found = pairwise_permutation(human, metrics, statistic, grouping, "pairs", resamples=20)
    for k in range(2):
        expected = metaeval.correlate(human, metrics[k], statistic, grouping)
        torch.testing.assert_close(found.values[k], expected, rtol=0, atol=1e-12)
    apart = pairwise_permutation(
        human, metrics, statistic, grouping, "pairs", least_gap=0.2, resamples=20
    )
    expected = metaeval.correlate(human, metrics[0], statistic, grouping, least_gap=0.2)
    torch.testing.assert_close(apart.values[0], expected, rtol=0, atol=1e-12)


def test_the_same_metric_twice_and_wrong_units():
    found = pairwise_permutation(
        HUMAN, METRICS[[0, 0]], "accuracy_ties", "segment", "pairs", resamples=50
    )
    assert found.p()[0, 1] == 1
    assert found.null.abs().max() < 1e-12
    with pytest.raises(TensorMTError, match="units is 'rows', expected both"):
        pairwise_permutation(HUMAN, METRICS, "pearson", units="rows")
    with pytest.raises(TensorMTError, match="units 'pairs' are for tau_a"):
        pairwise_permutation(HUMAN, METRICS, "pearson", "segment", "pairs")


NULLS = [
    ("pearson", "none", "both"),
    ("pearson", "segment", "segments"),
    ("tau_b", "segment", "segments"),
    ("tau_wmt10", "pooled", "segments"),
    ("accuracy_ties", "segment", "segments"),
]


@pytest.mark.parametrize(("statistic", "grouping", "units"), NULLS)
@pytest.mark.parametrize("segments", [10, 100])
def test_equally_good_metrics_differ_in_five_percent_of_cases(statistic, grouping, units, segments):
    """Human scores with ties, metrics with the same noise; three standard errors around 5%.

    Pairs of 8 metrics on the same data are no independent cases, so the mean over them only
    narrows the spread: 50 data sets of 4 separate pairs each. bench/metaeval.py does more.
    """
    rng = torch.Generator().manual_seed(segments)
    alarms = cases = 0
    for seed in range(50):
        human = (torch.randn(5, segments, generator=rng, dtype=torch.float64) * 1.5).round()
        noise = torch.randn(8, 5, segments, generator=rng, dtype=torch.float64)
        found = pairwise_permutation(
            human, human + noise, statistic, grouping, units, resamples=99, seed=seed
        )
        p = found.p()
        alarms += sum(p[k, k + 1].item() <= 0.05 for k in range(0, 8, 2))
        cases += 4
    spread = 3 * math.sqrt(0.05 * 0.95 / cases)
    assert alarms / cases <= 0.05 + spread
    assert alarms / cases >= 0.05 - spread


@pytest.mark.parametrize("scale", [1e300, 1e-200])
@pytest.mark.parametrize(
    ("statistic", "grouping", "units"),
    [
        ("pearson", "none", "both"),
        ("tau_b", "none", "systems"),
        ("accuracy_ties", "segment", "pairs"),
    ],
)
def test_the_scale_of_scores_does_not_matter(statistic, grouping, units, scale):
    human = tied(1, (4, 9))
    metrics = torch.stack([human + tied(2, (4, 9), 20), tied(3, (4, 9), 20)])
    expected = pairwise_permutation(human, metrics, statistic, grouping, units, resamples=49)
    found = pairwise_permutation(
        human * scale, metrics * scale, statistic, grouping, units, resamples=49
    )
    assert torch.allclose(found.values, expected.values)
    assert torch.equal(found.p(), expected.p())
