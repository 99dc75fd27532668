"""The chart with both algebras against a sum or a maximum over all binary trees."""

import math

import pytest
import torch
from fake_cuda import DeviceTensor, FakeCuda, to_host
from hypothesis import given
from hypothesis import strategies as st
from oracles import all_trees

from tensormt.kernels.charts import best, best_trees, climb, log_sum, marginals


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


def spans_of(slots):
    """The spans of a tree, and the parent of each, from best_trees' slots of one sentence."""
    start, width, above = slots.tolist()
    spans = [(i, i + w) for i, w in zip(start, width, strict=True)]
    kept = [k for k, w in enumerate(width) if w]
    return [spans[k] for k in kept], [spans[above[k]] for k in kept[1:]]


@pytest.mark.parametrize("rows", [2, 40])  # both orders in memory
@given(length=st.integers(1, 6), seed=st.integers(0, 2**31))
def test_best_trees_are_the_best_of_all(rows, length, seed):
    scores = random_scores(length, seed).repeat(rows // 2, 1, 1)
    lengths = torch.tensor([length, length - 1] * (rows // 2))
    found = best_trees(scores, lengths)
    assert torch.equal(found, found[:, :2].repeat(1, rows // 2, 1))
    for b in range(2):
        table, size = scores[b].tolist(), int(lengths[b])
        if not size:
            assert not found[:, b].any()
            continue
        tree = max(all_trees(0, size), key=lambda t: sum(table[i][j] for i, j in t))
        spans, parents = spans_of(found[:, b])
        assert spans == sorted(tree, key=lambda span: (span[0], -span[1]))  # in preorder
        for (i, j), (a, c) in zip(spans[1:], parents, strict=True):
            inside = [(x, y) for x, y in tree if x <= i and j <= y and (x, y) != (i, j)]
            assert (a, c) == min(inside, key=lambda span: span[1] - span[0])


def test_of_equal_splits_the_first_is_taken():
    spans, _ = spans_of(best_trees(torch.zeros(1, 4, 4), torch.tensor([3]))[:, 0])
    assert spans == [(0, 3), (0, 1), (1, 3), (1, 2), (2, 3)]


def test_one_loop_two_algebras():
    """Scores so far apart that the best tree has all the mass."""
    scores = random_scores(8, 3) * 1e7
    chart, _ = climb(scores.permute(1, 2, 0), best)
    inside, shares = climb(scores.permute(1, 2, 0), log_sum)
    torch.testing.assert_close(inside.by_start, chart.by_start)
    for share in shares:
        torch.testing.assert_close(share.amax(1), torch.ones_like(share[:, 0]))


def test_nothing_to_split():
    assert climb(torch.zeros(2, 2, 2), best)[1] == []
    assert marginals(torch.zeros(2, 2, 2), torch.tensor([1, 0]))[:, 0, 1].tolist() == [1, 0]
    assert best_trees(torch.zeros(0, 4, 4), torch.zeros(0, dtype=torch.int64)).shape == (3, 0, 5)


def test_charts_stay_on_the_device():
    scores, lengths = random_scores(7, 3), torch.tensor([7, 4])
    with FakeCuda() as cuda:
        there = scores.to("cuda"), lengths.to("cuda")
        found = [marginals(*there, kernel=False)]
        assert not cuda.syncs
        found.append(best_trees(*there, kernel=False))
        assert sum(cuda.syncs.values()) == 2  # the chart and the lengths are read
    assert all(isinstance(tensor, DeviceTensor) for tensor in found)
    assert torch.equal(to_host(found[0]), marginals(scores, lengths))
    assert torch.equal(to_host(found[1]), best_trees(scores, lengths))
