"""Rewards are the metrics' scores, shaped rewards add up to them, losses point the right way."""

import pytest
import torch
from fake_cuda import FakeCuda

import tensormt as tm
from tensormt.train import rewards
from tensormt.train.mbr import mbr
from tensormt.train.rewards import Reward

METRICS = [
    tm.BLEU(effective_order=True),
    tm.NIST(info="segment"),
    tm.BM(),
    tm.BMA(),
    tm.NM(info="segment"),
]


def case(seed=0, size=4, number=5, width=9):
    torch.manual_seed(seed)
    return torch.randint(0, 6, (size, number, width)), torch.randint(0, 6, (size, 2, width))


def batch(ids):
    """Ids between the first word and the 0 behind it as a batch, by plain Python."""
    rows = [plain(row.tolist()) for row in ids]
    lengths = torch.tensor([len(row) for row in rows])
    table = [row + [0] * (ids.shape[1] - len(row)) for row in rows]
    return tm.TokenBatch.from_ids(torch.tensor(table), lengths)


def plain(row):
    """What is left of a row whose padding is 0."""
    while row and row[0] == 0:
        row = row[1:]
    return row[: row.index(0)] if 0 in row else row


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_rewards_are_the_scores_of_the_metric(metric):
    samples, refs = case()
    refs[:, :, 0] = 1  # no reference is empty
    found = Reward(metric, pad=0)(samples, refs)
    assert found.shape == (4, 5)
    for k in range(5):
        expected = metric(batch(samples[:, k]), [batch(ref) for ref in refs.unbind(1)])
        assert torch.allclose(found[:, k], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_shaped_rewards_add_up(metric):
    samples, refs = case(1)
    reward = Reward(metric, pad=0)
    gains = reward.shaped(samples, refs)
    assert gains.shape == samples.shape
    assert torch.allclose(gains.sum(-1), reward(samples, refs), rtol=0, atol=1e-12)
    assert (gains[samples == 0] == 0).all()
    for row, gain in zip(samples.flatten(0, 1).tolist(), gains.flatten(0, 1), strict=True):
        before = len(row) - len([k for i, k in enumerate(row) if any(row[: i + 1])])
        after = before + len(plain(row))
        assert (gain[:before] == 0).all()
        assert (gain[after:] == 0).all()
    assert torch.allclose(gains[:, 2], reward.shaped(samples[:, 2], refs), rtol=0, atol=1e-12)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_utility_of_all_pairs(metric):
    samples, _ = case(2)
    samples[:, :, 0] = 1
    reward = Reward(metric, pad=0)
    table = reward.utility(samples)
    assert table.shape == (4, 5, 5)
    for i in range(5):
        for j in range(5):
            expected = metric(batch(samples[:, i]), [batch(samples[:, j])])
            assert torch.allclose(table[:, i, j], expected, rtol=0, atol=1e-12)
    alike = reward.self_score(samples)
    for i in range(5):
        others = [batch(samples[:, j]) for j in range(5) if j != i]
        assert torch.allclose(alike[:, i], metric(batch(samples[:, i]), others), atol=1e-12)


def test_nothing_waits_for_the_device():
    samples, refs = (ids.to(torch.int64) for ids in case(3))
    reward = Reward(tm.BLEU(), pad=0)
    with FakeCuda() as cuda:
        there, others = samples.to("cuda"), refs.to("cuda")
        found = reward(there, others)
        rewards.leave_one_out(found)
        rewards.against_greedy(found, found[:, 0])
        reward.shaped(there, others)
        mbr(reward.utility(there))
        reward.self_score(there)
        rewards.minimum_risk(found.log_softmax(-1), found)
        rewards.policy_gradient(found, found, found > 0)
    assert not cuda.syncs, cuda.syncs


def test_baselines():
    found = torch.tensor([[1.0, 2.0, 6.0]], dtype=torch.float64)
    assert rewards.leave_one_out(found)[0].tolist() == pytest.approx([-3.0, -1.5, 4.5])
    assert rewards.against_greedy(found, torch.tensor([2.0])).tolist() == [[-1, 0, 4]]
    with pytest.raises(tm.TensorMTError, match="at least 2"):
        rewards.leave_one_out(found[:, :1])
    with pytest.raises(tm.TensorMTError, match="at least 2"):
        Reward(tm.BLEU()).self_score(torch.ones(2, 1, 3, dtype=torch.int64))
    with pytest.raises(tm.TensorMTError, match="B,K,T"):
        Reward(tm.BLEU()).utility(torch.ones(2, 3, dtype=torch.int64))


def test_minimum_risk_by_hand():
    log_probabilities = torch.tensor([[0.5, 0.25], [0.1, 0.3]], dtype=torch.float64).log()
    found = torch.tensor([[3.0, 6.0], [1.0, 2.0]], dtype=torch.float64)
    # Q = 2/3, 1/3 and 1/4, 3/4: risks -4 and -7/4
    assert rewards.minimum_risk(log_probabilities, found).item() == pytest.approx(-(4 + 1.75) / 2)
    # alpha 0: the plain mean of the rewards
    flat = rewards.minimum_risk(log_probabilities, found, alpha=0.0)
    assert flat.item() == pytest.approx(-(4.5 + 1.5) / 2)
    mask = torch.tensor([[True, False], [False, False]])
    assert rewards.minimum_risk(log_probabilities, found, mask=mask).item() == pytest.approx(-3)


def test_losses_have_gradients_without_nan():
    torch.manual_seed(0)
    logits = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    found = torch.rand(3, 4, dtype=torch.float64)
    mask = torch.tensor([[True] * 4, [True, False, True, False], [False] * 4])
    assert torch.autograd.gradcheck(lambda x: rewards.minimum_risk(x, found, 0.5, mask), logits)
    assert torch.autograd.gradcheck(lambda x: rewards.policy_gradient(x, found, mask), logits)
    # the better sample gains probability
    rewards.minimum_risk(logits, found).backward()
    best, worst = found.argmax(-1, keepdim=True), found.argmin(-1, keepdim=True)
    assert (logits.grad.gather(-1, best) < 0).all()
    assert (logits.grad.gather(-1, worst) > 0).all()
    padded = torch.tensor([-1.0, -torch.inf], requires_grad=True)
    rewards.policy_gradient(padded, torch.ones(2), torch.tensor([True, False])).backward()
    assert padded.grad.tolist() == [-1, 0]
