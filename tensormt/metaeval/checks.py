"""What the functions of meta-evaluation are given, and what they say where it cannot be used.

Scores are tensors [..., N] of items or [..., S, N] of systems and segments, NaN where there is
none; a mask says which items are real, or how often each counts.
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.validation import (
    boolean,
    count_weights,
    integer,
    number,
    optional,
    tensor_of,
    validate,
)

# Draws of a test or an interval, sign changes of SPA: beyond them memory is asked for nothing.
MOST = 1_000_000

TABLE = tensor_of("systems", "segments", more=True)


def _items(value: Any, name: str) -> Tensor:
    """Scores [..., N] as floating-point numbers."""
    scores: Tensor = tensor_of("items", more=True)(value, name)
    return scores if scores.dtype in (torch.float32, torch.float64) else scores.to(torch.float64)


def _tables(value: Any, name: str) -> Tensor:
    """Scores of several metrics [X,S,N]."""
    tensor_of("metrics", "systems", "segments")(value, name)
    return _items(value, name)


# every public function checks those of its arguments that are listed here
CHECKED = validate(
    human=_items,
    metric=_items,
    first=_items,
    second=_items,
    x=_items,
    y=_items,
    scores=_items,
    metrics=_tables,
    documents=tensor_of("segments", kind="whole numbers"),
    mask=optional(count_weights),
    times=optional(count_weights),
    pooled=boolean,
    two_sided=boolean,
    least_gap=number(0, math.inf),
    confidence=number(0, 1, above=True),
    resamples=integer(1, MOST),
    permutations=integer(0, MOST),
    count=integer(1, 1 << 40),
    seed=integer(),
)


def _common(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that all of these can be expanded to; RuntimeError where there is none."""
    return tuple(torch.broadcast_shapes(*shapes))  # type: ignore[no-untyped-call]


def paired(x: Tensor, y: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """Two rows of scores of the same items [..., N] and their mask, all of one shape."""
    sides = [x, y] if mask is None else [x, y, mask]
    shapes = [list(side.shape) for side in sides]
    try:
        if len({shape[-1] if shape else 0 for shape in shapes}) > 1 or not x.shape[-1]:
            raise RuntimeError
        shape = _common(*shapes)
    except RuntimeError:
        told = " and ".join(map(str, shapes))
        raise TensorMTError(
            f"scores of shapes {told}: expected the same items, at least one, in the last axis"
        ) from None
    return x.expand(shape), y.expand(shape), full_mask(x, mask).expand(shape)


def check_tables(
    human: Tensor, metric: Tensor, systems: Tensor | None = None, segments: Tensor | None = None
) -> None:
    """Refuse tables [..., S, N] of different test sets, and draws [..., S], [..., N] of others."""
    TABLE(human, "human")
    if human.shape[-2:] != metric.shape[-2:] or not human[..., :1, :1].numel():
        raise TensorMTError(
            f"human scores are {list(human.shape[-2:])}, metric scores {list(metric.shape[-2:])}:"
            " both must be [systems, segments] of the same test set"
        )
    leading = [human.shape[:-2], metric.shape[:-2]]
    for times, name, size in (
        (systems, "systems", human.shape[-2]),
        (segments, "segments", human.shape[-1]),
    ):
        if times is not None:
            count_weights(times, name)
            if times.shape[-1:] != (size,):
                raise TensorMTError(
                    f"{name} of shape {list(times.shape)}: expected how often each of {size} counts"
                )
            leading.append(times.shape[:-1])
    try:
        _common(*leading)
    except RuntimeError:
        told = " and ".join(str(list(shape)) for shape in leading)
        raise TensorMTError(f"tables and draws of different numbers, {told}") from None


def full_mask(x: Tensor, mask: Tensor | None) -> Tensor:
    """Return the mask itself, or one that is True everywhere, of the shape of x."""
    if mask is None:
        return torch.ones(x.shape, dtype=torch.bool, device=x.device)
    try:
        return mask.expand(_common(x.shape, mask.shape))
    except RuntimeError:
        raise TensorMTError(
            f"a mask of shape {list(mask.shape)} for scores of shape {list(x.shape)}"
        ) from None
