"""The bit-parallel programs against the textbook's, over words of 64 places and beyond."""

import random

import pytest
import torch
from edit_oracles import distance
from hypothesis import given
from hypothesis import strategies as st

from tensormt.kernels.edit_distance import align, distances
from tensormt.kernels.ngram_overlap import Sequences

SYMBOLS = st.lists(st.integers(0, 3), max_size=12)


def sequences(rows, dtype=torch.int32):
    lengths = torch.tensor([len(row) for row in rows], dtype=torch.int64)
    flat = [symbol for row in rows for symbol in row] or [0]
    return Sequences(torch.tensor(flat, dtype=dtype), lengths.cumsum(0) - lengths, lengths)


PAIRS = st.lists(st.tuples(SYMBOLS, SYMBOLS), max_size=8)


@given(PAIRS, st.sampled_from([1, 50, 1 << 20]), st.sampled_from([0, 600]))
def test_equal_to_the_textbook(pairs, cells, more):
    """Few kinds of symbols are looked up, more than 512 compared."""
    pairs = [tuple([symbol + more for symbol in side] for side in pair) for pair in pairs]
    one, two = (sequences([pair[k] for pair in pairs]) for k in (0, 1))
    assert distances(one, two, cells).tolist() == [distance(*pair) for pair in pairs]
    assert align(one, two, cells).distance.tolist() == [distance(*pair) for pair in pairs]


@pytest.mark.parametrize("kinds", [2, 30, 600])
def test_patterns_of_several_words(kinds):
    """Carries and shifts go from one word of 64 places to the next."""
    rng = random.Random(kinds)
    sizes = [0, 1, 63, 64, 65, 127, 128, 129, 200]
    pairs = [
        tuple([rng.randrange(kinds) for _ in range(size)] for size in (n, m))
        for n in (5, 64, 150)
        for m in sizes
    ]
    one, two = (sequences([pair[k] for pair in pairs], torch.int16) for k in (0, 1))
    assert distances(one, two).tolist() == [distance(*pair) for pair in pairs]


def test_no_pairs():
    none = sequences([])
    assert distances(none, none).tolist() == []
    assert align(none, none).place.shape == (0, 0)
