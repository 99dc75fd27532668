"""Pools of samples: all others as references, and averages of references, by counting in Python."""

import math
import random
from collections import Counter

import pytest
import torch
from fake_cuda import FakeCuda
from hypothesis import given
from hypothesis import strategies as st

import tensormt as tm
from tensormt.train.mbr import best, nbest
from tensormt.train.rewards import Reward


def grams(row, n):
    return Counter(tuple(row[k : k + n]) for k in range(len(row) - n + 1))


def bleu(matched, totals, length, reference):
    """Sentence BLEU with effective order and exponential smoothing, as sacrebleu computes it."""
    if not any(matched):
        return 0.0
    logs, smooth = [], 1.0
    for match, total in zip(matched, totals, strict=True):
        if not total:
            break
        if not match:
            smooth *= 2
        logs.append(math.log(match / total if match else 1 / (smooth * total)))
    penalty = math.exp(1 - reference / length) if length < reference else 1.0
    return 100 * penalty * math.exp(sum(logs) / len(logs))


def against_others(rows, k, order=4):
    """Sample k with all others as its references."""
    row, others = rows[k], [row for i, row in enumerate(rows) if i != k and row]
    matched, totals = [], []
    for n in range(1, order + 1):
        counts = [grams(other, n) for other in others]
        own = grams(row, n)
        matched.append(sum(min(c, max((o[g] for o in counts), default=0)) for g, c in own.items()))
        totals.append(max(len(row) - n + 1, 0))
    near = min((abs(len(other) - len(row)), len(other)) for other in others)[1] if others else 0
    return bleu(matched, totals, len(row), near)


def against_average(row, refs, weights, order=4):
    """A sample with the weighted average of references."""
    matched, totals = [], []
    for n in range(1, order + 1):
        mean = Counter()
        for ref, weight in zip(refs, weights, strict=True):
            for gram, count in grams(ref, n).items():
                mean[gram] += weight * count
        matched.append(sum(min(c, mean[g]) for g, c in grams(row, n).items()))
        totals.append(max(len(row) - n + 1, 0))
    length = sum(w * len(ref) for ref, w in zip(refs, weights, strict=True))
    return bleu(matched, totals, len(row), length)


def case(seed, segments=3):
    """Samples and references, lists of ids, with the tensors padded by 0."""
    rng = random.Random(seed)
    words = rng.randint(1, 5)

    def pool(number, least):
        return [
            [[rng.randint(1, words) for _ in range(rng.randint(least, 9))] for _ in range(number)]
            for _ in range(segments)
        ]

    def tensor(pools):
        return torch.tensor([[row + [0] * (9 - len(row)) for row in rows] for rows in pools])

    samples, refs = pool(rng.randint(2, 6), 0), pool(rng.randint(1, 5), 1)
    return samples, refs, tensor(samples), tensor(refs)


@given(st.integers(0, 10**9))
def test_all_others_as_references(seed):
    samples, _, ids, _ = case(seed)
    found = Reward(tm.BLEU(effective_order=True), pad=0).self_score(ids)
    for rows, scores in zip(samples, found.tolist(), strict=True):
        expected = [against_others(rows, k) for k in range(len(rows))]
        assert scores == pytest.approx(expected, abs=1e-9)


@given(st.integers(0, 10**9))
def test_the_average_of_references(seed):
    samples, refs, ids, other = case(seed)
    reward = Reward(tm.BLEU(effective_order=True), pad=0)
    generator = torch.Generator().manual_seed(seed % 1000)
    logs = torch.randn(other.shape[:2], generator=generator)
    weights = logs.double().softmax(-1)
    equal = [[1 / len(row)] * len(row) for row in refs]
    for given_weights, found in (
        (equal, reward.aggregate(ids, refs=other)),
        (weights.tolist(), reward.aggregate(ids, refs=other, weights=weights)),
        (weights.tolist(), reward.aggregate(ids, refs=other, log_probabilities=logs)),
    ):
        for b, rows in enumerate(samples):
            expected = [against_average(row, refs[b], given_weights[b]) for row in rows]
            assert found[b].tolist() == pytest.approx(expected, abs=1e-6)


def test_one_reference_is_its_average():
    _, _, ids, other = case(3)
    reward = Reward(tm.BLEU(effective_order=True), pad=0)
    alone = reward.utility(ids, refs=other[:, :1])[..., 0]
    assert torch.allclose(reward.aggregate(ids, refs=other[:, :1]), alone, rtol=0, atol=1e-9)


def test_pools_on_a_device_wait_for_nothing():
    _, _, ids, other = case(4)
    reward = Reward(tm.BLEU(), pad=0)
    with FakeCuda() as cuda:
        there, refs = ids.to("cuda"), other.to("cuda")
        reward.self_score(there)
        nbest(reward.utility(there, refs=refs), 2)
        best(reward.aggregate(there, refs=refs))
    assert not cuda.syncs, cuda.syncs


def test_other_metrics_compare_with_all_others():
    _, _, ids, _ = case(5)
    ids[:, :, 0] = 1
    reward = Reward(tm.BM(), pad=0)
    found = reward.self_score(ids)
    rest = ids[:, 1:]
    assert torch.allclose(found[:, 0], reward(ids[:, 0], rest), rtol=0, atol=1e-12)
    with pytest.raises(tm.TensorMTError, match="does not support averaged references"):
        reward.aggregate(ids)
