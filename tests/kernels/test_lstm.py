"""The LSTM call, on a CPU and as cuDNN would see it on the stand-in for a device."""

import pytest
import torch
from fake_cuda import FakeCuda, run_with_autograd, to_host

from tensormt.kernels.lstm import flatten, full_precision, lstm


def weights():
    torch.manual_seed(1)
    return [torch.nn.Parameter(torch.randn(*s)) for s in ((12, 5), (12, 3), (12,), (12,))]


def plain(x, weights):
    """The textbook's equations (Hochreiter and Schmidhuber 1997, with a forget gate)."""
    w, u, b, c = weights
    state = hidden = x.new_zeros(x.shape[1], 3)
    found = []
    for step in x:
        i, f, g, o = (step @ w.T + b + hidden @ u.T + c).chunk(4, 1)
        state = f.sigmoid() * state + i.sigmoid() * g.tanh()
        hidden = o.sigmoid() * state.tanh()
        found.append(hidden)
    return torch.stack(found)


def test_the_equations_and_their_gradients():
    own, x = weights(), torch.randn(7, 4, 5)
    expected, found = plain(x, own), lstm(x, own)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(lstm(x.transpose(0, 1), own, True).transpose(0, 1), expected)
    slopes = [torch.autograd.grad(y.square().sum(), own) for y in (expected, found)]
    torch.testing.assert_close(slopes[1], slopes[0], rtol=1e-4, atol=1e-5)


def test_a_backward_pass_of_cudnn():
    """cuDNN refuses it unless the call was said to be for training."""
    run_with_autograd("""
import torch
from fake_cuda import FakeCuda, to_host
from tensormt.kernels.lstm import lstm

torch.manual_seed(1)
own, x = [torch.randn(*s) for s in ((12, 5), (12, 3), (12,), (12,))], torch.randn(7, 4, 5)
for weight in own:
    weight.requires_grad_()
expected = torch.autograd.grad(lstm(x, own).square().sum(), own)
with FakeCuda():
    there = [weight.to("cuda") for weight in own]
    found = torch.autograd.grad(lstm(x.to("cuda"), there).square().sum(), there)
for slope, other in zip(found, expected, strict=True):
    torch.testing.assert_close(to_host(slope), other)
""")


def test_flat_weights_are_not_copied():
    own, x = weights(), torch.randn(7, 4, 5)
    flatten(own)  # on a CPU nothing happens
    expected = lstm(x, own).detach()
    with FakeCuda() as cuda, torch.no_grad():
        there = [weight.to("cuda") for weight in own]
        lstm(x.to("cuda"), there)
        assert sum(cuda.scattered.values()) == 1
        flatten(there)
        found = lstm(x.to("cuda"), there)
        assert sum(cuda.scattered.values()) == 1
    torch.testing.assert_close(to_host(found), expected)


@pytest.mark.parametrize("allowed", ["highest", "high", "newer"])
def test_full_precision_and_back(allowed):
    rnn, matmul = torch.backends.cudnn.rnn, torch.backends.cuda.matmul
    before = torch.get_float32_matmul_precision()
    kept = matmul.fp32_precision
    try:
        if allowed == "newer":
            matmul.fp32_precision = "tf32"
        else:
            torch.set_float32_matmul_precision(allowed)
        state = rnn.fp32_precision, matmul.fp32_precision
        assert state[0] == "tf32"  # torch's default
        with full_precision():
            assert rnn.fp32_precision == matmul.fp32_precision == "ieee"
            assert torch.get_float32_matmul_precision() == "highest"
        assert (rnn.fp32_precision, matmul.fp32_precision) == state
        if allowed != "newer":
            assert torch.get_float32_matmul_precision() == allowed
    finally:
        torch.set_float32_matmul_precision(before)
        matmul.fp32_precision = kept


def test_a_mixed_precision_context_around_the_call():
    left, right = torch.randn(2, 3, 3).unbind(0)
    with torch.autocast("cpu", torch.bfloat16):
        with full_precision():
            assert torch.equal(left @ right, torch.mm(left, right))
            assert (left @ right).dtype == torch.float32
        assert (left @ right).dtype == torch.bfloat16
