"""The choice of the reference, and pairs of several streams."""

import torch

import tensormt as tm
from tensormt.edit import engine
from tensormt.ngram.references import References


def test_best_reference():
    """The smallest rate; of equal ones the shortest; absent ones never."""
    edits = torch.tensor([[2, 4, 0, 2], [1, 2, 5, 1], [9, 1, 1, 1]])
    lengths = torch.tensor([[4, 8, 0, 4], [4, 4, 5, 2], [0, 1, 3, 2]])
    assert engine.best(edits, lengths).tolist() == [1, 1, 2, 1]
    rows = engine.best_rows(edits, lengths)
    assert rows.tolist() == [[1, 1, 4], [1, 2, 4], [1, 1, 3], [1, 1, 2]]


def test_dictionaries_of_their_own():
    """Batches that were read apart are compared by their words."""
    hyp = tm.TokenBatch.from_text(["b a new", "c"], "none")
    refs = [tm.TokenBatch.from_text(lines, "none") for lines in (["a b", "b c"], ["new", "d"])]
    ready = References(refs)
    assert engine.edit_distances(hyp, ready).tolist() == [[2, 1], [2, 1]]
    assert engine.bag_distances(hyp, ready).tolist() == [[1, 1], [2, 1]]
