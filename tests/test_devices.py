"""Names of devices."""

import pytest
import torch

from tensormt.devices import resolve_device
from tensormt.errors import TensorMTError


def test_names_and_devices():
    assert resolve_device(None) == resolve_device("cpu") == torch.device("cpu")
    assert resolve_device(torch.device("cpu")).type == "cpu"
    expected = "cuda" if torch.cuda.is_available() else "cpu"
    assert resolve_device("auto").type == expected


@pytest.mark.parametrize("device", ["gpu", "meta", True, 1.5, ["cpu"]])
def test_there_is_no_such_device(device):
    with pytest.raises(TensorMTError, match="there is no device"):
        resolve_device(device)


@pytest.mark.parametrize("device", ["mps", "xpu", "mps:3", "hpu"])
def test_devices_that_are_not_there(device):
    if torch.device(device).type == "mps" and torch.backends.mps.is_available():
        return
    with pytest.raises(TensorMTError, match=f"the device '{device}' cannot be used"):
        resolve_device(device)


@pytest.mark.skipif(torch.cuda.is_available(), reason="CUDA is available")
def test_cuda_that_is_missing():
    with pytest.raises(TensorMTError, match="no CUDA device is available: use cpu or auto"):
        resolve_device("cuda")
