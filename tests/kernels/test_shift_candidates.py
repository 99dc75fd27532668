"""Candidate shifts against sacrebleu's loops."""

import random

import torch
from sacrebleu.metrics import lib_ter

from tensormt.kernels.bit_vectors import parts
from tensormt.kernels.edit_distance import align
from tensormt.kernels.ngram_overlap import Sequences
from tensormt.kernels.shift_candidates import Candidates, EqualWords, candidate_shifts


def looped(hyp, ref):
    """Candidates (start, size, target) by sacrebleu's pairs and alignment."""
    _, trace = lib_ter.BeamEditDistance(ref)(hyp)
    place, ref_errors, errors = lib_ter.trace_to_alignment(lib_ter._flip_trace(trace))
    found = []
    for start, other, size in lib_ter._find_shifted_pairs(hyp, ref):
        if not sum(errors[start : start + size]) or not sum(ref_errors[other : other + size]):
            continue
        if start <= place[other] < start + size:
            continue
        targets = [0 if k < 0 else place[k] + 1 for k in range(other - 1, other + size)]
        found += [(start, size, target) for target in dict.fromkeys(targets)]
    return found


def test_equal_to_sacrebleu():
    rng = random.Random(4)
    for _ in range(80):
        kinds = rng.choice([2, 6, 20])
        hyp, ref = ([str(rng.randrange(kinds)) for _ in range(rng.randint(1, 20))] for _ in "hr")
        own, other = (torch.tensor([int(w) for w in words]) for words in (hyp, ref))
        sides = [Sequences(s, torch.tensor([0]), torch.tensor([len(s)])) for s in (own, other)]
        found = align(*sides)
        [part] = parts(*sides)
        equal = EqualWords.find((own[:, None] == other).to(torch.uint8)[:, :, None])
        wrong, wanted = found.edits > 0, torch.tensor([True])
        shifts = candidate_shifts(
            equal, part.matches, part.text, found.place, wrong, found.errors, wanted
        )
        listed = zip(*(part.tolist() for part in shifts[1:4]), strict=True)
        assert sorted(listed) == sorted(looped(hyp, ref))
        words = [str(k) for k in range(len(hyp))]
        for start, size, target, new in zip(*(part.tolist() for part in shifts[1:]), strict=True):
            one = Candidates(*(torch.tensor([k]) for k in (0, start, size, target, new)))
            places = one.source(torch.arange(len(hyp))[:, None])[:, 0].tolist()
            assert [words[k] for k in places] == lib_ter._perform_shift(words, start, size, target)
