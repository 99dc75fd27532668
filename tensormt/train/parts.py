"""Segments of token ids, compared: what each n-gram of a hypothesis adds to a metric's statistics.

Columns are (segment, sample) pairs; ids lie along the first axis (ngram/compare.py). All sizes come
from the shapes, so nothing waits for the device. Weights are given for every n-gram, by its first
token, and put to 0 where it is no clipped match: a sum over places is a statistic, a cumulative sum
the statistics of all prefixes. The weights are those of ngram/weights.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import torch
from torch import Tensor
from torch.nn.functional import pad as padded

from tensormt.kernels import hashing
from tensormt.kernels.lengths import closest
from tensormt.kernels.ngrams import Order, compare
from tensormt.ngram import BM, NIST, NM
from tensormt.ngram.base import NgramMetric, TestSetMetric
from tensormt.ngram.frequencies import Frequencies
from tensormt.ngram.keys import longer

__all__ = ["Part"]


class Part:
    """Some segments, compared; columns are (segment, sample) pairs, b·K of them."""

    def __init__(
        self,
        metric: NgramMetric,
        hyp: Tensor,
        refs: Tensor,
        lengths: Tensor,
        ref_lengths: Tensor,
        prefixes: bool,
    ) -> None:
        self.metric, self.size, self.prefixes = metric, metric.max_order, prefixes
        self.shape = hyp.shape
        self.lengths, self.ref_lengths = lengths, ref_lengths
        self.number = (ref_lengths > 0).sum(1)
        low = torch.iinfo(hyp.dtype).min
        self.hyp = _columns(hyp.flatten(0, 1), lengths.flatten(), low)
        # one more row below each reference keeps its n-grams apart from the next
        rows = _columns(padded(refs, (0, 1)).flatten(0, 1), ref_lengths.flatten(), low + 1)
        self.refs = rows.view(refs.shape[2] + 1, *refs.shape[:2]).permute(2, 0, 1).contiguous()
        self.orders = compare(self.hyp, self._each(self.refs), self.size)

    def _each(self, values: Tensor) -> Tensor:
        """Values [...,b] of the segments for each of their samples, [...,b·K]."""
        return values[..., None].expand(*values.shape, self.shape[1]).flatten(-2)

    def statistics(self) -> Tensor:
        """[b,K,X], or [b,K,T+1,X] for the prefixes."""
        metric, lengths = self.metric, self.lengths
        there = self.ref_lengths[:, None]
        if self.prefixes:
            reach = torch.arange(self.shape[2] + 1, device=lengths.device)
            lengths = torch.minimum(reach, lengths[..., None])
            there = there[:, None]
        steps = torch.arange(self.size, device=lengths.device)
        totals = (lengths[..., None] - steps).clamp_min(0)
        one = torch.ones_like(lengths)
        if isinstance(metric, NIST):
            words = self.ref_lengths.sum(1).double() / self.number.clamp_min(1)
            mean = self._along(words.clamp_min(1), lengths.dim()).expand(lengths.shape)
            gains = self._sums(self._gains(metric))
            head = torch.stack([one, lengths, mean], -1)
            return torch.cat([head, gains, totals], -1)
        near = closest(lengths, there.expand(*lengths.shape, there.shape[-1]))
        head = torch.stack([one, lengths, near], -1)
        matched = self._sums([order.matched for order in self.orders])
        if not isinstance(metric, BM):
            return torch.cat([head, matched, totals], -1)
        weighted = self._sums(self._masked(self._weights(metric)))
        once = self._along(self._once(metric), lengths.dim()).expand(totals.shape)
        return torch.cat([head, matched, totals, weighted, once], -1)

    def _along(self, values: Tensor, dims: int) -> Tensor:
        """Values [b,...] of the segments with axes for samples (and prefixes) put in."""
        return values[:, None] if dims == 2 else values[:, None, None]

    def _sums(self, values: Sequence[Tensor]) -> Tensor:
        """Values of the n-grams by first token, [T-n+1,b·K] an order, summed: [b,K,(T+1,)N]."""
        if not self.prefixes:
            return torch.stack([v.sum(0) for v in values], -1).view(*self.shape[:2], self.size)
        width = self.shape[2] + 1
        sums = []
        for number, value in enumerate(values, 1):
            # an n-gram that starts at i is in all prefixes of i + n tokens and more
            first = min(number, width)
            sums.append(padded(value, (0, 0, first, width - first - value.shape[0])).cumsum(0))
        return torch.stack(sums, -1).transpose(0, 1).reshape(*self.shape[:2], width, self.size)

    def _masked(self, weights: Sequence[Tensor]) -> list[Tensor]:
        """The weights of the clipped matches, 0 elsewhere."""
        return [
            torch.where(order.matched, weight, 0.0)
            for order, weight in zip(self.orders, weights, strict=True)
        ]

    def _gains(self, metric: NIST) -> list[Tensor]:
        """Information of the matches (times their weights), float64 [T-n+1,b·K] an order."""
        if metric.info == "segment":
            words = self._each(self.ref_lengths.sum(1))
            counts = [order.total for order in self.orders]
        else:
            table = _table(metric)
            words = torch.full_like(self._each(self.number), table.words)
            counts = self._counted(table)
        gains = []
        before = words.expand(self.hyp.shape)
        for count in counts:
            prefix = before[: count.shape[0]]
            known = (count > 0) & (prefix > 0)
            ratio = torch.where(known, prefix, 1) / torch.where(known, count, 1).double()
            gains.append(torch.log2(ratio))
            before = count
        if isinstance(metric, NM):
            weights = self._weights(metric)
            gains = [gain * weight for gain, weight in zip(gains, weights, strict=True)]
        return self._masked(gains)

    def _weights(self, metric: BM | NM) -> list[Tensor]:
        """R(g) or R′(g) of each n-gram, float64 [T-n+1,b·K] an order."""
        number = self._each(self.number.clamp_min(1).double())
        if metric.weighting == "zipf":
            table = _table(metric)
            return [
                torch.log10(1 + table.rank(count, self.size) * count / number)
                for count in self._counted(table)
            ]
        diversity = self._each(self._diversity.t())
        every = metric.recurrence == "occurrences"
        return [
            diversity[n] * torch.log10(n + 1 + (order.total if every else order.holders) / number)
            for n, order in enumerate(self.orders)
        ]

    def _once(self, metric: BM) -> Tensor:
        """The weight of an n-gram that one reference holds once, float64 [b,N]."""
        number = self.number[:, None].double()
        real = number.clamp_min(1)
        if metric.weighting == "zipf":
            alone = torch.ones(1, dtype=torch.int64, device=real.device)
            weight = torch.log10(1 + _table(metric).rank(alone, self.size) / real)
        else:
            orders = torch.arange(1, self.size + 1, device=real.device)
            weight = self._diversity * torch.log10(orders + 1 / real)
        return torch.where(number > 0, weight.expand(-1, self.size), 0.0)

    @cached_property
    def _diversity(self) -> Tensor:
        """Different n-grams over all n-grams of the references, float64 [b,N]; 0/0 is 1."""
        orders = torch.arange(self.size, device=self.refs.device)
        total = (self.ref_lengths[..., None] - orders).clamp_min(0).sum(1)
        different = torch.zeros_like(total)
        for orders_of, lengths in zip(self._earlier(), self.ref_lengths.t(), strict=True):
            for n, order in enumerate(orders_of):
                place = torch.arange(order.rank.shape[0], device=total.device)[:, None]
                new = (order.rank == 0) & (order.counts.amax(0) == 0) & (place < lengths - n)
                different[:, n] += new.sum(0)
        return torch.where(total > 0, different.double() / total.clamp_min(1), 1.0)

    def _earlier(self) -> Iterator[list[Order]]:
        """Each reference compared with those before it; before the first stands nothing."""
        nothing = torch.full_like(self.refs[:1, :1], torch.iinfo(self.refs.dtype).min + 1)
        for r in range(self.refs.shape[0]):
            # the padding of a hypothesis must differ from that of a reference
            ours = torch.where(self.refs[r, :-1] == nothing[0], nothing[0] - 1, self.refs[r, :-1])
            yield compare(ours, self.refs[:r] if r else nothing, self.size)

    def _counted(self, table: Frequencies) -> list[Tensor]:
        """How often each n-gram stands in the counted references, int64 [T-n+1,b·K] an order."""
        words = hashing.mix(self.hyp.to(torch.int64))
        key = words
        counts = []
        for number in range(1, self.size + 1):
            if number > 1:
                key = longer(key[:-1], words[number - 1 :])
            counts.append(table.of(number, key.reshape(-1)).view(key.shape))
        return counts


def _columns(ids: Tensor, lengths: Tensor, padding: int) -> Tensor:
    """Ids [b,T] as columns [T,b], what lies beyond the lengths [b] replaced."""
    beyond = torch.arange(ids.shape[1], device=ids.device) >= lengths[:, None]
    return ids.masked_fill(beyond, padding).t().contiguous()


def _table(metric: TestSetMetric) -> Frequencies:
    assert metric.counts is not None  # functional.statistics has seen to it
    return metric.counts
