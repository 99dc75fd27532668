"""Distances within the beam against sacrebleu's."""

import random

import torch
from sacrebleu.metrics.lib_ter import BeamEditDistance

from tensormt.kernels.beam_distance import BeamRound, within_beam
from tensormt.kernels.bit_vectors import parts
from tensormt.kernels.edit_distance import align
from tensormt.kernels.ngram_overlap import Sequences


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


def test_equal_to_sacrebleu():
    """Distance and edits; and the check of paths says where the beam matters."""
    outside = changed = 0
    for hyp, ref in cases():
        distance, trace = BeamEditDistance([str(w) for w in ref])([str(w) for w in hyp])
        own, other = torch.tensor(hyp), torch.tensor(ref)
        lengths = torch.tensor([len(hyp)]), torch.tensor([len(ref)])
        sides = [
            Sequences(part, torch.tensor([0]), size)
            for part, size in zip((own, other), lengths, strict=True)
        ]
        here = BeamRound(next(parts(*sides)))
        assert here.distance.tolist() == [distance]
        place, edits, errors = here.align()
        codes = {" ": 0, "s": 1, "i": 2}
        assert edits[0].tolist() == [codes[op] for op in trace if op != "d"]
        assert errors[0].tolist() == [op != " " for op in trace if op != "i"]
        used = [
            sum(op != "i" for op in trace[: k + 1]) - 1 for k, op in enumerate(trace) if op != "d"
        ]
        assert place[0].tolist() == used
        free = align(*sides)
        inside = within_beam(*lengths, *free[:3])
        if bool(inside):
            assert free.distance.tolist() == [distance]
            assert torch.equal(free.edits, edits)
            assert torch.equal(free.place, place)
        outside += not bool(inside)
        changed += free.distance.tolist() != [distance]
    assert outside > 3
    assert changed > 0
