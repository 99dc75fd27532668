"""Discordant and tied pairs against a loop over all pairs, for masks and for weights."""

import itertools
import random

import torch
from hypothesis import given
from hypothesis import strategies as st

from tensormt.kernels import kendall
from tensormt.kernels.kendall import compare_orders, dense, inversions, tied_pairs


def oracle(first, second, weight):
    """Discordant pairs, and those tied in the first, the second and both."""
    counts = [0, 0, 0, 0]
    for i, j in itertools.combinations(range(len(first)), 2):
        times = weight[i] * weight[j]
        a, b = first[i] - first[j], second[i] - second[j]
        for k, holds in enumerate((a * b < 0, a == 0, b == 0, a == b == 0)):
            counts[k] += times * holds
    return counts


def rows_of(rng, items, levels):
    return [[rng.randrange(levels) / 4 for _ in range(items)] for _ in range(3)]


@given(st.integers(0, 2**32), st.integers(1, 25), st.sampled_from([1, 3, 100]), st.booleans())
def test_all_pairs(seed, items, levels, masked):
    rng = random.Random(seed)
    first, second = rows_of(rng, items, levels), rows_of(rng, items, 5)
    weight = [[rng.randrange(2 if masked else 4) for _ in range(items)] for _ in range(3)]
    times = torch.tensor(weight)
    found = compare_orders(
        torch.tensor(first, dtype=torch.float64),
        torch.tensor(second, dtype=torch.float64),
        times.to(torch.bool) if masked else times,
    )
    expected = [oracle(*row) for row in zip(first, second, weight, strict=True)]
    assert torch.stack(found, 1).tolist() == expected


def test_long_rows_equal_the_batch():
    """From a certain length and number of items scipy counts, unless there are weights."""
    generator = torch.Generator().manual_seed(0)
    first, second = (
        torch.randint(0, levels, (2, kendall.LONG + 7), generator=generator).to(torch.float64)
        for levels in (40, 10**6)
    )
    mask = torch.rand(first.shape, generator=generator) < 0.9
    second[1] = 0.5  # nothing to order
    long = compare_orders(first, second, mask, many=1)
    for one, two in zip(long, compare_orders(first, second, mask.to(torch.int64)), strict=True):
        assert torch.equal(one, two)


def test_ranks_inversions_and_ties():
    values, real = torch.tensor([[3.0, 1.0, 3.0, 9.0]]), torch.tensor([[True, True, True, False]])
    assert dense(values, real).tolist() == [[1, 0, 1, 3]]
    weight = torch.tensor([[1, 2, 1, 3]])
    assert inversions(torch.tensor([[3, 1, 2, 1]]), weight).tolist() == [2 + 1 + 3 + 3]
    assert tied_pairs(torch.tensor([[0, 0, 1, 1]]), weight).tolist() == [2 + 3]
