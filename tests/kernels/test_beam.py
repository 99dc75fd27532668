"""Alignments within the beam against sacrebleu's."""

import random
from functools import partial
from unittest.mock import patch

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from kernels.test_edit_distance import sequences
from sacrebleu.metrics import lib_ter
from sacrebleu.metrics.lib_ter import BeamEditDistance

from tensormt.kernels.beam import beam_of, within_beam
from tensormt.kernels.edit_distance import align


def cases():
    rng = random.Random(1)
    for number in range(60):
        size, kinds = rng.choice([(5, 3), (40, 5), (90, 30), (160, 500)])
        ref = [rng.randrange(kinds) for _ in range(rng.randint(1, size))]
        if number % 3:
            hyp = [rng.randrange(kinds) for _ in range(rng.randint(1, size))]
        else:
            cut = rng.randrange(len(ref))
            hyp = ref[cut:] + ref[:cut]
        yield hyp, ref


def aligned(hyp, ref):
    """Distance, edits and errors as sacrebleu's trace has them."""
    distance, trace = BeamEditDistance([str(w) for w in ref])([str(w) for w in hyp])
    codes = {" ": 0, "s": 1, "i": 2}
    used = [sum(op != "i" for op in trace[: k + 1]) - 1 for k in range(len(trace))]
    return (
        distance,
        [place for place, op in zip(used, trace, strict=True) if op != "d"],
        [codes[op] for op in trace if op != "d"],
        [op != " " for op in trace if op != "i"],
    )


SYMBOLS = st.lists(st.integers(0, 1), max_size=14)


@settings(max_examples=600)
@given(SYMBOLS, SYMBOLS.filter(bool), st.integers(1, 3))
def test_narrow_beams(hyp, ref, width):
    """Where the beam is narrow nearly every path touches its border."""
    narrow = partial(beam_of, width=width)
    found = align(*map(sequences, ([hyp], [ref])), beam_of=narrow)
    with patch.object(lib_ter, "_BEAM_WIDTH", width):
        assert [part[0].tolist() for part in found] == [*aligned(hyp, ref)]


def test_equal_to_sacrebleu():
    """Distance and edits; and the check of paths says where the beam matters."""
    outside = changed = 0
    for hyp, ref in cases():
        sides = sequences([hyp]), sequences([ref])
        found = align(*sides, beam_of=beam_of)
        assert [part[0].tolist() for part in found] == [*aligned(hyp, ref)]
        free = align(*sides)
        if bool(within_beam(*(side.lengths for side in sides), *free[:3])):
            assert all(torch.equal(*both) for both in zip(free, found, strict=True))
        else:
            outside += 1
        changed += not torch.equal(free.distance, found.distance)
    assert outside > 3
    assert changed > 0
