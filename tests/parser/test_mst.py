"""Maximum spanning trees against the best of all trees."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensormt.parser.mst import best_tree


def brute(scores):
    """Score of the best tree with one root, of all trees there are."""
    size = len(scores) - 1
    best = -np.inf
    for code in range((size + 1) ** size):
        heads = [code // (size + 1) ** k % (size + 1) for k in range(size)]
        if heads.count(0) == 1 and all(_leads_to_root(heads, w) for w in range(size)):
            best = max(best, sum(scores[d + 1][h] for d, h in enumerate(heads)))
    return best


def _leads_to_root(heads, word):
    for _ in heads:
        if heads[word] == 0:
            return True
        word = heads[word] - 1
    return False


@given(st.integers(1, 5), st.integers(0, 10**6))
def test_spanning_trees_are_the_best_of_all(size, seed):
    scores = np.random.default_rng(seed).normal(size=(size + 1, size + 1))
    heads = best_tree(scores)[1:]
    assert (heads == 0).sum() == 1
    assert all(_leads_to_root(heads.tolist(), word) for word in range(size))
    assert sum(scores[d + 1][h] for d, h in enumerate(heads)) == pytest.approx(brute(scores))
