"""Device discipline without a GPU: see fake_cuda.py. Nothing here has run on a real one."""

import oracles
import pytest
import torch
from fake_cuda import DeviceTensor, FakeCuda, to_host

import tensormt as tm

METRICS = [
    tm.STM(),
    tm.STM(balance="f1", lexical=True),
    tm.STM(balance="brevity"),
    tm.HWCM(),
    tm.DSTM(),
    tm.TKM(),
    tm.TKM(lexical=True),
    tm.DTKM(decay=0.5),
]


def batches():
    hyps, refs = oracles.random_case(35, most=20, segments=12)
    make = tm.TreeBatch.from_brackets
    streams = [make([oracles.brackets(t) for t in s]) for s in zip(*refs, strict=True)]
    return make([oracles.brackets(tree) for tree in hyps]), streams


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.signature)
def test_everything_stays_on_the_device(metric):
    """Same statistics, on the device to the end, with a bounded number of host syncs."""
    hyp, refs = batches()
    expected = metric.statistics(hyp, refs)
    with FakeCuda() as cuda:
        there = metric.statistics(hyp.to("cuda"), [ref.to("cuda") for ref in refs])
        scores = metric.score(there)
        hyp_there, *refs_there = tm.TreeBatch.send([hyp, *refs], "cuda")
        together = metric.statistics(hyp_there, refs_there)
    assert isinstance(there, DeviceTensor)
    assert isinstance(scores, DeviceTensor)
    for found in (there, together):
        assert torch.allclose(to_host(found), expected, rtol=0, atol=1e-12)
    # at most ten for the hypothesis and for each reference, however many segments there are: only
    # sizes that depend on the data are read, never something of a segment, a node or a level
    assert sum(cuda.syncs.values()) <= 10 * (2 + len(refs)), cuda.syncs


def test_syncs_do_not_depend_on_the_batch_size():
    hyp, refs = batches()
    counts = []
    for size in (1, len(hyp)):
        rows = slice(0, size)
        part, others = hyp[rows], [ref[rows] for ref in refs]
        if not all(any(len(ref[i].nodes) for ref in others) for i in range(size)):
            continue
        with FakeCuda() as cuda:
            tm.STM().statistics(part.to("cuda"), [ref.to("cuda") for ref in others])
        counts.append(sum(cuda.syncs.values()))
    assert len(counts) == 2
    assert counts[0] == counts[1]


def test_padded_tensors_on_the_device():
    hyp, _ = batches()
    with FakeCuda():
        there = hyp.to("cuda")
        for name in ("label", "parent", "position", "height", "production", "word", "mask"):
            tensor = getattr(there, name)
            assert isinstance(tensor, DeviceTensor), name
            assert torch.equal(to_host(tensor), getattr(hyp, name)), name
        back = there.dependencies().to("cpu")
    assert back.to_heads() == hyp.dependencies().to_heads()
