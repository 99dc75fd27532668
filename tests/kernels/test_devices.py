"""Device discipline without a GPU: see pretend.py. Nothing here has run on a real one."""

import oracles
import pytest
import torch
from pretend import Away, Watch, home

import tensormt as tm
from tensormt.kernels import counts

# metric → host syncs of a batch with R references: key lists, the counter, the reference check;
# head words and word leaves need their number, the kernel its pairs and heights, self-kernels too
METRICS = [
    (tm.STM(), lambda r: r + 4),
    (tm.STM(balance="f1", lexical=True), lambda r: 5 * r + 4),
    (tm.STM(balance="brevity"), lambda r: r + 4),
    (tm.HWCM(), lambda r: 2 * r + 5),
    (tm.DSTM(), lambda r: 2 * r + 5),
    (tm.TKM(), lambda r: 8 * r + 6),
    (tm.TKM(lexical=True), lambda r: 8 * r + 6),
    (tm.DTKM(decay=0.5), lambda r: 9 * r + 7),
]


def batches():
    hyps, refs = oracles.random_case(35, most=20, segments=12)
    make = tm.TreeBatch.from_brackets
    streams = [make([oracles.brackets(t) for t in s]) for s in zip(*refs, strict=True)]
    return make([oracles.brackets(tree) for tree in hyps]), streams


@pytest.mark.parametrize(("metric", "most"), METRICS, ids=lambda p: getattr(p, "signature", ""))
def test_everything_stays_on_the_device(metric, most):
    """Same statistics, on the device to the end, with a stated number of host syncs."""
    hyp, refs = batches()
    expected = metric.statistics(hyp, refs)
    with Watch() as watch:
        there = metric.statistics(hyp.to("cuda"), [ref.to("cuda") for ref in refs])
        scores = metric.score(there)
    assert isinstance(there, Away)
    assert isinstance(scores, Away)
    assert torch.allclose(home(there), expected, rtol=0, atol=1e-12)
    assert sum(watch.syncs.values()) == most(len(refs)), watch.syncs


def test_many_keys_stay_on_the_device(monkeypatch):
    """The counter's way for many keys: one more sync for each side (its number of candidates)."""
    monkeypatch.setattr(counts, "FEW", 0)
    hyp, refs = batches()
    for metric, most in ((tm.STM(), 2 * len(refs) + 5), (tm.HWCM(), 3 * len(refs) + 6)):
        expected = metric.statistics(hyp, refs)
        with Watch() as watch:
            found = metric.statistics(hyp.to("cuda"), [ref.to("cuda") for ref in refs])
        assert torch.equal(home(found), expected)
        assert sum(watch.syncs.values()) == most, watch.syncs


def test_syncs_do_not_depend_on_the_batch_size():
    hyp, refs = batches()
    counts = []
    for size in (1, len(hyp)):
        rows = slice(0, size)
        part, others = hyp[rows], [ref[rows] for ref in refs]
        if not all(any(len(ref[i].nodes) for ref in others) for i in range(size)):
            continue
        with Watch() as watch:
            tm.STM().statistics(part.to("cuda"), [ref.to("cuda") for ref in others])
        counts.append(sum(watch.syncs.values()))
    assert len(counts) == 2
    assert counts[0] == counts[1]


def test_padded_tensors_on_the_device():
    hyp, _ = batches()
    with Watch():
        there = hyp.to("cuda")
        for name in ("label", "parent", "position", "height", "production", "word", "mask"):
            tensor = getattr(there, name)
            assert isinstance(tensor, Away), name
            assert torch.equal(home(tensor), getattr(hyp, name)), name
        back = there.dependencies().to("cpu")
    assert back.to_heads() == hyp.dependencies().to_heads()


def test_the_watch_sees_what_it_should():
    """Break the discipline on purpose: each kind of fault is reported."""
    with Watch() as watch:
        there = torch.ones(3, device="cuda")
        with pytest.raises(AssertionError, match="mixes"):
            there + torch.ones(3, device="cpu")
        with pytest.raises(AssertionError, match="without a device"):
            torch.arange(3)
        assert watch.syncs == {}
        there.sum().item()
        there.nonzero()
        there[there > 0]
    assert sum(watch.syncs.values()) == 3
