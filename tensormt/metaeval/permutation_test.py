"""Permutation tests of all pairs of many metrics at once.

Many statistics are functions of sums over units: the moments of Pearson's r over outputs, counts of
pairs, values of segments. Swapping units between metrics a and b then only changes the sums:

    Σ one = Σ_u T_a + Σ_u e_u (T_b - T_a)        e_u in {0, 1}, the same for all pairs

so that e @ T, one matrix product for all metrics, serves every pair. Units are outputs ("both"),
"systems", "segments", or "pairs": the outcomes of single comparisons, which WMT 2023-2025 swap for
acc_eq. Ties are calibrated once for each metric, before anything is swapped. Ranks and pairs of
swapped scores are no such sums, but products of the swaps with matrices (`swapped_orders`). What is
left (tau_c, a least gap, and ties that are calibrated across groups) is computed again for each
permutation (`resample.permuted_differences`).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.formulas import round_for_ties
from tensormt.metaeval.calibration import calibrated_accuracy, pair_outcomes
from tensormt.metaeval.checks import check_arguments, check_tables
from tensormt.metaeval.grouping import check_statistic, correlate, group
from tensormt.metaeval.pairs import FORMULAS, PairCounts, count_pairs
from tensormt.metaeval.resample import (
    SWAP_UNITS,
    TableStatistic,
    p_value,
    permuted_differences,
    random_swaps,
    standardize,
    swaps_of_shape,
)
from tensormt.metaeval.swapped_orders import STATISTICS as ORDER_STATISTICS
from tensormt.metaeval.swapped_orders import swapped_statistic
from tensormt.validation import one_of

UNITS = (*SWAP_UNITS, "pairs")


@dataclass(frozen=True)
class PairwisePermutation:
    """Result of the permutation tests of all pairs of X metrics.

    Args:
        values: Statistic of each metric, float64 [X].
        null: Differences of R permutations, float64 [R,X,X]: first (row) minus second (column).
        draws: How many of the permutations were computed for each pair, from the first, int64
            [X,X]; None: all.

    >>> found = PairwisePermutation(torch.tensor([0.5, 0.3]), torch.zeros(9, 2, 2))
    >>> found.p()
    tensor([[1.0000, 0.1000],
            [0.1000, 1.0000]], dtype=torch.float64)
    """

    values: Tensor
    null: Tensor
    draws: Tensor | None = None

    @classmethod
    def from_upper(cls, values: Tensor, upper: Tensor) -> "PairwisePermutation":
        """Make a result of the differences of pairs a < b, [R,X,X] with 0 elsewhere."""
        return cls(values, upper - upper.transpose(1, 2))

    @classmethod
    def empty(cls) -> "PairwisePermutation":
        """Return the result for no metrics."""
        return cls(torch.zeros(0, dtype=torch.float64), torch.zeros(1, 0, 0, dtype=torch.float64))

    def differences(self) -> Tensor:
        """Return the observed differences, first (row) minus second (column), float64 [X,X]."""
        return self.values[:, None] - self.values[None, :]

    def p(self, two_sided: bool = True) -> Tensor:
        """Return p-values, float64 [X,X]; one-sided: that the first metric (row) is better."""
        return p_value(self.null, self.differences(), two_sided, self.draws)

    def expand(self, places: Sequence[int], count: int) -> "PairwisePermutation":
        """Return the result for more metrics, of which only some were tested.

        Args:
            places: The positions of the X tested metrics.
            count: The number of metrics; those that were not tested have the value NaN.
        """
        index = torch.tensor(places, dtype=torch.int64, device=self.values.device)
        values = self.values.new_full((count,), torch.nan)
        null = self.null.new_zeros((len(self.null), count, count))
        values[index] = self.values
        null[:, index[:, None], index] = self.null
        return PairwisePermutation(values, null)


@dataclass(frozen=True)
class _Sums:
    """A statistic as a function of sums: terms of X metrics in G groups of I units [X,G,I,K].

    The formula maps sums [...,G,K] to the statistic [...]. If `transposed`, groups are the columns
    of the table, whose random swaps are drawn by rows.
    """

    terms: Tensor
    formula: Callable[[Tensor], Tensor]
    transposed: bool = False


@check_arguments
def pairwise_permutation(
    human: Tensor,
    metrics: Tensor,
    statistic: str,
    grouping: str = "none",
    units: str | None = None,
    *,
    least_gap: float = 0.0,
    resamples: int = 1000,
    seed: int = 12345,
) -> PairwisePermutation:
    """Test all pairs of metrics for a difference in their correlation with human scores.

    Only outputs count that have a human score and a score by every metric.

    Args:
        human: Human scores [S,N]; NaN where there is no score.
        metrics: Scores of X metrics [X,S,N].
        statistic: One of `STATISTICS`.
        grouping: As in `correlate`.
        units: What is swapped between two metrics: "both" (single outputs), "systems", "segments"
            or "pairs". None: "segments" if the grouping is "segment" or "pooled", else "both".
        least_gap: Pairs whose human scores differ by less are left out.
        resamples: Number of random permutations R.
        seed: Seed of the random numbers.

    Returns:
        The statistic of each metric and the differences of the permutations.

    Raises:
        TensorMTError: If the shapes do not match, or statistic, grouping and units cannot be
            combined.

    >>> human = torch.tensor([[1.0, 2, 3, 4], [2, 1, 4, 5]])
    >>> metrics = torch.stack([human * 2, human.flip(1)])
    >>> found = pairwise_permutation(human, metrics, "pearson", resamples=99)
    >>> [round(value, 4) for value in found.values.tolist()], float(found.p()[0, 1])
    ([1.0, -0.8065], 0.03)
    """
    check_statistic(statistic, grouping, least_gap)
    check_tables(human, metrics)
    units = default_units(grouping) if units is None else one_of(UNITS)(units, "units")
    present = ~(human.isnan() | metrics.isnan().any(dim=0))
    human = human.masked_fill(~present, torch.nan)
    metrics = torch.stack([standardize(table, present) for table in round_for_ties(metrics)])
    if sums := _sums(human, metrics, statistic, grouping, units, least_gap):
        return _permute_sums(sums, units in ("systems", "segments"), resamples, seed)
    if statistic in ORDER_STATISTICS and least_gap == 0:
        return _permute_orders(human, metrics, statistic, grouping, units, resamples, seed)

    def of_tables(one: Tensor, other: Tensor) -> Tensor:
        return correlate(one, other, statistic, grouping, least_gap=least_gap)

    items = group(human, grouping).shape[-1]
    cells = human.numel() * (items if statistic == "accuracy_ties" else 1)
    return pairwise_permutation_tables(
        human, metrics, of_tables, units, cells, resamples=resamples, seed=seed
    )


def pairwise_permutation_tables(
    human: Tensor,
    metrics: Tensor,
    statistic: TableStatistic,
    units: str = "both",
    cells: int | None = None,
    *,
    resamples: int = 1000,
    seed: int = 12345,
    wanted: Tensor | None = None,
) -> PairwisePermutation:
    """Test all pairs of metrics with any statistic of tables, computed for each permutation.

    Args:
        human: Human scores [S,N].
        metrics: Scores of X metrics [X,S,N].
        statistic: As in `permutation`.
        units: "both", "systems" or "segments".
        cells: Number of cells that the statistic holds for each permutation; None: S × N.
        resamples: Number of permutations.
        seed: Seed of the random numbers.
        wanted: Which pairs are tested, bool [X,X]; None: all. The differences of others are 0.
    """
    values = torch.stack([statistic(human, own) for own in metrics])
    upper = values.new_zeros((resamples, len(metrics), len(metrics)))
    for a, b in combinations(range(len(metrics)), 2):
        if wanted is not None and not bool(wanted[a, b]):
            continue
        sides = human, metrics[a], metrics[b]
        upper[:, a, b] = permuted_differences(*sides, statistic, units, resamples, seed, cells)[1]
    return PairwisePermutation.from_upper(values, upper)


def default_units(grouping: str) -> str:
    """Return "segments" if the statistic is a mean or sum over segments, else "both".

    >>> default_units("pooled")
    'segments'
    """
    return "segments" if grouping in ("segment", "pooled") else "both"


def _permute_sums(
    sums: _Sums, across_groups: bool, resamples: int, seed: int
) -> PairwisePermutation:
    """Test all pairs of metrics; across_groups: a unit is swapped in all groups together."""
    terms = sums.terms.to(torch.float64)
    count, groups, units, width = terms.shape
    total = terms.sum(dim=2)

    def differences() -> Iterator[Tensor]:
        shape = (1 if across_groups else groups, units)
        cells = max(shape[0] * units, count * groups * width)
        for swap in swaps_of_shape(shape, resamples, cells, seed, terms.device):
            if sums.transposed and not across_groups:
                swap = swap.reshape(-1, units, groups).transpose(1, 2)
            weights = swap.to(torch.float64).expand(-1, groups, -1)
            moved = torch.einsum("rgi,xgik->xrgk", weights, terms)
            upper = terms.new_zeros((len(swap), count, count))
            for a, b in combinations(range(count), 2):
                change = moved[b] - moved[a]
                upper[:, a, b] = sums.formula(total[a] + change) - sums.formula(total[b] - change)
            yield upper

    return PairwisePermutation.from_upper(sums.formula(total), torch.cat(list(differences())))


def _permute_orders(
    human: Tensor,
    metrics: Tensor,
    statistic: str,
    grouping: str,
    units: str,
    resamples: int,
    seed: int,
) -> PairwisePermutation:
    """Test all pairs of metrics by a statistic of ranks or pairs; see `swapped_orders`."""
    pairs = list(combinations(range(len(metrics)), 2))
    people, tables = group(human, grouping), group(metrics, grouping)
    functions = [
        swapped_statistic(people, tables[a], tables[b], statistic, pooled=grouping == "pooled")
        for a, b in pairs
    ]
    values = correlate(human, metrics, statistic, grouping)
    upper = values.new_zeros((resamples, len(metrics), len(metrics)))
    start = 0
    # Large chunks, because the matrices are made again for each of them.
    for swap in random_swaps(human, units, resamples, max(1, human.numel() // 4), seed):
        swaps = group(swap.expand(-1, *human.shape), grouping)
        for (a, b), of_swaps in zip(pairs, functions, strict=True):
            one, other = of_swaps(swaps)
            upper[start : start + len(swap), a, b] = one - other
        start += len(swap)
    return PairwisePermutation.from_upper(values, upper)


def _sums(
    human: Tensor, metrics: Tensor, statistic: str, grouping: str, units: str, least_gap: float
) -> _Sums | None:
    """Write a statistic as sums over the units; None if it is no such function."""
    group_units = {"segment": "segments", "pooled": "segments", "system": "systems"}.get(grouping)
    if units == "pairs":
        if grouping in ("segment", "pooled") and statistic in (*FORMULAS, "accuracy_ties"):
            return _sums_of_pairs(human, metrics, statistic, grouping, least_gap)
        raise TensorMTError(
            f"units 'pairs' are for {', '.join(FORMULAS)} and accuracy_ties, grouped by segment or"
            " pooled: use others"
        )
    if units == group_units:
        return _sums_of_groups(human, metrics, statistic, grouping, least_gap)
    return _sums_of_moments(human, metrics, grouping, units) if statistic == "pearson" else None


def _sums_of_moments(human: Tensor, metrics: Tensor, grouping: str, units: str) -> _Sums:
    """Write Pearson's r as a function of Σ 1, h, h², x, x², hx."""
    present = ~human.isnan()
    h = standardize(human, present).nan_to_num().expand(metrics.shape)
    x = metrics.nan_to_num()
    ones = present.to(torch.float64).expand(x.shape)
    terms = torch.stack([ones, h, h * h, x, x * x, h * x], dim=-1)
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

    return _Sums(terms, formula, transposed=grouping == "segment")


