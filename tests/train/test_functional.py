"""Metrics on token ids: the numbers of the text path, for whole segments and for all prefixes."""

import json
import random
import warnings
from unittest.mock import patch

import pytest
import torch
from fake_cuda import DeviceTensor, FakeCuda, run_python, to_host
from hypothesis import given, settings
from hypothesis import strategies as st

import tensormt as tm
from tensormt.train import functional

WORDS = "a b c d e f g".split()


def metrics():
    """Every n-gram metric and option that changes its counting, without counts of a test set."""
    return [
        tm.BLEU(tokenize="none"),
        tm.BLEU(2, "add-k", True, tokenize="none"),
        tm.NIST(info="segment", tokenize="none", lowercase=False),
        tm.NIST(tokenize="none", lowercase=False),
        tm.BM(tokenize="none", lowercase=False),
        tm.BMA(3, recurrence="occurrences", tokenize="none", lowercase=False),
        tm.BM(weighting="zipf", tokenize="none", lowercase=False),
        tm.NM(info="segment", tokenize="none", lowercase=False),
        tm.NM(weighting="zipf", tokenize="none", lowercase=False),
    ]


def case(seed, segments=5, most=14):
    """Text of hypotheses [B] and R streams of references, one or more present for each."""
    rng = random.Random(seed)
    words = WORDS[: rng.randint(1, len(WORDS))]

    def line(least):
        return " ".join(rng.choice(words) for _ in range(rng.randint(least, most)))

    number = rng.randint(1, segments)
    streams = [[line(0) for _ in range(number)] for _ in range(rng.randint(1, 4))]
    for k in range(number):
        if not any(stream[k] for stream in streams):
            rng.choice(streams)[k] = line(1)
    return [line(0) for _ in range(number)], streams


def as_ids(hyps, streams):
    """The same tokens as ids: hyp [B,T], refs [B,R,T], lengths [B] and [B,R]."""
    batch = tm.TokenBatch.from_text([line for s in (hyps, *streams) for line in s], "none")
    table = batch.ids.view(1 + len(streams), len(hyps), -1)
    lengths = batch.lengths.view(1 + len(streams), len(hyps))
    return table[0], table[1:].transpose(0, 1), lengths[0], lengths[1:].t()


def fitted(metric, refs, lengths):
    """The metric with counts of the references' ids, where it needs some."""
    if getattr(metric, "needs_frequencies", False):
        metric.fit(
            [tm.TokenBatch.from_ids(r, n) for r, n in zip(refs.unbind(1), lengths.t(), strict=True)]
        )
    return metric


def from_text(metric, hyps, streams):
    batches = tm.TokenBatch.from_texts([hyps, *streams], "none")
    return metric.statistics(batches[0], batches[1:])


@pytest.mark.parametrize("number", range(len(metrics())))
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_the_numbers_of_the_text_path(number, seed):
    hyps, streams = case(seed)
    expected = from_text(metrics()[number], hyps, streams)
    hyp, refs, ours, theirs = as_ids(hyps, streams)
    metric = fitted(metrics()[number], refs, theirs)
    found = functional.statistics(metric, hyp, refs, ours, theirs)
    assert found.dtype == expected.dtype
    assert torch.allclose(found, expected, rtol=0, atol=1e-12)
    scores = functional.scores(metric, hyp, refs, ours, theirs)
    assert torch.allclose(scores, metric.score(expected, segment=True), rtol=0, atol=1e-12)


@pytest.mark.parametrize("number", range(len(metrics())))
def test_every_prefix_is_a_segment(number):
    hyps, streams = case(7)
    hyp, refs, ours, theirs = as_ids(hyps, streams)
    metric = fitted(metrics()[number], refs, theirs)
    found = functional.statistics(metric, hyp, refs, ours, theirs, prefixes=True)
    for size in range(hyp.shape[1] + 1):
        cut = functional.statistics(metric, hyp, refs, ours.clamp(max=size), theirs)
        assert torch.allclose(found[:, size], cut, rtol=0, atol=1e-12)


@pytest.mark.parametrize("number", range(len(metrics())))
def test_samples_are_segments_and_chunks_change_nothing(number):
    """Three samples of 40 segments take two chunks, one sample of each takes one."""
    torch.manual_seed(0)
    samples = torch.randint(0, 6, (40, 3, 64))
    refs = torch.randint(0, 6, (40, 2, 60))
    ours, theirs = torch.randint(0, 65, (40, 3)), torch.randint(1, 61, (40, 2))
    metric = fitted(metrics()[number], refs, theirs)
    for prefixes in (False, True):
        together = functional.statistics(metric, samples, refs, ours, theirs, prefixes=prefixes)
        for k in range(3):
            alone = functional.statistics(
                metric, samples[:, k], refs, ours[:, k], theirs, prefixes=prefixes
            )
            assert torch.allclose(together[:, k], alone, rtol=0, atol=1e-12)


