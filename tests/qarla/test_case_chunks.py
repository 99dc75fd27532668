"""Chunks hold every case once, with its present models in front and in their order."""

import pytest
import torch
from qarla.similarity_samples import random_similarities, real

from tensormt.qarla.case_chunks import COMPARISONS, Cases


@pytest.mark.on_a_cpu
@pytest.mark.parametrize("ragged", [False, True])
@pytest.mark.parametrize("fits", [1, 2, 100])
def test_every_case_is_in_one_chunk(ragged, fits):
    am, mm, _, models, peers = random_similarities(5, ragged, cases=7)
    found = {}
    for chunk in Cases(am, mm, models, peers, ragged).chunks(lambda w: (1, COMPARISONS // fits)):
        ids = torch.arange(7)[chunk.cases].tolist()
        assert len(ids) <= fits
        width = chunk.am.shape[2]
        assert width == (max(len(real(models)[t]) for t in ids) if ragged else 5)
        places = chunk.places.expand(len(ids), -1)
        for row, t in enumerate(ids):
            found[t] = places[row][chunk.models[row]].tolist()
            assert chunk.models[row].sum() == len(found[t])
            k = len(found[t])
            assert torch.equal(chunk.am[row, peers[t], :k], am[t, peers[t]][:, found[t]])
            assert torch.equal(chunk.mm[row, :k, :k], mm[t][found[t]][:, found[t]])
            assert torch.equal(chunk.peers[row], peers[t])
    assert [found[t] for t in range(7)] == real(models)


def test_number_of_sets():
    cases = Cases(*random_similarities(0, metrics=3)[:2], *random_similarities(0)[3:])
    assert (cases.bins(together=True), cases.bins(together=False)) == (2, 8)
