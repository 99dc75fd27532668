"""Number of model triples that a text passes, for every set of similarity metrics at once.

A text a passes the triple (m, m', m'') with metric x when x(a, m) ≥ x(m', m''), and with a set of
metrics when it passes with each of them. For every triple, the metrics that pass form a bit mask
(bit k = metric k). The histogram of these masks over 2^X bins is the number of triples with exactly
that mask; adding, bit by bit, the half of the bins with the bit to the half without it (superset
sums) turns it into the number of triples whose mask *contains* each set:

    count(s) = Σ_{c ⊇ s} histogram(c)

so 2^X sets cost X additions per bin instead of 2^X passes over the triples. QUEEN is this count
divided by the number of triples (Amigó et al. 2005, section 3).
"""

from collections.abc import Iterable

import torch
from torch import Tensor

TRIPLES = ("pairs", "distinct", "all")


def pair_indices(models: int, triples: str, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return m' and m'' of every pair of models that is compared, int64 [P] each.

    P = M(M-1) ordered pairs of different models; M² with ``triples="all"``.
    """
    if triples == "all":
        cell = torch.arange(models * models, device=device)
    else:
        # The k-th off-diagonal cell, by arithmetic: its shape needs no synchronisation.
        cell = torch.arange(models * (models - 1), device=device)
        cell = cell + cell // models + 1
    return cell // models, cell % models


def triple_weights(candidate_mask: Tensor, model_mask: Tensor, triples: str) -> Tensor:
    """Return 1 for every triple that counts for a candidate, else 0, int32 [T,C,M,P].

    candidate_mask bool [T,C], model_mask bool [T,M]; no triple counts for a masked candidate.
    """
    models = model_mask.shape[1]
    first, second = pair_indices(models, triples, model_mask.device)
    real = model_mask[:, :, None] & (model_mask[:, first] & model_mask[:, second])[:, None, :]
    if triples == "distinct":
        m = torch.arange(models, device=model_mask.device)[:, None]
        real = real & (m != first) & (m != second)
    return (candidate_mask[:, :, None, None] & real[:, None]).to(torch.int32)


def write_masks(passes: Iterable[Tensor], together: bool) -> Tensor:
    """Combine one bool tensor per metric, all of one shape, into bit masks, int32.

    ``together``: a single bit for the conjunction of all metrics.
    """
    each = iter(passes)
    mask = next(each).to(torch.int32)
    for k, passed in enumerate(each, 1):
        if together:
            mask &= passed
        else:
            mask.add_(passed, alpha=1 << k)
    return mask


def masks(candidates: Tensor, mm: Tensor, triples: str, together: bool) -> Tensor:
    """Return the bit mask of passing metrics for every candidate and triple, int32 [T,C,M,P].

    candidates [T,C,M,X] = x(candidate, model), mm [T,M,M,X]; ``together`` as for `write_masks`.
    """
    first, second = pair_indices(mm.shape[1], triples, mm.device)
    between = mm[:, first, second]
    return write_masks(
        (candidates[..., None, k] >= between[:, None, None, :, k] for k in range(mm.shape[-1])),
        together,
    )


def superset_sums(histogram: Tensor) -> Tensor:
    """Replace bin s by the sum of all bins c ⊇ s, in place; [..., 2**X]."""
    bins = histogram.shape[-1]
    step = 1
    while step < bins:
        halves = histogram.view(*histogram.shape[:-1], bins // (2 * step), 2, step)
        halves[..., 0, :].add_(halves[..., 1, :])
        step *= 2
    return histogram


def add_to_histogram(out: Tensor, mask: Tensor, row: Tensor, weight: Tensor) -> None:
    """Count the masks per case, candidate and row into out, int32 [T,C,rows,bins].

    mask int32 [T,C,M,P]; row int64 [M,P] or broadcastable, weight int32 [T,C,M,P]: each triple
    adds its weight to bin ``mask`` of row ``row`` of its case and candidate.
    """
    cases, count, rows, bins = out.shape
    block = torch.arange(cases * count, device=out.device).view(cases, count, 1, 1) * rows
    index = (block + row) * bins + mask
    out.view(-1).scatter_add_(0, index.reshape(-1), weight.reshape(-1))


def set_counts(candidates: Tensor, mm: Tensor, weight: Tensor, triples: str, bins: int) -> Tensor:
    """Return the number of triples passed with every metric set, int32 [T,C,bins].

    weight int32 [T,C,M,P]. ``bins`` is 2**X, or 2 to count the whole set of metrics only (bin 1).
    """
    mask = masks(candidates, mm, triples, together=bins == 2)
    out = torch.zeros((*mask.shape[:2], 1, bins), dtype=torch.int32, device=mm.device)
    add_to_histogram(out, mask, torch.zeros_like(out[0, 0, 0, 0], dtype=torch.int64), weight)
    return superset_sums(out[:, :, 0])


def set_counts_without_each(
    candidates: Tensor, mm: Tensor, weight: Tensor, triples: str, bins: int
) -> Tensor:
    """Return the same counts over the triples without model m, for every m, int32 [T,C,M,bins].

    Each triple is subtracted from the total once for each different model in it, so leaving out
    each of the M models costs three histograms instead of M.
    """
    models = mm.shape[1]
    mask = masks(candidates, mm, triples, together=bins == 2)
    first, second = pair_indices(models, triples, mm.device)
    m = torch.arange(models, device=mm.device)[:, None]
    with_model = torch.zeros((*mask.shape[:2], models, bins), dtype=torch.int32, device=mm.device)
    add_to_histogram(with_model, mask, m, weight)
    total = with_model.sum(dim=2, keepdim=True, dtype=torch.int32)
    add_to_histogram(with_model, mask, first, weight * (first != m))
    add_to_histogram(with_model, mask, second, weight * ((second != m) & (second != first)))
    return superset_sums(torch.sub(total, with_model, out=with_model))


def without_each(weight: Tensor, triples: str) -> Tensor:
    """Set the weight of triples that contain the candidate to 0, if the candidates are the models.

    weight int32 [T,C=M,M,P]; returns the same shape.
    """
    models = weight.shape[1]
    first, second = pair_indices(models, triples, weight.device)
    m = torch.arange(models, device=weight.device)
    c = m[:, None, None]
    return weight * ((c != m[:, None]) & (c != first) & (c != second))
