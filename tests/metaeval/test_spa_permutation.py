"""The test of SPA: sums of exchanged scores against exchanged tables, by a slow oracle."""

import itertools
import math

import numpy as np
import pytest
import torch

from tensormt.errors import TensorMTError
from tensormt.metaeval.resample import BLOCK, swaps_of_shape
from tensormt.metaeval.spa import PERMUTATIONS, random_signs
from tensormt.metaeval.spa_permutation import CACHE_SHARE, pairwise_permutation_spa

NAN = float("nan")
SHAPES = {"both": (4, 9), "systems": (4, 1), "segments": (1, 9)}


def tied(seed, shape, levels=6):
    return torch.from_numpy(np.random.default_rng(seed).integers(0, levels, shape) / 4.0 - 0.5)


def scaled(table, kept):
    """Mean 0 and variance 1 over the outputs that count."""
    values = [table[s][n] for s, n in kept]
    mean = math.fsum(values) / len(values)
    spread = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / len(values))
    return [[(v - mean) / spread for v in row] for row in table]


def oracle_p(gaps, flips):
    """The share of sign changes, or the normal limit where there are none."""
    seen = math.fsum(gaps)
    if flips:
        sums = (math.fsum(s * g for s, g in zip(row, gaps, strict=True)) for row in flips)
        return sum(total >= seen - 1e-9 for total in sums) / len(flips)
    square = math.fsum(g * g for g in gaps)
    return 0.5 * math.erfc(seen / math.sqrt(2 * square)) if square > 1e-12 else 1.0


def oracle_spa(human, metric, kept, flips):
    errors = []
    for i, j in itertools.combinations(range(len(human)), 2):
        common = [n for n in range(len(human[0])) if (i, n) in kept and (j, n) in kept]
        if not common:
            continue
        drawn = [[row[n] for n in common] for row in flips]
        p = [oracle_p([t[i][n] - t[j][n] for n in common], drawn) for t in (human, metric)]
        errors.append(abs(p[0] - p[1]))
    return 1 - sum(errors) / len(errors)


def oracle_null(human, first, second, swap, flips):
    """The difference of two exchanged metrics, every score looked up on its own."""
    cells = list(itertools.product(range(4), range(9)))
    kept = {
        (s, n) for s, n in cells if not any(math.isnan(t[s][n]) for t in (human, first, second))
    }
    sides = scaled(first, kept), scaled(second, kept)

    def moved(s, n):
        return swap[s if len(swap) > 1 else 0][n if len(swap[0]) > 1 else 0]

    one, other = (
        [[sides[moved(s, n) ^ turn][s][n] for n in range(9)] for s in range(4)] for turn in (0, 1)
    )
    return oracle_spa(human, one, kept, flips) - oracle_spa(human, other, kept, flips)


@pytest.mark.parametrize("units", list(SHAPES))
@pytest.mark.parametrize("permutations", [0, 50])
@pytest.mark.parametrize("gaps", ["none", "whole", "scattered"])
def test_equal_to_exchanged_tables(units, permutations, gaps):
    human = tied(1, (4, 9))
    metrics = torch.stack([human + tied(seed, (4, 9), 20) for seed in (2, 3, 4)])
    if gaps == "whole":  # a segment and a system without any score
        human[:, 4] = metrics[:, 2] = NAN
    if gaps == "scattered":
        human[1, 2] = metrics[1, 3, 5] = NAN
    found = pairwise_permutation_spa(human, metrics, units, permutations, resamples=12, seed=7)
    draws = torch.cat(list(swaps_of_shape(SHAPES[units], 12, 36, 7, "cpu"))).tolist()
    flips = []
    if permutations:
        judged = ~human.isnan().all(dim=0)
        placed = torch.zeros(permutations, 9, dtype=torch.float64)
        placed[:, judged] = random_signs(permutations, int(judged.sum()))
        flips = placed.tolist()
    for a, b in itertools.combinations(range(3), 2):
        tables = human.tolist(), metrics[a].tolist(), metrics[b].tolist()
        expected = [oracle_null(*tables, swap, flips) for swap in draws]
        assert found.null[:, a, b].tolist() == pytest.approx(expected, abs=1e-10)
        assert found.null[:, b, a].tolist() == pytest.approx([-e for e in expected], abs=1e-10)
    for k in range(3):
        own = metrics[k].tolist()
        kept = {
            (s, n)
            for s, n in itertools.product(range(4), range(9))
            if not math.isnan(own[s][n] + human[s, n].item())
        }
        expected = oracle_spa(human.tolist(), own, kept, flips)
        assert found.values[k].item() == pytest.approx(expected, abs=1e-12)


def test_chunks_of_draws_change_nothing():
    """The more metrics there are, the fewer draws fit a chunk; the draws are the same."""
    human = tied(1, (4, 9))
    metrics = torch.stack([human + tied(seed, (4, 9), 20) for seed in range(2, 10)])
    draws = 3 * BLOCK // (CACHE_SHARE * len(human) * len(metrics) * PERMUTATIONS)
    assert draws > 10
    many = pairwise_permutation_spa(human, metrics, resamples=draws).null
    two = pairwise_permutation_spa(human, metrics[:2], resamples=draws).null
    assert torch.allclose(many[:, :2, :2], two, rtol=0, atol=1e-12)


def test_the_same_metric_twice_and_wrong_units():
    human = tied(1, (4, 9))
    metrics = torch.stack([human + tied(2, (4, 9), 20)] * 2)
    found = pairwise_permutation_spa(human, metrics, resamples=20)
    assert found.null.abs().max() < 1e-12
    assert found.p()[0, 1] == 1
    with pytest.raises(TensorMTError, match="units is 'pairs', expected both"):
        pairwise_permutation_spa(human, metrics, "pairs")


@pytest.mark.parametrize("permutations", [0, 50])
@pytest.mark.parametrize("gaps", ["none", "scattered"])
def test_further_draws_of_some_pairs_are_those_of_one_run(permutations, gaps):
    human = tied(1, (4, 9))
    metrics = torch.stack([human + tied(seed, (4, 9), 20) for seed in (2, 3, 4, 5)])
    if gaps == "scattered":
        human[1, 2] = metrics[1, 3, 5] = NAN
    full = pairwise_permutation_spa(human, metrics, permutations=permutations, resamples=20)
    wanted = torch.zeros(4, 4, dtype=torch.bool)
    wanted[0, 2] = wanted[2, 0] = wanted[2, 3] = wanted[3, 2] = True
    some = pairwise_permutation_spa(
        human, metrics, permutations=permutations, resamples=20, first=7, wanted=wanted
    )
    assert torch.equal(some.values, full.values)
    expected = full.null[7:] * wanted
    torch.testing.assert_close(some.null, expected, rtol=0, atol=1e-12)
