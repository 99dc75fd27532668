"""Means over orders of clipped counts over counts: what STM, HWCM and DSTM have in common.

    precision = mean over orders n of clipped(n) / count(n)

Counts are those of the hypothesis, clipped by the largest count in any single reference. An order
in which a tree has no key is left out of the mean; an empty hypothesis scores 0. Documents and
corpora sum the counts.

Balance, beyond the paper, because a precision rewards short output: `recall` and `f1` compare with
each reference alone, P and R being the means over orders of clipped / count of the hypothesis and
of the reference, F = 2PR/(P+R); the best reference gives the segment its counts: of equally good
ones that with the largest counts, compared one after the other (clipped, then the reference's, by
rising order), so that the order of the references is irrelevant. `brevity` multiplies the paper's
score by BLEU's brevity penalty, with the closest reference length in tokens (the shorter of two).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from tensormt.formulas import (
    as_float64,
    brevity_penalty,
    column,
    each,
    part,
    positive,
    ratio,
    total,
    where,
)
from tensormt.options import Choice
from tensormt.plain import MAX_ORDERS, clipped, closest_length, overridden
from tensormt.syntax.base import TreeMetric

if TYPE_CHECKING:
    from torch import Tensor

    from tensormt.explanation import Explanation
    from tensormt.kernels.counts import Keys
    from tensormt.kernels.nodes import Nodes
    from tensormt.trees.batch import TreeBatch
    from tensormt.trees.plain_trees import PlainTree

Items = Sequence[Hashable]
BALANCES = ("precision", "recall", "f1", "brevity")
Balance = Annotated[
    str,
    Choice("precision is the paper's; the others have a penalty for short output", BALANCES),
]


class ClippedPrecisionMetric(TreeMetric):
    """Mean over orders of clipped counts over counts.

    Statistics, int64: segments, clipped [D], hypothesis counts [D]; recall and f1 add the
    reference's counts [D], brevity the lengths of the hypothesis and of the closest reference.
    """

    integer = True
    balance: str
    epsilon: ClassVar[float] = 0.0  # value of a zero fraction in single segments
    item: ClassVar[str]  # what a key stands for
    order_name: ClassVar[str] = "depth"  # in signatures

    @property
    @abstractmethod
    def orders(self) -> int:
        """The number of orders: depths of subtrees, lengths of chains."""

    @abstractmethod
    def keys(self, batch: TreeBatch) -> Keys:
        """Return the keys of the batch with group = (order - 1) · B + segment."""

    @abstractmethod
    def highest(self, nodes: Nodes) -> Tensor:
        """Return the highest order in which each node gives a key, int64 [n]."""

    @abstractmethod
    def _plain_keys(self, tree: PlainTree) -> Iterator[Items]:
        """Iterate over the subtrees or chains of one tree by order; equal ones are equal."""

    @property
    def one_reference(self) -> bool:
        """Whether the best single reference gives a segment its counts."""
        return self.balance in ("recall", "f1")

    @property
    def penalizes_short_output(self) -> bool:
        """False for precisions."""
        return self.balance != "precision"

    @property
    def width(self) -> int:
        """The number of statistics."""
        more = {"recall": self.orders, "f1": self.orders, "brevity": 2}.get(self.balance, 0)
        return 1 + 2 * self.orders + more

    def _statistics(self, hyp: TreeBatch, refs: Sequence[TreeBatch]) -> Tensor:
        from tensormt.syntax import clipped_engine

        return clipped_engine.statistics(self, hyp, refs)

    def _plain_statistics(
        self, hyp: TreeBatch, refs: Sequence[TreeBatch]
    ) -> list[list[float]] | None:
        if self.orders > MAX_ORDERS or overridden(type(self), "_plain_keys", "keys", "highest"):
            return None
        if overridden(type(self), "_plain_row", "_statistics"):
            return None
        segments = self._plain_segments(hyp, refs)
        if segments is None:
            return None
        rows = [self._plain_row(own, others) for own, *others in segments]
        if self.balance == "brevity":
            words = [[tree.tokens for tree in side.plain_trees() or ()] for side in (hyp, *refs)]
            for row, (length, *others) in zip(rows, zip(*words, strict=True), strict=True):
                row += [length, closest_length(length, [other for other in others if other] or [0])]
        return rows

    def _plain_row(self, hyp: PlainTree, refs: Sequence[PlainTree]) -> list[float]:
        """Count one segment: clipped and all items of the hypothesis, and of the best reference."""
        own = list(self._plain_keys(hyp))
        count = [len(keys) for keys in own]
        if not self.one_reference:
            return [1, *_clipped(own, map(self._plain_keys, refs)), *count]
        others = [list(self._plain_keys(ref)) for ref in refs if len(ref)]
        rows: list[list[float]] = [
            [1, *_clipped(own, [ref]), *count, *map(len, ref)] for ref in others
        ]
        return max(rows, key=lambda row: (self._score(row, True), row), default=[0] * self.width)

    def _explain(self, hyp: TreeBatch, refs: Sequence[TreeBatch]) -> Explanation:
        from tensormt.syntax import clipped_engine

        return clipped_engine.explain(self, hyp, refs)

    def _score(self, rows: Any, segment: bool | None) -> Any:
        size, table = self.orders, as_float64(rows)
        both, count = part(table, 1, 1 + size), part(table, 1 + size, 1 + 2 * size)
        rest = part(table, 1 + 2 * size)
        floor: Any = None
        if self.epsilon:
            floor = self.epsilon * (column(table, 0) == 1 if segment is None else segment)
        score = _mean_fraction(both, count, floor)
        if self.balance == "brevity":
            score = score * brevity_penalty(column(rest, 0), column(rest, 1))
        elif self.one_reference:
            precision, recall = score, _mean_fraction(both, rest, floor)
            score = recall
            if self.balance == "f1":
                score = ratio(2 * precision * recall, precision + recall)
        return where(column(count, 0) > 0, score, 0.0)

    def settings(self) -> dict[str, object]:
        """Return depth or length, balance, and which trees are compared."""
        more = {"epsilon": self.epsilon} if self.epsilon else {}
        return {
            self.order_name: self.orders,
            "balance": self.balance,
            **self.tree_settings(),
            **more,
        }


def _clipped(own: Sequence[Items], refs: Iterable[Iterable[Items]]) -> list[int]:
    """Clipped counts of every order."""
    found: list[int] = []
    for items, *others in zip(own, *refs, strict=True):
        found.append(clipped(items, others))
        if not found[-1]:
            break  # an item of a higher order contains one of this order
    return found + [0] * (len(own) - len(found))


def _mean_fraction(shares: Any, wholes: Any, floor: Any) -> Any:
    """Mean over the orders with a whole of share / whole, zero fractions raised to the floor."""

    def fraction(share: Any, whole: Any) -> Any:
        some = whole > 0
        found = share / where(some, whole, 1)  # learned weights may sum to less than 1
        return found if floor is None else where(found > 0, found, least) * some

    least = floor if floor is None or isinstance(floor, float) else floor[..., None]
    number = total(each(positive, wholes))
    return total(each(fraction, shares, wholes)) / where(number > 0, number, 1)
