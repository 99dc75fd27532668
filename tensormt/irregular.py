"""Sort, search, nonzero and run lengths: the few operations that CPU torch does slowly.

On CPU tensors they run in numpy on the same memory (no copy), on any other device in torch, with
equal results; everything else in the package is plain torch and never asks which device it is on.
`nonzero` and `runs` have sizes that depend on the data: on CUDA each costs one host sync.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch
from torch import Tensor

__all__ = ["argsort", "equal", "nonzero", "repeat", "runs", "search", "sort"]


def sort(values: Tensor) -> Tensor:
    """The values [n] in rising order."""
    if values.device.type == "cpu":
        return torch.from_numpy(np.sort(values.numpy()))
    return torch.sort(values).values


def argsort(values: Tensor) -> Tensor:
    """The stable order [n] (int64) that sorts the values [n]."""
    if values.device.type == "cpu":
        return torch.from_numpy(np.argsort(values.numpy(), kind="stable"))
    return torch.sort(values, stable=True).indices


def search(ordered: Tensor, values: Tensor, *, right: bool = False) -> Tensor:
    """Where each of values [m] would be inserted into ordered [n], as int64 [m]."""
    if values.device.type == "cpu":
        side: Literal["left", "right"] = "right" if right else "left"
        return torch.from_numpy(np.searchsorted(ordered.numpy(), values.numpy(), side=side))
    return torch.searchsorted(ordered, values, right=right)


def equal(left: Tensor, right: Tensor) -> Tensor:
    """Element-wise equality (broadcast), bool; numpy compares short integers five times faster."""
    if left.device.type == "cpu":
        return torch.from_numpy(np.equal(left.numpy(), right.numpy()))
    return left == right


def nonzero(mask: Tensor) -> Tensor:
    """The flat positions (int64, rising) at which a mask of any shape holds."""
    if mask.device.type == "cpu":
        return torch.from_numpy(np.flatnonzero(mask.numpy()))
    return mask.flatten().nonzero().squeeze(1)


def runs(ordered: Tensor) -> tuple[Tensor, Tensor]:
    """Starts and lengths (int64) of the runs of equal values in ordered [n]."""
    first = torch.ones(ordered.shape[0] + 1, dtype=torch.bool, device=ordered.device)
    if ordered.shape[0]:
        torch.ne(ordered[1:], ordered[:-1], out=first[1:-1])
    else:
        first[0] = False
    edges = nonzero(first)
    if not ordered.shape[0]:
        return edges, edges
    return edges[:-1], edges[1:] - edges[:-1]


def repeat(counts: Tensor) -> tuple[Tensor, Tensor]:
    """For counts [n]: the owner of every item and its number within it, both [sum(counts)]."""
    if counts.device.type == "cpu":
        owner = torch.from_numpy(np.repeat(np.arange(counts.shape[0]), counts.numpy()))
    else:
        owner = torch.repeat_interleave(counts)
    start = counts.cumsum(0) - counts
    return owner, torch.arange(owner.shape[0], device=counts.device) - start[owner]
