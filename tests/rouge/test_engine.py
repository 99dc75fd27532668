"""The choice of the reference, and the engine on a device."""

import random

import pytest
import torch
from fake_cuda import DeviceTensor, FakeCuda, to_host

import tensormt as tm
from tensormt.rouge import engine

METRICS = [tm.ROUGE(variant) for variant in ("1", "3", "l", "lsum", "w", "s", "su")]
METRICS += [tm.ROUGE("2", stem=True, references="jackknife")]


def test_best():
    scores = torch.tensor([[0.5, 0.0, 0.2], [0.5, 0.0, 0.9]])
    present = torch.tensor([[True, False, True], [True, True, False]])
    assert engine.best(scores, present).tolist() == [0, 1, 0]


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.signature)
def test_everything_stays_on_the_device(metric):
    rng = random.Random(4)
    sizes = [[rng.randint(1, 80) for _ in range(9)] for _ in range(3)]
    streams = [[" ".join(rng.choices(["a", "bs", "c\n", "d"], k=k)) for k in own] for own in sizes]
    hyp, *refs = tm.TokenBatch.from_texts(streams, metric.reads.tokenize)
    expected = metric.statistics(hyp, refs)
    with FakeCuda() as cuda:
        there = metric.statistics(hyp.to("cuda"), [ref.to("cuda") for ref in refs])
        scores = metric.score(there)
    assert isinstance(there, DeviceTensor)
    assert isinstance(scores, DeviceTensor)
    assert torch.allclose(to_host(there), expected, rtol=0, atol=1e-12)
    assert cuda.syncs.total() <= 80
