"""All pairs of many metrics in one permutation test: exchanged scores are sums with other terms.

Where a statistic is a function of sums over units (the moments of Pearson's r over outputs, counts
of pairs, values of segments), exchanging units between metrics a and b changes only the sums:

    Σ one = Σ_u T_a + Σ_u e_u (T_b - T_a)        e_u in {0, 1}, the same draws for all pairs

so e @ T, a matrix product for all metrics together, serves every pair. Units are outputs ("both"),
"systems", "segments", or "pairs": the outcomes of single comparisons, which WMT 2023-2025 exchange
for acc_eq. Tie calibration takes place once for each metric, before anything is exchanged. What is
no such sum (ranks of exchanged scores) is computed again for each draw: `resample.exchanged`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.kernels.kendall import round_for_ties
from tensormt.metaeval.calibration import calibrated_accuracy, outcomes
from tensormt.metaeval.checks import CHECKED, check_tables
from tensormt.metaeval.grouping import agreement, check, group
from tensormt.metaeval.pairs import FORMULAS, Pairs, count_pairs, count_pairs_apart
from tensormt.metaeval.resample import TableStatistic, exchanged, p_value, standardised, swaps
from tensormt.validation import one_of

UNITS = ("both", "systems", "segments", "pairs")


@dataclass(frozen=True)
class Exchange:
    """The agreement of X metrics and the differences of all pairs under R random exchanges."""

    values: Tensor  # float64 [X]
    null: Tensor  # float64 [R,X,X]: first (row) minus second (column), 0 on the diagonal

    def differences(self) -> Tensor:
        """First minus second as seen, float64 [X,X]."""
        return self.values[:, None] - self.values[None, :]

    @classmethod
    def none(cls) -> "Exchange":
        """That of no metric at all."""
        return cls(torch.zeros(0, dtype=torch.float64), torch.zeros(1, 0, 0, dtype=torch.float64))

    def among(self, places: Sequence[int], count: int) -> "Exchange":
        """The same among so many metrics, these at their places, the others without a value."""
        index = torch.tensor(places, dtype=torch.int64, device=self.values.device)
        values = self.values.new_full((count,), torch.nan)
        null = self.null.new_zeros((len(self.null), count, count))
        values[index] = self.values
        null[:, index[:, None], index] = self.null
        return Exchange(values, null)

    def p(self, two_sided: bool = True) -> Tensor:
        """p-values float64 [X,X]; one-sided: that the first (row) is better."""
        return p_value(self.null, self.differences(), two_sided)


@dataclass(frozen=True)
class Sums:
    """Terms of X metrics in G groups of I units, float64 [X,G,I,K], and what their sums give."""

    terms: Tensor
    formula: Callable[[Tensor], Tensor]  # [...,G,K] -> [...]
    turned: bool = False  # groups are columns of the table, which is drawn by rows


@CHECKED
def exchange(
    human: Tensor,
    metrics: Tensor,
    statistic: str,
    grouping: str = "none",
    units: str | None = None,
    *,
    least_gap: float = 0.0,
    resamples: int = 1000,
    seed: int = 12345,
) -> Exchange:
    """Test all pairs of metrics, tables float64 [X,S,N], against people's, [S,N].

    Only outputs count that people and all metrics have scored. units: see `default_units`.
    """
    check(statistic, grouping, least_gap)
    check_tables(human, metrics)
    units = default_units(grouping) if units is None else one_of(UNITS)(units, "units")
    real = ~(human.isnan() | metrics.isnan().any(dim=0))
    human = human.masked_fill(~real, torch.nan)
    metrics = torch.stack([standardised(table, real) for table in round_for_ties(metrics)])
    if sums := _sums(human, metrics, statistic, grouping, units, least_gap):
        return _exchange_sums(sums, units in ("systems", "segments"), resamples, seed)

    def table(one: Tensor, other: Tensor) -> Tensor:
        return agreement(one, other, statistic, grouping, least_gap=least_gap)

    items = group(human, grouping).shape[-1]
    cells = human.numel() * (items if statistic == "accuracy_ties" else 1)
    return exchange_tables(human, metrics, table, units, cells, resamples=resamples, seed=seed)


def exchange_tables(
    human: Tensor,
    metrics: Tensor,
    statistic: TableStatistic,
    units: str = "both",
    cells: int | None = None,
    *,
    resamples: int = 1000,
    seed: int = 12345,
) -> Exchange:
    """Test all pairs with any statistic of whole tables, computed again for each draw."""
    values = torch.stack([statistic(human, own) for own in metrics])
    null = values.new_zeros((resamples, len(metrics), len(metrics)))
    for a, b in combinations(range(len(metrics)), 2):
        drawn = exchanged(human, metrics[a], metrics[b], statistic, units, resamples, seed, cells)[
            1
        ]
        null[:, a, b], null[:, b, a] = drawn, -drawn
    return Exchange(values, null)


def default_units(grouping: str) -> str:
    """Whole segments where the statistic is a mean or sum over segments, else single outputs."""
    return "segments" if grouping in ("segment", "pooled") else "both"


def _exchange_sums(sums: Sums, across: bool, resamples: int, seed: int) -> Exchange:
    """Draw, sum, and take the differences of all pairs; across: groups change sides together."""
    terms = sums.terms.to(torch.float64)
    count, groups, units, width = terms.shape
    total = terms.sum(dim=2)
    shape = (1 if across else groups, units)
    cells = max(shape[0] * units, count * groups * width)
    parts = []
    for swap in swaps(shape, resamples, cells, seed, terms.device):
        if sums.turned and not across:
            swap = swap.reshape(-1, units, groups).transpose(1, 2)
        moved = torch.einsum("rgi,xgik->xrgk", swap.to(torch.float64).expand(-1, groups, -1), terms)
        null = terms.new_zeros((len(swap), count, count))
        for a, b in combinations(range(count), 2):
            change = moved[b] - moved[a]
            null[:, a, b] = sums.formula(total[a] + change) - sums.formula(total[b] - change)
        parts.append(null - null.transpose(1, 2))
    return Exchange(sums.formula(total), torch.cat(parts))


def _sums(
    human: Tensor, metrics: Tensor, statistic: str, grouping: str, units: str, least_gap: float
) -> Sums | None:
    """The terms of a statistic, where it has any whose units these are."""
    whole = {"segment": "segments", "pooled": "segments", "system": "systems"}.get(grouping)
    if units == "pairs":
        if grouping in ("segment", "pooled") and statistic in (*FORMULAS, "accuracy_ties"):
            return _of_pairs(human, metrics, statistic, grouping, least_gap)
        raise TensorMTError(
            f"units 'pairs' are for {', '.join(FORMULAS)} and accuracy_ties, grouped by segment or"
            " pooled: use others"
        )
    if units == whole:
        return _of_groups(human, metrics, statistic, grouping, least_gap)
    return _of_moments(human, metrics, grouping, units) if statistic == "pearson" else None


def _of_moments(human: Tensor, metrics: Tensor, grouping: str, units: str) -> Sums:
    """Pearson's r from Σ 1, h, h², x, x², hx."""
    real = (~human.isnan()).to(torch.float64)
    h, x = (
        standardised(human, ~human.isnan()).nan_to_num().expand(metrics.shape),
        metrics.nan_to_num(),
    )
    terms = torch.stack([real.expand(x.shape), h, h * h, x, x * x, h * x], dim=-1)
    if grouping == "none":
        axis = {"systems": 2, "segments": 1}.get(units)
        terms = (terms.sum(dim=axis) if axis else terms.flatten(1, 2))[:, None]
    elif grouping == "segment":
        terms = terms.transpose(1, 2)

    def formula(sums: Tensor) -> Tensor:
        n, h, hh, x, xx, hx = sums.unbind(-1)
        left, right = hh - h * h / n, xx - x * x / n
        exists = (left > 1e-12 * hh) & (right > 1e-12 * xx)
        r = (hx - h * x / n) / (left * right).where(exists, torch.ones_like(left)).sqrt()
        return r.masked_fill(~exists, torch.nan).nanmean(dim=-1)

    return Sums(terms, formula, turned=grouping == "segment")


