"""Minimum Bayes risk decoding."""

import pytest
import torch

import tensormt as tm
from tensormt.train.mbr import mbr, nbest
from tensormt.train.rewards import Reward


def test_the_best_with_their_scores():
    table = torch.tensor([[[1.0, 0.0], [0.5, 0.5], [0.0, 4.0]]])
    found = nbest(table, 2)
    assert found.indices.tolist() == [[2, 0]]
    assert found.scores.tolist() == [[2.0, 0.5]]
    assert nbest(table, 3).indices.tolist() == [[2, 0, 1]]  # of equals the first
    assert mbr(table).tolist() == [2]
    assert mbr(table, torch.tensor([[1.0, 0.0]])).tolist() == [0]
    logs = torch.tensor([[0.0, -20.0]])
    assert mbr(table, log_probabilities=logs).tolist() == [0]
    with pytest.raises(tm.TensorMTError, match="pass one of them"):
        mbr(table, logs, logs)
    with pytest.raises(tm.TensorMTError, match="expected one for each"):
        mbr(table, torch.ones(1, 3))
    with pytest.raises(tm.TensorMTError, match="the best 4 of 3"):
        nbest(table, 4)


def test_mbr_takes_the_sample_most_like_the_others():
    samples = torch.tensor([[[9, 8, 7, 6], [1, 2, 3, 4], [1, 2, 3, 5], [1, 2, 3, 4]]])
    table = Reward(tm.BLEU(effective_order=True)).utility(samples)
    assert mbr(table).tolist() == [1]
    assert mbr(table, torch.tensor([[1.0, 0, 0, 0]])).tolist() == [0]
