"""Shifts and edits against sacrebleu's search, pair by pair."""

import random
from unittest.mock import patch

import pytest
import torch
from edit_oracles import bag_distance
from hypothesis import given, settings
from hypothesis import strategies as st
from kernels.test_edit_distance import sequences
from sacrebleu.metrics import lib_ter
from sacrebleu.metrics.lib_ter import translation_edit_rate

from tensormt.kernels.shifts import Shift, translation_edits

SYMBOLS = st.lists(st.integers(0, 4), max_size=12)


def found(pairs, cells=1 << 21, made=None, width=25):
    one, two = (sequences([pair[k] for pair in pairs]) for k in (0, 1))
    unshared = torch.tensor([bag_distance(*pair) for pair in pairs], dtype=torch.int64)
    return translation_edits(one, two, unshared, cells, made, width).tolist()


def expected(pairs):
    return [
        translation_edit_rate(*([str(w) for w in words] for words in pair))[0] for pair in pairs
    ]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(SYMBOLS, SYMBOLS), min_size=1, max_size=8), st.sampled_from([1, 1 << 21]))
def test_equal_to_sacrebleu(pairs, cells):
    assert found(pairs, cells) == expected(pairs)


LONGER = st.lists(st.integers(0, 3), min_size=1, max_size=14)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(LONGER, LONGER), min_size=1, max_size=8), st.integers(1, 3))
def test_narrow_beams(pairs, width):
    """Where the beam is narrow, paths leave it before, during and after shifts."""
    # leaves it only once a shift has reached as few edits as the words allow
    pairs = [*pairs, ([0, 0, 2, 2], [1, 1, 2, 2, 0, 0]), ([1, 2, 2, 1, 0], [1, 2, 1, 0, 0, 2])]
    one = found(pairs, width=width)
    with patch.object(lib_ter, "_BEAM_WIDTH", width):
        assert one == expected(pairs)


def moved(rng, words, times):
    """The words with some runs of them moved."""
    words = words[:]
    for _ in range(times):
        start, size = rng.randrange(len(words)), rng.randint(1, 12)
        run = words[start : start + size]
        del words[start : start + size]
        place = rng.randint(0, len(words))
        words[place:place] = run
    return words


@pytest.mark.heavy(needs="minutes")
@pytest.mark.parametrize("kinds", [6, 50, 500])
def test_long_pairs(kinds):
    """Several integers of bits, shifts of ten words, more than 1,000 candidates, the beam."""
    rng = random.Random(kinds)
    pairs = []
    for size in (40, 64, 65, 90, 130):
        ref = [rng.randrange(kinds) for _ in range(size)]
        pairs += [(moved(rng, ref, 3), ref), (moved(rng, ref, 9)[: size // 2], ref)]
        pairs.append(([rng.randrange(kinds) for _ in range(size // 3)], ref))
    assert found(pairs) == expected(pairs)


def test_order_of_pairs_does_not_matter():
    rng = random.Random(9)
    refs = [[rng.randrange(20) for _ in range(rng.randint(1, 30))] for _ in range(30)]
    pairs = [(moved(rng, ref, 2), ref) for ref in refs]
    whole = found(pairs)
    assert found(pairs[::-1]) == whole[::-1]
    assert [found([pair])[0] for pair in pairs] == whole


def test_parts_go_on_together():
    """A part of long hypotheses with short references, and one of long references."""
    rng = random.Random(3)
    long = [rng.randrange(90) for _ in range(70)]
    pairs = [(moved(rng, long[:60], 3) + [95] * 30, long[:60]), (moved(rng, long, 3)[:60], long)]
    pairs += [(moved(rng, long[:9], 2), long[:9]), ([], long), (long, [])]
    assert found(pairs, cells=6000) == expected(pairs)


def test_shifts_are_told():
    made: list[Shift] = []
    assert found([([3, 0, 1, 2], [0, 1, 2, 3]), ([5], [5])], made=made) == [1, 0]
    shifts = [tuple(part.tolist() for part in shift) for shift in made if len(shift.pair)]
    assert shifts == [([0], [0], [1], [3])]