@pytest.mark.parametrize("number", range(len(metrics())))
@pytest.mark.parametrize("prefixes", [False, True])
def test_nothing_waits_for_the_device(number, prefixes):
    hyps, streams = case(11)
    hyp, refs, ours, theirs = as_ids(hyps, streams)
    metric = fitted(metrics()[number], refs, theirs)
    expected = functional.statistics(metric, hyp, refs, ours, theirs, prefixes=prefixes)
    with FakeCuda() as cuda:
        there = [part.to("cuda") for part in (hyp, refs, ours, theirs)]
        # as if the references had been counted there
        if getattr(metric, "needs_frequencies", False):
            metric.counts = metric.counts.to("cuda")
            functional.statistics(metric, *there)  # ranks are made once
        cuda.syncs.clear()
        found = functional.statistics(metric, *there, prefixes=prefixes)
        scores = metric.score(found, segment=True)
        by_pad = functional.scores(metric, *there[:2], pad=(-1, 5))
    assert isinstance(found, DeviceTensor)
    assert isinstance(scores, DeviceTensor)
    assert isinstance(by_pad, DeviceTensor)
    assert not cuda.syncs, cuda.syncs
    assert torch.allclose(to_host(found), expected, rtol=0, atol=1e-12)


def test_pad_ends_a_segment_and_stands_before_it():
    hyp = torch.tensor([[4, 5, 0, 6, 0], [0, 4, 5, 0, 7], [4, 5, 6, 7, 4]])
    moved = torch.tensor([[4, 5, 9, 9, 9], [4, 5, 9, 9, 9], [4, 5, 6, 7, 4]])
    refs = torch.tensor([[4, 5, 6], [4, 5, 8], [4, 7, 4]])[:, None]
    metric = tm.BLEU(2)
    by_pad = functional.scores(metric, hyp, refs, pad=0)
    expected = functional.scores(metric, moved, refs, torch.tensor([2, 2, 5]))
    assert torch.equal(by_pad, expected)
    assert by_pad[0] > 0
    assert by_pad[0] == by_pad[1]


def test_the_option_of_every_kind_of_special_id():
    hyp, ref = torch.tensor([[2, 3, 7, 9, 8, 1, 5]]), torch.tensor([[[7, 8]]])
    found = functional.scores(tm.BLEU(2), hyp, ref, pad=3, eos=1, bos=2, skip=9)
    assert found.item() == pytest.approx(100)
    plain = functional.scores(tm.BLEU(2), hyp, ref)
    assert plain.item() < 50


def test_every_reference_alone():
    torch.manual_seed(2)
    samples, refs = torch.randint(0, 5, (3, 4, 7)), torch.randint(0, 5, (3, 5, 6))
    ours, theirs = torch.randint(0, 8, (3, 4)), torch.randint(0, 7, (3, 5))
    for metric in metrics():
        fitted(metric, refs, theirs)
        found = functional.statistics(metric, samples, refs, ours, theirs, per_reference=True)
        assert found.shape[:3] == (3, 4, 5)
        for r in range(5):
            one = slice(r, r + 1)
            alone = functional.statistics(metric, samples, refs[:, one], ours, theirs[:, one])
            assert torch.allclose(found[:, :, r], alone, rtol=0, atol=1e-12)
        flat = functional.statistics(
            metric, samples[:, 1], refs, ours[:, 1], theirs, per_reference=True
        )
        assert torch.equal(flat, found[:, 1])


@pytest.mark.on_a_cpu
def test_a_batch_of_empty_hypotheses_is_told():
    refs = torch.tensor([[[4, 5]], [[4, 5]]])
    with pytest.warns(UserWarning, match="all 2 hypotheses"):
        functional.scores(tm.BLEU(), torch.tensor([[1, 4, 5], [1, 5, 4]]), refs, eos=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        functional.scores(tm.BLEU(), torch.tensor([[1, 4, 5], [5, 5, 4]]), refs, eos=1)


# counts of a test set are looked up by numpy on the host, which compiles too, but not in one graph
PLAIN = [number for number, metric in enumerate(metrics()) if not metric.needs_frequencies]


@pytest.mark.heavy(needs="minutes")
@pytest.mark.parametrize("number", PLAIN)
def test_compiled_without_a_graph_break(number):
    torch.manual_seed(4)
    samples, refs = torch.randint(0, 6, (3, 2, 7)), torch.randint(0, 6, (3, 2, 6))
    metric = metrics()[number]

    def scores(samples, refs):
        return functional.scores(metric, samples, refs, pad=0)

    torch._dynamo.reset()
    compiled = torch.compile(scores, backend="eager", fullgraph=True)
    assert torch.allclose(compiled(samples, refs), scores(samples, refs), rtol=0, atol=1e-12)


@pytest.mark.heavy(needs="device")
@pytest.mark.parametrize("number", [*PLAIN, None], ids=lambda k: "chrF" if k is None else str(k))
def test_compiled_code_gives_the_same_scores(number):
    """By inductor, the default of torch.compile, at the size of a training step.

    For AVX2: bytes that are read as booleans went wrong there, and not with AVX-512.
    """
    torch.manual_seed(4)
    refs = torch.randint(2, 60, (64, 1, 24))
    noise = torch.rand(64, 8, 24) < 0.3
    samples = torch.where(noise, torch.randint(2, 60, noise.shape), refs)
    samples[torch.arange(24) >= torch.randint(5, 25, (64, 8, 1))] = 0
    metric = tm.ChrF() if number is None else metrics()[number]

    def scores(samples, refs):
        return functional.scores(metric, samples, refs, pad=0)

    torch._dynamo.reset()
    expected = scores(samples, refs)
    assert expected.std() > 0
    with patch("torch._inductor.config.cpp.simdlen", 256):
        found = torch.compile(scores, fullgraph=True)(samples, refs)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)


