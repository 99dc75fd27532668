"""The stand-in for a device: each fault that a real device would have is reported."""

import pytest
import torch
from fake_cuda import CUDA, DeviceTensor, FakeCuda, run_with_autograd, to_host
from torch.nn.functional import pad


def test_tensors_say_that_they_are_on_the_device():
    with FakeCuda() as cuda:
        there = torch.arange(6, device="cpu").view(2, 3).to("cuda")
        assert there.device == there.t().device == (there + 1).device == CUDA
        assert torch.cuda.is_available()
        made = torch.ones(2, device="cuda")
        back = (made * 2).cpu()
    assert isinstance(there, DeviceTensor)
    assert not isinstance(back, DeviceTensor)
    assert back.tolist() == [2, 2]
    assert to_host(there).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert [(copy.to_device, copy.size) for copy in cuda.copies] == [(True, 48), (False, 8)]


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (lambda there, here: there + here, "of the host .* and of the device"),
        (lambda there, here: torch.cat([there, here]), "of the host .* and of the device"),
        (lambda there, here: here[there], "of the host .* and of the device"),
        (lambda there, here: here.index_select(0, there), "of the host .* and of the device"),
        (lambda there, here: torch.where(there > 0, here, 0), "of the host .* and of the device"),
        (lambda there, here: here.add_(there), "of the host .* and of the device"),
        (lambda there, here: there.numpy(), "numpy"),
        (lambda there, here: torch.arange(3), "arange without a device"),
        (lambda there, here: torch.zeros(3), "zeros without a device"),
    ],
)
def test_faults(fault, message):
    with FakeCuda():
        here = torch.arange(3, device="cpu")
        with pytest.raises((RuntimeError, TypeError, AssertionError), match=message):
            fault(here.to("cuda"), here)


@pytest.mark.parametrize(
    ("reads", "times"),
    [
        (lambda there: there.sum().item(), 1),
        (lambda there: bool(there.any()), 1),
        (lambda there: there.tolist(), 1),
        (lambda there: there.cpu(), 1),
        (lambda there: there.nonzero(), 1),
        (lambda there: there[there > 0], 1),
        (lambda there: there.bincount(), 2),
        (lambda there: there.repeat_interleave(there), 1),
        (lambda there: there.unique(), 1),
        (lambda there: there.repeat_interleave(there, output_size=3), 0),
        (lambda there: there.clone().index_fill_(0, there, 7), 0),
        (lambda there: there.sort().values.cumsum(0), 0),
        (lambda there: pad(there, (0, 1)), 0),
        (lambda there: there.masked_fill(there > 0, 1), 0),
    ],
)
def test_waiting(reads, times):
    with FakeCuda() as cuda:
        reads(torch.arange(3, device="cuda"))
    assert sum(cuda.syncs.values()) == times, cuda.syncs


def test_operations_and_memory():
    with FakeCuda() as cuda:
        there = torch.ones(1000, dtype=torch.int64, device="cuda")
        cuda.clear()
        more = (there + there).view(10, 100)[2:].t()
        assert sum(cuda.operations.values()) == 1  # views are none
        assert (cuda.memory, cuda.peak) == (16_000, 16_000)
        del more
        assert (cuda.memory, cuda.peak) == (8_000, 16_000)


def test_traffic_and_arithmetic():
    with FakeCuda() as cuda:
        left, right = (torch.ones(shape, device="cuda") for shape in ((2, 3), (3, 5)))
        cuda.clear()
        left.expand(4, 2, 3).sum()  # stored once, read once
        assert (cuda.traffic, cuda.flops) == (6 * 4 + 4, 0)
        cuda.clear()
        _ = left @ right
    assert (cuda.traffic, cuda.flops) == ((6 + 15 + 10) * 4, 2 * 2 * 3 * 5)


def test_inplace_operations_on_views():
    with FakeCuda():
        there = torch.zeros(4, 4, dtype=torch.int64, device="cuda")
        there[1:3, 2].add_(5)
        torch.add(there[0], 1, out=there[0])
    assert to_host(there).sum().item() == 14


def test_backward_passes():
    run_with_autograd("""
import torch
from fake_cuda import DeviceTensor, FakeCuda, to_host
leaf = torch.arange(3.0).requires_grad_()
with FakeCuda() as cuda:
    there = leaf.to("cuda")
    slope, = torch.autograd.grad(there.pow(3).sum(), there)
    assert isinstance(slope, DeviceTensor) and to_host(slope).tolist() == [0, 3, 12]
    weight = torch.nn.Linear(3, 1, device="cpu").to("cuda")
    (weight(there).sum() * 2).backward()
    assert to_host(weight.weight.grad).tolist() == [[0, 2, 4]]
    state = torch.zeros(1, 1, 3, device="cuda")
    weights = [torch.ones(12, 3, device="cuda").requires_grad_() for _ in range(2)]
    x, flags = there.view(1, 1, 3), (False, 1, 0.0, False, False, False)
    found = torch.lstm(x, (state, state), weights, *flags)
    try:
        found[0].sum().backward()
    except RuntimeError as error:
        assert "training mode" in str(error)
    else:
        raise AssertionError("cuDNN would have refused this")
""")
