"""Test cases in chunks that fit into a CPU's cache, without padding for absent models.

The work on a case grows with the cube of its number of models. In a set in which one case has 37
models and most have 6, padding every case to 37 would be expensive. Cases are therefore sorted by
their number of models, and each chunk is as wide as its largest case. If all models are present,
chunks are slices.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from tensormt.kernels.backend import at_a_time

# Numbers of int32 counters and of comparisons that are in a CPU's memory at a time, and the bytes
# that each takes on other devices.
COUNTERS = 1 << 20
COMPARISONS = 1 << 18
_BYTES = 32

# Number of models of a case -> its counters and its comparisons.
Cost = Callable[[int], tuple[int, int]]


@dataclass(frozen=True)
class CaseChunk:
    """t of the T cases, whose w present models come first.

    Args:
        cases: The cases, int64 [t] or a slice.
        places: Which of the M models each model is, int64 [t,w] or [1,w].
        am: Similarities x(peer, model) [t,A,w,X].
        mm: Similarities x(model, model) [t,w,w,X].
        models: Which models are present, bool [t,w].
        peers: Which peers are present, bool [t,A].
    """

    cases: Tensor | slice
    places: Tensor
    am: Tensor
    mm: Tensor
    models: Tensor
    peers: Tensor


@dataclass(frozen=True)
class Cases:
    """The similarities of all T cases, after validation.

    Args:
        am: Similarities x(peer, model) [T,A,M,X].
        mm: Similarities x(model, model) [T,M,M,X].
        models: Which models are present, bool [T,M].
        peers: Which peers are present, bool [T,A].
        ragged: Whether models may be absent; chunks then need one host synchronization.
    """

    am: Tensor
    mm: Tensor
    models: Tensor
    peers: Tensor
    ragged: bool = True

    def bins(self, together: bool) -> int:
        """Return the number of metric sets: 2 (bin 1: all metrics together) or 2**X."""
        return 2 if together else 1 << self.am.shape[-1]

    def chunks(self, cost: Cost) -> Iterator[CaseChunk]:
        """Split the cases into chunks, given the cost of a case."""
        cases, width = self.models.shape
        if not self.ragged:
            step = self._step(cost(width))
            places = torch.arange(width, device=self.am.device)[None]
            for start in range(0, cases, step):
                part = slice(start, start + step)
                tensors = (self.am, self.mm, self.models, self.peers)
                yield CaseChunk(part, places, *(tensor[part] for tensor in tensors))
            return
        counts = self.models.sum(dim=1)
        by_size = counts.sort(descending=True, stable=True).indices
        sizes = counts[by_size].tolist()
        start = 0
        while start < cases:
            step = self._step(cost(sizes[start]))
            ids = by_size[start : start + step]
            present = self.models[ids]
            # A stable sort moves the present models to the front and keeps their order.
            places = (~present).to(torch.int8).sort(dim=1, stable=True).indices[:, : sizes[start]]
            yield CaseChunk(
                ids,
                places,
                self.am[ids[:, None], :, places].transpose(1, 2),
                self.mm[ids[:, None, None], places[:, :, None], places[:, None, :]],
                present.gather(1, places),
                self.peers[ids],
            )
            start += step

    def _step(self, cost: tuple[int, int]) -> int:
        """Return how many cases fit into a chunk, given the counters and comparisons of one."""
        counters, comparisons = (
            at_a_time(self.am, number, _BYTES) for number in (COUNTERS, COMPARISONS)
        )
        return max(1, min(counters // cost[0], comparisons // cost[1]))
