"""Chunks of cases that stay near the cache, with no room for models that are not there.

The work on a case grows with the cube of its models, so a set in which one case has 37 models and
most have 6 must not pad every case to 37: cases are taken in falling order of their models, and
each chunk is as wide as its widest case. Where all models are real, chunks are plain slices.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

# Alive at a time: int32 counters, and comparisons.
COUNTERS = 1 << 20
COMPARISONS = 1 << 18

# Models of a case -> its counters and its comparisons.
Cost = Callable[[int], tuple[int, int]]


@dataclass(frozen=True)
class Chunk:
    """t of the T cases, with their w real models in front."""

    cases: Tensor | slice  # the cases, int64 [t] or a slice
    places: Tensor  # int64 [t,w] or [1,w]: which of the M models each is
    am: Tensor  # [t,A,w,X]
    mm: Tensor  # [t,w,w,X]
    models: Tensor  # bool [t,w]
    peers: Tensor  # bool [t,A]


def chunks(
    am: Tensor, mm: Tensor, models: Tensor, peers: Tensor, ragged: bool, cost: Cost
) -> Iterator[Chunk]:
    """Cut am [T,A,M,X], mm [T,M,M,X] and the masks bool [T,M], [T,A] into chunks.

    ``ragged``: some models may be masked; costs one host sync.
    """
    cases, width = models.shape
    if not ragged:
        step = _step(cost(width))
        places = torch.arange(width, device=am.device)[None]
        for start in range(0, cases, step):
            part = slice(start, start + step)
            yield Chunk(part, places, am[part], mm[part], models[part], peers[part])
        return
    counts = models.sum(dim=1)
    by_size = counts.sort(descending=True, stable=True).indices
    sizes = counts[by_size].tolist()
    start = 0
    while start < cases:
        step = _step(cost(sizes[start]))
        ids = by_size[start : start + step]
        real = models[ids]
        # A stable sort puts the real models in front and keeps their order.
        places = (~real).to(torch.int8).sort(dim=1, stable=True).indices[:, : sizes[start]]
        yield Chunk(
            ids,
            places,
            am[ids[:, None], :, places].transpose(1, 2),
            mm[ids[:, None, None], places[:, :, None], places[:, None, :]],
            real.gather(1, places),
            peers[ids],
        )
        start += step


def _step(cost: tuple[int, int]) -> int:
    """How many cases fit, given the counters and the comparisons of one."""
    return max(1, min(COUNTERS // cost[0], COMPARISONS // cost[1]))
