"""The edits of least cost against those that the textbook's table gives."""

import random

import pytest
from edit_oracles import edits
from hypothesis import given
from hypothesis import strategies as st
from kernels.test_edit_distance import PAIRS, sequences

from tensormt.kernels.edit_distance import align
from tensormt.kernels.edit_path import INSERTION, MATCH, SUBSTITUTION


def check_alignment(text, pattern, place, kinds, errors):
    """One pair's alignment against the oracle's edits."""
    expected = edits(text, pattern)
    codes = {"match": MATCH, "substitution": SUBSTITUTION, "insert": INSERTION}
    own = [(codes[kind], i - (kind == "insert")) for kind, i, _ in expected if kind != "delete"]
    size = len(pattern)
    assert list(zip(kinds[:size], place[:size], strict=True)) == own
    assert set(kinds[size:]) <= {MATCH}
    assert set(place[size:]) <= {-1}
    wrong = {i for kind, i, _ in expected if kind in ("substitution", "delete")}
    assert {k for k, error in enumerate(errors) if error} == wrong


def check(pairs, cells=1 << 20):
    one, two = (sequences([pair[k] for pair in pairs]) for k in (0, 1))
    found = align(one, two, cells)
    for k, pair in enumerate(pairs):
        check_alignment(*pair, *(part[k].tolist() for part in found[1:]))


@given(PAIRS, st.sampled_from([1, 50, 1 << 20]))
def test_equal_to_the_textbook(pairs, cells):
    check(pairs, cells)


@pytest.mark.parametrize("kinds", [2, 30, 600])
def test_patterns_of_several_words(kinds):
    """A path goes on from one word of 64 places to the one before."""
    rng = random.Random(kinds)
    sizes = [0, 1, 63, 64, 65, 127, 128, 129, 200]
    check(
        [
            tuple([rng.randrange(kinds) for _ in range(size)] for size in (n, m))
            for n in (5, 64, 150)
            for m in sizes
        ]
    )
