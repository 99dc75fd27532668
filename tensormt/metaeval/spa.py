"""Soft pairwise accuracy, the system-level statistic of WMT 2024 and 2025.

How sure is it that system i is better than j? People and metric each give the p of a paired
permutation test on their segment scores, and the metric should be as sure as people are:

    p_ij = share of K random sign changes e with Σ_n e_n (x_in - x_jn) ≥ Σ_n (x_in - x_jn)
    SPA  = 1 - mean over pairs i < j of |p_ij(human) - p_ij(metric)|

(Thompson, Mathur, Deutsch & Khayrallah 2024.) Each system has its own side of the inequality: with
loss_i = Σ_n (1 - e_n) x_in, a change counts where loss_i ≤ loss_j. So one product, scores [S,N] @
signs [N,K], serves all pairs of systems. Signs are drawn as mt-metrics-eval does. With K = 0 the
normal limit takes their place, p_ij = Φ(-Σ d / √Σ d²): no draws, no noise.

Differences that rounding sets apart are equal: with MQM scores many are.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.metaeval.checks import CHECKED, check_tables

PERMUTATIONS = 1000
SEED = 4
# Relative to the largest sum that signs can give.
_MARGIN = {torch.float64: 1e-12, torch.float32: 1e-5}


def signs(permutations: int, segments: int, seed: int = SEED) -> Tensor:
    """Draw the signs of the test, float64 [K,N], as mt-metrics-eval does."""
    random = np.random.default_rng(seed).random((permutations, segments), dtype=np.float32)
    return torch.from_numpy(2.0 * np.rint(random).astype(np.float64) - 1.0)


def pair_p_values(
    scores: Tensor, mask: Tensor | None = None, flips: Tensor | None = None
) -> Tensor:
    """Return how easily chance makes system i better than j by as much, float64 [..., S(S-1)/2].

    scores [..., S, N]; mask bool [..., S, N]: a pair is compared on the segments that both have;
    flips [K,N] are the signs, none for the normal limit.
    """
    if mask is None or bool((mask.any(-2) == mask.all(-2)).all()):
        # the same segments for all: sums of systems, not of pairs
        if mask is not None:
            scores = scores.masked_fill(~mask, 0.0)
        if flips is None:
            return limit_p_values(scores)
        return drawn_p_values(losses(scores, flips), margin(scores))
    i, j = torch.triu_indices(scores.shape[-2], scores.shape[-2], offset=1, device=scores.device)
    both = mask[..., i, :] & mask[..., j, :]
    return _shares((scores[..., i, :] - scores[..., j, :]).masked_fill(~both, 0.0), flips)


def losses(scores: Tensor, flips: Tensor) -> Tensor:
    """What the sums of scores [..., S, N] lose by each change of signs [K,N], [..., S, K]."""
    return scores.sum(dim=-1, keepdim=True) - scores @ flips.to(scores).T


def margin(scores: Tensor) -> Tensor:
    """By how much rounding may set sums of a table [..., S, N] apart, [...]."""
    return _MARGIN[scores.dtype] * scores.abs().sum(dim=-1).amax(dim=-1)


def drawn_p_values(lost: Tensor, margin: Tensor) -> Tensor:
    """p of all pairs i < j from the losses [..., S, K] -> [..., S(S-1)/2]."""
    counts = []
    for i in range(lost.shape[-2] - 1):
        own = lost[..., i : i + 1, :] - margin[..., None, None]
        counts.append((own <= lost[..., i + 1 :, :]).sum(dim=-1, dtype=torch.int32))
    return torch.cat(counts, dim=-1).to(torch.float64) / lost.shape[-1]


def limit_p_values(scores: Tensor) -> Tensor:
    """p of all pairs i < j by the normal limit, scores [..., S, N] -> [..., S(S-1)/2]."""
    i, j = torch.triu_indices(scores.shape[-2], scores.shape[-2], offset=1, device=scores.device)
    seen = scores.sum(dim=-1)
    gram = scores @ scores.transpose(-1, -2)
    square = gram.diagonal(dim1=-2, dim2=-1)
    scale = square[..., i] + square[..., j]
    return _normal(seen[..., i] - seen[..., j], scale - 2 * gram[..., i, j], scale)


def _shares(gaps: Tensor, flips: Tensor | None) -> Tensor:
    """The test of differences [..., P, N] -> [..., P]."""
    seen = gaps.sum(dim=-1)
    if flips is None:
        return _normal(seen, square := gaps.square().sum(dim=-1), square)
    margin = _MARGIN[gaps.dtype] * gaps.abs().sum(dim=-1)[..., None]
    return (gaps @ flips.to(gaps).T >= seen[..., None] - margin).mean(dim=-1, dtype=torch.float64)


def _normal(seen: Tensor, square: Tensor, scale: Tensor) -> Tensor:
    """Φ(-seen / √square); 1 for systems whose scores are all equal, as in the test by draws."""
    real = square > _MARGIN[seen.dtype] * scale
    p: Tensor = torch.special.ndtr(-seen / square.where(real, torch.ones_like(square)).sqrt())
    return p.where(real, torch.ones_like(p)).to(torch.float64)


@CHECKED
def soft_pairwise_accuracy(
    human: Tensor, metric: Tensor, *, permutations: int = PERMUTATIONS, seed: int = SEED
) -> Tensor:
    """Return the SPA of segment scores, float64 [...]; human [S,N], metric [..., S, N].

    An output counts where both have a score that is not NaN.
    """
    check_tables(human, metric)
    return spa_against(human, permutations, seed)(metric)


def spa_of_draws(
    human: Tensor,
    metric: Tensor,
    systems: Tensor | None = None,
    segments: Tensor | None = None,
    *,
    permutations: int = PERMUTATIONS,
    seed: int = SEED,
) -> Tensor:
    """Return the SPA of draws, float64 [R]; human, metric [S,N].

    A draw is how often systems int64 [R,S] and segments int64 [R,N] count. A segment that counts
    twice has two signs, as if it were two; a pair of systems counts as often as the product of
    both, and no system is compared with itself.
    """
    real = ~(human.isnan() | metric.isnan())
    human, metric = (side.masked_fill(~real, 0.0) for side in (human, metric))
    size, count = human.shape
    flips = signs(permutations, count, seed).to(human.device) if permutations else None
    i, j = torch.triu_indices(size, size, offset=1, device=human.device)
    draws = len(segments if segments is not None else systems if systems is not None else human[:1])
    places = torch.arange(count, device=human.device)
    found = []
    for r in range(draws):
        own = places if segments is None else places.repeat_interleave(segments[r])
        mask = real[:, own]
        p = [pair_p_values(side[:, own], mask, flips) for side in (human, metric)]
        share = (mask[i] & mask[j]).any(dim=-1).to(torch.float64)
        if systems is not None:
            share = share * (systems[r, i] * systems[r, j])
        found.append(1 - ((p[0] - p[1]).abs() * share).sum() / share.sum())
    return torch.stack(found)


def spa_against(
    human: Tensor, permutations: int = PERMUTATIONS, seed: int = SEED
) -> Callable[[Tensor], Tensor]:
    """Return SPA as a function of the metric's scores [..., S, N]; people's p are kept."""
    if len(human) < 2:
        raise TensorMTError("soft pairwise accuracy compares systems: at least 2 are needed")
    flips = signs(permutations, human.shape[1], seed).to(human.device) if permutations else None
    known: dict[bytes, Tensor] = {}

    def against(metric: Tensor) -> Tensor:
        mask = ~human.isnan() & ~metric.isnan().reshape(-1, *human.shape).any(dim=0)
        # systems without any score have no part in it
        rows = mask.any(dim=-1).nonzero()[:, 0]
        mask = mask[rows]
        key = mask.cpu().numpy().tobytes() + rows.cpu().numpy().tobytes()
        if key not in known:
            known[key] = pair_p_values(human[rows].masked_fill(~mask, 0.0), mask, flips)
        p = pair_p_values(metric[..., rows, :].masked_fill(~mask, 0.0), mask, flips)
        i, j = torch.triu_indices(len(rows), len(rows), offset=1, device=mask.device)
        compared = (mask[i] & mask[j]).any(dim=-1)
        return 1 - (known[key] - p)[..., compared].abs().mean(dim=-1)

    return against
