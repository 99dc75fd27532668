"""Segments compared with their references: all that an n-gram metric may ask of them.

A `MatchTable` holds b columns (segments, or samples of segments) of like length; its orders say for
the n-gram at each place its rank among equal ones and its count in every reference
(kernels/ngrams.py). Text and token ids both end here, so a metric counts in one function:

    sums of values over clipped matches   [b,N], or of all prefixes [b,T+1,N]

`places` are where values are computed: from text on a CPU only the places that a reference holds,
from ids and on devices all of them, since their number needs no host sync then. An n-gram is a
clipped match when its rank is below its largest count in a reference; rank and count do not change
when the hypothesis goes on, so the statistics of prefixes are cumulative sums.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor
from torch.nn.functional import pad

from tensormt.errors import TensorMTError
from tensormt.kernels.backend import nonzero, running_sum
from tensormt.kernels.lengths import closest
from tensormt.kernels.ngrams import Order
from tensormt.ngram.frequencies import Frequencies
from tensormt.ngram.keys import longer
from tensormt.ngram.plain_matches import LACKING


class ReferenceStats(Protocol):
    """What metrics ask of the references of b columns."""

    lengths: Tensor  # int64 [R,b]; 0: absent
    number: Tensor  # int64 [b]: references that are present

    def diversity(self, max_order: int) -> Tensor:
        """Different n-grams over all n-grams of the references, float64 [b,N]; 0/0 is 1."""


if TYPE_CHECKING:
    once = property
else:

    def once(made: Callable[[Any], Any]) -> property:
        """A property made once, without the lock of `cached_property`: torch compiles it."""
        name = made.__name__

        def get(self: Any) -> Any:
            if name not in self.kept:
                self.kept[name] = made(self)
            return self.kept[name]

        return property(get, doc=made.__doc__)


@dataclass(frozen=True)
class Places:
    """Places of one order, [m] of its [T-n+1,b] cells; `cells` None: all of them."""

    order: Order
    cells: Tensor | None
    kept: dict[str, Tensor] = field(default_factory=dict)

    def pick(self, values: Tensor) -> Tensor:
        """Values [...,≥T-n+1,b] of this order or a lower one at the places, [...,m]."""
        flat = values.flatten(-2)
        if self.cells is None:
            return flat[..., : self.order.rank.numel()]
        return flat.index_select(-1, self.cells)

    def of_segments(self, values: Tensor) -> Tensor:
        """Values [b] of the columns at the places, [m]."""
        if self.cells is None:
            return values.expand(self.order.rank.shape).reshape(-1)
        return values.index_select(0, self.segments)

    @once
    def segments(self) -> Tensor:
        """The column of each place, [m]."""
        assert self.cells is not None
        size = max(self.order.rank.shape[1], 1)
        return self.cells - self.cells // size * size  # three times as fast as the remainder

    def spread(self, values: Tensor) -> Tensor:
        """Values [m] put at their places, 0 elsewhere, [T-n+1,b]."""
        shape = self.order.rank.shape
        if self.cells is None:
            return values.view(shape)
        cells = values.new_zeros(self.order.rank.numel())
        return cells.scatter_(0, self.cells, values).view(shape)

    @once
    def counts(self) -> Tensor:
        """How often the n-gram stands in each reference, [R,m]."""
        return self.pick(self.order.counts)

    @once
    def matched(self) -> Tensor:
        """Which places are clipped matches, bool [m]."""
        return self.pick(self.order.rank) < self.counts.amax(0)


_BY_ORDER = ("clipped", "places")  # what a comparison keeps for each order


@dataclass(frozen=True)
class MatchTable:
    """b columns compared with their references."""

    orders: list[Order]
    hyp_lengths: Tensor  # int64 [b]
    refs: ReferenceStats
    hashes: Callable[[], Tensor]  # content hashes of the hypotheses' tokens, int64 [T,b]
    by_shape: bool = False  # sizes come from shapes alone: no host sync
    from_text: bool = False
    prefixes: bool = False
    kept: dict[str, Any] = field(default_factory=dict)

    def up_to(self, max_order: int) -> MatchTable:
        """The same comparison without the orders above one."""
        if max_order == len(self.orders):
            return self
        kept = {name: self.kept[name][:max_order] for name in _BY_ORDER if name in self.kept}
        return replace(self, orders=self.orders[:max_order], kept=kept)

    @once
    def places(self) -> list[Places]:
        """For each order the places at which values are computed."""
        if self.by_shape:
            return [Places(order, None) for order in self.orders]
        return [Places(order, nonzero(order.held)) for order in self.orders]

    @once
    def lengths(self) -> Tensor:
        """Lengths [b] of the hypotheses, or [b,T+1] of their prefixes."""
        if not self.prefixes:
            return self.hyp_lengths
        reach = torch.arange(self.orders[0].rank.shape[0] + 1, device=self.hyp_lengths.device)
        return torch.minimum(reach, self.hyp_lengths[:, None])

    def along(self, values: Tensor) -> Tensor:
        """Values [b,...] of the columns, the same for all prefixes."""
        if not self.prefixes:
            return values
        shape = (*self.lengths.shape, *values.shape[1:])
        return values[:, None].expand(shape)

    @property
    def closest(self) -> Tensor:
        """The length of the reference closest to each hypothesis, in the shape of lengths."""
        refs = self.along(self.refs.lengths.t())
        return closest(self.lengths, refs)

    @property
    def totals(self) -> Tensor:
        """Number of n-grams of each order, int64 [...,N]."""
        orders = torch.arange(len(self.orders), device=self.lengths.device)
        return (self.lengths[..., None] - orders).clamp_min(0)

    def rows(self, reference: Tensor, *blocks: Tensor) -> Tensor:
        """Rows of statistics: one segment, its length, a reference length, then blocks [...,N]."""
        head = [torch.ones_like(self.lengths), self.lengths, reference]
        return torch.cat([torch.stack(head, -1), *blocks], -1)

    @once
    def clipped(self) -> list[Tensor]:
        """Which n-grams are clipped matches, bool [T-n+1,b] an order."""
        return [order.matched for order in self.orders]

    @property
    def matched(self) -> Tensor:
        """Number of clipped matches of each order, int64 [...,N]."""
        return self.along_text(self.clipped)

    def sums(self, values: Sequence[Tensor]) -> Tensor:
        """Values [m] at the places of each order summed over its clipped matches, [...,N]."""
        chosen = [
            torch.where(here.matched, value, 0.0)
            for here, value in zip(self.places, values, strict=True)
        ]
        if self.by_shape or self.prefixes:
            spread = [h.spread(v) for h, v in zip(self.places, chosen, strict=True)]
            return self.along_text(spread)
        size = self.hyp_lengths.shape[0]
        parts = []
        for here, value in zip(self.places, chosen, strict=True):
            zeros = torch.zeros(size, dtype=torch.float64, device=value.device)
            parts.append(zeros.index_add_(0, here.segments, value))
        return torch.stack(parts, 1)

    def along_text(self, values: Sequence[Tensor]) -> Tensor:
        """Values [T-n+1,b] an order summed over the text, or cumulated: [b,N], [b,T+1,N]."""
        if not self.prefixes:
            return torch.stack([value.sum(0) for value in values], -1)
        width = self.lengths.shape[1]
        sums = []
        for number, value in enumerate(values, 1):
            # an n-gram that starts at i is in all prefixes of i + n tokens and more
            first = min(number, width)
            sums.append(running_sum(pad(value, (0, 0, first, width - first - value.shape[0]))))
        return torch.stack(sums, -1).transpose(0, 1)

    def _lacks(self, counts: list[Tensor]) -> bool:
        """Whether an n-gram that a reference holds has no count. One host synchronisation."""
        found = []
        for here, count in zip(self.places, counts, strict=True):
            lacking = count == 0
            if here.cells is None:
                lacking &= here.pick(here.order.held)
            found.append(lacking.any())
        return bool(torch.stack(found).any())

    def counted(self, table: Frequencies) -> list[Tensor]:
        """How often the n-gram at each place stands in the whole test set, int64 [m] an order.

        Text whose matches the table lacks is an error; from ids such a match counts 0.
        """
        words = self.hashes()
        columns = words.shape[1]
        words = words.reshape(-1)
        keys, counts = words, []
        for number, here in enumerate(self.places, 1):
            size = here.order.rank.numel()
            if number > 1:
                keys = longer(keys[:size], words[(number - 1) * columns :])
            key = keys if here.cells is None else keys.index_select(0, here.cells)
            counts.append(table.of(number, key))
        if self.from_text and not table.complete and self._lacks(counts):
            raise TensorMTError(LACKING)
        return counts
