"""Soft pairwise accuracy against the paper's definition and against all sign changes."""

import itertools
import math

import numpy as np
import pytest
import torch

from tensormt import metaeval
from tensormt.errors import TensorMTError
from tensormt.metaeval.spa import (
    p_value_matrices,
    pair_p_values,
    random_signs,
    soft_pairwise_accuracy,
    spa_resampled,
)

NAN = float("nan")


def tied(seed, shape, levels=6):
    return torch.from_numpy(np.random.default_rng(seed).integers(0, levels, shape) / 4.0 - 0.5)


def oracle_p(first, second, flips):
    """Thompson et al. 2024: the share of sign changes that favour the first by as much."""
    gaps = [a - b for a, b in zip(first, second, strict=True)]
    seen = sum(gaps)
    as_large = sum(
        math.fsum(s * g for s, g in zip(row, gaps, strict=True)) >= seen - 1e-9 for row in flips
    )
    return as_large / len(flips)


def oracle_spa(human, metric, flips):
    pairs = list(itertools.combinations(range(len(human)), 2))
    errors = []
    for i, j in pairs:
        kept = [
            n
            for n in range(len(human[0]))
            if not any(math.isnan(t[k][n]) for t in (human, metric) for k in (i, j))
        ]
        if not kept:
            continue
        drawn = [[row[n] for n in kept] for row in flips]
        p = [
            oracle_p([table[i][n] for n in kept], [table[j][n] for n in kept], drawn)
            for table in (human, metric)
        ]
        errors.append(abs(p[0] - p[1]))
    return 1 - sum(errors) / len(errors)


@pytest.mark.parametrize("gaps", ["none", "segments", "scattered"])
@pytest.mark.parametrize("seed", range(3))
def test_equal_to_the_definition(seed, gaps):
    human, metric = tied(seed, (4, 12)), tied(seed + 50, (4, 12), 40)
    if gaps == "segments":
        human[:, 3] = NAN
    if gaps == "scattered":
        human[1, 2] = metric[3, 5] = NAN
        human[2, 7:] = NAN
    found = metaeval.soft_pairwise_accuracy(human, metric, permutations=60, seed=seed)
    judged = [n for n in range(12) if not human[:, n].isnan().all()]
    drawn = np.random.default_rng(seed).random((60, len(judged)), dtype=np.float32)
    flips = np.zeros((60, 12))
    flips[:, judged] = np.rint(drawn) * 2.0 - 1.0
    expected = oracle_spa(human.tolist(), metric.tolist(), flips.tolist())
    assert found.item() == pytest.approx(expected, abs=1e-12)


def test_segments_without_human_scores_change_nothing():
    """mt-metrics-eval draws signs after such segments are left out: 460 of 557 in WMT23 en-de."""
    human, metric = tied(1, (5, 40)), tied(2, (5, 40), 40)
    judged = torch.arange(40) % 3 > 0
    human[:, ~judged] = NAN
    expected = metaeval.soft_pairwise_accuracy(human[:, judged], metric[:, judged])
    assert metaeval.soft_pairwise_accuracy(human, metric).item() == expected.item()
    all_systems = torch.ones(1, 5, dtype=torch.int64)
    assert spa_resampled(human, metric, all_systems).item() == pytest.approx(expected.item())


@pytest.mark.parametrize("permutations", [0, 200])
@pytest.mark.parametrize("scale", [1e300, 1e154, 1e-160, 1e-310])
def test_the_scale_of_scores_does_not_matter(scale, permutations):
    human, metric = tied(1, (5, 20)), tied(2, (5, 20), 40)
    human[1, 2] = NAN
    expected = metaeval.soft_pairwise_accuracy(human, metric, permutations=permutations)
    found = metaeval.soft_pairwise_accuracy(
        human * scale, metric * scale, permutations=permutations
    )
    assert found.item() == pytest.approx(expected.item(), abs=1e-9)


def test_signs_are_those_of_mt_metrics_eval():
    random = np.random.default_rng(4).random(size=(30, 9), dtype=np.float32)
    assert np.array_equal(random_signs(30, 9).numpy(), np.rint(random) * 2.0 - 1.0)


@pytest.mark.parametrize("seed", range(4))
def test_all_sign_changes_are_the_exact_test(seed):
    """With N = 8 the 256 sign changes can be listed, and each half counts as often as on paper."""
    scores = tied(seed, (3, 8))
    flips = torch.tensor(list(itertools.product((-1.0, 1.0), repeat=8)), dtype=torch.float64)
    found = pair_p_values(scores, None, flips)
    for place, (i, j) in enumerate(itertools.combinations(range(3), 2)):
        gaps = (scores[i] - scores[j]).tolist()
        # sums by convolution of the 8 steps, in units of 1/4
        ways = {0: 1}
        for gap in gaps:
            step = round(gap * 4)
            after = {}
            for total, count in ways.items():
                for sign in (-1, 1):
                    after[total + sign * step] = after.get(total + sign * step, 0) + count
            ways = after
        seen = round(sum(gaps) * 4)
        expected = sum(count for total, count in ways.items() if total >= seen) / 256
        assert found[place].item() == pytest.approx(expected, abs=1e-12)


