"""Tensors and metadata in safetensors files."""

import pytest
import torch

from tensormt.data.tensor_files import load_tensors, save_tensors
from tensormt.errors import TensorMTError


def test_round_trip_and_errors(tmp_path):
    path = tmp_path / "a.safetensors"
    tensors = {"x": torch.arange(6).view(2, 3).t(), "y": torch.tensor([0.5])}
    save_tensors(path, "kind 1", tensors, {"é": [1, None]})
    about, found = load_tensors(path, "kind 1", "counts")
    assert about == {"é": [1, None]}
    assert {name: tensor.tolist() for name, tensor in found.items()} == {
        name: tensor.tolist() for name, tensor in tensors.items()
    }
    with pytest.raises(TensorMTError, match=r"a.safetensors contains no counts"):
        load_tensors(path, "kind 2", "counts")
    path.write_bytes(b"damaged")
    with pytest.raises(TensorMTError, match="cannot be read as counts"):
        load_tensors(path, "kind 1", "counts")
    with pytest.raises(TensorMTError, match="cannot be"):
        load_tensors(tmp_path / "none", "kind 1", "counts")
