"""JACK, the reliability of a set of peers, for every set of similarity metrics at once.

    JACK(X, M, A) = P over m ( ∃ a ≠ a': QUEEN(a) > 0, QUEEN(a') > 0, ∀x: x(a, a') ≤ x(a, m) )

(Amigó et al. 2005, section 3.4; the QUEENs are over all models with the same metric set.) "There
is a pair" does not add up like a count, so in place of a histogram every family of metric sets is
a row of bits, 64 sets a word: the sets with QUEEN(a) > 0, those with QUEEN(a') > 0, and the
subsets of the metrics for which x(a, a') ≤ x(a, m). Their conjunction, or-ed over the pairs of
peers, is the family of sets for which model m finds a pair. The empty set finds one always.
"""

import torch
from torch import Tensor

from tensormt.kernels.queen_counts import set_counts, triple_weights, write_masks
from tensormt.qarla.checks import (
    CHECKED,
    check_models,
    check_peers,
    check_sets,
    check_similarities,
)
from tensormt.qarla.chunks import chunks


@CHECKED
def jack(
    am: Tensor,
    mm: Tensor,
    aa: Tensor,
    triples: str = "pairs",
    *,
    model_mask: Tensor | None = None,
    peer_mask: Tensor | None = None,
) -> Tensor:
    """Return JACK with all metrics together, over models and cases, float64 [].

    am [T,A,M,X] = x(peer, model), mm [T,M,M,X] = x(model, model), aa [T,A,A,X] = x(peer, peer);
    model_mask bool [T,M], peer_mask bool [T,A]: True is real.
    """
    return _jacks(am, mm, aa, triples, model_mask, peer_mask, together=True)[1]


@CHECKED
def jack_sets(
    am: Tensor,
    mm: Tensor,
    aa: Tensor,
    triples: str = "pairs",
    *,
    model_mask: Tensor | None = None,
    peer_mask: Tensor | None = None,
) -> Tensor:
    """Return JACK of every metric set (bit mask), float64 [2**X]; shapes as `jack`."""
    check_sets(am.shape[-1])
    return _jacks(am, mm, aa, triples, model_mask, peer_mask, together=False)


def _jacks(
    am: Tensor,
    mm: Tensor,
    aa: Tensor,
    triples: str,
    model_mask: Tensor | None,
    peer_mask: Tensor | None,
    *,
    together: bool,
) -> Tensor:
    """Return JACK as float64 [bins], bins 2 (bin 1: all metrics) or 2**X."""
    models, peers = check_similarities(am, mm, model_mask, peer_mask, diagonal=triples == "all")
    check_models(models, triples, leave_one_out=False)
    check_peers(am, aa, peers)
    count, metrics = am.shape[1], am.shape[3]
    bins = 2 if together else 1 << metrics
    words = max(1, bins // 64)
    others = ~torch.eye(count, dtype=torch.bool, device=am.device)
    found = torch.zeros(bins, dtype=torch.int64, device=am.device)

    def cost(width: int) -> tuple[int, int]:
        return count * count * width * words, count * width**3

    for part in chunks(am, mm, models, peers, model_mask is not None, cost):
        weight = triple_weights(part.peers, part.models, triples)
        alive = pack(set_counts(part.am, part.mm, weight, triples, bins) > 0)
        passed = _apart(part.am, aa[part.cases], together)
        families = alive[:, None, :, None] & alive[:, None, None, :] & subsets(passed, bins)
        families = (families * others[..., None]).flatten(2, 3)
        pairs = unpack(union(families), bins) & part.models[..., None]
        found += pairs.sum(dim=(0, 1))
    return found / models.sum().to(torch.float64)


def _apart(am: Tensor, aa: Tensor, together: bool) -> Tensor:
    """Return the bit mask of metrics with x(a, a') ≤ x(a, m), int64 [T,M,A,A]."""
    to_model = am.transpose(1, 2)
    passes = (aa[:, None, :, :, k] <= to_model[..., None, k] for k in range(am.shape[-1]))
    return write_masks(passes, together).to(torch.int64)


def pack(family: Tensor) -> Tensor:
    """Write a family of sets, bool [..., bins], as bits, int64 [..., words]; bit j of word w is
    set 64w + j."""
    width = min(64, family.shape[-1])
    bits = torch.arange(width, device=family.device)
    words = family.reshape(*family.shape[:-1], -1, width).to(torch.int64)
    return (words << bits).sum(dim=-1)


def unpack(packed: Tensor, bins: int) -> Tensor:
    """Undo `pack`: int64 [..., words] to bool [..., bins]."""
    bits = torch.arange(min(64, bins), device=packed.device)
    return ((packed[..., None] >> bits) & 1).to(torch.bool).flatten(-2)


def subsets(mask: Tensor, bins: int) -> Tensor:
    """Return the family of all subsets of each bit mask, packed, int64 [..., words].

    The six low bits choose the pattern inside a word, the bits above them the words that have it.
    """
    width, words = min(64, bins), max(1, bins // 64)
    low = torch.arange(width, device=mask.device)
    inside = pack((low & ~low[:, None]) == 0)[:, 0]
    word = torch.arange(words, device=mask.device)
    reached = (word & ~(mask[..., None] // width)) == 0
    return inside[mask % width][..., None] * reached


def union(families: Tensor) -> Tensor:
    """Or the families along the last axis but one, int64 [..., F, words] to [..., words]."""
    while families.shape[-2] > 1:
        half = families.shape[-2] // 2
        left = families[..., :half, :] | families[..., half : 2 * half, :]
        families = torch.cat([left, families[..., 2 * half :, :]], dim=-2)
    return families[..., 0, :]
