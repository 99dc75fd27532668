"""BERTScore of random vectors against the definition in plain Python."""

from functools import partial

import pytest
import soft_oracle
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from vector_samples import batch, pieces, random_trees, random_vectors, words

import tensormt as tm
from tensormt.contextual import engine
from tensormt.errors import SegmentError

SIZES = st.lists(st.tuples(st.integers(0, 7), st.integers(1, 7), st.integers(0, 7)), max_size=6)


def units(source, text, kind, once):
    """Vectors, keys, and which of them count."""
    if kind == "words":
        vectors, keys = words(source, text)
        return vectors, keys, [1.0] * len(keys)
    vectors, keys, numbers = pieces(source, text)
    if once:  # special symbols would take part in pairs
        vectors, keys = vectors[1:-1], keys[1:-1]
        numbers = numbers[1:-1]
    return vectors, keys, [float(number >= 0) for number in numbers]


def expected(metric, sources):
    """Best precision, recall and F of any reference that is there."""
    once = metric.matching == "one_to_one"
    hyp, *refs = sources
    every = [
        [key for key, real in zip(*units(ref, k, metric.units, once)[1:], strict=True) if real]
        for ref in refs
        for k in range(len(ref.lengths))
    ]
    weight = soft_oracle.idf(every) if metric.idf else lambda key: 1.0
    found = []
    for k in range(len(hyp.lengths)):
        rows = []
        for ref in refs:
            if ref.lengths[k]:
                sides = [units(side, k, metric.units, once) for side in (hyp, ref)]
                weights = [
                    [real * weight(key) for key, real in zip(side[1], side[2], strict=True)]
                    for side in sides
                ]
                match = soft_oracle.one_to_one if once else soft_oracle.greedy
                vectors = [side[0] for side in sides]
                rows.append(soft_oracle.scores(*vectors, *weights, match, metric.threshold))
        found.append([1.0, *(max(column) for column in zip(*rows, strict=True))])
    return torch.tensor(found, dtype=torch.float64).view(-1, 4)


@pytest.mark.parametrize("idf", [False, True])
@pytest.mark.parametrize("kind", ["pieces", "words"])
@pytest.mark.parametrize("matching", ["greedy", "one_to_one"])
@settings(max_examples=20)
@given(sizes=SIZES, seed=st.integers(0, 99), threshold=st.sampled_from([0.0, 0.5]))
def test_equal_to_the_definition(matching, kind, idf, sizes, seed, threshold):
    metric = tm.BERTScore(matching=matching, units=kind, idf=idf, threshold=threshold)
    columns = list(zip(*sizes, strict=True)) or [(), (), ()]
    sources = [random_vectors(seed + k, column) for k, column in enumerate(columns)]
    hyp, *refs = map(batch, sources)
    found = metric.statistics(hyp, refs)
    assert torch.allclose(found, expected(metric, sources), atol=1e-5)
    for k in range(len(hyp)):  # alone, with the weights of all
        alone = tm.BERTScore(matching=matching, units=kind, idf=idf, threshold=threshold)
        alone.fit(refs)
        own = alone.statistics(hyp[k], [ref[k] for ref in refs])
        assert torch.allclose(own[0], found[k], atol=1e-6)


def pair_units(source, heads, text):
    """Pairs (vector of the word, vector of its head), and the words, by which idf counts them."""
    vectors, ids, _ = (part[1:-1] for part in pieces(source, text))
    above = [head - 1 if head else k for k, head in enumerate(heads[text])]
    pairs = [(vectors[k], vectors[head]) for k, head in enumerate(above)]
    return pairs, ids


