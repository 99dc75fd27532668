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

Metrics hardly ever tie while people often do, so accuracy comes also with tie calibration
(Deutsch et al. 2023): pairs whose metric scores differ by at most ε are ties, with the ε that
makes accuracy largest.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.kernels.inversions import compare_orders
from tensormt.metaeval.correlation import full_mask

# Cells alive at a time.
BLOCK = 1 << 20
# Pairs that tie calibration sorts at most: some 80 bytes each.
CALIBRATED = 1 << 25


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


def count_pairs(human: Tensor, metric: Tensor, mask: Tensor | None = None) -> Pairs:
    """Count the pairs of real items by how both sides order them; see `inversions`.

    human, metric [..., N], mask bool [..., N].
    """
    real = full_mask(human, mask)
    shape, items = human.shape[:-1], human.shape[-1]
    human, metric, real = (side.reshape(-1, items) for side in (human, metric, real))
    count = real.sum(dim=-1)
    total = count * (count - 1) // 2
    parts = [
        compare_orders(human[rows], metric[rows], real[rows]) for rows in _blocks(len(human), items)
    ]
    discordant, by_human, by_metric, both = (torch.cat(part) for part in zip(*parts, strict=True))
    concordant = total - by_human - by_metric + both - discordant
    kinds = (concordant, discordant, by_human - both, by_metric - both, both)
    return Pairs(*(kind.reshape(shape) for kind in kinds))


def count_pairs_apart(
    human: Tensor, metric: Tensor, mask: Tensor | None = None, least_gap: float = 0.0
) -> Pairs:
    """Count only the pairs that people set apart by at least ``least_gap``, each looked at.

    WMT's DARR: 25 points of raw direct assessment.
    """
    real = full_mask(human, mask)
    shape, items = human.shape[:-1], human.shape[-1]
    human, metric, real = (side.reshape(-1, items) for side in (human, metric, real))
    counts = torch.zeros((3, len(human)), dtype=torch.int64, device=human.device)
    for rows in _blocks(items, len(human) * items):
        gap = human[:, rows, None] - human[:, None, :]
        used = real[:, rows, None] & real[:, None, :] & (gap >= least_gap) & (gap > 0)
        lead = metric[:, rows, None] - metric[:, None, :]
        for k, kind in enumerate((lead > 0, lead < 0, lead == 0)):
            counts[k] += (kind & used).sum(dim=(1, 2))
    concordant, discordant, tied = (row.reshape(shape) for row in counts)
    return Pairs(concordant, discordant, torch.zeros_like(tied), tied, torch.zeros_like(tied))


