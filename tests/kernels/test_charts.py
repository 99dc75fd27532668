"""The chart with both algebras against a sum or a maximum over all binary trees."""

import math

import pytest
import torch
from fake_cuda import DeviceTensor, FakeCuda, to_host
from hypothesis import given
from hypothesis import strategies as st
from oracles import all_trees

from tensormt.kernels.charts import best, climb, log_sum, marginals, splits


def random_scores(length, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(2, length + 1, length + 1, dtype=torch.float64, generator=generator)


@given(st.integers(1, 6), st.integers(0, 2**31))
def test_marginals_are_shares_of_all_trees(length, seed):
    scores = random_scores(length, seed)
    found = marginals(scores, torch.tensor([length, length]))
    for b in range(2):
        table = scores[b].tolist()
        weight = [
            (tree, math.exp(sum(table[i][j] for i, j in tree))) for tree in all_trees(0, length)
        ]
        total = sum(mass for _, mass in weight)
        for i in range(length):
            for j in range(i + 1, length + 1):
                share = sum(mass for tree, mass in weight if (i, j) in tree) / total
                assert found[b, i, j].item() == pytest.approx(share, abs=1e-12)


@given(st.integers(2, 6), st.integers(0, 2**31))
def test_splits_are_those_of_the_best_trees(length, seed):
    scores = random_scores(length, seed)
    found = splits(scores)
    for b in range(2):
        table = scores[b].tolist()
        for i in range(length):
            for j in range(i + 2, length + 1):
                tree = max(all_trees(i, j), key=lambda t: sum(table[a][c] for a, c in t))
                assert i + found[b, i, j - i].item() == tree[1][1]


def test_one_loop_two_algebras():
    """Scores so far apart that the best tree has all the mass: shares are one at its splits."""
    scores = random_scores(8, 3) * 1e7
    for cut, share in zip(climb(scores, best), climb(scores, log_sum), strict=True):
        assert torch.equal(share.argmax(-1), cut)
        torch.testing.assert_close(share.amax(-1), torch.ones(cut.shape, dtype=torch.float64))


def test_nothing_to_split():
    assert climb(torch.zeros(2, 2, 2), best) == []
    assert marginals(torch.zeros(2, 2, 2), torch.tensor([1, 0]))[:, 0, 1].tolist() == [1, 0]
    assert splits(torch.zeros(0, 4, 4)).shape == (0, 4, 4)


def test_charts_stay_on_the_device():
    scores, lengths = random_scores(7, 3), torch.tensor([7, 4])
    with FakeCuda() as cuda:
        found = [marginals(scores.to("cuda"), lengths.to("cuda")), splits(scores.to("cuda"))]
    assert all(isinstance(tensor, DeviceTensor) for tensor in found)
    assert not cuda.syncs
    assert torch.equal(to_host(found[0]), marginals(scores, lengths))
    assert torch.equal(to_host(found[1]), splits(scores))