def _of_groups(
    human: Tensor, metrics: Tensor, statistic: str, grouping: str, least_gap: float
) -> Sums:
    """Whole groups are exchanged: their values, or their counts where these are pooled."""
    if statistic == "accuracy_ties":
        sums = _of_pairs(human, metrics, statistic, grouping, least_gap)
        values = sums.terms.reshape(len(metrics), len(group(human, grouping)), -1).sum(dim=-1)
        return Sums(values[:, None, :, None], sums.formula)
    h, x = group(human, grouping), group(metrics, grouping)
    if grouping == "pooled":
        mask = ~h.isnan().expand(x.shape)
        h = h.expand(x.shape)
        counts = count_pairs_apart(h, x, mask, least_gap) if least_gap else count_pairs(h, x, mask)
        return Sums(counts.stacked()[:, None].to(torch.float64), _pooled(statistic))
    # a group is a table of one system
    values = agreement(h[:, None, :], x[:, :, None, :], statistic, "system", least_gap=least_gap)
    terms = torch.stack([values.nan_to_num(), (~values.isnan()).to(torch.float64)], dim=-1)
    return Sums(terms[:, None], lambda sums: (sums[..., 0] / sums[..., 1])[..., 0])


def _of_pairs(
    human: Tensor, metrics: Tensor, statistic: str, grouping: str, least_gap: float
) -> Sums:
    """Single comparisons are exchanged: right or wrong, or the kinds that a formula counts."""
    h, x = group(human, grouping), group(metrics, grouping)
    i, j = torch.triu_indices(h.shape[-1], h.shape[-1], offset=1, device=h.device)
    by_human = h[..., i] - h[..., j]
    used = ~by_human.isnan()
    if least_gap > 0:
        used &= by_human.abs() >= least_gap
    if statistic in ("accuracy", "accuracy_ties"):
        epsilon = x.new_zeros(len(x))
        if statistic == "accuracy_ties":
            mask = ~h.isnan().expand(x.shape)
            epsilon = calibrated_accuracy(h.expand(x.shape), x, mask, pooled=grouping == "pooled")[
                1
            ]
        right = outcomes(h.expand(x.shape), x, epsilon[:, None, None]) & used
        share = used.to(torch.float64)
        if grouping != "pooled":
            share = share / used.sum(dim=-1, keepdim=True).clamp(min=1)
        terms = right * (share / share.sum())
        return Sums(terms.flatten(1)[:, None, :, None], lambda sums: sums[..., 0, 0])
    product = by_human.sign() * (x[..., i] - x[..., j]).sign()
    tied, alike = by_human == 0, x[..., i] == x[..., j]
    kinds = (product > 0, product < 0, tied & ~alike, ~tied & alike, tied & alike)
    terms = torch.stack([kind & used for kind in kinds], dim=-1).to(torch.float64)
    if grouping == "pooled":
        return Sums(terms.flatten(1, 2)[:, None], _pooled(statistic))
    formula = FORMULAS[statistic]
    return Sums(terms, lambda sums: formula(Pairs(*sums.unbind(-1))).nanmean(dim=-1))


def _pooled(statistic: str) -> Callable[[Tensor], Tensor]:
    return lambda sums: FORMULAS[statistic](Pairs(*sums[..., 0, :].unbind(-1)))
