"""The five syntactic metrics of Liu & Gildea (2005): STM, TKM, HWCM, DSTM, DTKM.

    STM, HWCM, DSTM = mean over orders n of clipped(n) / count(n)
    TKM, DTKM       = max over references r of K(h, r) / √(K(h, h) K(r, r))

Keys are subtrees up to a depth (STM, DSTM) or headword chains up to a length (HWCM), counts are
those of the hypothesis, clipped by the largest count in any single reference. STM and TKM look at
constituency trees, the others at dependency trees (made by head rules where the batch holds
constituents).

Conventions: an order in which a tree has no key is left out of the mean; an empty hypothesis scores
0; empty reference trees are absent references. HWCM's zero fractions become 1e-3 in single segments
(section 3.1 of the paper), whatever the balance. Documents and corpora sum the counts; the kernels
take the mean of the segments.

Balance, beyond the paper, because a precision rewards short output: `recall` and `f1` look at each
reference alone, P and R being the means over orders of clipped / count of the hypothesis and of the
reference, F = 2PR/(P+R); the best reference (the first of equals) gives the segment its counts.
`brevity` multiplies the paper's score by BLEU's brevity penalty, with the closest reference length
in tokens (the shorter of equals).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.kernels.chains import chain_keys
from tensormt.kernels.counts import Keys, clipped, totals
from tensormt.kernels.lengths import brevity_penalty, closest
from tensormt.kernels.subtrees import subtree_keys
from tensormt.kernels.treekernel import Side, log_kernel, side
from tensormt.metric import Metric, check_aligned
from tensormt.trees.batch import TreeBatch
from tensormt.trees.headrules import rules_named

__all__ = ["DSTM", "DTKM", "HWCM", "STM", "TKM"]

_CHUNK = 2048  # segments at a time: the arrays of one chunk stay in the CPU's cache
_MOST = 1000  # orders: deeper subtrees than any tree has
_BALANCES = ("precision", "recall", "f1", "brevity")


class _TreeMetric(Metric[TreeBatch]):
    """Which trees are compared, and the checks that all five share."""

    dependency: ClassVar[bool]
    lexical: bool = False
    rules: str = "collins"

    def trees(self, batch: TreeBatch) -> TreeBatch:
        """The trees that this metric compares: dependencies, bare labels, or labels and words."""
        if self.dependency:
            return batch.dependencies(self.rules)
        if batch.kind == "dependency":
            raise TensorMTError(
                f"{self.name} compares constituency trees but the batch holds dependency trees: "
                f"use D{self.name} or give bracketings"
            )
        return batch.lexicalized() if self.lexical else batch.skeleton()

    def _options(self) -> dict[str, object]:
        return {"rules": self.rules} if self.dependency else {"lexical": self.lexical}

    def _check(self, hyp: TreeBatch, refs: Sequence[TreeBatch]) -> None:
        check_aligned(hyp, refs)
        present = torch.stack([ref.lengths > 0 for ref in refs]).any(0)
        if not bool(present.all()):
            number = int((~present).nonzero()[0]) + 1
            raise TensorMTError(
                f"segment {number} has no reference: every segment needs at least one tree"
            )


class _Fractions(_TreeMetric):
    """Means over orders of clipped counts over counts.

    Statistics: segments, clipped [D], hypothesis counts [D]; recall and f1 add the reference's
    counts [D], brevity the hypothesis's and the closest reference's length.
    """

    orders: int
    epsilon: ClassVar[float] = 0.0

    def __init__(self, orders: int, balance: str, what: str) -> None:
        if isinstance(orders, bool) or not isinstance(orders, int) or not 1 <= orders <= _MOST:
            raise TensorMTError(
                f"{self.name}: {what} is {orders!r}, expected an integer from 1 to {_MOST}"
            )
        if balance not in _BALANCES:
            raise TensorMTError(
                f"{self.name}: no balance named {balance!r}, choose one of {', '.join(_BALANCES)}"
            )
        self.orders, self.balance = orders, balance

    @abstractmethod
    def keys(self, batch: TreeBatch) -> Keys:
        """Keys of the batch with group = (order - 1) · B + segment."""

    def statistics(self, hyp: TreeBatch, refs: Sequence[TreeBatch]) -> Tensor:
        """Int64 [B,K]."""
        self._check(hyp, refs)
        batches = [self.trees(batch) for batch in (hyp, *refs)]
        parts = zip(*(batch.chunks(_CHUNK) for batch in batches), strict=True)
        rows = torch.cat([self._chunk(*part) for part in parts])
        if self.balance == "brevity":
            near = closest(hyp.tokens, torch.stack([ref.tokens for ref in refs], 1))
            rows = torch.cat([rows, hyp.tokens[:, None], near[:, None]], 1)
        return rows

    def _columns(self) -> int:
        return (
            1
            + 2 * self.orders
            + {"recall": self.orders, "f1": self.orders, "brevity": 2}.get(self.balance, 0)
        )

    def _chunk(self, hyp: TreeBatch, *refs: TreeBatch) -> Tensor:
        groups = len(hyp) * self.orders
        shape = (self.orders, len(hyp))
        ours = self.keys(hyp)
        theirs = [self.keys(ref) for ref in refs]
        count = totals(ours, groups).view(shape).T
        one = count.new_ones(len(hyp), 1)
        if self.balance in ("recall", "f1"):
            best = count.new_full((len(hyp),), -1, dtype=torch.float64)
            row = count.new_zeros(len(hyp), self._columns())
            for ref, keys in zip(refs, theirs, strict=True):
                both = clipped(ours, [keys], groups).view(shape).T
                other = torch.cat([one, both, count, totals(keys, groups).view(shape).T], 1)
                score = torch.where(ref.lengths > 0, self.score(other, segment=True), -1)
                row = torch.where((score > best)[:, None], other, row)
                best = torch.maximum(score, best)
            return torch.where((best < 0)[:, None], torch.cat([one, row[:, 1:]], 1), row)
        return torch.cat([one, clipped(ours, theirs, groups).view(shape).T, count], 1)

    def score(self, statistics: Tensor, *, segment: bool | None = None) -> Tensor:
        """Float64 [...]."""
        table = statistics.to(torch.float64)
        both, ours = table[..., 1 : 1 + self.orders], table[..., 1 + self.orders :]
        ours, rest = ours[..., : self.orders], ours[..., self.orders :]
        single = table[..., 0] == 1 if segment is None else torch.full_like(table[..., 0], segment)
        floor = single.to(torch.float64) * self.epsilon
        precision = _mean_fraction(both, ours, floor)
        if self.balance in ("recall", "f1"):
            score = recall = _mean_fraction(both, rest, floor)
            if self.balance == "f1":
                total = precision + recall
                score = torch.where(total > 0, 2 * precision * recall / total.clamp(min=1e-300), 0)
        elif self.balance == "brevity":
            score = precision * brevity_penalty(rest[..., 0], rest[..., 1])
        else:
            score = precision
        return torch.where(ours[..., 0] > 0, score, 0)

    def options(self) -> dict[str, object]:
        """Depth or length, balance, then what trees are compared."""
        more = {"epsilon": self.epsilon} if self.epsilon else {}
        return {self._order_name: self.orders, "balance": self.balance, **self._options(), **more}

    _order_name: ClassVar[str] = "depth"


def check_flag(name: str, option: str, value: object) -> bool:
    """The value of an option that is yes or no."""
    if not isinstance(value, bool):
        raise TensorMTError(f"{name}: {option} is {value!r}, expected True or False")
    return value


def _mean_fraction(part: Tensor, whole: Tensor, floor: Tensor) -> Tensor:
    """Mean over the orders with a whole of part / whole, zero fractions raised to the floor."""
    there = whole > 0
    fraction = part / whole.clamp(min=1)
    fraction = torch.where(fraction > 0, fraction, floor[..., None])
    return (fraction * there).sum(-1) / there.sum(-1).clamp(min=1)


class STM(_Fractions):
    """Subtree metric: shared subtrees of the constituency trees up to a depth."""

    name = "STM"
    dependency = False

    def __init__(
        self, max_depth: int = 4, balance: str = "precision", lexical: bool = False
    ) -> None:
        super().__init__(max_depth, balance, "max_depth")
        self.lexical = check_flag(self.name, "lexical", lexical)

    def keys(self, batch: TreeBatch) -> Keys:
        """Subtree keys."""
        return subtree_keys(batch.nodes, batch.labels.hashes, self.orders)


class DSTM(_Fractions):
    """Subtree metric on dependency trees, a word at every node."""

    name = "DSTM"
    dependency = True

    def __init__(
        self, max_depth: int = 3, balance: str = "precision", rules: str = "collins"
    ) -> None:
        super().__init__(max_depth, balance, "max_depth")
        rules_named(rules)
        self.rules = rules

    def keys(self, batch: TreeBatch) -> Keys:
        """Subtree keys."""
        return subtree_keys(batch.nodes, batch.labels.hashes, self.orders)


class HWCM(_Fractions):
    """Headword chain metric: shared downward paths of words in the dependency trees."""

    name = "HWCM"
    dependency = True
    epsilon = 1e-3
    _order_name = "length"

    def __init__(
        self, max_length: int = 4, balance: str = "precision", rules: str = "collins"
    ) -> None:
        super().__init__(max_length, balance, "max_length")
        rules_named(rules)
        self.rules = rules

    def keys(self, batch: TreeBatch) -> Keys:
        """Headword-chain keys."""
        return chain_keys(batch.nodes, batch.labels.hashes, self.orders)


class _Kernel(_TreeMetric):
    """Cosine of tree kernels with the best reference. Statistics: segments, score."""

    def __init__(self, decay: float) -> None:
        if isinstance(decay, bool) or not isinstance(decay, (int, float)) or not 0 < decay <= 1:
            raise TensorMTError(f"{self.name}: decay is {decay!r}, expected above 0 and at most 1")
        self.decay = float(decay)

    def log_kernel(self, left: TreeBatch, right: TreeBatch) -> Tensor:
        """log K(left b, right b) of aligned trees, float64 [B]; -inf where K is 0."""
        check_aligned(left, [right])
        sides = zip(self._sides(left), self._sides(right), strict=True)
        return torch.cat([log_kernel(a, b, self.decay) for a, b in sides])

    def _sides(self, batch: TreeBatch) -> list[Side]:
        """The trees in chunks, prepared for the kernel; made once for a batch."""
        trees = self.trees(batch)
        return trees.memo(
            "sides", lambda: [side(p.nodes, p.labels.hashes) for p in trees.chunks(_CHUNK)]
        )

    def _log_self(self, batch: TreeBatch) -> Tensor:
        trees = self.trees(batch)
        return trees.memo(("log K", self.decay), lambda: self.log_kernel(batch, batch))

    def log(self, hyp: TreeBatch, refs: Sequence[TreeBatch]) -> Tensor:
        """Log of the segment scores, float64 [B]: scores of long sentences at decay 1 are tiny."""
        self._check(hyp, refs)
        best = torch.full((len(hyp),), -math.inf, dtype=torch.float64, device=hyp.device)
        own = self._log_self(hyp)
        for ref in refs:
            both = self.log_kernel(hyp, ref)
            cosine = both - (own + self._log_self(ref)) / 2
            best = torch.maximum(best, torch.where(both.isinf(), -math.inf, cosine))
        return best.clamp(max=0)

    def statistics(self, hyp: TreeBatch, refs: Sequence[TreeBatch]) -> Tensor:
        """Float64 [B,2]."""
        score = self.log(hyp, refs).exp()
        return torch.stack([torch.ones_like(score), score], 1)

    def score(self, statistics: Tensor, *, segment: bool | None = None) -> Tensor:
        """Float64 [...]."""
        return (statistics[..., 1] / statistics[..., 0].clamp(min=1)).to(torch.float64)

    def options(self) -> dict[str, object]:
        """Decay, then what trees are compared."""
        decay = int(self.decay) if self.decay == 1 else self.decay
        return {"decay": decay, **self._options()}


class TKM(_Kernel):
    """Tree kernel metric on constituency trees."""

    name = "TKM"
    dependency = False

    def __init__(self, decay: float = 1.0, lexical: bool = False) -> None:
        super().__init__(decay)
        self.lexical = check_flag(self.name, "lexical", lexical)


class DTKM(_Kernel):
    """Tree kernel metric on dependency trees."""

    name = "DTKM"
    dependency = True

    def __init__(self, decay: float = 1.0, rules: str = "collins") -> None:
        super().__init__(decay)
        rules_named(rules)
        self.rules = rules
