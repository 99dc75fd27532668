"""One direction of one layer of an LSTM as a single call, as cuDNN wants it called.

On a CUDA device torch runs the call in cuDNN, which differs from the CPU in three points. It needs
to know whether a backward pass follows. It uses TF32, with 10 bits of a float32's 23, unless that
is switched off: about one tree in a thousand would change (`full_precision`). And it reads the
weights from one block of memory: weights that are not stored that way are copied at every call
(`flatten`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

_LSTM = 2  # cuDNN's number of the cell


def lstm(x: Tensor, weights: list[Tensor], batch_first: bool = False) -> Tensor:
    """Run one direction of one layer from a state of zeros: float [T,B,D] -> float [T,B,H].

    Args:
        x: input, [B,T,D] with `batch_first`.
        weights: of the input [4H,D], recurrent [4H,H], and both biases [4H].
        batch_first: whether input and result have the batch first.
    """
    zeros = x.new_zeros(1, x.shape[0 if batch_first else 1], weights[1].shape[1])
    trains = torch.is_grad_enabled()  # cuDNN has no backward pass for a call without training
    found: Tensor = torch.lstm(
        x, (zeros, zeros), weights, True, 1, 0.0, trains, False, batch_first
    )[0]
    return found


def flatten(weights: list[Tensor]) -> None:
    """Move the weights of `lstm` into one block of memory, in place, where cuDNN runs."""
    cudnn: Any = torch.backends.cudnn
    if cudnn.is_acceptable(weights[0]):
        width, hidden = weights[0].shape[1], weights[1].shape[1]
        with torch.no_grad():
            torch._cudnn_rnn_flatten_weight(
                weights, len(weights), width, _LSTM, hidden, 0, 1, False, False
            )


@contextmanager
def full_precision() -> Iterator[None]:
    """Use all bits of float32 in products and LSTMs, whatever the process allows elsewhere.

    That is TF32, and the bfloat16 or float16 of a `torch.autocast` around the call.
    """
    cudnn: Any = torch.backends.cudnn
    matmul: Any = torch.backends.cuda.matmul
    # torch 2.9 and later have a setting for each operation, earlier ones one for all of cuDNN
    newer = hasattr(cudnn.rnn, "fp32_precision")
    owner, name, precise = (
        (cudnn.rnn, "fp32_precision", "ieee") if newer else (cudnn, "allow_tf32", False)
    )
    kept = [(owner, name, getattr(owner, name))]
    if newer:
        kept.append((matmul, name, matmul.fp32_precision))
    try:
        products = torch.get_float32_matmul_precision()
    except RuntimeError:  # the newer setting was used, and the older one says otherwise
        products = "highest"
    torch.set_float32_matmul_precision("highest")  # sets the newer one too
    setattr(owner, name, precise)
    mixed = [kind for kind in ("cpu", "cuda") if torch.is_autocast_enabled(kind)]
    for kind in mixed:
        torch.set_autocast_enabled(kind, False)
    try:
        yield
    finally:
        for kind in mixed:
            torch.set_autocast_enabled(kind, True)
        torch.set_float32_matmul_precision(products)
        for owner, name, value in kept:
            setattr(owner, name, value)
