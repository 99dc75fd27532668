"""Scores of different items and weights of other sizes are errors that name the shapes."""

import pytest
import torch

from tensormt import metaeval
from tensormt.errors import TensorMTError
from tensormt.metaeval.checks import broadcast_scores, check_tables, full_mask


def test_scores_and_mask_are_broadcast_to_one_shape():
    x, y, mask = torch.rand(2, 1, 5), torch.rand(3, 5), torch.tensor([True] * 4 + [False])
    found = broadcast_scores(x, y, mask)
    assert [part.shape for part in found] == [(2, 3, 5)] * 3
    assert found[2].sum() == 2 * 3 * 4
    assert broadcast_scores(x, y)[2].all()


@pytest.mark.parametrize("shapes", [((5,), (4,)), ((5,), (1,)), ((2, 5), (3, 5)), ((0,), (0,))])
def test_scores_of_different_items(shapes):
    with pytest.raises(TensorMTError, match="expected the same items, at least one"):
        broadcast_scores(*(torch.zeros(shape) for shape in shapes))


def test_masks_of_other_shapes():
    with pytest.raises(TensorMTError, match=r"a mask of shape \[3\] for scores of shape \[2\]"):
        full_mask(torch.zeros(2), torch.ones(3, dtype=torch.bool))


def test_weights_of_systems_and_segments():
    human = torch.zeros(4, 3, 5)
    check_tables(human, human, torch.ones(4, 3, dtype=torch.int64), torch.ones(5).long())
    with pytest.raises(
        TensorMTError, match=r"systems of shape \[4\]: expected how often each of 3"
    ):
        check_tables(human, human, torch.ones(4).long())
    with pytest.raises(TensorMTError, match=r"dimensions \[4\] and \[4\] and \[2\] of scores and"):
        check_tables(human, human, torch.ones(2, 3).long())
    with pytest.raises(TensorMTError, match="nothing counts less than 0 times"):
        check_tables(human, human, segments=torch.tensor([1, 1, 1, 1, -1]))


def test_integers_are_converted():
    assert metaeval.pearson(torch.tensor([1, 2, 4]), torch.tensor([1, 2, 4])) == pytest.approx(1)


def test_former_names_are_the_same_functions():
    assert metaeval.agreement is metaeval.correlate
    assert metaeval.exchange is metaeval.pairwise_permutation
