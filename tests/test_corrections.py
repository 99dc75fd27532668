"""Corrections of p-values: worked examples, and scipy's numbers."""

import math
import random

import pytest
import scipy.stats

import tensormt as tm
from tensormt.corrections import benjamini_hochberg, correct_p_values, holm


def test_holm():
    """The worked example of four p-values: 0.01 · 4, 0.013 · 3, 0.014 · 2, 0.19."""
    assert holm([0.014, 0.01, 0.19, 0.013]) == pytest.approx([0.04, 0.04, 0.19, 0.04])
    assert holm([0.6, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


def test_benjamini_hochberg():
    """The worked example by hand: 0.01 · 4/1, 0.013 · 4/2, 0.014 · 4/3, 0.19, minima from above."""
    found = correct_p_values([0.014, 0.01, 0.19, 0.013], "bh")
    assert found == pytest.approx([0.056 / 3, 0.056 / 3, 0.19, 0.056 / 3])
    assert correct_p_values([0.3, math.nan, 0.02], "holm")[::2] == pytest.approx([0.3, 0.04])
    assert correct_p_values([0.3, 0.02], "none") == [0.3, 0.02]
    with pytest.raises(tm.TensorMTError, match="no correction named 'x'"):
        correct_p_values([0.1], "x")


@pytest.mark.parametrize("size", [1, 2, 7, 40])
def test_benjamini_hochberg_is_scipys(size):
    rng = random.Random(size)
    values = [round(rng.random(), 2) for _ in range(size)]  # with ties
    expected = scipy.stats.false_discovery_control(values).tolist()
    assert benjamini_hochberg(values) == pytest.approx(expected, rel=1e-15)
