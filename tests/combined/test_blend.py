"""`blend` by its definition: characters by sacrebleu, words and chains counted in plain Python."""

from collections import Counter

import pytest
from sacrebleu.metrics import CHRF

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


def chains(text, length):
    words = text.split()
    return Counter(tuple(words[k : k + length]) for k in range(len(words) - length + 1))


def fraction(hyp, others, whole, length):
    """Clipped matches over the chains of `whole`, None where it has none."""
    most = Counter()
    for other in others:
        most |= chains(other, length)
    count = sum(chains(whole, length).values())
    matched = sum((chains(hyp, length) & most).values())
    return max(matched / count, 1e-3) if count else None


def words_f1(hyp, refs):
    def one(ref):
        p, r = fraction(hyp, [ref], hyp, 1), fraction(hyp, [ref], ref, 1)
        return 2 * p * r / (p + r)

    return max(map(one, refs))


def chains_brevity(hyp, refs):
    found = [fraction(hyp, refs, hyp, length) for length in (1, 2, 3)]
    found = [value for value in found if value is not None]
    size = len(hyp.split())
    near = min((len(ref.split()) for ref in refs), key=lambda n: (abs(n - size), n))
    penalty = 1.0 if size >= near else 2.718281828459045 ** (1 - near / size)
    return penalty * sum(found) / len(found)


def test_blend_by_its_definition():
    found = tm.score(HYPS, REFS, ["blend"], parser=Chain()).segments["blend"]
    letters = CHRF(beta=1, lowercase=True, whitespace=True)
    for k, hyp in enumerate(HYPS):
        refs = [row[k] for row in REFS if row[k]]
        parts = [
            letters.sentence_score(hyp, refs).score / 100,
            words_f1(hyp, refs),
            chains_brevity(hyp, refs),
        ]
        assert float(found[k]) == pytest.approx(sum(parts) / 3, abs=1e-9), hyp
    assert float(found[4]) == 1.0


def test_blend_punishes_what_is_left_out():
    """Words of the reference alone, but half of them: no member is a bare precision."""
    ref = "the dog ran away from the old house"
    whole, half = "the dog ran away from this old house", "the dog ran away"
    found = tm.score([whole, half], [[ref, ref]], ["blend"], parser=Chain()).segments["blend"]
    assert float(found[0]) > float(found[1])
