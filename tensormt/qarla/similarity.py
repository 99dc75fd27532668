"""The similarity measures of the paper (Amigó et al. 2005, section 4), for all pairs at once.

Each takes counts [T,N,V] of the texts of every case (see `bags`) and returns x(candidate i,
reference j), float64 [T,N,N]:

    rouge1                 Σ_w min(c_i(w), c_j(w)) / Σ_w c_j(w): ROUGE-1 recall with one model
    shared_per_reference   fragments in both / fragments of the reference  (SentencePrecision)
    shared_per_candidate   fragments in both / fragments of the candidate  (SentenceRecall, DocSim)
    vector_model           1 - |f_i - f_j| / √2 with relative frequencies f  (VectModelSim, NICOS)
    truncated_vector_model the same over the n most frequent terms of the reference

The paper divides its SentencePrecision by the size of the reference and its SentenceRecall by that
of the contrastive (candidate) text; we follow its words. DocSim and key-concept overlap need what
only an annotator knows (source documents, concepts): `bags.term_counts` takes them as lists. QARLA
does not change under a rising function of x, so "derived from the Euclidean distance" may be any
falling function of it; this one lies between 0 and 1. Decided: terms as frequent as the n-th
belong to the n most frequent ones; a text without terms has similarity 0 with every text.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

# Cells [N,N,V] compared at a time.
BLOCK = 1 << 22


def _by_cases(counts: Tensor, compare: Callable[[Tensor], Tensor]) -> Tensor:
    """Compare all pairs of texts in chunks of cases, and set pairs with an empty text to 0."""
    cases, texts, types = counts.shape
    step = max(1, BLOCK // (texts * texts * types))
    parts = [compare(counts[start : start + step]) for start in range(0, cases, step)]
    some = counts.sum(dim=-1) > 0
    return torch.cat(parts).masked_fill(~(some[:, :, None] & some[:, None, :]), 0.0)


def rouge1(counts: Tensor) -> Tensor:
    """Return clipped unigram recall of i against j, float64 [T,N,N]."""

    def compare(part: Tensor) -> Tensor:
        shared = torch.minimum(part[:, :, None], part[:, None, :]).sum(dim=-1)
        return shared / part.sum(dim=-1).to(torch.float64)[:, None, :]

    return _by_cases(counts, compare)


def shared_per_reference(counts: Tensor) -> Tensor:
    """Return the share of the reference's different terms that the candidate has, [T,N,N]."""
    return shared_per_candidate(counts).transpose(1, 2)


def shared_per_candidate(counts: Tensor) -> Tensor:
    """Return the share of the candidate's different terms that the reference has, [T,N,N]."""

    def compare(part: Tensor) -> Tensor:
        present = (part > 0).to(torch.float64)
        return present @ present.transpose(1, 2) / present.sum(dim=-1)[:, :, None]

    return _by_cases(counts, compare)


def vector_model(counts: Tensor) -> Tensor:
    """Return 1 - Euclidean distance / √2 between relative frequencies, float64 [T,N,N]."""

    def compare(part: Tensor) -> Tensor:
        return 1 - _squares(part).sum(dim=-1).sqrt() / math.sqrt(2)

    return _by_cases(counts, compare)


def truncated_vector_model(counts: Tensor, terms: int) -> Tensor:
    """Return the same over the most frequent terms of the reference only, float64 [T,N,N]."""

    def compare(part: Tensor) -> Tensor:
        nth = part.topk(min(terms, part.shape[-1]), dim=-1).values[..., -1:]
        kept = part >= nth.clamp(min=1)
        return 1 - (_squares(part) * kept[:, None]).sum(dim=-1).sqrt() / math.sqrt(2)

    return _by_cases(counts, compare)


def _squares(counts: Tensor) -> Tensor:
    """Return the squared differences of relative frequencies, float64 [T,N,N,V]."""
    share = counts / counts.sum(dim=-1, keepdim=True).clamp(min=1).to(torch.float64)
    return (share[:, :, None] - share[:, None, :]).square()
