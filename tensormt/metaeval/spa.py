"""Soft pairwise accuracy (SPA), the system-level statistic of WMT 2024 and 2025.

For each pair of systems, human and metric scores each give the p-value of a paired permutation test
of their segment scores. SPA measures how close the two p-values are:

    p_ij = share of K random sign changes e with Σ_n e_n (x_in - x_jn) ≥ Σ_n (x_in - x_jn)
    SPA  = 1 - mean over pairs i < j of |p_ij(human) - p_ij(metric)|

(Thompson, Mathur, Deutsch & Khayrallah 2024.) The inequality separates into one term per system:
with loss_i = Σ_n (1 - e_n) x_in it is loss_i ≤ loss_j. One product, scores [S,N] @ signs [N,K],
therefore serves all pairs of systems. Signs are drawn as in mt-metrics-eval, for the segments that
have human scores. With K = 0 the normal approximation p_ij = Φ(-Σ d / √Σ d²) is used, which has no
sampling noise.

Sums that differ only by rounding count as equal, because MQM scores have many exact ties.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.metaeval.checks import check_arguments, check_tables
from tensormt.metaeval.correlation import unit_scale

PERMUTATIONS = 1000
SEED = 4
# Tolerance relative to the largest possible sum.
_TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5}


def random_signs(permutations: int, segments: int, seed: int = SEED) -> Tensor:
    """Draw random signs as mt-metrics-eval does.

    Args:
        permutations: Number of permutations K.
        segments: Number of segments N.
        seed: Seed of the random numbers.

    Returns:
        1 or -1, float64 [K,N].

    >>> random_signs(2, 4).tolist()
    [[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, -1.0]]
    """
    random = np.random.default_rng(seed).random((permutations, segments), dtype=np.float32)
    return torch.from_numpy(2.0 * np.rint(random).astype(np.float64) - 1.0)


def pair_p_values(
    scores: Tensor, mask: Tensor | None = None, signs: Tensor | None = None
) -> Tensor:
    """Compute the one-sided p-value that system i is better than j, for all pairs i < j.

    Args:
        scores: Segment scores [..., S, N].
        mask: Which scores exist, bool [..., S, N]; a pair is compared on the segments of both.
        signs: Random signs [K,N]; None: the normal approximation.

    Returns:
        float64 [..., S(S-1)/2].
    """
    if mask is not None:
        scores = scores.masked_fill(~mask, 0.0)
    scores, _ = unit_scale(scores, -2, -1)
    if mask is None or bool((mask.any(-2) == mask.all(-2)).all()):
        # All systems have the same segments, so sums of systems suffice.
        if signs is None:
            return normal_p_values(scores)
        return permutation_p_values(sign_losses(scores, signs), rounding_margin(scores))
    i, j = torch.triu_indices(scores.shape[-2], scores.shape[-2], offset=1, device=scores.device)
    both = mask[..., i, :] & mask[..., j, :]
    return _difference_p_values(
        (scores[..., i, :] - scores[..., j, :]).masked_fill(~both, 0.0), signs
    )


def sign_losses(scores: Tensor, signs: Tensor) -> Tensor:
    """Compute Σ_n (1 - e_n) x_n of scores [..., S, N] and signs e [K,N], float [..., S, K]."""
    return scores.sum(dim=-1, keepdim=True) - scores @ signs.to(scores).T


def rounding_margin(scores: Tensor) -> Tensor:
    """Return the tolerance [...] for equal sums of a table [..., S, N]."""
    return _TOLERANCE[scores.dtype] * scores.abs().sum(dim=-1).amax(dim=-1)


def permutation_p_values(losses: Tensor, margin: Tensor) -> Tensor:
    """Compute p-values [..., S(S-1)/2] of all pairs i < j from `sign_losses` [..., S, K]."""
    counts = []
    for i in range(losses.shape[-2] - 1):
        own = losses[..., i : i + 1, :] - margin[..., None, None]
        counts.append((own <= losses[..., i + 1 :, :]).sum(dim=-1, dtype=torch.int32))
    return torch.cat(counts, dim=-1).to(torch.float64) / losses.shape[-1]


def normal_p_values(scores: Tensor) -> Tensor:
    """Compute p-values [..., S(S-1)/2] of scores [..., S, N] by the normal approximation."""
    i, j = torch.triu_indices(scores.shape[-2], scores.shape[-2], offset=1, device=scores.device)
    total = scores.sum(dim=-1)
    gram = scores @ scores.transpose(-1, -2)
    square = gram.diagonal(dim1=-2, dim2=-1)
    scale = square[..., i] + square[..., j]
    return _normal_tail(total[..., i] - total[..., j], scale - 2 * gram[..., i, j], scale)


def _difference_p_values(differences: Tensor, signs: Tensor | None) -> Tensor:
    """Compute p-values [..., P] of the differences of pairs [..., P, N]."""
    total = differences.sum(dim=-1)
    if signs is None:
        return _normal_tail(total, square := differences.square().sum(dim=-1), square)
    margin = _TOLERANCE[differences.dtype] * differences.abs().sum(dim=-1)[..., None]
    as_large = differences @ signs.to(differences).T >= total[..., None] - margin
    return as_large.mean(dim=-1, dtype=torch.float64)


def _normal_tail(total: Tensor, square: Tensor, scale: Tensor) -> Tensor:
    """Compute Φ(-total / √square); 1 if all scores are equal, as in the permutation test."""
    differs = square > _TOLERANCE[total.dtype] * scale
    root = square.where(differs, torch.ones_like(square)).sqrt()
    p: Tensor = torch.special.ndtr(-total / root)
    return p.where(differs, torch.ones_like(p)).to(torch.float64)


@check_arguments
def soft_pairwise_accuracy(
    human: Tensor, metric: Tensor, *, permutations: int = PERMUTATIONS, seed: int = SEED
) -> Tensor:
    """Compute soft pairwise accuracy.

    Args:
        human: Human scores of segments [S,N]; NaN where there is no score.
        metric: Metric scores of segments [..., S, N]. An output counts if neither score is NaN.
        permutations: Number of random sign changes K; 0: the normal approximation.
        seed: Seed of the random numbers.

    Returns:
        float64 [...].

    Raises:
        TensorMTError: If the shapes do not match or there are fewer than 2 systems.

    >>> human = torch.tensor([[1.0, 2, 3, 2], [2, 3, 3, 4], [4, 3, 5, 4]])
    >>> round(float(soft_pairwise_accuracy(human, -human, permutations=0)), 4)
    0.1064
    """
    check_tables(human, metric)
    return spa_function(human, permutations, seed)(metric)


def spa_resampled(
    human: Tensor,
    metric: Tensor,
    systems: Tensor | None = None,
    segments: Tensor | None = None,
    *,
    permutations: int = PERMUTATIONS,
    seed: int = SEED,
) -> Tensor:
    """Compute the SPA of R bootstrap samples.

    A segment that counts twice has two independent signs. A pair of systems counts as often as the
    product of both, and no system is compared with itself.

    Args:
        human: Human scores [S,N].
        metric: Metric scores [S,N].
        systems: How often each system counts, int64 [R,S]; None: once.
        segments: How often each segment counts, int64 [R,N]; None: once.
        permutations: Number of random sign changes K; 0: the normal approximation.
        seed: Seed of the random numbers.

    Returns:
        float64 [R].
    """
    present = ~(human.isnan() | metric.isnan())
    size, count = human.shape
    # A resample is a new sequence of segments, so that its signs belong to places.
    drawn = human if segments is None else torch.zeros_like(human)
    signs = signs_for(drawn, permutations, seed)
    human, metric = (side.masked_fill(~present, 0.0) for side in (human, metric))
    i, j = torch.triu_indices(size, size, offset=1, device=human.device)
    samples = len(
        segments if segments is not None else systems if systems is not None else human[:1]
    )
    places = torch.arange(count, device=human.device)
    found = []
    for r in range(samples):
        own = places if segments is None else places.repeat_interleave(segments[r])
        mask = present[:, own]
        p = [pair_p_values(side[:, own], mask, signs) for side in (human, metric)]
        share = (mask[i] & mask[j]).any(dim=-1).to(torch.float64)
        if systems is not None:
            share = share * (systems[r, i] * systems[r, j])
        found.append(1 - ((p[0] - p[1]).abs() * share).sum() / share.sum())
    return torch.stack(found)


def signs_for(human: Tensor, permutations: int, seed: int = SEED) -> Tensor | None:
    """Draw the signs of the segments that have human scores.

    Args:
        human: Human scores [S,N]; NaN where there is no score.
        permutations: Number of random sign changes K; 0: the normal approximation.
        seed: Seed of the random numbers.

    Returns:
        float64 [K,N], 0 for segments without scores; None for the normal approximation.

    >>> signs_for(torch.tensor([[1.0, torch.nan, 2.0]]), 1).tolist()
    [[1.0, 0.0, 1.0]]
    """
    if not permutations:
        return None
    judged = ~human.isnan().all(dim=0).cpu()
    signs = torch.zeros((permutations, len(judged)), dtype=torch.float64)
    signs[:, judged] = random_signs(permutations, int(judged.sum()), seed)
    return signs.to(human.device)


def spa_function(
    human: Tensor, permutations: int = PERMUTATIONS, seed: int = SEED
) -> Callable[[Tensor], Tensor]:
    """Return SPA as a function of metric scores [..., S, N]; the human p-values are computed once.

    Args:
        human: Human scores [S,N].
        permutations: Number of random sign changes K; 0: the normal approximation.
        seed: Seed of the random numbers.

    Raises:
        TensorMTError: If there are fewer than 2 systems.
    """
    if len(human) < 2:
        raise TensorMTError("soft pairwise accuracy compares systems: at least 2 are needed")
    signs = signs_for(human, permutations, seed)
    known: dict[bytes, Tensor] = {}

    def spa(metric: Tensor) -> Tensor:
        mask = ~human.isnan() & ~metric.isnan().reshape(-1, *human.shape).any(dim=0)
        # Systems without any score are left out.
        rows = mask.any(dim=-1).nonzero()[:, 0]
        mask = mask[rows]
        key = mask.cpu().numpy().tobytes() + rows.cpu().numpy().tobytes()
        if key not in known:
            known[key] = pair_p_values(human[rows].masked_fill(~mask, 0.0), mask, signs)
        p = pair_p_values(metric[..., rows, :].masked_fill(~mask, 0.0), mask, signs)
        i, j = torch.triu_indices(len(rows), len(rows), offset=1, device=mask.device)
        compared = (mask[i] & mask[j]).any(dim=-1)
        return 1 - (known[key] - p)[..., compared].abs().mean(dim=-1)

    return spa


def p_value_matrices(
    human: Tensor, metric: Tensor, *, permutations: int = PERMUTATIONS, seed: int = SEED
) -> tuple[Tensor, Tensor]:
    """Return the p-values that SPA compares: system i is better than system j.

    SPA is 1 minus the mean of their absolute differences.

    Args:
        human: Human scores [S,N]; NaN where there is no score.
        metric: Metric scores [S,N].
        permutations: Number of random sign changes K; 0: the normal approximation.
        seed: Seed of the random numbers.

    Returns:
        p-values by human scores and by the metric, float64 [S,S]; NaN except for i < j of two
        systems that have scores of the same segment.

    >>> human = torch.tensor([[1.0, 2, 3, 2], [2, 3, 3, 4]])
    >>> p_value_matrices(human, human, permutations=0)[0].isnan().tolist()
    [[True, False], [True, True]]
    """
    mask = ~(human.isnan() | metric.isnan())
    signs = signs_for(human, permutations, seed)
    i, j = torch.triu_indices(len(human), len(human), offset=1)
    compared = (mask[i] & mask[j]).any(dim=-1)
    i, j, found = i[compared], j[compared], []
    for side in (human, metric):
        p = pair_p_values(side.masked_fill(~mask, 0.0), mask, signs)[compared]
        found.append(torch.full((len(human),) * 2, torch.nan, dtype=torch.float64))
        found[-1][i, j] = p
    return found[0], found[1]
