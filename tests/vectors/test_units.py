"""Pairs of words and heads: vectors, heads, keys. Pieces and words: test_batch.py."""

import pytest
import torch
from vector_samples import batch, random_vectors

import tensormt as tm
from tensormt.errors import TensorMTError


def source():
    """Two texts with an empty one between them; `un|able` are two pieces, `don't` is one."""
    made = random_vectors(1, [4, 0, 3])
    made.texts = ["an unable dog", "", "don't (go"]
    none = [0, 0]
    made.spans = torch.tensor(
        [none, [0, 2], [3, 5], [5, 9], [10, 13], none, none, [0, 5], [6, 7], [7, 9], none]
    )
    made.words = torch.tensor([-1, 0, 1, 1, 2, -1, -1, 0, 1, 2, -1])
    return made


TREES = tm.TreeBatch.from_heads(
    [["an", "unable", "dog"], [], ["do", "n't", "-LRB-", "go"]], [[3, 3, 0], [], [4, 1, 4, 0]]
)


def test_words_of_trees_have_the_vectors_of_the_pieces_that_they_touch():
    made = source()
    units = made.with_trees(TREES).units("pairs")
    assert units.lengths.tolist() == [3, 0, 4]
    assert units.head.tolist() == [2, 2, 2, 3, 0, 3, 3]
    assert units.real.all()
    touched = [[1], [2, 3], [4], [7], [7], [8], [9]]
    expected = torch.stack([made.vectors[rows].sum(0) for rows in touched])
    assert torch.allclose(units.vectors, expected, atol=1e-6)
    assert batch(made.with_trees(TREES)).strings("pairs") == [
        ["an ← dog", "unable ← dog", "dog"],
        [],
        ["do ← go", "n't ← do", "( ← go", "go"],
    ]


def test_words_behind_the_last_piece_do_not_count():
    made = source()
    made.texts = [made.texts[0] + " barks", *made.texts[1:]]
    words, heads = TREES.to_heads()
    trees = tm.TreeBatch.from_heads([[*words[0], "barks"], *words[1:]], [[3, 3, 4, 0], *heads[1:]])
    units = made.with_trees(trees).units("pairs")
    assert units.real.tolist() == [True] * 3 + [False] + [True] * 4


def test_pairs_have_the_keys_of_their_words():
    """Of the pieces in their order: `unable` is two, `do` and `n't` touch the same one."""
    units = source().with_trees(TREES).units("pairs")
    words = source().units("words")
    assert units.key.tolist() == words.key[[0, 1, 2, 3, 3, 4, 5]].tolist()


def test_pairs_without_trees():
    with pytest.raises(TensorMTError, match="need trees"):
        source().units("pairs")
    with pytest.raises(TensorMTError, match="2 trees for 3 texts"):
        source().with_trees(TREES[:2])
