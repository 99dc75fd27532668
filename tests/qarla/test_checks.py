"""Similarities that cannot be used are errors that name the case and the shapes."""

import pytest
from qarla.similarity_samples import random_similarities

from tensormt import qarla
from tensormt.errors import TensorMTError
from tensormt.qarla.checks import check_sets, fewest_models


def test_too_few_models():
    am, mm, *_ = random_similarities(0, models=2)
    assert qarla.queen(am, mm).shape == (3, 4)
    with pytest.raises(
        TensorMTError,
        match=r"case 1 has 2 models: triples='pairs' with one left out needs at least 3",
    ):
        qarla.king(am, mm)
    with pytest.raises(
        TensorMTError, match=r"case 1 has 2 models: triples='distinct' needs at least 3"
    ):
        qarla.queen(am, mm, "distinct")
    am, mm, _, model_mask, _ = random_similarities(0)
    model_mask[2, 2:] = False
    with pytest.raises(TensorMTError, match="case 3 has 2 models"):
        qarla.king(am, mm, model_mask=model_mask)


def test_one_peer_and_none():
    am, mm, aa, _, peer_mask = random_similarities(0)
    assert qarla.king(am[:, :1], mm).shape == ()
    with pytest.raises(TensorMTError, match="case 1 has 1 peer: JACK compares two peers"):
        qarla.jack(am[:, :1], mm, aa[:, :1, :1])
    peer_mask[1] = False
    with pytest.raises(TensorMTError, match="case 2 has no peer"):
        qarla.queen(am, mm, peer_mask=peer_mask)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_nan_is_named(number):
    parts = list(random_similarities(0)[:3])
    parts[number][1, 2, 3, 1] = float("nan")
    name = ("am", "mm", "aa")[number]
    place = rf"{name}\[1, 2, 3, 1\] = \[case, \w+, \w+, metric\] is NaN"
    with pytest.raises(TensorMTError, match=place):
        qarla.jack(*parts)


def test_wrong_shapes_and_names():
    am, mm, aa, model_mask, _ = random_similarities(0)
    with pytest.raises(TensorMTError, match=r"am is .*\[4, 5, 3\].*, expected numbers \[cases"):
        qarla.queen(am[0], mm)
    with pytest.raises(TensorMTError, match=r"mm has shape \[3, 5, 5, 2\].*\[3, 5, 5, 3\]"):
        qarla.queen(am, mm[..., :2])
    with pytest.raises(TensorMTError, match=r"aa has shape \[3, 4, 4, 2\].*\[3, 4, 4, 3\]"):
        qarla.jack(am, mm, aa[..., :2])
    with pytest.raises(TensorMTError, match="triples is 'some', expected"):
        qarla.king(am, mm, triples="some")
    with pytest.raises(TensorMTError, match=r"model_mask is torch.bool of shape \[2, 5\]"):
        qarla.queen(am, mm, model_mask=model_mask[:2])
    with pytest.raises(TensorMTError, match="at least one case, peer, model and metric"):
        qarla.queen(am[:0], mm[:0])


def test_too_many_metrics_to_enumerate():
    check_sets(16)
    with pytest.raises(TensorMTError, match=r"17 metrics have 2\^17 sets.*use greedy_set"):
        check_sets(17)


def test_fewest_models():
    """m', m'' different: 2; all three different: 3; one more if one is left out."""
    for triples, count in (("all", 1), ("pairs", 2), ("distinct", 3)):
        assert fewest_models(triples, leave_one_out=False) == count
        assert fewest_models(triples, leave_one_out=True) == count + 1
