"""Error rates on a device: see fake_cuda.py. Nothing here has run on a real one."""

import random

import pytest
import torch
from fake_cuda import DeviceTensor, FakeCuda, to_host

import tensormt as tm

METRICS = [tm.TER(), tm.WER(), tm.CER(lowercase=True), tm.PER()]


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.signature)
def test_everything_stays_on_the_device(metric):
    """Same statistics, on the device to the end, with a bounded number of host syncs."""
    rng = random.Random(4)
    streams = [
        [
            " ".join(rng.choices("abcdE", k=rng.randint(1, 20 if metric.name == "TER" else 80)))
            for _ in range(9)
        ]
        for _ in "hrs"
    ]
    hyp, *refs = tm.TokenBatch.from_texts(streams, metric.tokenize)
    expected = metric.statistics(hyp, refs)
    with FakeCuda() as cuda:
        there = metric.statistics(hyp.to("cuda"), [ref.to("cuda") for ref in refs])
        scores = metric.score(there)
    assert isinstance(there, DeviceTensor)
    assert isinstance(scores, DeviceTensor)
    assert torch.equal(to_host(there), expected)
    assert cuda.syncs.total() <= (600 if metric.name == "TER" else 30)
