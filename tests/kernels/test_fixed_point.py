"""Exact sums against Python's fractions."""

import random
from fractions import Fraction

import torch
from hypothesis import given
from hypothesis import strategies as st

from tensormt.kernels.fixed_point import from_words, normalize_carries, to_words

VALUES = st.lists(st.floats(0, 1e6), min_size=1, max_size=40)


def cut_off(value):
    """A value without what lies below 2⁻⁸⁸."""
    return Fraction(int(Fraction(value) * 2**88 // 1), 2**88)


@given(VALUES)
def test_sums_are_those_of_fractions(values):
    words = to_words(torch.tensor(values, dtype=torch.float64)[:, None]).sum(0)
    exact = sum(map(cut_off, values))
    high, middle, low = (int(word) for word in words[:, 0])
    assert Fraction(high, 2**16) + Fraction(middle, 2**52) + Fraction(low, 2**88) == exact
    assert abs(Fraction(from_words(words).item()) - exact) <= abs(exact) * Fraction(3, 2**53)


@given(VALUES, st.integers(0, 40), st.randoms())
def test_neither_order_nor_grouping_is_seen(values, place, rng):
    table = torch.tensor(values, dtype=torch.float64)[:, None]
    whole = from_words(to_words(table).sum(0))
    order = list(range(len(values)))
    rng.shuffle(order)
    parts = [to_words(table[order][some]).sum(0) for some in (slice(place), slice(place, None))]
    assert torch.equal(
        from_words(normalize_carries(normalize_carries(parts[0]) + normalize_carries(parts[1]))),
        whole,
    )


def test_carried_words_stay_small_however_many_are_added():
    rng = random.Random(1)
    words = to_words(torch.tensor([[rng.random()] for _ in range(1000)], dtype=torch.float64))
    total = words.sum(0)
    for _ in range(60):  # doubled so often, the low words alone would overflow
        total = normalize_carries(total + total)
        if int(total[0].max()) > 2**60:
            break
        assert int(total[1:].min()) >= 0
        assert int(total[1:].max()) < 2**36


def test_integers_are_summed_as_they_are():
    table = torch.tensor([[2**53, 1], [1, 1]])
    assert from_words(normalize_carries(to_words(table).sum(0))).tolist() == [2**53 + 1, 2]
