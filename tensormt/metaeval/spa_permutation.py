"""The permutation test of soft pairwise accuracy, all pairs of metrics at once.

SPA reads a metric through what its sums lose by each change of signs (see `soft`), and the losses
of exchanged scores are those of both metrics:

    loss(a + e (b - a)) = loss(a) + loss(e b) - loss(e a)        e in {0, 1}

So a draw of what is exchanged costs one product for each metric, not one for each pair of them;
what is left for a pair is to compare systems. The normal limit has no sums that add up (it needs
products of exchanged scores), and takes the scores themselves. Where metrics lack different
outputs, or systems different segments, everything is computed again for each draw and pair.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from tensormt.metaeval.permutation_test import Exchange, exchange_tables
from tensormt.metaeval.resample import standardised, swaps
from tensormt.metaeval.spa import (
    PERMUTATIONS,
    drawn_p_values,
    limit_p_values,
    losses,
    margin,
    pair_p_values,
    signs,
    spa_against,
)
from tensormt.validation import one_of

UNITS = ("both", "systems", "segments")
# Draws are taken together while their losses stay near the cache: so much of `resample.BLOCK`.
SHARE = 4


def exchange_spa(
    human: Tensor,
    metrics: Tensor,
    units: str = "both",
    permutations: int = PERMUTATIONS,
    *,
    resamples: int = 1000,
    seed: int = 12345,
) -> Exchange:
    """Test all pairs of metrics, tables float64 [X,S,N], by SPA against people's, [S,N].

    ``permutations`` are the sign changes inside SPA (0: the normal limit), ``resamples`` the
    exchanges between metrics. An output counts where people and both metrics have scored it.
    """
    one_of(UNITS)(units, "units")
    against = spa_against(human, permutations)
    real = ~(human.isnan() | metrics.isnan())
    rows, columns = real[0].any(dim=1), real[0].any(dim=0)
    whole = bool((real == (rows[:, None] & columns)).all())
    if not whole or int(rows.sum()) < 2:
        cells = len(human) * max(human.shape[1], len(human) * permutations)
        return exchange_tables(
            human,
            metrics,
            lambda _, own: against(own),
            units,
            cells,
            resamples=resamples,
            seed=seed,
        )

    def kept(table: Tensor) -> Tensor:
        """Without systems and segments that nobody scored; what stands for all of them stays."""
        if table.shape[-2] > 1:
            table = table[..., rows, :]
        return table[..., columns] if table.shape[-1] > 1 else table

    tables = kept(torch.stack([standardised(own, real[0]) for own in metrics]))
    flips = signs(permutations, human.shape[1])[:, columns.cpu()] if permutations else None
    expected = pair_p_values(kept(human), None, flips)
    image, p_values = _reading(tables, flips)
    total, count = image(tables), len(metrics)

    def spa(read: Tensor) -> Tensor:
        return 1 - (expected - p_values(read)).abs().mean(dim=-1)

    shape = {"both": human.shape, "systems": (len(human), 1), "segments": (1, human.shape[1])}
    cells = SHARE * len(human) * count * max(human.shape[1], permutations)
    parts = []
    for swap in swaps(shape[units], resamples, cells, seed, human.device):
        moved = image(kept(swap)[:, None].to(tables.dtype) * tables)  # [r,X,S,K]
        null = total.new_zeros((len(swap), count, count), dtype=torch.float64)
        for a in range(count - 1):
            change = moved[:, a + 1 :] - moved[:, a : a + 1]
            null[:, a, a + 1 :] = spa(total[a] + change) - spa(total[a + 1 :] - change)
        parts.append(null - null.transpose(1, 2))
    values = torch.stack([against(own) for own in metrics])
    return Exchange(values, torch.cat(parts))


def _reading(
    tables: Tensor, flips: Tensor | None
) -> tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]]:
    """What SPA takes from tables [..., S, N], and the p-values [..., P] that follow from it."""
    if flips is None:
        return lambda scores: scores, limit_p_values
    largest = margin(tables).amax()  # one scale: the tables are standardised
    return lambda scores: losses(scores, flips), lambda lost: drawn_p_values(lost, largest)
