"""Permutation tests of soft pairwise accuracy for all pairs of metrics at once.

SPA depends on a metric only through the losses of its sums under sign changes (see `spa`), and the
losses of swapped scores are combinations of those of both metrics:

    loss(a + e (b - a)) = loss(a) + loss(e b) - loss(e a)        e in {0, 1}

A permutation therefore costs one matrix product per metric, not one per pair of metrics. The normal
approximation has no such sums (it needs products of swapped scores) and uses the scores themselves.
If metrics lack different outputs, or systems different segments, SPA is computed again for each
permutation and pair.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from tensormt.metaeval.permutation_test import PairwisePermutation, pairwise_permutation_tables
from tensormt.metaeval.resample import SWAP_UNITS, random_swaps, standardize
from tensormt.metaeval.spa import (
    PERMUTATIONS,
    normal_p_values,
    pair_p_values,
    permutation_p_values,
    rounding_margin,
    sign_losses,
    signs_for,
    spa_function,
)
from tensormt.validation import one_of

# Divisor of `resample.BLOCK`, so that the losses of a chunk of permutations stay near the cache.
CACHE_SHARE = 4


def pairwise_permutation_spa(
    human: Tensor,
    metrics: Tensor,
    units: str = "both",
    permutations: int = PERMUTATIONS,
    *,
    resamples: int = 1000,
    seed: int = 12345,
    first: int = 0,
    wanted: Tensor | None = None,
) -> PairwisePermutation:
    """Test pairs of metrics for a difference in soft pairwise accuracy.

    An output counts if it has a human score and scores by both metrics.

    Args:
        human: Human scores [S,N]; NaN where there is no score.
        metrics: Scores of X metrics [X,S,N].
        units: What is swapped between two metrics: "both" (single outputs), "systems", "segments".
        permutations: Number of sign changes within SPA; 0: the normal approximation.
        resamples: Number of permutations of the test.
        seed: Seed of the random numbers.
        first: Number of permutations that are left out, because they are already known.
        wanted: Which pairs are tested, bool [X,X] (symmetric); None: all. The differences of
            others are 0.

    Returns:
        The SPA of each metric and the differences of the permutations from `first` on.

    Raises:
        TensorMTError: If the units are unknown or there are fewer than 2 systems.

    >>> human = torch.tensor([[1.0, 2, 3, 2], [2, 3, 3, 4], [4, 3, 5, 4]])
    >>> metrics = torch.stack([human * 2, human.flip(0)]).double()
    >>> found = pairwise_permutation_spa(human.double(), metrics, permutations=0, resamples=9)
    >>> [round(value, 4) for value in found.values.tolist()]
    [1.0, 0.1064]
    """
    one_of(SWAP_UNITS)(units, "units")
    spa_of = spa_function(human, permutations)
    present = ~(human.isnan() | metrics.isnan())
    rows, columns = present[0].any(dim=1), present[0].any(dim=0)
    rectangular = bool((present == (rows[:, None] & columns)).all())
    if not rectangular or int(rows.sum()) < 2:
        cells = len(human) * max(human.shape[1], len(human) * permutations)
        found = pairwise_permutation_tables(
            human,
            metrics,
            lambda _, own: spa_of(own),
            units,
            cells,
            resamples=resamples,
            seed=seed,
            wanted=wanted,
        )
        return PairwisePermutation(found.values, found.null[first:])

    def scored(table: Tensor) -> Tensor:
        """Drop systems and segments without scores; an axis of size 1 applies to all of them."""
        if table.shape[-2] > 1:
            table = table[..., rows, :]
        return table[..., columns] if table.shape[-1] > 1 else table

    tables = scored(torch.stack([standardize(own, present[0]) for own in metrics]))
    signs = signs_for(human, permutations)
    signs = None if signs is None else signs[:, columns]
    expected = pair_p_values(scored(human), None, signs)
    reduce, p_values = _reduction(tables, signs)
    total, count = reduce(tables), len(metrics)

    def spa(reduced: Tensor) -> Tensor:
        return 1 - (expected - p_values(reduced)).abs().mean(dim=-1)

    pairs = torch.ones((count, count), dtype=torch.bool) if wanted is None else wanted.cpu()
    pairs = pairs.triu(diagonal=1)
    used = (pairs.any(dim=0) | pairs.any(dim=1)).nonzero()[:, 0].tolist()
    place = {k: n for n, k in enumerate(used)}
    upper = total.new_zeros((resamples - first, count, count), dtype=torch.float64)
    cells = CACHE_SHARE * len(human) * max(1, len(used)) * max(human.shape[1], permutations)
    stop = -first
    for swap in random_swaps(human, units, resamples, cells, seed):
        start, stop = stop, stop + len(swap)
        if stop > 0:
            swap = swap[max(0, -start) :]
            part = upper[max(0, start) : stop]
            moved = reduce(scored(swap)[:, None].to(tables.dtype) * tables[used])  # [r,x,S,K]
            for a in used:
                others = pairs[a].nonzero()[:, 0].tolist()
                if others:
                    change = moved[:, [place[b] for b in others]] - moved[:, [place[a]]]
                    part[:, a, others] = spa(total[a] + change) - spa(total[others] - change)
    values = torch.stack([spa_of(own) for own in metrics])
    return PairwisePermutation.from_upper(values, upper)


def _reduction(
    tables: Tensor, signs: Tensor | None
) -> tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]]:
    """Return a linear map of tables [..., S, N], and p-values [..., P] of its result."""
    if signs is None:
        return lambda scores: scores, normal_p_values
    margin = rounding_margin(tables).amax()  # one scale, because the tables are standardized
    return (
        lambda scores: sign_losses(scores, signs),
        lambda losses: permutation_p_values(losses, margin),
    )
