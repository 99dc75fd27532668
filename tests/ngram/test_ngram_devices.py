"""Device discipline of the n-gram family without a GPU: see fake_cuda.py."""

from __future__ import annotations

import random

import pytest
import torch
from fake_cuda import DeviceTensor, FakeCuda, to_host

from tensormt.errors import TensorMTError
from tensormt.ngram import BLEU, BM, BMA, NIST, NM
from tensormt.ngram.base import NgramMetric
from tensormt.ngram.frequencies import Frequencies
from tensormt.ngram.reference_overlap import match_shares, reference_shares
from tensormt.ngram.references import References
from tensormt.text.tokens import TokenBatch

METRICS = [
    BLEU(),
    BLEU(lowercase=True, smooth="floor", effective_order=True),
    NIST(),
    NIST(info="segment"),
    NM(),
    NM(weighting="zipf"),
    BM(),
    BM(recurrence="occurrences"),
    BMA(weighting="zipf"),
]


def batches() -> tuple[TokenBatch, list[TokenBatch]]:
    rng = random.Random(4)
    lines = [
        [" ".join(rng.choices("aAbcde", k=rng.randint(1, 12))) for _ in range(9)] for _ in range(3)
    ]
    lines[1][3] = ""
    lines[2][5] = " ".join(rng.choices("abcde", k=300))
    hyp, *refs = TokenBatch.from_texts(lines)
    return hyp, [*refs[:1], TokenBatch.from_text(lines[2])]


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.signature)
def test_everything_stays_on_the_device(metric: NgramMetric) -> None:
    hyp, refs = batches()
    expected = metric.statistics(hyp, refs)
    with FakeCuda():
        there = metric.statistics(hyp.to("cuda"), [ref.to("cuda") for ref in refs])
        scores = metric.score(there)
    assert isinstance(there, DeviceTensor)
    assert isinstance(scores, DeviceTensor)
    torch.testing.assert_close(to_host(there), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.signature)
def test_a_default_device_changes_nothing(metric: NgramMetric) -> None:
    """Tensors are made where the batches are, whatever the user has chosen for his own."""
    hyp, refs = batches()
    expected = metric(hyp, refs)
    torch.set_default_device("meta")
    try:
        assert torch.equal(metric(*batches()), expected)
    finally:
        torch.set_default_device(None)


def test_counts_that_lack_an_ngram() -> None:
    """Counts of another test set are an error on a device too."""
    hyp, refs = batches()
    counts = Frequencies(5).add([TokenBatch.from_text(["x y"], lowercase=True)])
    with FakeCuda(), pytest.raises(TensorMTError, match="that the counts of the test set lack"):
        NIST(counts=counts).statistics(hyp.to("cuda"), [ref.to("cuda") for ref in refs])


def test_batches_that_are_sent_together() -> None:
    """One copy that nobody waits for; the same tokens, with one dictionary."""
    hyp, refs = batches()
    with FakeCuda() as cuda:
        there = TokenBatch.send([hyp, *refs], "cuda")
        assert [copy.blocks for copy in cuda.copies] == [False]
        back = [batch.to("cpu").to_tokens() for batch in there]
        assert TokenBatch.send(there, "cuda:0")[0] is there[0]
    assert back == [batch.to_tokens() for batch in (hyp, *refs)]
    assert len({id(batch.dictionary) for batch in there}) == 1
    assert TokenBatch.send([hyp], "cpu")[0] is hyp


def test_references_move() -> None:
    hyp, refs = batches()
    with FakeCuda():
        ready = References(refs).to("cuda")
        there = BLEU().statistics(hyp.to("cuda"), ready)
        shares = (reference_shares(ready), match_shares(hyp.to("cuda"), ready))
    assert torch.equal(to_host(there), BLEU().statistics(hyp, refs))
    assert torch.equal(to_host(shares[0]), reference_shares(refs))
    assert torch.equal(to_host(shares[1]), match_shares(hyp, refs))
