"""Significance: p-values equal to sacrebleu's, matrix products equal to loops, Holm by example."""

import itertools
import math
import os
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import sacrebleu
import scipy.stats
from sacrebleu.significance import PairedTest

import tensormt as tm
from tensormt.corrections import holm
from tensormt.resampling import bootstrap_scores
from tensormt.significance import compare
from tensormt.statistics import Statistics

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def lines(name):
    return (EXAMPLES / name).read_text().splitlines()


def noisy(text, seed, share):
    """A worse system: some words dropped."""
    rng = random.Random(seed)
    return [" ".join(w for w in line.split() if rng.random() > share) for line in text]


@pytest.fixture(scope="module")
def systems():
    base = lines("sysA.txt") * 4
    return {"base": noisy(base, 1, 0.1), "b": noisy(base, 2, 0.1), "c": noisy(base, 3, 0.2)}


def of_tables(tables, metrics):
    """Statistics of tables by system and metric, [N,K] each."""
    by_metric = {
        name: np.stack([np.asarray(own[name]) for own in tables.values()])
        if tables
        else np.zeros((0, 0, 1))
        for name in metrics
    }
    shape = next(iter(by_metric.values())).shape[:2]
    return Statistics(metrics, by_metric, np.ones(shape, bool), list(tables))


def statistics(systems, metric):
    refs = [tm.TokenBatch.from_text(lines(f"ref{k}.txt") * 4) for k in (1, 2)]
    tables = {
        name: {"bleu": metric.statistics(tm.TokenBatch.from_text(text), refs)}
        for name, text in systems.items()
    }
    return of_tables(tables, {"bleu": metric})


@pytest.mark.parametrize(("test", "samples"), [("bs", 1000), ("ar", 1000)])
def test_p_values_equal_sacrebleu(systems, test, samples, monkeypatch):
    """By name: same generator, seed, draws, and the same p-values, means and intervals."""
    monkeypatch.setitem(os.environ, "SACREBLEU_SEED", "12345")
    metric = tm.BLEU()
    tables = statistics(systems, metric)
    found = compare(tables, test, samples=samples, sacrebleu_p=True)
    refs = [lines("ref1.txt") * 4, lines("ref2.txt") * 4]
    peer = PairedTest(
        list(systems.items()),
        {"BLEU": sacrebleu.BLEU(references=refs)},
        None,
        test_type=test,
        n_samples=samples,
    )
    _, scores = peer()
    for result, theirs in zip(found, scores["BLEU"][1:], strict=True):
        assert result.score == pytest.approx(theirs.score, abs=1e-9)
        assert result.p == pytest.approx(theirs.p_value, abs=1e-12)
        if test == "bs":
            assert result.mean == pytest.approx(theirs.mean, abs=1e-4)
            assert result.width == pytest.approx(theirs.ci, abs=1e-4)


def test_sacrebleus_p_values_need_no_number_of_resamples(systems):
    tables = statistics(systems, tm.BLEU())
    for test, samples in (("bs", 1000), ("ar", 10000)):
        expected = compare(tables, test, samples=samples, sacrebleu_p=True)
        assert compare(tables, test, sacrebleu_p=True) == expected


def test_a_pair_has_one_p_value(systems):
    """The same resamples whether a system is compared with the baseline or with all others."""
    tables = statistics(systems, tm.BLEU())
    alone, all_pairs = compare(tables), compare(tables, all_pairs=True)
    assert [row.p for row in alone] == [row.p for row in all_pairs[:2]]
    given = bootstrap_scores(tables)
    assert compare(tables, resampled=given) == alone


def test_matrix_product_equals_a_loop(systems):
    metric = tm.BLEU()
    tables = statistics(systems, metric)
    found, old = (
        compare(tables, "bs", samples=70, seed=5, sacrebleu_p=old)[0] for old in (False, True)
    )
    rng = np.random.default_rng(5)
    a, b = tables.tables["bleu"][:2]
    draws = rng.choice(len(a), size=(70, len(a)), replace=True)
    gaps, scores = [], []
    for row in draws:
        ours = metric.score(b[row].sum(0), segment=False).item()
        theirs = metric.score(a[row].sum(0), segment=False).item()
        gaps.append(ours - theirs)
        scores.append(ours)
    real = abs(found.score - found.baseline_score)
    mean = sum(map(abs, gaps)) / len(gaps)
    assert old.p == pytest.approx((sum(abs(gap) - mean > real for gap in gaps) + 1) / 71)
    mean = sum(gaps) / len(gaps)
    p = (sum(abs(gap - mean) >= real for gap in gaps) + 1) / 71
    n = len(a)
    t = scipy.stats.norm.ppf(1 - p / 2) * math.sqrt((n - 1) / n)
    assert found.p == pytest.approx(2 * scipy.stats.t.sf(t, n - 1))
    assert found.mean == pytest.approx(sum(scores) / 70)
    assert found.low == pytest.approx(sorted(scores)[1])
    assert found.high == pytest.approx(sorted(scores)[68])
    assert found.difference == pytest.approx(found.score - found.baseline_score)
    rows = [metric.score(own, segment=True).tolist() for own in (a, b)]
    assert found.wins == sum(two > one for one, two in zip(*rows, strict=True)) > 0
    assert found.losses == sum(two < one for one, two in zip(*rows, strict=True)) > 0
    assert found.segments == n


