"""Argument validation of the functions of meta-evaluation.

Scores are tensors [..., N] of items or [..., S, N] of systems and segments, NaN where there is no
score. A mask says which items are present, or how often each item counts.
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

# Upper limit of resamples and permutations, so that a typing error does not exhaust the memory.
MAX_RESAMPLES = 1_000_000

TABLE = tensor_of("systems", "segments", more=True)


def _items(value: Any, name: str) -> Tensor:
    """Check scores [..., N] and convert them to floating point."""
    scores: Tensor = tensor_of("items", more=True)(value, name)
    return scores if scores.dtype in (torch.float32, torch.float64) else scores.to(torch.float64)


def _tables(value: Any, name: str) -> Tensor:
    """Check scores of several metrics [X,S,N]."""
    tensor_of("metrics", "systems", "segments")(value, name)
    return _items(value, name)


# Decorator of every public function: validates those of its arguments that are listed here.
check_arguments = validate(
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
    resamples=integer(1, MAX_RESAMPLES),
    permutations=integer(0, MAX_RESAMPLES),
    count=integer(1, 1 << 40),
    seed=integer(),
)


def common_shape(*shapes: Sequence[int]) -> tuple[int, ...]:
    """Return the shape to which all shapes broadcast; RuntimeError if there is none."""
    return tuple(torch.broadcast_shapes(*shapes))  # type: ignore[no-untyped-call]


def _show(shapes: Sequence[Sequence[int]]) -> str:
    return " and ".join(str(list(shape)) for shape in shapes)


def broadcast_scores(
    x: Tensor, y: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Broadcast two tensors of scores [..., N] of the same items, and their mask, to one shape."""
    shapes = [side.shape for side in (x, y, mask) if side is not None]
    try:
        if len({shape[-1] if shape else 0 for shape in shapes}) > 1 or not x.shape[-1]:
            raise RuntimeError
        shape = common_shape(*shapes)
    except RuntimeError:
        raise TensorMTError(
            f"scores of shapes {_show(shapes)}: expected the same items, at least one, in the last"
            " axis"
        ) from None
    return x.expand(shape), y.expand(shape), full_mask(x, mask).expand(shape)


def check_tables(
    human: Tensor, metric: Tensor, systems: Tensor | None = None, segments: Tensor | None = None
) -> None:
    """Raise unless tables [..., S, N] and resampling weights [..., S], [..., N] match."""
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
        common_shape(*leading)
    except RuntimeError:
        raise TensorMTError(
            f"leading dimensions {_show(leading)} of scores and weights do not broadcast"
        ) from None


def full_mask(x: Tensor, mask: Tensor | None) -> Tensor:
    """Return the mask, or one that is True everywhere, in the shape of x."""
    if mask is None:
        return torch.ones(x.shape, dtype=torch.bool, device=x.device)
    try:
        return mask.expand(common_shape(x.shape, mask.shape))
    except RuntimeError:
        raise TensorMTError(
            f"a mask of shape {list(mask.shape)} for scores of shape {list(x.shape)}"
        ) from None
