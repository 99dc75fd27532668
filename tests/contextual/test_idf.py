"""Weights of units against their definition."""

import pytest
import soft_oracle
import torch
from vector_samples import batch, pieces, random_vectors, words

from tensormt.contextual.idf import ReferenceCounts, no_counts
from tensormt.errors import TensorMTError


def test_counts_of_references_whatever_their_parts():
    source = random_vectors(4, [6, 0, 3, 1, 9, 4])
    whole = batch(source)
    for kind in ("pieces", "words"):
        units = source.units(kind)
        at_once = no_counts().add(whole, kind)
        parts = no_counts().add(whole[:2], kind).add(whole[2:], kind)
        assert at_once.total == parts.total == 5  # a blank text is no reference
        merged = no_counts().add(whole[2:], kind).merge(no_counts().add(whole[:2], kind))
        for other in (parts, merged):
            assert other.total == 5
            assert torch.equal(at_once.keys, other.keys)
            assert torch.equal(at_once.counts, other.counts)
        if kind == "pieces":
            documents = [pieces(source, k)[1][1:-1] for k in range(6)]
        else:
            documents = [words(source, k)[1] for k in range(6)]
        weight = soft_oracle.idf(documents)
        expected = [weight(unit) for own in documents for unit in own]
        found = at_once.weights(units.key[units.real])
        assert torch.allclose(found, torch.tensor(expected, dtype=torch.float64))


def test_a_unit_that_no_reference_has():
    counts = no_counts().add(batch(random_vectors(4, [3])), "pieces")
    assert counts.weights(torch.tensor([[77]])).tolist() == [[torch.tensor(2.0).double().log()]]
    assert no_counts().weights(torch.tensor([5])).tolist() == [0.0]


def test_counts_are_kept_in_a_file_and_serve_their_own_units(tmp_path):
    counts = no_counts("minilm-words").add(batch(random_vectors(4, [6, 3])), "words")
    counts.save(tmp_path / "counts")
    again = ReferenceCounts.load(tmp_path / "counts")
    names = ("kind", "total", "keys", "counts")
    for own, other, name in zip(counts.facts, again.facts, names, strict=False):
        assert torch.equal(own, other) if isinstance(own, torch.Tensor) else own == other, name
    for other in ("minilm-pieces", "tiny-words"):
        with pytest.raises(TensorMTError, match="counts of minilm-words cannot serve"):
            again.check(other)
        with pytest.raises(TensorMTError, match="cannot serve"):
            no_counts(other).merge(again)