@pytest.mark.parametrize("idf", [False, True])
@pytest.mark.parametrize("matching", ["greedy", "one_to_one"])
@settings(max_examples=20)
@given(sizes=SIZES, seed=st.integers(0, 99), threshold=st.sampled_from([0.0, 0.3]))
def test_pairs_equal_the_definition(matching, idf, sizes, seed, threshold):
    metric = tm.BERTScore(matching=matching, units="pairs", idf=idf, threshold=threshold)
    columns = list(zip(*sizes, strict=True)) or [(), (), ()]
    made = [random_trees(seed, random_vectors(seed + k, own)) for k, own in enumerate(columns)]
    hyp, *refs = [batch(source) for source, _ in made]
    found = metric.statistics(hyp, refs)
    every = [
        pair_units(*side, k)[1] for side in made[1:] for k in range(len(sizes)) if columns[1][k]
    ]
    weight = soft_oracle.idf(every) if idf else lambda key: 1.0
    match = partial(getattr(soft_oracle, matching), cosine=soft_oracle.pair_similarity)
    for k, row in enumerate(found[:, 1:].tolist()):
        own = pair_units(*made[0], k)
        expected = [0.0, 0.0, 0.0]
        for number, side in enumerate(made[1:], 1):
            if columns[number][k]:
                other = pair_units(*side, k)
                weights = [[weight(key) for key in keys] for keys in (own[1], other[1])]
                scores = soft_oracle.scores(own[0], other[0], *weights, match, threshold)
                expected = [max(pair) for pair in zip(expected, scores, strict=True)]
        assert row == pytest.approx(expected, abs=1e-5)


def test_parts_of_any_size_give_the_same():
    sources = [random_vectors(k, [5, 0, 9, 1, 7, 3]) for k in (1, 2)]
    hyp, ref = map(batch, sources)
    metric = tm.BERTScore(matching="one_to_one")
    found = []
    for cells, parts in ((1, 5), (120, 4), (1 << 20, 1)):
        rows = torch.zeros(6, dtype=torch.float64)
        pairs = engine.Pairs(metric, hyp, ref, None, cells)
        rows[pairs.segments] = pairs.shares()[0]
        found.append(rows)
        assert len(pairs.parts) in (parts, 1)  # a device takes all at once
    assert torch.allclose(found[0], found[1], atol=1e-6)
    assert torch.allclose(found[0], found[2], atol=1e-6)


def test_order_and_absence_of_references_change_nothing():
    hyp, one, two = (batch(random_vectors(k, [4, 6])) for k in range(3))
    none = batch(random_vectors(9, [0, 0]))
    metric = tm.BERTScore()
    found = metric.statistics(hyp, [one, two])
    assert torch.equal(found, metric.statistics(hyp, [two, none, one]))
    assert (found >= metric.statistics(hyp, [one])).all()


def test_a_text_equals_itself_and_an_empty_one_has_nothing():
    source = random_vectors(1, [4, 6, 0])
    some = batch(source)
    for kind in ("pieces", "words"):
        for matching in ("greedy", "one_to_one"):
            metric = tm.BERTScore(units=kind, matching=matching)
            scores = metric(some[[0, 1, 2]], [some[[0, 1, 1]]])
            assert torch.allclose(scores, torch.tensor([1.0, 1.0, 0.0]).double(), atol=1e-6)
    with pytest.raises(SegmentError, match="segment 2 has no reference"):
        tm.BERTScore()(some[[0, 1]], [some[[0, 2]]])


def test_words_said_twice_gain_by_greedy_matching_only():
    source = random_vectors(5, [3])
    vectors, ids, numbers = source.vectors, source.ids, torch.tensor([-1, 0, 1, 2, -1])
    source.words = numbers
    twice = random_vectors(5, [6])
    inner = torch.tensor([1, 1, 2, 2, 3, 3])
    rows = torch.cat([torch.tensor([0]), inner, torch.tensor([4])])
    twice.vectors, twice.ids = vectors[rows], ids[rows]
    twice.words = torch.tensor([-1, 0, 1, 2, 3, 4, 5, -1])
    hyp, ref = batch(twice), batch(source)
    assert tm.BERTScore(units="words")(hyp, [ref]).item() == pytest.approx(1.0, abs=1e-6)
    once = tm.BERTScore(units="words", matching="one_to_one", balance="precision")
    assert once(hyp, [ref]).item() == pytest.approx(0.5, abs=1e-6)
