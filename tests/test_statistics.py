"""Statistics and Totals: scores of segments and corpora, exact sums in any order and grouping."""

import json
import math
import random
from fractions import Fraction

import numpy as np
import pytest

import tensormt as tm
from tensormt.errors import TensorMTError
from tensormt.evaluator import Evaluator
from tensormt.segments import Segments
from tensormt.statistics import Statistics, Totals

HYPS = {"a": ["the dog ran", "a cat", "it is"], "b": [None, None, None]}
REFS = [["the dog ran home", "the cat sat", "it was so"]]


def found(**more):
    return Evaluator(["bleu", "bm"]).evaluate(Segments(HYPS, REFS, **more))


def test_segments_and_corpora():
    own = found()
    expected = tm.score(HYPS["a"], REFS, ["bleu", "bm"])
    for name in ("bleu", "bm"):
        assert np.array_equal(own.segments(name)[0], expected.segments[name])
        assert own.corpus(name)[0].item() == pytest.approx(expected.corpus[name])
        assert np.isnan(own.segments(name)[1]).all()
        assert np.isnan(own.corpus(name)[1])  # a system without any output has no score
    assert len(own) == 3


def test_parts():
    own = found(documents=["x", "y", "x"])
    some = own.of_segments(np.array([2, 0]))
    assert np.array_equal(some.tables["bleu"], own.tables["bleu"][:, [2, 0]])
    assert some.documents == ["x", "x"]
    again = Statistics.concat([own.of_segments(np.array([k])) for k in range(3)])
    assert np.array_equal(again.tables["bm"], own.tables["bm"])
    assert again.documents == own.documents
    with pytest.raises(TensorMTError, match="no segments"):
        Statistics.concat([])


def test_totals_of_documents_and_corpus():
    own = found(documents=["x", "y", "x"])
    totals = Totals()
    for k in range(3):
        totals.add(own.of_segments(np.array([k])))
    expected = tm.score(HYPS["a"], REFS, ["bleu", "bm"], docs=["x", "y", "x"])
    assert totals.corpus_scores(own.metrics, "a") == expected.corpus
    assert totals.document_scores(own.metrics, "a") == expected.documents
    assert totals.document_names == ["x", "y"]
    again = Totals.from_json(json.loads(json.dumps(totals.to_json())))
    assert again.document_scores(own.metrics, "a") == expected.documents
    none = Totals()
    assert none.corpus_scores(own.metrics, "a") == {"bleu": 0.0, "bm": 0.0}
    assert none.document_scores(own.metrics, "a") == {}
    bare = Totals()
    bare.add(own, documents=False)
    assert bare.document_names == []


def test_documents_are_summed_exactly_in_any_order_and_grouping():
    """Sums of fixed-point numbers with 88 bits behind the point, against Python's integers."""
    rng = random.Random(5)
    values = [[rng.random() * 10.0 ** rng.randint(-9, 6) for _ in range(2)] for _ in range(200)]
    counts = [[rng.randint(0, 9) for _ in range(3)] for _ in range(200)]
    docs = [f"d{rng.randint(0, 12)}" for _ in range(200)]
    fixed = {
        doc: [
            sum(
                math.floor(Fraction(v[k]) * 2**88)
                for v, d in zip(values, docs, strict=True)
                if d == doc
            )
            for k in range(2)
        ]
        for doc in docs
    }
    whole = {
        doc: [sum(c[k] for c, d in zip(counts, docs, strict=True) if d == doc) for k in range(3)]
        for doc in docs
    }
    for size in (1, 17, 200):
        order = list(range(200))
        rng.shuffle(order)
        parts = []
        for start in range(0, 200, size):
            some = order[start : start + size]
            part = Totals()
            found = {
                "float": np.array([[values[k] for k in some]]),
                "whole": np.array([[counts[k] for k in some]]),
            }
            present = np.ones((1, len(some)), bool)
            part.add(Statistics({}, found, present, ["A"], [docs[k] for k in some]))
            parts.append(Totals.from_json(json.loads(json.dumps(part.to_json()))))
        total = Totals()
        for part in parts:
            total.merge(part)
        names, tables = total.document_names, total.document_sums("A")
        assert sorted(names) == sorted(set(docs))
        for number, doc in enumerate(names):
            high, middle, low = tables["float"][:, number].tolist()
            own = [(h << 72) + (m << 36) + w for h, m, w in zip(high, middle, low, strict=True)]
            assert own == fixed[doc]
            assert tables["whole"][0, number].tolist() == whole[doc]
        high, middle, low = total.to_json()["corpus"]["A"]["float"]
        own = [(h << 72) + (m << 36) + w for h, m, w in zip(high, middle, low, strict=True)]
        assert own == [sum(column) for column in zip(*fixed.values(), strict=True)]
