"""Units of segments of similar length, padded to the same number, part by part.

A text is padded by its last unit: a unit that stands there twice changes no largest cosine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

import torch
from torch import Tensor

from tensormt.contextual.idf import ReferenceCounts
from tensormt.formulas import ratio
from tensormt.kernels.backend import copies, repeat, sum_runs, take
from tensormt.vectors.units import Units


class Parts:
    """Values of all padded units, and by index those of a part.

    Attributes: `whole`, a tensor [m].
    """

    def __init__(self, whole: Tensor, shapes: Sequence[tuple[int, int]]) -> None:
        self.whole, self._shapes = whole, shapes
        self._ends = list(accumulate(number * width for number, width in shapes))

    def __getitem__(self, part: int) -> Tensor:
        """A tensor [b,T], on the same memory."""
        number, width = self._shapes[part]
        end = self._ends[part]
        return self.whole[end - number * width : end].view(number, width)


class PaddedUnits:
    """The units of one side of n segments, which are cut into parts, with padding.

    Args:
        units: The units of all texts.
        texts: Number of the text of each segment, int64 [n].
        shapes: Of each part the number b of segments, and T of units of a segment with padding; in
            all these are m units.
        counts: Counts of the references, by which units are weighted; None: all weights are 1.

    Attributes, each `Parts`: `scale` float32; `weight` float64, 0 for special symbols and padding;
    `counted` bool, False for these; `head` int64, the place of the head of pairs, else None;
    `value` float32, zeros, in which the best cosines are collected.
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
        self._starts = widths.cumsum(0) - widths
        self.weight, self.counted = Parts(weight, shapes), Parts(counted, shapes)
        self.scale = Parts(take(units.scale, place), shapes)
        self.value = Parts(torch.zeros_like(self.scale.whole), shapes)
        self.head = None if units.head is None else Parts(take(units.head, place), shapes)
        self._place, self._vectors = Parts(place, shapes), units.vectors
        most = max((number * width for number, width in shapes), default=0)
        self._buffer = units.vectors.new_empty(most, units.vectors.shape[1])

    def vectors(self, part: int) -> Tensor:
        """Return the vectors of a part, [b,T,D]; those of the next part overwrite them."""
        place = self._place[part]
        found = self._buffer[: place.numel()]
        torch.index_select(self._vectors, 0, place.view(-1), out=found)
        return found.view(*place.shape, -1)

    def means(self, threshold: float) -> Tensor:
        """Return the weighted mean of each segment's values, float64 [n]; below a threshold 0."""
        weight, value = self.weight.whole, self.value.whole
        if not value.shape[0]:
            return weight.new_zeros(0)
        value = value.masked_fill(value < threshold, 0.0).double()
        share = sum_runs(value.mul_(weight), self._starts)
        found: Tensor = ratio(share, sum_runs(weight, self._starts))
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