@pytest.mark.heavy(needs="triton")
def test_compiled_for_a_device(tmp_path):
    """One graph, a few kernels, no synchronisation; every kernel compiles (offline_inductor.py)."""
    code = (
        f"from pathlib import Path; import offline_inductor as o; o.main(Path({str(tmp_path)!r}))"
    )
    shown = run_python(code, 600, TRITON_CACHE_DIR=str(tmp_path / "cache"))
    found = json.loads(shown.splitlines()[-1])
    assert sorted(found) == ["BLEU", "BM", "NIST", "chrF"]
    assert found["BLEU"]["kernels"] + found["BLEU"]["calls"] <= 25, found
    for counts in found.values():
        assert counts["syncs"] == 0
        assert counts["calls"] <= 2, "operations that inductor leaves to torch: scatter, twice"
        assert 10 <= counts["kernels"] <= 45, found


@pytest.mark.parametrize("dtype", [torch.int16, torch.int32, torch.int64])
def test_ids_of_any_size_and_type(dtype):
    high = torch.iinfo(dtype).max
    hyp = torch.tensor([[high, high - 1, 3, high]], dtype=dtype)
    found = functional.statistics(tm.BLEU(2), hyp, hyp[:, None])
    assert found[0, 3:5].tolist() == [4, 3]


@pytest.mark.parametrize("number", range(len(metrics())))
@pytest.mark.parametrize("shift", [-40_000, 200_000, 10**12])
def test_large_ids_are_as_good_as_small_ones(number, shift):
    torch.manual_seed(3)
    hyp, refs = torch.randint(0, 6, (5, 9)), torch.randint(0, 6, (5, 2, 9))
    theirs = torch.full((5, 2), 9)
    small, large = (
        functional.scores(fitted(metrics()[number], refs + more, theirs), hyp + more, refs + more)
        for more in (0, shift)
    )
    assert torch.allclose(small, large, rtol=0, atol=1e-12)


def test_segments_longer_than_a_byte_counts():
    hyp = torch.zeros(1, 700, dtype=torch.int64)
    found = functional.statistics(tm.BLEU(2), hyp, hyp[:, None, :600])
    assert found[0].tolist() == [1, 700, 600, 600, 599, 700, 699]


@pytest.mark.parametrize("number", range(len(metrics())))
def test_degenerate_segments_score_nothing(number):
    refs = torch.tensor([[[1, 2, 3]], [[1, 2, 3]], [[1, 2, 3]]])
    theirs = torch.tensor([[3], [0], [0]])
    ours = torch.tensor([0, 3, 0])
    metric = fitted(metrics()[number], refs[:1], theirs[:1])
    scores = functional.scores(metric, refs[:, 0], refs, ours, theirs)
    assert scores.tolist() == [0, 0, 0]
    none = functional.scores(metric, refs[:0, 0], refs[:0], ours[:0], theirs[:0])
    assert none.shape == (0,)
    assert functional.scores(metric, refs[:, 0, :0], refs).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("hyp", "refs", "words"),
    [
        (torch.zeros(2, 3), torch.zeros(2, 1, 3), "one integer type"),
        (torch.zeros(2, 3).long(), torch.zeros(2, 1, 3).int(), "one integer type"),
        (torch.zeros(2, 3).long(), torch.zeros(3, 1, 3).long(), "expected .B,T."),
        (torch.zeros(2, 3).long(), torch.zeros(2, 3).long(), "expected .B,T."),
        (torch.zeros(2, 3).long(), torch.zeros(2, 0, 3).long(), "no reference"),
    ],
)
def test_errors_say_what_is_wrong(hyp, refs, words):
    with pytest.raises(tm.TensorMTError, match=words):
        functional.scores(tm.BLEU(), hyp, refs)


def test_errors_about_metrics_and_lengths():
    ids = torch.zeros(2, 3, dtype=torch.int64)
    with pytest.raises(tm.TensorMTError, match=r"metric\.fit"):
        functional.scores(tm.NIST(), ids, ids[:, None])
    with pytest.raises(tm.TensorMTError, match="parser"):
        functional.scores(tm.STM(), ids, ids[:, None])
    with pytest.raises(tm.TensorMTError, match="lengths"):
        functional.scores(tm.BLEU(), ids, ids[:, None], torch.tensor([1, 2, 3]))
