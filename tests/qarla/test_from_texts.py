"""Similarity tensors of texts, against the metrics on single pairs of texts."""

import pytest
from qarla.text_samples import MODELS, OUTPUTS, judged_set, tensors_of

from tensormt.errors import TensorMTError
from tensormt.ngram.bleu import BLEU
from tensormt.text.tokens import TokenBatch


def test_the_tensors_hold_every_pair():
    tensors = tensors_of(judged_set())
    assert tensors.am.shape == (3, 3, 4, 5)
    assert tensors.peer_mask.tolist() == [[True] * 3, [True, True, False], [True] * 3]
    assert tensors.model_mask.sum(dim=1).tolist() == [4, 3, 4]
    metric = BLEU(max_order=2)

    def bleu(candidate, reference):
        return metric(TokenBatch.from_text([candidate]), [TokenBatch.from_text([reference])]).item()

    for t in range(3):
        peers = [OUTPUTS[s][t] for s in range(3)]
        for i, peer in enumerate(peers):
            for j, model in enumerate(MODELS[t]):
                expected = bleu(peer, model) if peer else 0.0
                assert tensors.am[t, i, j, 4].item() == pytest.approx(expected)
            for j, other in enumerate(peers):
                expected = bleu(peer, other) if peer and other else 0.0
                assert tensors.aa[t, i, j, 4].item() == pytest.approx(expected)
        for i, model in enumerate(MODELS[t]):
            for j, other in enumerate(MODELS[t]):
                assert tensors.mm[t, i, j, 4].item() == pytest.approx(bleu(model, other))
    assert tensors.am[0, 0, 0, 0].item() == pytest.approx(3 / 6)


def test_wrong_names():
    with pytest.raises(TensorMTError, match="'vector-x': expected a number of terms"):
        tensors_of(judged_set(), ["vector-x"])