def test_the_normal_limit():
    torch.manual_seed(0)
    human = torch.randn(6, 400, dtype=torch.float64) + torch.randn(6, 1, dtype=torch.float64) / 15
    metric = human + torch.randn(6, 400, dtype=torch.float64)
    limit = metaeval.soft_pairwise_accuracy(human, metric, permutations=0).item()
    drawn = metaeval.soft_pairwise_accuracy(human, metric, permutations=20000).item()
    assert limit == pytest.approx(drawn, abs=0.005)
    gap = human[0] - human[1]
    z = -gap.sum().item() / math.sqrt(gap.square().sum().item())
    expected = 0.5 * math.erfc(-z / math.sqrt(2))
    assert pair_p_values(human, None, None)[0].item() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("permutations", [0, 50])
def test_extremes(permutations):
    human = tied(1, (4, 30), 50) + torch.arange(4.0, dtype=torch.float64)[:, None] * 4

    def spa(metric):
        return metaeval.soft_pairwise_accuracy(human, metric, permutations=permutations).item()

    assert spa(human * 3 + 1) == 1
    assert spa(-human) < 0.5
    one = human.clone()
    one[1] = one[0]
    # equal systems: every sign change gives as much, p = 1
    assert pair_p_values(one, None, random_signs(50, 30) if permutations else None)[0] == 1
    alone = human.clone()
    alone[3] = NAN
    rest = metaeval.soft_pairwise_accuracy(human[:3], human[:3] + tied(2, (3, 30)))
    both = torch.cat([human[:3] + tied(2, (3, 30)), human[3:]])
    assert metaeval.soft_pairwise_accuracy(alone, both).item() == rest.item()
    with pytest.raises(TensorMTError, match="at least 2 are needed"):
        metaeval.soft_pairwise_accuracy(human[:1], human[:1])


def test_a_batch_of_tables_equals_a_loop():
    human, metrics = tied(1, (4, 20)), tied(2, (3, 4, 20), 30)
    whole = metaeval.soft_pairwise_accuracy(human, metrics)
    one = [metaeval.soft_pairwise_accuracy(human, table).item() for table in metrics]
    assert whole.tolist() == one


@pytest.mark.parametrize("permutations", [0, 40])
def test_draws_equal_tables_with_copies(permutations):
    """A segment that counts twice is two segments; pairs of systems count by their product."""
    human, metric = tied(1, (4, 9)), tied(2, (4, 9), 30)
    human[2, 3] = NAN
    random = np.random.default_rng(0)
    segments = torch.from_numpy(random.multinomial(9, [1 / 9] * 9, 5))
    systems = torch.from_numpy(random.multinomial(4, [1 / 4] * 4, 5))
    systems[0] = 1
    found = spa_resampled(human, metric, systems, segments, permutations=permutations)
    alone = spa_resampled(human, metric, None, segments, permutations=permutations)
    flips = random_signs(permutations, 9)
    for r in range(5):
        copies = [n for n, times in enumerate(segments[r].tolist()) for _ in range(times)]
        tables = human[:, copies], metric[:, copies]
        whole = metaeval.soft_pairwise_accuracy(*tables, permutations=permutations)
        assert float(alone[r]) == pytest.approx(float(whole), abs=1e-12)
        if permutations:
            above = below = 0
            for i, j in itertools.combinations(range(4), 2):
                kept = [n for n in copies if (n, 2) not in ((3, i), (3, j))]
                drawn = [
                    [row[k] for k, n in enumerate(copies) if n in kept] for row in flips.tolist()
                ]
                p = [
                    oracle_p([t[i][n] for n in kept], [t[j][n] for n in kept], drawn)
                    for t in (human.tolist(), metric.tolist())
                ]
                times = int(systems[r, i] * systems[r, j]) * bool(kept)
                above, below = above + times * abs(p[0] - p[1]), below + times
            assert float(found[r]) == pytest.approx(1 - above / below, abs=1e-12)
    assert float(found[0]) == pytest.approx(float(alone[0]), abs=1e-12)
    once = torch.ones(1, 9, dtype=torch.int64)
    same = spa_resampled(human, metric, None, once, permutations=permutations)
    value = metaeval.soft_pairwise_accuracy(human, metric, permutations=permutations)
    assert float(same[0]) == pytest.approx(float(value), abs=1e-12)


@pytest.mark.parametrize("permutations", [0, 60])
def test_matrices_of_p_values_are_those_of_spa(permutations):
    random = torch.Generator().manual_seed(2)
    human, metric = torch.randn(2, 5, 30, generator=random, dtype=torch.float64)
    human[1, 4:9] = human[3] = torch.nan
    metric[0, 2] = torch.nan
    sides = p_value_matrices(human, metric, permutations=permutations)
    gaps = (sides[0] - sides[1]).abs()
    assert int((~gaps.isnan()).sum()) == 6  # pairs of the four systems with scores
    expected = soft_pairwise_accuracy(human, metric, permutations=permutations)
    assert 1 - gaps.nanmean() == pytest.approx(float(expected), abs=1e-12)