def _blocks(rows: int, width: int) -> list[slice]:
    """Cut rows so that a block of them holds a bounded number of cells."""
    step = max(1, BLOCK // max(1, width))
    return [slice(start, start + step) for start in range(0, rows, step)]


def tau_a(human: Tensor, metric: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return tau-a, float64 [...]; shapes as `count_pairs`."""
    pairs = count_pairs(human, metric, mask)
    return _ratio(pairs.balance, pairs.total)


def tau_b(human: Tensor, metric: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return tau-b, float64 [...]; NaN where one side is constant."""
    pairs = count_pairs(human, metric, mask)
    left = (pairs.ordered + pairs.human_ties).to(torch.float64)
    right = (pairs.ordered + pairs.metric_ties).to(torch.float64)
    return pairs.balance / left.sqrt() / right.sqrt()


def tau_c(human: Tensor, metric: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return Stuart's tau-c, float64 [...]; NaN where one side is constant."""
    real = full_mask(human, mask)
    items = real.sum(dim=-1).to(torch.float64)
    fewest = torch.minimum(_different(human, real), _different(metric, real)).to(torch.float64)
    balance = count_pairs(human, metric, real).balance
    return 2 * balance / (items**2 * (fewest - 1) / fewest)


def tau_wmt10(
    human: Tensor, metric: Tensor, mask: Tensor | None = None, least_gap: float = 0.0
) -> Tensor:
    """Return the tau of WMT 2010-2012 and, with a gap, of DARR, float64 [...]."""
    if least_gap > 0:
        pairs = count_pairs_apart(human, metric, mask, least_gap)
    else:
        pairs = count_pairs(human, metric, mask)
    return _ratio(pairs.balance - pairs.metric_ties, pairs.ordered + pairs.metric_ties)


def tau_wmt13(human: Tensor, metric: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return the tau of WMT 2013, float64 [...]."""
    pairs = count_pairs(human, metric, mask)
    return _ratio(pairs.balance, pairs.ordered)


def tau_wmt14(human: Tensor, metric: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return the tau of WMT 2014-2016, float64 [...]."""
    pairs = count_pairs(human, metric, mask)
    return _ratio(pairs.balance, pairs.ordered + pairs.metric_ties)


def accuracy(human: Tensor, metric: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return the share of pairs ordered or tied alike, float64 [...]."""
    pairs = count_pairs(human, metric, mask)
    return _ratio(pairs.concordant + pairs.both_ties, pairs.total)


def calibrated_accuracy(
    human: Tensor, metric: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Return the largest mean accuracy over groups that one ε reaches, and the smallest such ε.

    human, metric [..., G, N], mask bool [..., G, N] -> float64 [...] both. Groups without a pair
    are left out of the mean. Sorting all pairs by |metric difference| makes accuracy at every
    possible ε a cumulative sum: pairs below ε are right where people tie, those above where the
    orders agree.
    """
    real = full_mask(human, mask)
    items = human.shape[-1]
    if human.shape[-2] * items * (items - 1) // 2 > CALIBRATED:
        raise TensorMTError(
            f"{human.shape[-2]} groups of {items} items have too many pairs for tie calibration:"
            " group by segment or by system"
        )
    i, j = torch.triu_indices(items, items, offset=1, device=human.device)
    used = real[..., i] & real[..., j]
    by_human = (human[..., i] - human[..., j]).sign()
    gap = (metric[..., i] - metric[..., j]).to(torch.float64)
    weight = used / used.sum(dim=-1, keepdim=True).clamp(min=1).to(torch.float64)
    groups = used.any(dim=-1).sum(dim=-1)
    tied = (weight * (by_human == 0)).flatten(-2)
    agreed = (weight * ((by_human == gap.sign()) & (by_human != 0))).flatten(-2)
    size = gap.abs().masked_fill(~used, torch.inf).flatten(-2)
    size, order = size.sort(dim=-1)
    gain = torch.cumsum((tied - agreed).gather(-1, order), dim=-1)
    right = agreed.sum(dim=-1, keepdim=True) + gain
    # ε may only stand at the last of equal gaps; below the first gap it changes nothing.
    last = torch.ones_like(size, dtype=torch.bool)
    last[..., :-1] = size[..., 1:] != size[..., :-1]
    right = right.masked_fill(~last | size.isinf(), -torch.inf)
    none = torch.zeros_like(right[..., :1])
    right = torch.cat([agreed.sum(dim=-1, keepdim=True), right], dim=-1)
    size = torch.cat([none, size], dim=-1)
    # Pairs the metric itself ties are ties at any ε, so 0 is the smallest threshold to consider.
    zero_run = (size[..., 1:] == 0).any(dim=-1)
    right[..., 0] = right[..., 0].masked_fill(zero_run, -torch.inf)
    best = right.amax(dim=-1)
    # Sums in another order differ in the last digits: equal accuracies are told by a small margin.
    size = size.masked_fill(right < best[..., None] - 1e-12, torch.inf)
    return best / groups, size.amin(dim=-1)


def _ratio(above: Tensor, below: Tensor) -> Tensor:
    return above / below.to(torch.float64)


def _different(values: Tensor, real: Tensor) -> Tensor:
    """Return how many different real values there are, int64 [...]."""
    ordered = values.to(torch.float64).masked_fill(~real, torch.inf).sort(dim=-1).values
    count = (ordered[..., 1:] != ordered[..., :-1]).sum(dim=-1) + 1
    return count - (~real).any(dim=-1).to(torch.int64)
