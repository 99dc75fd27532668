"""Words by frequency and part of speech, against counting in plain Python."""

import random
from collections import Counter

import numpy as np
import pytest
from reporting.page_samples import read_page

import tensormt as tm
from tensormt.evaluator import Evaluator
from tensormt.reporting.collect import collect
from tensormt.reporting.overview import word_buckets
from tensormt.segments import Segments

RNG = random.Random(3)
TAGS = ["NN", "VB", "IN"]


def tree(words):
    return f"(S {' '.join(f'({tag} {word})' for tag, word in words)})"


def sentence(size):
    return [(RNG.choice(TAGS), f"w{int(40 * RNG.random() ** 2)}") for _ in range(size)]


REFS = [[sentence(RNG.randint(1, 8)) for _ in range(30)] for _ in range(2)]
REFS[1][3] = REFS[1][7] = None
HYPS = {
    name: [[own if RNG.random() < share else sentence(1)[0] for own in line] for line in REFS[0]]
    for name, share in (("A", 0.8), ("B", 0.5))
}
HYPS["B"][5] = None  # no output


def matched(one, two):
    """The (tag, word) of `one` that are matched: the first ones, as many as `two` has."""
    left, found = Counter(word for _, word in two), []
    for tag, word in one:
        if left[word] > 0:
            left[word] -= 1
            found.append((tag, word))
    return found


def expected(name, bucket_of):
    """Precision, recall and number of reference words by bucket, and segments that lack one."""
    sums, lacks = {}, {}
    for i, hyp in enumerate(HYPS[name]):
        if hyp is None:
            continue
        refs = [stream[i] for stream in REFS if stream[i]]
        ref = max(refs, key=lambda r: 2 * len(matched(hyp, r)) / (len(hyp) + len(r)))
        sides = (hyp, matched(hyp, ref)), (ref, matched(ref, hyp))
        for place, (own, taken) in enumerate(sides):
            for kind, words in enumerate((taken, own)):
                for word in words:
                    cell = sums.setdefault(bucket_of(word), [0, 0, 0, 0])
                    cell[2 * place + kind] += 1
        for bucket in map(bucket_of, (Counter(ref) - Counter(matched(ref, hyp)))):
            lacks.setdefault(bucket, set()).add(i)
    return sums, lacks


def collected():
    def texts(stream):
        return [None if line is None else tree(line) for line in stream]

    segments = Segments({k: texts(v) for k, v in HYPS.items()}, [texts(own) for own in REFS])
    from tensormt.trees.sources import TreesAsText

    return collect(Evaluator(["stm"], TreesAsText("brackets")), segments, size=7)


COUNTS = Counter(word for stream in REFS for line in stream if line for _, word in line)


def frequency(word):
    count = COUNTS[word[1]]
    return str(count) if count < 5 else "5–9" if count < 10 else "10–99" if count else None


@pytest.mark.parametrize("way", [0, 1])
def test_precision_recall_and_missed_words(way):
    found = word_buckets(collected())[way]
    assert found["title"] == ("word frequency", "part of speech")[way]
    names = {"NN": "NN noun", "VB": "VB verb, base form", "IN": "IN preposition"}
    for s, name in enumerate(HYPS):
        sums, lacks = expected(name, (frequency, lambda word: names[word[0]])[way])
        for k, label in enumerate(found["labels"]):
            f1, low, high, precision, recall = found["words"][k][s]
            own, output, ref, reference = sums[label]
            assert found["n"][k][s] == reference
            assert precision == pytest.approx(own / output, abs=1e-6)
            assert recall == pytest.approx(ref / reference, abs=1e-6)
            assert f1 == pytest.approx(2 * precision * recall / (precision + recall), abs=1e-6)
            assert low <= f1 <= high
            bits = np.nonzero((found["missed"][s] >> k) & 1)[0]
            assert set(bits.tolist()) == lacks.get(label, set())
        assert set(sums) - {"0"} == set(found["labels"])


def test_pages_without_trees_have_frequencies_alone(tmp_path):
    page = read_page(
        tm.report({"A": ["a b a", "c"]}, [["a b b", "c c c"]], ["bleu"], tmp_path / "r")
    )
    [way] = [way for way in page.meta["buckets"] if "words" in way]
    assert (way["labels"], way["n"]) == (["1", "2", "3"], [[1], [2], [3]])
    assert way["words"][1][0][3:] == [1.0, 0.5]
    assert page.array(way["missed"][0]).tolist() == [0b010, 0b100]
