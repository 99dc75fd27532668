"""VectorBatch: pieces and words of texts, by number."""

import pytest
import torch
from vector_samples import batch, random_vectors, words

from tensormt.errors import TensorMTError
from tensormt.inputs import Contextual
from tensormt.kernels.backend import mix
from tensormt.vectors.batch import VectorBatch


def test_words_are_the_means_of_their_pieces():
    source = random_vectors(1, [5, 0, 1, 8])
    units = source.units("words")
    for text in range(4):
        vectors, ids = words(source, text)
        low = int(units.starts[text])
        assert units.lengths[text] == len(vectors)
        own = slice(low, low + len(vectors))
        expected = torch.tensor(vectors).view(-1, 5)
        assert torch.allclose(units.vectors[own], expected, atol=1e-6)
        assert torch.allclose(units.scale[own] * expected.norm(dim=1), torch.ones(len(vectors)))
        for key, pieces in zip(units.key[low : low + len(vectors)].tolist(), ids, strict=True):
            parts = torch.tensor([number + (k << 32) for k, number in enumerate(pieces)])
            assert key == int(mix(parts).sum())
    assert units.real.all()


def test_words_with_equal_pieces_in_another_order_differ():
    source = random_vectors(2, [2, 2])
    source.words = torch.tensor([-1, 0, 0, -1, -1, 0, 0, -1])
    source.ids = torch.tensor([0, 5, 6, 1, 0, 6, 5, 1])
    first, second = source.units("words").key.tolist()
    assert first != second


def test_pieces_keep_special_symbols_without_weight():
    units = random_vectors(1, [2, 0, 1]).units("pieces")
    assert units.lengths.tolist() == [4, 0, 3]
    assert units.real.tolist() == [False, True, True, False, False, True, False]
    assert torch.allclose(units.vectors.norm(dim=-1) * units.scale, torch.ones(7))


def test_a_choice_of_segments_shares_the_vectors():
    whole = batch(random_vectors(1, [2, 0, 1]))
    some = whole[[2, 2, 0]]
    assert some.source is whole.source
    assert some.lengths.tolist() == [3, 3, 4]
    assert len(whole[1:]) == 2
    assert whole[-1].rows.tolist() == [2]
    assert "3 segments" in repr(whole)


def test_strings_are_cut_from_the_text():
    source = random_vectors(1, [2])
    source.texts, source.spans = ["catdog"], torch.tensor([[0, 0], [0, 3], [3, 6], [0, 0]])
    source.words = torch.tensor([-1, 0, 0, -1])
    assert batch(source).strings("pieces") == [["", "cat", "dog", ""]]
    assert batch(source).strings("words") == [["catdog"]]


def test_what_an_input_of_vectors_accepts():
    reads = Contextual()
    assert isinstance(reads.empty(), VectorBatch)
    with pytest.raises(TensorMTError, match=r"BERTScore compares contextual vectors but got str"):
        reads.check("BERTScore", "text")
