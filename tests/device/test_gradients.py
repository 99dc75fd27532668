"""Gradients of losses and soft metrics on the stand-in for a device: those of the CPU."""

import pytest
from fake_cuda import run_with_autograd

CODE = """
import torch
from fake_cuda import DeviceTensor, FakeCuda, to_host
import tensormt as tm
from tensormt.train import (
    Reward, expected_bleu, leave_one_out, minimum_risk, policy_gradient, soft_log_kernel,
)
from tensormt.train.learned import correlation_loss, ranking_loss

torch.manual_seed(1)
samples, refs = torch.randint(2, 9, (3, 4, 7)), torch.randint(2, 9, (3, 1, 7))
reward = Reward(tm.BLEU(effective_order=True), pad=0, eos=1)
human, groups = torch.rand(12, dtype=torch.float64), torch.arange(12) % 3
logits = torch.randn(3, 7, 9, dtype=torch.float64)
weights = torch.randn(3, 4, dtype=torch.float64)
trees = tm.TreeBatch.from_brackets(["(S (NP (NN a)) (VP (VB b)))", "(S (VP (VB b) (NP (NN c))))"])
table = torch.rand(len(trees.labels), len(trees.labels), dtype=torch.float64)

LOSSES = {
    "expected BLEU": (logits, lambda x, at: expected_bleu(x.softmax(-1), at(refs)).sum()),
    "minimum risk": (weights, lambda x, at: minimum_risk(x, reward(at(samples), at(refs)))),
    "policy gradient": (
        weights,
        lambda x, at: policy_gradient(x, leave_one_out(reward(at(samples), at(refs)))),
    ),
    "correlation": (weights, lambda x, at: correlation_loss(x.flatten(), at(human))),
    "ranking": (weights, lambda x, at: ranking_loss(x.flatten(), at(human), at(groups))),
    "soft kernel": (table, lambda x, at: soft_log_kernel(at(trees), at(trees), x, 0.5).sum()),
}
for name, (values, loss) in LOSSES.items():
    here = values.clone().requires_grad_()
    wanted, = torch.autograd.grad(loss(here, lambda part: part), here)
    assert wanted.abs().sum() > 0, name
    with FakeCuda() as cuda:
        there = values.to("cuda").requires_grad_()
        found, = torch.autograd.grad(loss(there, lambda part: part.to("cuda")), there)
        assert isinstance(found, DeviceTensor), name
    torch.testing.assert_close(to_host(found), wanted, rtol=0, atol=1e-12, msg=name)
    # the sizes of trees are read, nothing else
    assert not cuda.syncs or name == "soft kernel", (name, cuda.syncs)
"""


@pytest.mark.heavy(needs="device")
def test_gradients_are_those_of_the_cpu():
    run_with_autograd(CODE)
