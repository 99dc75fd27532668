"""Counts of triples for every set of metrics against loops over the triples."""

import itertools

import pytest
import torch
from qarla.similarity_samples import members, random_similarities, real, triples_of

from tensormt.kernels import queen_counts
from tensormt.kernels.queen_counts import TRIPLES


def passed(to_models, mm, models, metrics, triples, without=None):
    """Triples that a text passes with all of the metrics, of models other than `without`."""
    return sum(
        all(to_models[m][x] >= mm[first][second][x] for x in metrics)
        for m, first, second in triples_of(models, triples)
        if without not in (m, first, second)
    )


@pytest.mark.parametrize("triples", TRIPLES)
@pytest.mark.parametrize("ragged", [False, True])
def test_counts_of_all_sets(triples, ragged):
    am, mm, _, models, peers = random_similarities(7, ragged)
    weight = queen_counts.triple_weights(peers, models, triples)
    counts = queen_counts.set_counts(am, mm, weight, triples, 8)
    without = queen_counts.set_counts_without_each(am, mm, weight, triples, 8)
    together = queen_counts.set_counts(am, mm, weight, triples, 2)
    assert counts.dtype == without.dtype == torch.int32
    assert torch.equal(together[..., 1], counts[..., 7])
    for t, a, index in itertools.product(range(3), range(4), range(8)):
        present = real(models)[t] if peers[t, a] else []
        texts = am[t, a].tolist(), mm[t].tolist(), present, members(index, 3), triples
        assert counts[t, a, index] == passed(*texts)
        for m in range(5):
            assert without[t, a, m, index] == passed(*texts, without=m)


@pytest.mark.parametrize("triples", TRIPLES)
def test_triples_without_the_candidate(triples):
    """Where the candidates are the models, a candidate is compared with the others only."""
    _, mm, _, models, _ = random_similarities(8, ragged=True)
    weight = queen_counts.triple_weights(models, models, triples)
    weight = queen_counts.without_each(weight, triples)
    counts = queen_counts.set_counts(mm, mm, weight, triples, 8)
    for t, m, index in itertools.product(range(3), range(5), range(8)):
        present = real(models)[t] if models[t, m] else []
        texts = mm[t, m].tolist(), mm[t].tolist(), present, members(index, 3), triples
        assert counts[t, m, index] == passed(*texts, without=m)


def test_superset_sums():
    histogram = torch.randint(0, 9, (2, 16), generator=torch.Generator().manual_seed(0))
    expected = [
        [sum(row[c] for c in range(16) if c & s == s) for s in range(16)]
        for row in histogram.tolist()
    ]
    assert queen_counts.superset_sums(histogram.clone()).tolist() == expected


def test_masks_are_bits():
    one, two = torch.tensor([True, True, False]), torch.tensor([False, True, True])
    assert queen_counts.write_masks([one, two], together=False).tolist() == [1, 3, 2]
    assert queen_counts.write_masks([one, two], together=True).tolist() == [0, 1, 0]
