"""The check for the first person with a GPU, on the CPU and on the stand-in for a device."""

import pytest
import torch
from fake_cuda import CUDA, FakeCuda

from tensormt import devcheck

CPU = torch.device("cpu")
NAMES = sorted(devcheck.jobs(2, CPU))


def test_on_the_cpu(capsys):
    assert devcheck.main(["--device", "cpu", "--size", "12", "--repeats", "1", "--jobs", "M"]) == 0
    shown = capsys.readouterr().out
    assert "| HWCM | 0 |" in shown
    assert "BLEU from text" not in shown
    assert "jobs give the results of the CPU" in shown


def test_a_device_that_is_missing(capsys):
    with pytest.raises(SystemExit):
        devcheck.main(["--device", "gpu"])
    assert "expected 'cpu', 'cuda' or 'auto'" in capsys.readouterr().err


@pytest.mark.parametrize("name", NAMES)
def test_every_job_on_a_device(name):
    """The results of the CPU, the whole way from batches to scores."""
    with FakeCuda(strict=False):
        found = [o for o in devcheck.check(40, CUDA, 0, name) if o.name == name]
    assert found[0].good, found


@pytest.mark.parametrize("name", NAMES)
def test_deterministic_algorithms(name):
    """No job uses an operation that CUDA has no deterministic algorithm for."""
    torch.use_deterministic_algorithms(True)
    try:
        with FakeCuda(strict=False):
            found = [o for o in devcheck.check(20, CUDA, 0, name) if o.name == name]
    finally:
        torch.use_deterministic_algorithms(False)
    assert found[0].good, found


# the most operations, and the most synchronisations and copies together, of a batch with two
# references: launches are what a device spends its time on
BUDGETS = {
    "STM": (150, 10),
    "HWCM": (200, 10),
    "TKM": (250, 10),
    "BLEU from text": (120, 10),
    "NIST from text": (300, 10),
    "chrF from text": (250, 10),
    "KING, 1,023 sets": (200, 10),
}


@pytest.mark.parametrize("name", BUDGETS)
def test_operations_of_a_batch(name):
    operations, waits = BUDGETS[name]
    with FakeCuda(strict=False) as cuda:
        job = devcheck.jobs(500, CUDA, parser=False)[name]
        inputs = job.prepare()
        job.run(inputs, CUDA)  # tables that stay on the device
        cuda.clear()
        job.run(inputs, CUDA)
    copies = [copy for copy in cuda.copies if copy.to_device]
    assert sum(cuda.operations.values()) <= operations, cuda.operations
    assert sum(cuda.syncs.values()) + len(copies) <= waits, (cuda.syncs, copies)
    largest = max(copies, key=lambda copy: copy.size)
    assert not largest.blocks or name.startswith("KING")  # its tensors are the caller's


def test_a_difference_and_an_error_are_reported(monkeypatch, capsys):
    def work(inputs, device):
        if device == CUDA and inputs == "broken":
            raise RuntimeError("no kernel")
        return [torch.ones(2, dtype=torch.float64, device=device) + (device == CUDA) * 1e-9]

    made = {kind: devcheck.Job(lambda kind=kind: kind, work) for kind in ("fine", "broken")}
    monkeypatch.setattr(devcheck, "jobs", lambda size, device: made)
    with FakeCuda():
        found = devcheck.check(1, CUDA, 0)
    assert not any(outcome.good for outcome in found)
    assert "no kernel" in devcheck.table(found)
    capsys.readouterr()


def test_integers_must_be_equal():
    one = torch.tensor([1, 2])
    assert devcheck._difference([one], [one.clone()]) == 0
    assert devcheck._difference([one], [one + torch.tensor([0, 1])]) == 1
    assert devcheck._difference([one], [one.double()]) == float("inf")
    nan = torch.tensor([float("nan")])
    assert devcheck._difference([nan], [torch.ones(1)]) == float("inf")