def test_all_pairs_and_correction(systems):
    metric = tm.BLEU()
    found = compare(statistics(systems, metric), all_pairs=True, samples=99)
    assert [(r.baseline, r.system) for r in found] == [("base", "b"), ("base", "c"), ("b", "c")]
    assert [r.p_holm for r in found] == holm([r.p for r in found])


def test_equal_systems_do_not_differ(systems):
    metric = tm.BLEU()
    tables = statistics({"a": systems["b"], "b": systems["b"]}, metric)
    assert compare(tables, "ar", samples=50)[0].p == 1


# ---------------------------------------------------------------- tests that can be trusted
class Mean:
    """A stand-in for a metric: the mean of one number per segment."""

    higher_is_better = True

    def score(self, sums, segment):
        return sums[..., 1] / sums[..., 0]


def tables_of(*columns):
    tables = {
        name: {"mean": np.stack([np.ones_like(row), row], 1)}
        for name, row in zip("abc", columns, strict=False)
    }
    return of_tables(tables, {"mean": Mean()})


def exact_p(first, second):
    """All ways to let segments change sides, in plain Python."""
    gaps = [a - b for a, b in zip(first, second, strict=True)]
    seen, large, ways = abs(sum(gaps)), 0, 0
    for signs in itertools.product((1, -1), repeat=len(gaps)):
        large += abs(sum(s * g for s, g in zip(signs, gaps, strict=True))) >= seen - 1e-9
        ways += 1
    return large / ways


@pytest.mark.parametrize("seed", range(4))
def test_randomisation_converges_to_all_exchanges(seed):
    rng = random.Random(seed)
    first, second = ([rng.randint(0, 4) / 10 for _ in range(9)] for _ in range(2))
    tables = tables_of(*(np.array(row) for row in (first, second)))
    found = compare(tables, "ar", samples=20000)[0]
    assert found.p == pytest.approx(exact_p(first, second), abs=0.015)


def test_two_segments_of_200_are_no_evidence(systems):
    """All four exchanges of two equal gaps: half of them give as much. sacrebleu: 1/10001."""
    second = np.zeros(200)
    second[:2] = 1.0
    tables = tables_of(np.zeros_like(second), second)
    found = compare(tables, "ar")[0]
    assert found.p == pytest.approx(0.5, abs=0.02)
    old = compare(tables, "ar", sacrebleu_p=True)[0]
    assert old.p < 0.001


@pytest.mark.parametrize("test", ["ar", "bs"])
@pytest.mark.parametrize("segments", [10, 100, 1000])
@pytest.mark.parametrize("ties", [False, True])
def test_equal_systems_differ_in_five_percent_of_cases(test, segments, ties):
    """1,000 pairs of equal systems: 2.9% to 7.1% is three standard errors (6.9e-3) around 5%."""
    scores = np.random.default_rng(segments).standard_normal((segments, 2000))
    if ties:
        scores = (scores * 1.5).round()
    alarms = 0
    for k in range(0, 2000, 2):
        tables = tables_of(scores[:, k], scores[:, k + 1])
        alarms += compare(tables, test, samples=99, seed=k)[0].p <= 0.05
    assert 0.029 <= alarms / 1000 <= 0.071


def test_why_sacrebleus_bootstrap_is_not_the_default():
    """It centres |d*|, so it is one-sided: twice as many alarms, 10% ± 2.8%."""
    scores = np.random.default_rng(0).standard_normal((100, 2000))
    alarms = 0
    for k in range(0, 2000, 2):
        tables = tables_of(scores[:, k], scores[:, k + 1])
        found = compare(tables, "bs", samples=99, seed=k, sacrebleu_p=True)
        alarms += found[0].p <= 0.05
    assert 0.072 <= alarms / 1000 <= 0.128


def test_the_interval_of_a_difference_is_widened_for_few_segments(systems):
    """Hesterberg's expanded percentile interval, of the differences of the same resamples."""
    tables = statistics(systems, tm.BLEU())
    found, n = compare(tables, samples=999)[1], len(tables)
    one, _, two = bootstrap_scores(tables, 999)["bleu"].tolist()
    gaps = sorted(b - a for a, b in zip(one, two, strict=True))
    share = scipy.stats.norm.sf(math.sqrt(n / (n - 1)) * scipy.stats.t.ppf(0.975, n - 1))
    edge = int(999 * share)
    assert edge < 999 // 40
    assert (found.difference_low, found.difference_high) == (gaps[edge], gaps[998 - edge])