def _sums_of_groups(
    human: Tensor, metrics: Tensor, statistic: str, grouping: str, least_gap: float
) -> _Sums:
    """Units are groups: sum the values of groups, or their counts if these are pooled."""
    if statistic == "accuracy_ties":
        sums = _sums_of_pairs(human, metrics, statistic, grouping, least_gap)
        values = sums.terms.reshape(len(metrics), len(group(human, grouping)), -1).sum(dim=-1)
        return _Sums(values[:, None, :, None], sums.formula)
    h, x = group(human, grouping), group(metrics, grouping)
    if grouping == "pooled":
        h = h.expand(x.shape)
        counts = count_pairs(h, x, ~h.isnan(), least_gap)
        return _Sums(counts.stacked()[:, None].to(torch.float64), _pooled(statistic))
    # Each group is passed as a table of one system.
    values = correlate(h[:, None, :], x[:, :, None, :], statistic, "system", least_gap=least_gap)
    terms = torch.stack([values.nan_to_num(), (~values.isnan()).to(torch.float64)], dim=-1)
    return _Sums(terms[:, None], lambda sums: (sums[..., 0] / sums[..., 1])[..., 0])


def _sums_of_pairs(
    human: Tensor, metrics: Tensor, statistic: str, grouping: str, least_gap: float
) -> _Sums:
    """Units are pairs: sum correct outcomes, or the kinds of pairs that a formula counts."""
    h, x = group(human, grouping), group(metrics, grouping)
    i, j = torch.triu_indices(h.shape[-1], h.shape[-1], offset=1, device=h.device)
    by_human = h[..., i] - h[..., j]
    used = ~by_human.isnan()
    if least_gap > 0:
        used &= by_human.abs() >= least_gap
    if statistic in ("accuracy", "accuracy_ties"):
        wide = h.expand(x.shape)
        epsilon = x.new_zeros(len(x))
        if statistic == "accuracy_ties":
            epsilon = calibrated_accuracy(wide, x, ~wide.isnan(), pooled=grouping == "pooled")[1]
        right = pair_outcomes(wide, x, epsilon[:, None, None]) & used
        share = used.to(torch.float64)
        if grouping != "pooled":
            share = share / used.sum(dim=-1, keepdim=True).clamp(min=1)
        total = share.sum()

        def accuracy(sums: Tensor) -> Tensor:
            # Rounding errors of the sum must not lead above 1; without a pair there is no value.
            return sums[..., 0, 0].clamp(max=1.0).masked_fill(total == 0, torch.nan)

        return _Sums((right * (share / total)).flatten(1)[:, None, :, None], accuracy)
    product = by_human.sign() * (x[..., i] - x[..., j]).sign()
    human_tie, metric_tie = by_human == 0, x[..., i] == x[..., j]
    kinds = (
        product > 0,
        product < 0,
        human_tie & ~metric_tie,
        ~human_tie & metric_tie,
        human_tie & metric_tie,
    )
    terms = torch.stack([kind & used for kind in kinds], dim=-1).to(torch.float64)
    if grouping == "pooled":
        return _Sums(terms.flatten(1, 2)[:, None], _pooled(statistic))
    formula = FORMULAS[statistic]
    return _Sums(terms, lambda sums: formula(PairCounts(*sums.unbind(-1))).nanmean(dim=-1))


def _pooled(statistic: str) -> Callable[[Tensor], Tensor]:
    """Return the formula of a statistic of pooled pair counts [..., 1, 5]."""
    return lambda sums: FORMULAS[statistic](PairCounts(*sums[..., 0, :].unbind(-1)))
