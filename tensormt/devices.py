"""Resolution of device names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tensormt.errors import TensorMTError
from tensormt.options import describe

if TYPE_CHECKING:
    import torch


def is_cpu(device: Any = None) -> bool:
    """Return whether the device of a name is a CPU."""
    return resolve_device(device).type == "cpu"


def resolve_device(device: Any = None) -> torch.device:
    """Return the device of a name.

    Args:
        device: Name, index or torch device; None: CPU, "auto": CUDA if available.

    Raises:
        TensorMTError: If there is no such device.

    >>> resolve_device()
    device(type='cpu')
    """
    import torch

    if isinstance(device, str) and device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        if isinstance(device, bool) or not isinstance(device, str | int | torch.device | None):
            raise TypeError
        found = torch.device("cpu" if device is None else device)
        if found.type == "meta":
            raise TypeError
    except (RuntimeError, TypeError, ValueError):
        raise TensorMTError(
            f"there is no device {describe(device)}: expected 'cpu', 'cuda' or 'auto'"
        ) from None
    if found.type == "cuda" and not torch.cuda.is_available():
        raise TensorMTError("no CUDA device is available: use cpu or auto")
    if found.type != "cpu":
        try:
            torch.empty(0, device=found)
        except Exception as error:  # each kind of device has its own
            reason = str(error).partition("\n")[0][:80]
            raise TensorMTError(
                f"the device {str(found)!r} cannot be used ({reason}): use cpu or auto"
            ) from None
    return found
