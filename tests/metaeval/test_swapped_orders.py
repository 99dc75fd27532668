"""Ranks and pairs of swapped scores against the statistics of tables that were really swapped."""

import pytest
import torch
from metaeval.score_samples import tied

from tensormt import metaeval
from tensormt.metaeval.pairs import FORMULAS
from tensormt.metaeval.swapped_orders import STATISTICS, swapped_statistic

NAN = float("nan")


def expected(human, metric, statistic, pooled):
    """The statistic of tables [R,G,N], one permutation at a time."""
    mask = ~human.isnan()
    if statistic == "spearman":
        return metaeval.spearman(human, metric, mask).nanmean(dim=-1)
    counts = metaeval.count_pairs(human, metric, mask)
    formula = FORMULAS[statistic]
    return formula(counts.pooled()) if pooled else formula(counts).nanmean(dim=-1)


@pytest.mark.parametrize("cells", [1, 60, 1 << 22])  # one column, a few, all groups at once
@pytest.mark.parametrize("levels", [2, 6, 10**6])
@pytest.mark.parametrize("statistic", STATISTICS)
def test_equal_to_swapped_tables(statistic, levels, cells):
    human, first, second = tied(1, (4, 11)), tied(2, (4, 11), levels), tied(3, (4, 11), levels)
    second[:, :2] = first[:, 1:3]  # ties of an item with another one by the other metric
    human[0, 3] = human[1, 4:] = human[2] = NAN
    swap = torch.rand(9, 4, 11, generator=torch.Generator().manual_seed(0)) < 0.5
    swap[0], swap[1] = False, True
    wide = human.expand(swap.shape)
    for pooled in (False, True) if statistic != "spearman" else (False,):
        found = swapped_statistic(human, first, second, statistic, pooled=pooled, cells=cells)(swap)
        for side, taken in zip(found, (swap, ~swap), strict=True):
            metric = torch.where(taken, second, first)
            correct = expected(wide, metric, statistic, pooled)
            torch.testing.assert_close(side, correct, rtol=0, atol=1e-13, equal_nan=True)


@pytest.mark.parametrize("statistic", ["spearman", "tau_b"])
def test_many_items_are_counted_exactly(statistic):
    """Sums of 9 million pairs are beyond what float32 can hold."""
    human, first = tied(1, (1, 3000), 50), tied(2, (1, 3000), 10**6)
    swap = torch.rand(3, 1, 3000, generator=torch.Generator().manual_seed(0)) < 0.5
    found, _ = swapped_statistic(human, first, human.clone(), statistic)(swap)
    metric = torch.where(swap, human, first)
    correct = expected(human.expand(swap.shape), metric, statistic, False)
    torch.testing.assert_close(found, correct, rtol=0, atol=1e-13)


@pytest.mark.parametrize("statistic", STATISTICS)
def test_one_item_and_equal_scores_have_no_value(statistic):
    swap = torch.tensor([[[False]], [[True]]])
    one = torch.ones(1, 1, dtype=torch.float64)
    for side in swapped_statistic(one, one, one, statistic)(swap):
        assert side.isnan().all()
    human, same = tied(1, (1, 5)), torch.ones(1, 5, dtype=torch.float64)
    if statistic in ("spearman", "tau_b"):
        for side in swapped_statistic(human, same, same, statistic)(swap.expand(-1, -1, 5)):
            assert side.isnan().all()