class Error(Mean):
    """The same number as an error rate."""

    higher_is_better = False


@pytest.mark.parametrize("test", ["ar", "bs"])
def test_of_error_rates_less_is_better(test):
    rng = np.random.default_rng(1)
    first = rng.standard_normal(100)
    second = first + 0.2 + 0.3 * rng.standard_normal(100)
    second[:10] = first[:10]
    tables = tables_of(first, second)
    [score] = compare(tables, test, samples=999)
    [error] = compare(replace(tables, metrics={"mean": Error()}), test, samples=999)
    assert (score.verdict, error.verdict) == ("better", "worse")
    assert (score.wins, score.losses) == (error.losses, error.wins)
    assert score.wins > score.losses > 0
    assert score.ties == error.ties == 10
    assert (score.p, score.difference) == (error.p, error.difference)


@pytest.mark.parametrize("test", ["ar", "bs"])
def test_systems_are_compared_on_the_segments_that_both_have(systems, test):
    tables = statistics(systems, tm.BLEU())
    some = np.ones_like(tables.present)
    some[1, :2] = False
    rows = {"bleu": tables.tables["bleu"] * some[..., None]}
    missing = replace(tables, tables=rows, present=some)
    first, second = compare(missing, test, samples=99)
    kept = tables.of_systems([0, 1]).of_segments(np.arange(2, len(tables)))
    [expected] = compare(kept, test, samples=99)
    assert first._replace(p_holm=0) == expected._replace(p_holm=0)
    assert (first.segments, second.segments) == (len(tables) - 2, len(tables))
    assert second.p == compare(tables, test, samples=99)[1].p


def test_segments_that_both_lack_are_not_drawn():
    """Nine of 300 segments have scores: the test is that of the nine."""
    base, other = np.full(9, 0.5), np.array([0.6, 0.4, 0.6, 0.4, 0.6, 0.4, 0.6, 0.4, 0.51])
    texts = {"A": ["a"] * 300, "B": ["b"] * 300}
    columns = {"A": [*base, *[None] * 291], "B": [*other, *[None] * 291]}
    with pytest.warns(UserWarning, match="582 of 600 outputs have no score of C"):
        [found] = tm.compare(texts, [["a"] * 300], metrics=[tm.Scores("C", columns)]).comparisons
    few = {name: lines[:9] for name, lines in texts.items()}
    alone = tm.Scores("C", {"A": base, "B": other})
    [expected] = tm.compare(few, [["a"] * 9], metrics=[alone], samples=10_000).comparisons
    assert found == expected
    assert found.p > 0.5
    assert found.verdict == ""
    assert not math.isnan(found.mean)


def test_systems_without_a_common_segment():
    """There is no p, and the correction of the others does not count it."""
    tables = tables_of(*np.random.default_rng(1).random((2, 4)))
    present = np.array([[True, True, False, False], [False, False, True, True]])
    for test in ("bs", "ar"):
        [found] = compare(replace(tables, present=present), test, samples=9)
        assert math.isnan(found.difference)
        assert math.isnan(found.p)
        assert math.isnan(found.p_holm)
        assert (found.segments, found.verdict) == (0, "")
    three = tables_of(*np.random.default_rng(1).random((3, 4)))
    present = np.array([[True] * 4, [True] * 4, [False] * 4])
    first, second = compare(replace(three, present=present), "ar", samples=9)
    assert first.p_holm == first.p
    assert math.isnan(second.p_holm)


def test_no_slow_import():
    """scipy.stats takes most of a second to import."""
    code = (
        "import sys, tensormt as tm;"
        "print(tm.compare({'a': ['x y'] * 3, 'b': ['x'] * 3}, [['x y'] * 3]).comparisons[0].p);"
        "assert 'scipy.special' in sys.modules and 'scipy.stats' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_bad_input():
    metric = tm.BLEU()
    none = {"bleu": np.zeros((0, metric.width), np.int64)}
    one, two = (of_tables(dict.fromkeys(names, none), {"bleu": metric}) for names in ("a", "ab"))
    with pytest.raises(tm.TensorMTError, match="one system only"):
        compare(one)
    with pytest.raises(tm.TensorMTError, match="no segments to compare"):
        compare(two)
    with pytest.raises(tm.TensorMTError, match="seed -1"):
        compare(two, seed=-1)
    with pytest.raises(tm.TensorMTError, match="no test named"):
        compare(two, "t")
