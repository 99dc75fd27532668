"""`blend` by its definition: BLEU-1 by sacrebleu, subsequences of stems in plain Python."""

import random
from pathlib import Path

import pytest
from nltk.stem.porter import PorterStemmer
from sacrebleu.metrics import BLEU

import tensormt as tm

HYPS = ["The dogs ran away home .", "a cat", "Nobody came here at all", "q r s", "x"]
REFS = [
    ["the dog ran off home .", "a cat sat on a mat", "Nobody came", "x y z", "x"],
    ["The dog has run away .", None, "nobody was here at all", "x y", None],
]


def common_subsequence(hyp, ref):
    row = [0] * (len(ref) + 1)
    for word in hyp:
        new = [0]
        for k, other in enumerate(ref):
            new.append(row[k] + 1 if word == other else max(new[k], row[k + 1]))
        row = new
    return row[-1]


def stems(line):
    stem = PorterStemmer().stem
    return [stem(word) if len(word) > 3 else word for word in line.lower().split()]


def members(hyp, refs):
    bleu = BLEU(max_ngram_order=1, lowercase=True, effective_order=True)
    own, f1 = stems(hyp), []
    for other in map(stems, refs):
        common = common_subsequence(own, other)
        f1.append(2 * common / (len(own) + len(other)))  # 2 P R / (P + R)
    return bleu.sentence_score(hyp, refs).score / 100, max(f1)


def test_blend_by_its_definition():
    found = tm.score(HYPS, REFS, ["blend"]).segments["blend"]
    for k, hyp in enumerate(HYPS):
        parts = members(hyp, [row[k] for row in REFS if row[k]])
        assert float(found[k]) == pytest.approx(sum(parts) / 2, abs=1e-9), hyp
    assert float(found[4]) == 1.0


def test_blend_sees_the_order_of_words():
    hyps = ["the dog bit the man", "the man bit the dog"]
    found = tm.score(hyps, [hyps[:1] * 2], ["blend"]).segments["blend"]
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
    assert found["system"].corpus["blend"] > found["shuffled"].corpus["blend"]


def test_blend_punishes_what_is_left_out():
    """Words of the reference alone, but half of them: no member is a bare precision."""
    ref = "the dog ran away from the old house"
    whole, half = "the dog ran away from this old house", "the dog ran away"
    found = tm.score([whole, half], [[ref, ref]], ["blend"]).segments["blend"]
    assert float(found[0]) > float(found[1])
