"""Parts of similarity tensors, and the measures as methods."""

import pytest
import torch
from qarla.similarity_samples import random_tensors

from tensormt import qarla
from tensormt.errors import TensorMTError
from tensormt.qarla.similarity_tensors import SimilarityTensors


def test_a_part_of_the_tensors():
    one = random_tensors(0, ragged=True)
    part = one.take(metrics=[2, 0], peers=[0])
    assert part.names == ("x2", "x0")
    assert part.am.shape == (4, 1, 5, 2)
    torch.testing.assert_close(
        part.queen()[:, 0], one.take(metrics=[0, 2]).queen()[[0, 1, 2, 4], 0]
    )
    with pytest.raises(TensorMTError, match="no similarity metric was given"):
        SimilarityTensors.from_tables({}, torch.ones(1, 2, dtype=torch.bool), 1)


def test_tables_are_split_into_three_parts():
    table = torch.arange(2 * 5 * 5, dtype=torch.float64).reshape(2, 5, 5)
    present = torch.tensor([[True] * 5, [True, True, True, False, True]])
    found = SimilarityTensors.from_tables({"x": table, "y": -table}, present, peers=2)
    for part, rows, columns in (("am", (0, 1), (2, 3, 4)), ("mm", (2, 3, 4), (2, 3, 4))):
        for t, (i, row), (j, column) in (
            (t, i, j) for t in range(2) for i in enumerate(rows) for j in enumerate(columns)
        ):
            values = getattr(found, part)[t, i, j].tolist()
            assert values == [float(table[t, row, column]), -float(table[t, row, column])]
    assert found.peer_mask.tolist() == [[True, True], [True, True]]
    assert found.model_mask.tolist() == [[True] * 3, [True, False, True]]


def test_methods_are_the_functions_with_both_masks():
    one = random_tensors(3, ragged=True)
    assert torch.equal(one.queen("all"), qarla.queen(one.am, one.mm, "all", **one.masks))
    kings = qarla.king_sets(one.am, one.mm, False, **one.masks)
    assert torch.equal(one.king_sets(leave_one_out=False), kings)
    two = one.with_two_peers()
    assert torch.equal(two.jack(), qarla.jack(two.am, two.mm, two.aa, **two.masks))
    with pytest.raises(TensorMTError, match="no case has two peers"):
        one.take(peers=[0]).with_two_peers()
