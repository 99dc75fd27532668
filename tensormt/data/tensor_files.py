"""Tensors and metadata in one safetensors file, which cannot execute code, unlike a pickle."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from tensormt.errors import TensorMTError


def save_tensors(
    path: str | Path, kind: str, tensors: Mapping[str, Tensor], about: Mapping[str, Any]
) -> None:
    """Write tensors and metadata to a safetensors file.

    Args:
        path: Output file.
        kind: Format name, which `load_tensors` checks.
        tensors: Tensors by name.
        about: Metadata, as JSON.

    Raises:
        TensorMTError: If the file cannot be written.
    """
    from safetensors.torch import save_file

    kept = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    try:
        save_file(kept, path, {"format": kind, "about": json.dumps(dict(about))})
    except OSError as error:
        raise TensorMTError(f"{path} cannot be written: {error}") from None


def load_tensors(
    path: str | Path, kind: str, what: str
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Read what `save_tensors` wrote.

    Args:
        path: Input file.
        kind: Expected format name.
        what: Contents, for error messages.

    Returns:
        Metadata, and tensors by name.

    Raises:
        TensorMTError: If the file cannot be read or has another format.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "pt") as file:
            header = file.metadata() or {}
            if header.get("format") != kind:
                raise TensorMTError(f"{path} contains no {what}: save them first")
            about: dict[str, Any] = json.loads(header["about"])
            return about, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        if isinstance(error, TensorMTError):
            raise
        raise TensorMTError(f"{path} cannot be read as {what}: {error}") from None
