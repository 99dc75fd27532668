"""`blend` by its definition: BLEU-2 by sacrebleu, words and subsequences in plain Python."""

import random
from collections import Counter
from pathlib import Path

import pytest
from sacrebleu.metrics import BLEU

import tensormt as tm

HYPS = ["The dog ran away home .", "a cat", "Nobody came here at all", "q r s", "x"]
REFS = [
    ["the dog ran off home .", "a cat sat on a mat", "Nobody came", "x y z", "x"],
    ["The dog has run away .", None, "nobody was here at all", "x y", None],
]


class Chain:
    """A stand-in for a parser of dependencies: each word hangs on the one before it."""

    fingerprint = "chain-1"
    kind = "dependency"

    def __call__(self, lines):
        words = [(line or "").split() for line in lines]
        return tm.TreeBatch.from_heads(words, [list(range(len(row))) for row in words])


def matched(hyp, ref):
    return sum((Counter(hyp) & Counter(ref)).values())


def f1(matches, hyp, ref):
    p, r = matches / len(hyp), matches / len(ref)
    return 2 * p * r / (p + r) if matches else 0.0


def common_subsequence(hyp, ref):
    row = [0] * (len(ref) + 1)
    for word in hyp:
        new = [0]
        for k, other in enumerate(ref):
            new.append(row[k] + 1 if word == other else max(new[k], row[k + 1]))
        row = new
    return row[-1]


def members(hyp, refs):
    low, lows = hyp.lower().split(), [ref.lower().split() for ref in refs]
    words, others = hyp.split(), [ref.split() for ref in refs]
    floor = 1e-3  # of HWCM: what a fraction of 0 becomes

    def smoothed(ref):
        p, r = (max(matched(words, ref) / len(side), floor) for side in (words, ref))
        return 2 * p * r / (p + r)

    return [
        BLEU(max_ngram_order=2, lowercase=True, effective_order=True)
        .sentence_score(hyp, refs)
        .score
        / 100,
        max(f1(common_subsequence(low, ref), low, ref) for ref in lows),
        max(map(smoothed, others)),
    ]


def test_blend_by_its_definition():
    found = tm.score(HYPS, REFS, ["blend"], parser=Chain()).segments["blend"]
    for k, hyp in enumerate(HYPS):
        parts = members(hyp, [row[k] for row in REFS if row[k]])
        assert float(found[k]) == pytest.approx(sum(parts) / 3, abs=1e-9), hyp
    assert float(found[4]) == 1.0


def test_blend_sees_the_order_of_words():
    hyps = ["the dog bit the man", "the man bit the dog"]
    found = tm.score(hyps, [hyps[:1] * 2], ["blend"], parser=Chain()).segments["blend"]
    assert float(found[0]) == 1.0 > float(found[1])


def test_words_in_random_order_are_no_translation():
    """The right words without order score below the output of a system with other words."""
    folder = Path(__file__).resolve().parents[2] / "examples"
    ref, system = (
        (folder / f"{name}.txt").read_text(encoding="utf-8").splitlines()
        for name in ("ref1", "sysB")
    )
    rng = random.Random(1)
    rows = [line.rstrip(".").split() for line in ref]
    shuffled = [" ".join(rng.sample(words, len(words))) + "." for words in rows]
    found = tm.score({"system": system, "shuffled": shuffled}, [ref], ["blend"])
    assert found["system"].corpus["blend"] > found["shuffled"].corpus["blend"] + 0.03


def test_blend_punishes_what_is_left_out():
    """Words of the reference alone, but half of them: no member is a bare precision."""
    ref = "the dog ran away from the old house"
    whole, half = "the dog ran away from this old house", "the dog ran away"
    found = tm.score([whole, half], [[ref, ref]], ["blend"], parser=Chain()).segments["blend"]
    assert float(found[0]) > float(found[1])
