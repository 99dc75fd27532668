"""Kendall's tau, its WMT variants and pairwise accuracy, from counts of pairs, batched and masked.

Of the pairs of items, C are concordant (people and metric order them alike), D discordant, H tied
by people only, M tied by the metric only, B tied by both:

    tau_a      (C - D) / (C + D + H + M + B)
    tau_b      (C - D) / √((C + D + H)(C + D + M))
    tau_c      2 (C - D) / (n² (k - 1) / k), k the smaller number of different values (Stuart)
    tau_wmt10  (C - D - M) / (C + D + M)   WMT 2010-2012: a tie of the metric counts as wrong;
                                           with a least human gap, the DARR tau of WMT 2017-2020
    tau_wmt13  (C - D) / (C + D)           WMT 2013: ties of the metric left out
    tau_wmt14  (C - D) / (C + D + M)       WMT 2014-2016: they count in the denominator only
    accuracy   (C + B) / (C + D + H + M + B)   acc_eq of Deutsch, Foster & Freitag 2023

Counts of several groups can be summed before the formula, as WMT does with the pairs of all
segments (`Pairs.pooled`). A mask is bool or int64, how often each item counts: a pair then counts
as often as the product of both.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from tensormt.kernels.kendall import compare_orders
from tensormt.metaeval.checks import CHECKED, paired

# Cells alive at a time.
BLOCK = 1 << 20


@dataclass(frozen=True)
class Pairs:
    """How people and a metric order pairs of items, each int64 [...]; see the module."""

    concordant: Tensor
    discordant: Tensor
    human_ties: Tensor
    metric_ties: Tensor
    both_ties: Tensor

    @property
    def total(self) -> Tensor:
        """All pairs, int64 [...]."""
        return self.ordered + self.human_ties + self.metric_ties + self.both_ties

    @property
    def ordered(self) -> Tensor:
        """The pairs that neither side ties, int64 [...]."""
        return self.concordant + self.discordant

    @property
    def balance(self) -> Tensor:
        """C - D, int64 [...]."""
        return self.concordant - self.discordant

    def stacked(self) -> Tensor:
        """The five counts in the order C, D, H, M, B, [..., 5]."""
        kinds = (self.concordant, self.discordant, self.human_ties, self.metric_ties)
        return torch.stack([*kinds, self.both_ties], dim=-1)

    def pooled(self, times: Tensor | None = None) -> "Pairs":
        """Sum the counts of groups [..., G] -> [...], each taken as often as times says."""
        table = self.stacked()
        return Pairs(*(table if times is None else table * times[..., None]).sum(-2).unbind(-1))


@CHECKED
def count_pairs(human: Tensor, metric: Tensor, mask: Tensor | None = None) -> Pairs:
    """Count the pairs of real items by how both sides order them; see `inversions`.

    human, metric [..., N], mask bool or int64 [..., N].
    """
    human, metric, times = paired(human, metric, mask)
    shape, items = human.shape[:-1], human.shape[-1]
    human, metric, times = (side.reshape(-1, items) for side in (human, metric, times))
    count, squares = times.sum(dim=-1), (times * times).sum(dim=-1)
    total = (count * count - squares) // 2
    parts = [
        compare_orders(human[rows], metric[rows], times[rows])
        for rows in _blocks(len(human), items)
    ]
    discordant, by_human, by_metric, both = (torch.cat(part) for part in zip(*parts, strict=True))
    concordant = total - by_human - by_metric + both - discordant
    kinds = (concordant, discordant, by_human - both, by_metric - both, both)
    return Pairs(*(kind.reshape(shape) for kind in kinds))


@CHECKED
def count_pairs_apart(
    human: Tensor, metric: Tensor, mask: Tensor | None = None, least_gap: float = 0.0
) -> Pairs:
    """Count only the pairs that people set apart by at least ``least_gap``, each looked at.

    WMT's DARR: 25 points of raw direct assessment.
    """
    human, metric, times = paired(human, metric, mask)
    times = times.to(torch.int64)
    shape, items = human.shape[:-1], human.shape[-1]
    human, metric, times = (side.reshape(-1, items) for side in (human, metric, times))
    counts = torch.zeros((3, len(human)), dtype=torch.int64, device=human.device)
    for rows in _blocks(items, len(human) * items):
        gap = human[:, rows, None] - human[:, None, :]
        used = times[:, rows, None] * times[:, None, :] * ((gap >= least_gap) & (gap > 0))
        lead = metric[:, rows, None] - metric[:, None, :]
        for k, kind in enumerate((lead > 0, lead < 0, lead == 0)):
            counts[k] += (kind * used).sum(dim=(1, 2))
    concordant, discordant, tied = (row.reshape(shape) for row in counts)
    return Pairs(concordant, discordant, torch.zeros_like(tied), tied, torch.zeros_like(tied))


def _blocks(rows: int, width: int) -> list[slice]:
    """Cut rows so that a block of them holds a bounded number of cells."""
    step = max(1, BLOCK // max(1, width))
    return [slice(start, start + step) for start in range(0, rows, step)]


def _ratio(above: Tensor, below: Tensor) -> Tensor:
    return above / below.to(torch.float64)


def _tau_b(pairs: Pairs) -> Tensor:
    left = (pairs.ordered + pairs.human_ties).to(torch.float64)
    right = (pairs.ordered + pairs.metric_ties).to(torch.float64)
    return pairs.balance / left.sqrt() / right.sqrt()


# What is computed from counts of pairs alone; see the module.
FORMULAS: dict[str, Callable[[Pairs], Tensor]] = {
    "tau_a": lambda p: _ratio(p.balance, p.total),
    "tau_b": _tau_b,
    "tau_wmt10": lambda p: _ratio(p.balance - p.metric_ties, p.ordered + p.metric_ties),
    "tau_wmt13": lambda p: _ratio(p.balance, p.ordered),
    "tau_wmt14": lambda p: _ratio(p.balance, p.ordered + p.metric_ties),
    "accuracy": lambda p: _ratio(p.concordant + p.both_ties, p.total),
}


@CHECKED
def tau_a(human: Tensor, metric: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return tau-a, float64 [...]; shapes as `count_pairs`."""
    return FORMULAS["tau_a"](count_pairs(human, metric, mask))


