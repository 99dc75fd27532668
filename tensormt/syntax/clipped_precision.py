"""Means over orders of clipped counts over counts: what STM, HWCM and DSTM have in common.

    precision = mean over orders n of clipped(n) / count(n)

Counts are those of the hypothesis, clipped by the largest count in any single reference. An order
in which a tree has no key is left out of the mean; an empty hypothesis scores 0. Documents and
corpora sum the counts.

Balance, beyond the paper, because a precision rewards short output: `recall` and `f1` look at each
reference alone, P and R being the means over orders of clipped / count of the hypothesis and of the
reference, F = 2PR/(P+R); the best reference (the first of equals) gives the segment its counts.
`brevity` multiplies the paper's score by BLEU's brevity penalty, with the closest reference length
in tokens (the shorter of equals).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor

from tensormt.explanation import Explanation
from tensormt.kernels.backend import nonzero, take
from tensormt.kernels.counts import Keys, Sides
from tensormt.kernels.lengths import brevity_penalty, closest
from tensormt.kernels.matches import Occurrences, items
from tensormt.kernels.nodes import Nodes
from tensormt.syntax.base import CHUNK, TreeMetric
from tensormt.trees.batch import TreeBatch
from tensormt.validation import integer, one_of

__all__ = ["BALANCES", "ClippedPrecisionMetric"]

_MOST = 1000  # orders: deeper subtrees than any tree has
BALANCES = ("precision", "recall", "f1", "brevity")


class ClippedPrecisionMetric(TreeMetric):
    """Means over orders of clipped counts over counts.

    Statistics: segments, clipped [D], hypothesis counts [D]; recall and f1 add the reference's
    counts [D], brevity the hypothesis's and the closest reference's length.
    """

    orders: int
    epsilon: ClassVar[float] = 0.0
    item: ClassVar[str]  # what a key stands for

    def __init__(self, orders: int, balance: str, what: str) -> None:
        self.orders = integer(1, _MOST)(orders, what)
        self.balance: str = one_of(BALANCES)(balance, "balance")

    @abstractmethod
    def keys(self, batch: TreeBatch) -> Keys:
        """Keys of the batch with group = (order - 1) · B + segment."""

    @abstractmethod
    def highest(self, nodes: Nodes) -> Tensor:
        """The highest order in which each node gives a key, int64 [n]."""

    def statistics(self, hyp: TreeBatch, refs: Sequence[TreeBatch]) -> Tensor:
        """Int64 [B,K]."""
        self.check(hyp, refs)
        batches = [self.trees(batch) for batch in (hyp, *refs)]
        parts = zip(*(batch.chunks(CHUNK) for batch in batches), strict=True)
        rows = torch.cat([self._rows(part[1:], self._keyed(part)) for part in parts])
        if self.balance == "brevity":
            near = closest(hyp.tokens, torch.stack([ref.tokens for ref in refs], 1))
            rows = torch.cat([rows, hyp.tokens[:, None], near[:, None]], 1)
        return rows

    @property
    def width(self) -> int:
        """Segments, two counts for each order, and what the balance adds."""
        return (
            1
            + 2 * self.orders
            + {"recall": self.orders, "f1": self.orders, "brevity": 2}.get(self.balance, 0)
        )

    def _keyed(self, batches: Sequence[TreeBatch]) -> Sides:
        """The keys of aligned batches of the trees that are compared."""
        return Sides([self.keys(batch) for batch in batches], len(batches[0]) * self.orders)

    def _rows(self, refs: Sequence[TreeBatch], sides: Sides) -> Tensor:
        """The statistics, given the counts of the hypothesis and the references."""
        size = len(refs[0])
        every = range(1, 1 + len(refs))
        if self.balance not in ("recall", "f1"):
            return self._row(size, [sides.clipped(every), sides.totals(0)])
        count = sides.totals(0)
        best = count.new_full((size,), -1, dtype=torch.float64)
        row = count.new_zeros(size, self.width)
        for side, ref in zip(every, refs, strict=True):
            candidate = self._row(size, [sides.clipped([side]), count, sides.totals(side)])
            score = torch.where(ref.lengths > 0, self.score(candidate, segment=True), -1)
            row = torch.where((score > best)[:, None], candidate, row)
            best = torch.maximum(score, best)
        return row

    def _row(self, segments: int, counts: Sequence[Tensor]) -> Tensor:
        """Counts [D·B] of several kinds as rows of B segments, with their number before them."""
        columns = [count.view(self.orders, segments).T for count in counts]
        return torch.cat([counts[0].new_ones(segments, 1), *columns], 1)

    def score(self, statistics: Tensor, *, segment: bool | None = None) -> Tensor:
        """Float64 [...]."""
        table = statistics.to(torch.float64)
        size = self.orders
        both, count, rest = (
            table[..., 1 : 1 + size],
            table[..., 1 + size : 1 + 2 * size],
            table[..., 1 + 2 * size :],
        )
        floor = None
        if self.epsilon:
            one = table[..., 0]
            single = one == 1 if segment is None else torch.full_like(one, segment)
            floor = single.to(torch.float64) * self.epsilon
        precision = _mean_fraction(both, count, floor)
        if self.balance in ("recall", "f1"):
            score = recall = _mean_fraction(both, rest, floor)
            if self.balance == "f1":
                total = precision + recall
                some = total > 0
                score = torch.where(some, 2 * precision * recall / torch.where(some, total, 1), 0)
        elif self.balance == "brevity":
            score = precision * brevity_penalty(rest[..., 0], rest[..., 1])
        else:
            score = precision
        return torch.where(count[..., 0] > 0, score, 0)

    def explain(self, hyp: TreeBatch, refs: Sequence[TreeBatch]) -> Explanation:
        """The subtrees or chains that were counted."""
        self.check(hyp, refs)
        trees, *others = (self.trees(batch) for batch in (hyp, *refs))
        only = None
        if self.balance in ("recall", "f1"):
            (own, *keys), groups = self._keyed([trees, *others])
            rows = [
                self.score(self._rows([ref], Sides([own, key], groups)), segment=True)
                for ref, key in zip(others, keys, strict=True)
            ]
            present = (ref.lengths > 0 for ref in others)
            scores = [torch.where(p, row, -1.0) for p, row in zip(present, rows, strict=True)]
            only = torch.stack(scores).argmax(0)
        sides = [self._occurrences(batch) for batch in (trees, *others)]
        columns = [[1 + order] for order in range(self.orders)]
        found = items(sides[0], sides[1:], only)
        return Explanation(self.item, trees, others, found, columns=columns, best=only)

    def _occurrences(self, batch: TreeBatch) -> Occurrences:
        nodes, group, key = batch.nodes, *self.keys(batch)[:2]
        # keys come order by order, each by rising nodes
        highest = self.highest(nodes)
        node = torch.cat([nonzero(highest >= order) for order in range(1, self.orders + 1)])
        segment = group % max(len(batch), 1)
        order = group // max(len(batch), 1) + 1
        return Occurrences(segment, order, node - take(nodes.offsets, segment), key)

    def options(self) -> dict[str, object]:
        """Depth or length, balance, then what trees are compared."""
        more = {"epsilon": self.epsilon} if self.epsilon else {}
        return {
            self.order_name: self.orders,
            "balance": self.balance,
            **self.tree_options(),
            **more,
        }

    order_name: ClassVar[str] = "depth"


def _mean_fraction(part: Tensor, whole: Tensor, floor: Tensor | None) -> Tensor:
    """Mean over the orders with a whole of part / whole, zero fractions raised to the floor."""
    present = whole > 0
    fraction = part / torch.where(present, whole, 1)  # learned weights may sum to less than 1
    if floor is not None:
        fraction = torch.where(fraction > 0, fraction, floor[..., None])
    return (fraction * present).sum(-1) / present.sum(-1).clamp_min(1)
