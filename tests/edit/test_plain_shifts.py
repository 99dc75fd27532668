"""Translation edits in plain Python against sacrebleu's search."""

import random
from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from kernels.test_shifts import moved
from sacrebleu.metrics import lib_ter
from sacrebleu.metrics.lib_ter import translation_edit_rate

import tensormt as tm
from tensormt.edit import plain_shifts
from tensormt.edit.plain_shifts import MAX_CANDIDATES, translation_edits
from tensormt.kernels import beam, shift_candidates, shifts
from tensormt.plain import MAX_SEGMENTS

WORDS = st.lists(st.sampled_from("abcd"), max_size=14)


@settings(max_examples=400, deadline=None)
@given(WORDS, WORDS.filter(bool))
def test_equal_to_sacrebleu(hyp, ref):
    assert translation_edits(hyp, ref) == translation_edit_rate(hyp, ref)[0]


@settings(max_examples=400, deadline=None)
@given(WORDS, WORDS.filter(bool), st.integers(1, 3))
@example(list("aacc"), list("bbccaa"), 1)
@example(list("acb"), list("dac"), 1)  # a run that would pass the word aligned with its first
@example(list("ddcabbbbb"), list("dac"), 1)  # a deletion where both words lead out of the beam
def test_narrow_beams(hyp, ref, width):
    """Where the beam is narrow nearly every path touches its border."""
    found = translation_edits(hyp, ref, width=width)
    with patch.object(lib_ter, "_BEAM_WIDTH", width):
        assert found == translation_edit_rate(hyp, ref)[0]


@pytest.mark.parametrize("kinds", [6, 50, 500])
def test_long_pairs(kinds):
    """Shifts of ten words, more than 1,000 candidates, paths that leave the beam."""
    rng = random.Random(kinds)
    for size in (40, 90):
        ref = [str(rng.randrange(kinds)) for _ in range(size)]
        others = [str(rng.randrange(kinds)) for _ in range(size // 3)]
        for hyp in (moved(rng, ref, 3), moved(rng, ref, 9)[: size // 2], others):
            assert translation_edits(hyp, ref) == translation_edit_rate(hyp, ref)[0]


def test_no_shift_after_so_many_candidates():
    """sacrebleu stops where the last candidate reaches the limit."""
    ref = list("abcd")
    hyp = ref[2:] + ref[:2]
    for limit in range(1, 20):
        found = translation_edits(hyp, ref, max_candidates=limit)
        with patch.object(lib_ter, "_MAX_SHIFT_CANDIDATES", limit):
            assert found == translation_edit_rate(hyp, ref)[0]
    assert lib_ter._MAX_SHIFT_CANDIDATES == MAX_CANDIDATES
    assert translation_edits(hyp, ref) == 1


def test_many_segments_and_repeated_words_take_the_engine():
    metric = tm.TER()
    few, many, repeated = (
        tm.TokenBatch.from_text(lines, metric.tokenize)
        for lines in (["a b"], ["a b"] * (MAX_SEGMENTS + 1), ["a b " * 30])
    )
    assert metric._plain_statistics(few, [few]) == [[1.0, 0.0, 2.0]]
    assert metric._plain_statistics(many, [many]) is None
    assert metric._plain_statistics(repeated, [repeated]) is None


def test_limits_are_those_of_the_engine():
    engine = shifts.MAX_CANDIDATES, shift_candidates.MAX_SIZE, shift_candidates.MAX_DISTANCE
    assert engine == (MAX_CANDIDATES, plain_shifts.MAX_SIZE, plain_shifts.MAX_DISTANCE)
    assert plain_shifts.BEAM == beam.BEAM
