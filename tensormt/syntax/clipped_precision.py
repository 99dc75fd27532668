"""Means over orders of clipped counts over counts: what STM, HWCM and DSTM have in common.

    precision = mean over orders n of clipped(n) / count(n)

Counts are those of the hypothesis, clipped by the largest count in any single reference. An order
in which a tree has no key is left out of the mean; an empty hypothesis scores 0. Documents and
corpora sum the counts.

Balance, beyond the paper, because a precision rewards short output: `recall` and `f1` compare with
each reference alone, P and R being the means over orders of clipped / count of the hypothesis and
of the reference, F = 2PR/(P+R); the best reference (the first of equals) gives the segment its
counts. `brevity` multiplies the paper's score by BLEU's brevity penalty, with the closest reference
length in tokens (the shorter of equals).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from tensormt.formulas import as_float64, brevity_penalty, namespace
from tensormt.metric import single_segments
from tensormt.options import Choice
from tensormt.syntax.base import TreeMetric

if TYPE_CHECKING:
    from torch import Tensor

    from tensormt.explanation import Explanation
    from tensormt.kernels.counts import Keys
    from tensormt.kernels.nodes import Nodes
    from tensormt.trees.batch import TreeBatch

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

    def _explain(self, hyp: TreeBatch, refs: Sequence[TreeBatch]) -> Explanation:
        from tensormt.syntax import clipped_engine

        return clipped_engine.explain(self, hyp, refs)

    def _score(self, rows: Any, segment: bool | None) -> Any:
        xp, size = namespace(rows), self.orders
        table = as_float64(rows)
        both, count, rest = (
            table[..., 1 : 1 + size],
            table[..., 1 + size : 1 + 2 * size],
            table[..., 1 + 2 * size :],
        )
        floor = None
        if self.epsilon:
            floor = as_float64(single_segments(table, segment)) * self.epsilon
        score = _mean_fraction(both, count, floor)
        if self.balance == "brevity":
            score = score * brevity_penalty(rest[..., 0], rest[..., 1])
        elif self.one_reference:
            precision, recall = score, _mean_fraction(both, rest, floor)
            total = precision + recall
            some = total > 0
            score = recall
            if self.balance == "f1":
                score = xp.where(some, 2 * precision * recall / xp.where(some, total, 1), 0.0)
        return xp.where(count[..., 0] > 0, score, 0.0)

    def settings(self) -> dict[str, object]:
        """Return depth or length, balance, and which trees are compared."""
        more = {"epsilon": self.epsilon} if self.epsilon else {}
        return {
            self.order_name: self.orders,
            "balance": self.balance,
            **self.tree_settings(),
            **more,
        }


def _mean_fraction(part: Any, whole: Any, floor: Any) -> Any:
    """Mean over the orders with a whole of part / whole, zero fractions raised to the floor."""
    xp = namespace(whole)
    present = whole > 0
    fraction = part / xp.where(present, whole, 1.0)  # learned weights may sum to less than 1
    if floor is not None:
        fraction = xp.where(fraction > 0, fraction, floor[..., None])
    return (fraction * present).sum(-1) / xp.clip(present.sum(-1), 1, None)
