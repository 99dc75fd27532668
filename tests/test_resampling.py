"""Bootstrap samples against a loop, the rule for their number, intervals by their definition."""

import math

import numpy as np
import pytest
import scipy.stats

import tensormt as tm
from tensormt.evaluator import Evaluator
from tensormt.resampling import bootstrap_scores, intervals, percentile_interval, resamples
from tensormt.segments import Segments
from tensormt.significance import compare

HYPS = {"a": ["a cat sat", "the dog", "it rains", "so"], "b": ["a cat", "a dog ran", "rain", "so"]}
REFS = [["a cat sat", "the dog ran", "it rains now", "so what"]]


@pytest.fixture(scope="module")
def statistics():
    return Evaluator(["bleu", "chrf"]).evaluate(Segments(HYPS, REFS))


def test_scores_of_samples_equal_a_loop(statistics):
    """With numbers drawn at once, whatever the size of the blocks."""
    found = bootstrap_scores(statistics, 1100, seed=7)
    draws = np.random.default_rng(7).choice(4, size=(1100, 4), replace=True)
    for name, metric in statistics.metrics.items():
        assert found[name].shape == (2, 1100)
        for k in (0, 1, 1023, 1024, 1099):
            rows = statistics.tables[name][:, draws[k]].sum(1)
            assert np.allclose(found[name][:, k], metric.score(rows, segment=False))


def test_intervals_are_those_of_compare(statistics):
    found = intervals(statistics)
    for row in compare(statistics):
        assert found[row.metric][1] == (row.low, row.high)
    one = intervals(statistics, 40, seed=3)["bleu"][0]
    ordered = np.sort(bootstrap_scores(statistics, 40, seed=3)["bleu"][0])
    assert one == (float(ordered[1]), float(ordered[38]))


@pytest.mark.parametrize("segments", [1, 100, 10**4, 10**5, 10**7])
@pytest.mark.parametrize("systems", [1, 2, 5, 15, 40])
def test_a_corrected_p_below_5_percent_can_be_reached(systems, segments):
    pairs = math.comb(systems, 2)
    assert pairs / (resamples(systems, segments) + 1) < 0.05 / 1.9


def test_number_of_resamples():
    """10,000; 1,000 a pair: the standard error of p = .05/m is 14% of it at most; a limit."""
    assert resamples(1, 10) == resamples(2, 2000) == 10_000
    assert resamples(15, 1000) == 105_000
    for systems in (2, 5, 15):
        p = 0.05 / math.comb(systems, 2)
        assert math.sqrt(p * (1 - p) / resamples(systems, 100)) / p < 0.142
    assert resamples(2, 100_000) == 2000
    assert resamples(2, 10**9) == 1000
    assert resamples(40, 10**9) == 31_200


def test_the_expanded_interval_is_hesterbergs():
    scores = np.arange(10_000.0)
    for n in (5, 20, 300):
        t = scipy.stats.t.ppf(0.975, n - 1)
        share = scipy.stats.norm.sf(math.sqrt(n / (n - 1)) * t)
        low, high = percentile_interval(scores, n)
        assert low == int(10_000 * share)
        assert high == 9999 - low
    assert percentile_interval(scores, 1) == (0.0, 9999.0)
    assert percentile_interval(scores) == (250.0, 9749.0)


def test_bad_values(statistics):
    with pytest.raises(tm.TensorMTError, match="seed -1: expected 0 or more"):
        intervals(statistics, 10, -1)
    with pytest.raises(tm.TensorMTError, match="0 resamples: expected at least 1"):
        intervals(statistics, 0)
    with pytest.raises(tm.TensorMTError, match="no segments to resample"):
        intervals(statistics.of_segments(np.array([], np.int64)))
