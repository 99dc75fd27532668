"""Units of segments of similar length, padded to the same number, part by part.

A text is padded by its last unit: a unit that stands there twice changes no largest cosine.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from tensormt.contextual.idf import ReferenceCounts
from tensormt.formulas import ratio
from tensormt.kernels.backend import copies, repeat, sum_runs, take
from tensormt.vectors.units import Units


class PaddedUnits:
    """The units of one side of n segments, which are cut into parts, with padding.

    Args:
        units: The units of all texts.
        texts: Number of the text of each segment, int64 [n].
        shapes: Of each part the number b of segments, and T of units of a segment with padding; in
            all these are m units.
        counts: Counts of the references, by which units are weighted; None: all weights are 1.

    Attributes, each a tensor [b,T] for every part: `scale` float32; `weight` float64, 0 for special
    symbols and padding; `counted` bool, False for these; `head` int64, the place of the head of
    pairs, else None; `value` float32, zeros, in which the best cosines are collected.
    """

    def __init__(
        self,
        units: Units,
        texts: Tensor,
        shapes: list[tuple[int, int]],
        counts: ReferenceCounts | None,
    ) -> None:
        numbers, wide = torch.tensor(shapes, dtype=torch.int64).view(-1, 2).unbind(1)
        widths = copies(wide, numbers).to(texts.device)
        owner, within = repeat(widths)
        last = take(take(units.lengths, texts) - 1, owner)
        place = take(take(units.starts, texts), owner) + within.minimum(last)
        counted = take(units.real, place).logical_and_(within <= last)
        weight = counted.double()
        if counts is not None:
            weight *= counts.weights(take(units.key, place))
        self._shapes, self._starts = shapes, widths.cumsum(0) - widths
        self._weight, self._value = weight, units.scale.new_zeros(place.shape)
        self.weight, self.value = self._parts(weight), self._parts(self._value)
        self.scale, self.counted = self._parts(take(units.scale, place)), self._parts(counted)
        self.head = None if units.head is None else self._parts(take(units.head, place))
        self._place, self._vectors = self._parts(place), units.vectors
        most = max((number * width for number, width in shapes), default=0)
        self._buffer = units.vectors.new_empty(most, units.vectors.shape[1])

    def _parts(self, values: Tensor) -> list[Tensor]:
        """The values of units [m] as a tensor [b,T] for each part, on the same memory."""
        parts = torch.split(values, [number * width for number, width in self._shapes])
        return [own.view(shape) for own, shape in zip(parts, self._shapes, strict=True)]

    def vectors(self, part: int) -> Tensor:
        """Return the vectors of a part, [b,T,D]; those of the next part overwrite them."""
        place = self._place[part]
        found = self._buffer[: place.numel()]
        torch.index_select(self._vectors, 0, place.view(-1), out=found)
        return found.view(*place.shape, -1)

    def means(self, threshold: float) -> Tensor:
        """Return the weighted mean of each segment's values, float64 [n]; below a threshold 0."""
        if not self._shapes:
            return self._weight.new_zeros(0)
        value = self._value.masked_fill(self._value < threshold, 0.0).double()
        share = sum_runs(value.mul_(self._weight), self._starts)
        found: Tensor = ratio(share, sum_runs(self._weight, self._starts))
        return found


def cut(own: list[int], other: list[int], cells: int) -> Iterator[tuple[int, int]]:
    """Split segments into parts whose padded units are at most so many: start, stop.

    Args:
        own: Number of units of each hypothesis, similar ones side by side.
        other: Number of units of each reference.
        cells: Most units of a part, unless it has one segment.
    """
    low = 0
    while low < len(own):
        high, most = low, [0, 0]
        while high < len(own):
            wide = [max(most[0], own[high]), max(most[1], other[high])]
            if high > low and sum(wide) * (high + 1 - low) > cells:
                break
            most, high = wide, high + 1
        yield low, high
        low = high
