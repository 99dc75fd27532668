"""Kendall's tau, its WMT variants and pairwise accuracy, from counts of pairs, batched and masked.

Of the pairs of items, C are concordant (human and metric scores have the same order), D discordant,
H tied in the human scores only, M tied in the metric scores only, and B tied in both:

    tau_a      (C - D) / (C + D + H + M + B)
    tau_b      (C - D) / √((C + D + H)(C + D + M))
    tau_c      2 (C - D) / (n² (k - 1) / k), k the smaller number of distinct values (Stuart)
    tau_wmt10  (C - D - M) / (C + D + M)   WMT 2010-2012: a tie of the metric counts as wrong;
                                           with a least human gap, the DARR tau of WMT 2017-2020
    tau_wmt13  (C - D) / (C + D)           WMT 2013: ties of the metric are left out
    tau_wmt14  (C - D) / (C + D + M)       WMT 2014-2016: they count in the denominator only
    accuracy   (C + B) / (C + D + H + M + B)   acc_eq of Deutsch, Foster & Freitag 2023

Counts of several groups can be summed before the formula is applied, as WMT does with the pairs of
all segments (`PairCounts.pooled`). A mask is bool or int64 (how often each item counts); a pair
then counts as often as the product of both.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from tensormt.kernels.kendall import compare_orders
from tensormt.metaeval.checks import broadcast_scores, check_arguments

# Number of cells that are in memory at a time.
BLOCK = 1 << 20


@dataclass(frozen=True)
class PairCounts:
    """Numbers of pairs by how human and metric scores order them; see the module.

    Args:
        concordant: C, int64 [...].
        discordant: D, int64 [...].
        human_ties: H, int64 [...].
        metric_ties: M, int64 [...].
        both_ties: B, int64 [...].

    >>> counts = count_pairs(torch.tensor([1.0, 2.0, 2.0]), torch.tensor([0.1, 0.3, 0.2]))
    >>> counts.stacked().tolist(), int(counts.total)
    ([2, 0, 1, 0, 0], 3)
    """

    concordant: Tensor
    discordant: Tensor
    human_ties: Tensor
    metric_ties: Tensor
    both_ties: Tensor

    @property
    def total(self) -> Tensor:
        """Number of all pairs, int64 [...]."""
        return self.ordered + self.human_ties + self.metric_ties + self.both_ties

    @property
    def ordered(self) -> Tensor:
        """Number of pairs that are tied on neither side, int64 [...]."""
        return self.concordant + self.discordant

    @property
    def balance(self) -> Tensor:
        """C - D, int64 [...]."""
        return self.concordant - self.discordant

    def stacked(self) -> Tensor:
        """Return the five counts in the order C, D, H, M, B, int64 [..., 5]."""
        kinds = (self.concordant, self.discordant, self.human_ties, self.metric_ties)
        return torch.stack([*kinds, self.both_ties], dim=-1)

    def pooled(self, times: Tensor | None = None) -> "PairCounts":
        """Sum the counts of groups [..., G], optionally weighted by times [..., G]."""
        table = self.stacked()
        weighted = table if times is None else table * times[..., None]
        return PairCounts(*weighted.sum(-2).unbind(-1))


@check_arguments
def count_pairs(
    human: Tensor, metric: Tensor, mask: Tensor | None = None, least_gap: float = 0.0
) -> PairCounts:
    """Count the pairs of items by how human and metric scores order them.

    Args:
        human: Human scores [..., N].
        metric: Metric scores [..., N].
        mask: bool or int64 [..., N]; see the module.
        least_gap: Pairs whose human scores differ by less are left out, and so are human ties if
            this is positive. WMT's DARR uses 25 points of raw direct assessment.

    Returns:
        The counts, int64 [...] each.

    Raises:
        TensorMTError: If the shapes do not broadcast to the same items.

    >>> counts = count_pairs(torch.tensor([1.0, 2.0, 5.0]), torch.tensor([3.0, 1.0, 4.0]))
    >>> int(counts.concordant), int(counts.discordant)
    (2, 1)
    """
    human, metric, weights = broadcast_scores(human, metric, mask)
    shape, items = human.shape[:-1], human.shape[-1]
    human, metric, weights = (side.reshape(-1, items) for side in (human, metric, weights))
    if least_gap > 0:
        kinds = _with_gap(human, metric, weights.to(torch.int64), least_gap)
        return PairCounts(*(kind.reshape(shape) for kind in kinds))
    count, squares = weights.sum(dim=-1), (weights * weights).sum(dim=-1)
    total = (count * count - squares) // 2
    parts = [
        compare_orders(human[rows], metric[rows], weights[rows])
        for rows in _blocks(len(human), items)
    ]
    discordant, by_human, by_metric, both = (torch.cat(part) for part in zip(*parts, strict=True))
    concordant = total - by_human - by_metric + both - discordant
    kinds = (concordant, discordant, by_human - both, by_metric - both, both)
    return PairCounts(*(kind.reshape(shape) for kind in kinds))


def _with_gap(
    human: Tensor, metric: Tensor, weights: Tensor, least_gap: float
) -> tuple[Tensor, ...]:
    """Count pairs of rows [G,N] whose human scores differ by at least a gap, by comparing all."""
    items = human.shape[-1]
    counts = torch.zeros((3, len(human)), dtype=torch.int64, device=human.device)
    for rows in _blocks(items, len(human) * items):
        gap = human[:, rows, None] - human[:, None, :]
        used = weights[:, rows, None] * weights[:, None, :] * ((gap >= least_gap) & (gap > 0))
        lead = metric[:, rows, None] - metric[:, None, :]
        for k, kind in enumerate((lead > 0, lead < 0, lead == 0)):
            counts[k] += (kind * used).sum(dim=(1, 2))
    concordant, discordant, tied = counts
    none = torch.zeros_like(tied)
    return concordant, discordant, none, tied, none


def _blocks(rows: int, width: int) -> list[slice]:
    """Split rows into blocks with a bounded number of cells."""
    step = max(1, BLOCK // max(1, width))
    return [slice(start, start + step) for start in range(0, rows, step)]


def _ratio(above: Tensor, below: Tensor) -> Tensor:
    return above / below.to(torch.float64)


def _tau_b(pairs: PairCounts) -> Tensor:
    left = (pairs.ordered + pairs.human_ties).to(torch.float64)
    right = (pairs.ordered + pairs.metric_ties).to(torch.float64)
    return (pairs.balance / left.sqrt() / right.sqrt()).clamp(-1.0, 1.0)  # of rounding errors


# Statistics that are functions of pair counts; see the module.
FORMULAS: dict[str, Callable[[PairCounts], Tensor]] = {
    "tau_a": lambda p: _ratio(p.balance, p.total),
    "tau_b": _tau_b,
    "tau_wmt10": lambda p: _ratio(p.balance - p.metric_ties, p.ordered + p.metric_ties),
    "tau_wmt13": lambda p: _ratio(p.balance, p.ordered),
    "tau_wmt14": lambda p: _ratio(p.balance, p.ordered + p.metric_ties),
    "accuracy": lambda p: _ratio(p.concordant + p.both_ties, p.total),
}


@check_arguments
def tau_a(human: Tensor, metric: Tensor, mask: Tensor | None = None) -> Tensor:
    """Compute Kendall's tau-a, float64 [...]; arguments as `count_pairs`.

    >>> float(tau_a(torch.tensor([1.0, 2.0, 3.0, 3.0]), torch.tensor([1.0, 2.0, 3.0, 0.0])))
    0.16666666666666666
    """
    return FORMULAS["tau_a"](count_pairs(human, metric, mask))


@check_arguments
def tau_b(human: Tensor, metric: Tensor, mask: Tensor | None = None) -> Tensor:
    """Compute Kendall's tau-b, float64 [...]; NaN where one side is constant.

    Args:
        human: Human scores [..., N].
        metric: Metric scores [..., N].
        mask: bool or int64 [..., N]; see the module.

    Returns:
        float64 [...].

    Raises:
        TensorMTError: If the shapes do not broadcast to the same items.

    >>> round(float(tau_b(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 3.0, 2.0]))), 4)
    0.3333
    """
    return FORMULAS["tau_b"](count_pairs(human, metric, mask))


@check_arguments
def tau_c(human: Tensor, metric: Tensor, mask: Tensor | None = None) -> Tensor:
    """Compute Stuart's tau-c, float64 [...]; NaN where one side is constant.

    Args:
        human: Human scores [..., N].
        metric: Metric scores [..., N].
        mask: bool or int64 [..., N]; see the module.

    Returns:
        float64 [...].

    Raises:
        TensorMTError: If the shapes do not broadcast to the same items.

    >>> round(float(tau_c(torch.tensor([1.0, 2.0, 2.0]), torch.tensor([1.0, 3.0, 2.0]))), 4)
    0.8889
    """
    human, metric, weights = broadcast_scores(human, metric, mask)
    items = weights.sum(dim=-1).to(torch.float64)
    fewest = torch.minimum(_distinct(human, weights > 0), _distinct(metric, weights > 0))
    balance = count_pairs(human, metric, weights).balance
    return 2 * balance / (items**2 * (fewest - 1) / fewest)


@check_arguments
def tau_wmt10(
    human: Tensor, metric: Tensor, mask: Tensor | None = None, least_gap: float = 0.0
) -> Tensor:
    """Compute the tau of WMT 2010-2012 and, with a least gap, of DARR; arguments as `count_pairs`.

    Returns:
        float64 [...].

    >>> human = torch.tensor([10.0, 20.0, 60.0])
    >>> float(tau_wmt10(human, torch.tensor([0.2, 0.1, 0.9]), least_gap=25))
    1.0
    """
    return FORMULAS["tau_wmt10"](count_pairs(human, metric, mask, least_gap))


@check_arguments
def tau_wmt13(human: Tensor, metric: Tensor, mask: Tensor | None = None) -> Tensor:
    """Compute the tau of WMT 2013, float64 [...]; arguments as `count_pairs`.

    >>> float(tau_wmt13(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 2.0, 2.0])))
    1.0
    """
    return FORMULAS["tau_wmt13"](count_pairs(human, metric, mask))


@check_arguments
def tau_wmt14(human: Tensor, metric: Tensor, mask: Tensor | None = None) -> Tensor:
    """Compute the tau of WMT 2014-2016, float64 [...]; arguments as `count_pairs`.

    >>> round(float(tau_wmt14(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 2.0, 2.0]))), 4)
    0.6667
    """
    return FORMULAS["tau_wmt14"](count_pairs(human, metric, mask))


@check_arguments
def accuracy(human: Tensor, metric: Tensor, mask: Tensor | None = None) -> Tensor:
    """Compute pairwise accuracy: the share of pairs that both sides order or tie in the same way.

    Args:
        human: Human scores [..., N].
        metric: Metric scores [..., N].
        mask: bool or int64 [..., N]; see the module.

    Returns:
        float64 [...].

    Raises:
        TensorMTError: If the shapes do not broadcast to the same items.

    >>> round(float(accuracy(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 3.0, 2.0]))), 4)
    0.6667
    """
    return FORMULAS["accuracy"](count_pairs(human, metric, mask))


def _distinct(values: Tensor, present: Tensor) -> Tensor:
    """Count the distinct values of the present items, int64 [...]."""
    values = values.to(torch.float64)
    smallest = values.masked_fill(~present, torch.inf).amin(dim=-1, keepdim=True)
    ordered = values.where(present, smallest).sort(dim=-1).values
    count = (ordered[..., 1:] != ordered[..., :-1]).sum(dim=-1) + 1
    return count * present.any(dim=-1)