@CHECKED
def tau_b(human: Tensor, metric: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return tau-b, float64 [...]; NaN where one side is constant."""
    return FORMULAS["tau_b"](count_pairs(human, metric, mask))


@CHECKED
def tau_c(human: Tensor, metric: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return Stuart's tau-c, float64 [...]; NaN where one side is constant."""
    human, metric, times = paired(human, metric, mask)
    items = times.sum(dim=-1).to(torch.float64)
    fewest = torch.minimum(_different(human, times > 0), _different(metric, times > 0))
    balance = count_pairs(human, metric, times).balance
    return 2 * balance / (items**2 * (fewest - 1) / fewest)


@CHECKED
def tau_wmt10(
    human: Tensor, metric: Tensor, mask: Tensor | None = None, least_gap: float = 0.0
) -> Tensor:
    """Return the tau of WMT 2010-2012 and, with a gap, of DARR, float64 [...]."""
    if least_gap > 0:
        return FORMULAS["tau_wmt10"](count_pairs_apart(human, metric, mask, least_gap))
    return FORMULAS["tau_wmt10"](count_pairs(human, metric, mask))


@CHECKED
def tau_wmt13(human: Tensor, metric: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return the tau of WMT 2013, float64 [...]."""
    return FORMULAS["tau_wmt13"](count_pairs(human, metric, mask))


@CHECKED
def tau_wmt14(human: Tensor, metric: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return the tau of WMT 2014-2016, float64 [...]."""
    return FORMULAS["tau_wmt14"](count_pairs(human, metric, mask))


@CHECKED
def accuracy(human: Tensor, metric: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return the share of pairs ordered or tied alike, float64 [...]."""
    return FORMULAS["accuracy"](count_pairs(human, metric, mask))


def _different(values: Tensor, real: Tensor) -> Tensor:
    """Return how many different real values there are, int64 [...]."""
    ordered = values.to(torch.float64).masked_fill(~real, torch.inf).sort(dim=-1).values
    count = (ordered[..., 1:] != ordered[..., :-1]).sum(dim=-1) + 1
    return count - (~real).any(dim=-1).to(torch.int64)
