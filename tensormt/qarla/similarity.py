"""The similarity measures of the paper (Amigó et al. 2005, section 4), for all pairs at once.

Each takes counts [T,N,V] of the texts of every case (see `bag_of_words`) and returns x(candidate i,
reference j), float64 [T,N,N]:

    shared_per_reference   fragments in both / fragments of the reference  (SentencePrecision)
    shared_per_candidate   fragments in both / fragments of the candidate  (SentenceRecall, DocSim)
    vector_model           1 - |f_i - f_j| / √2 with relative frequencies f  (VectModelSim, NICOS)
    truncated_vector_model the same over the n most frequent terms of the reference

As in the paper, SentencePrecision is divided by the size of the reference, and SentenceRecall by
that of the contrastive (candidate) text. ROUGESim is the metric `rouge` (see `from_texts`). DocSim
and key-concept overlap need annotations (source documents, concepts), which
`bag_of_words.term_counts` takes as lists. QARLA is invariant under
increasing functions of x, so "derived from the Euclidean distance" may be any decreasing function
of it; this one is between 0 and 1. Terms as frequent as the n-th most frequent one all belong to
the n most frequent terms. A text without terms has similarity 0 with every text.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

# Number of cells [N,N,V] that are compared at a time.
BLOCK = 1 << 22


def _by_cases(counts: Tensor, compare: Callable[[Tensor], Tensor]) -> Tensor:
    """Compare all pairs of texts in chunks of cases; pairs with an empty text have similarity 0."""
    cases, texts, types = counts.shape
    step = max(1, BLOCK // (texts * texts * types))
    parts = [compare(counts[start : start + step]) for start in range(0, cases, step)]
    some = counts.sum(dim=-1) > 0
    return torch.cat(parts).masked_fill(~(some[:, :, None] & some[:, None, :]), 0.0)


def shared_per_reference(counts: Tensor) -> Tensor:
    """Compute the share of the distinct terms of the reference that the candidate has, [T,N,N]."""
    return shared_per_candidate(counts).transpose(1, 2)


def shared_per_candidate(counts: Tensor) -> Tensor:
    """Compute the share of the distinct terms of the candidate that the reference has, [T,N,N]."""

    def compare(part: Tensor) -> Tensor:
        present = (part > 0).to(torch.float64)
        return present @ present.transpose(1, 2) / present.sum(dim=-1)[:, :, None]

    return _by_cases(counts, compare)


def vector_model(counts: Tensor) -> Tensor:
    """Compute 1 - Euclidean distance / √2 of relative frequencies, float64 [T,N,N]."""

    def compare(part: Tensor) -> Tensor:
        return 1 - _squares(part).sum(dim=-1).sqrt() / math.sqrt(2)

    return _by_cases(counts, compare)


def truncated_vector_model(counts: Tensor, terms: int) -> Tensor:
    """Compute `vector_model` over the most frequent terms of the reference, float64 [T,N,N]."""

    def compare(part: Tensor) -> Tensor:
        nth = part.topk(min(terms, part.shape[-1]), dim=-1).values[..., -1:]
        kept = part >= nth.clamp(min=1)
        return 1 - (_squares(part) * kept[:, None]).sum(dim=-1).sqrt() / math.sqrt(2)

    return _by_cases(counts, compare)


def _squares(counts: Tensor) -> Tensor:
    """Compute the squared differences of relative frequencies, float64 [T,N,N,V]."""
    share = counts / counts.sum(dim=-1, keepdim=True).clamp(min=1).to(torch.float64)
    return (share[:, :, None] - share[:, None, :]).square()
