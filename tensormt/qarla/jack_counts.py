"""JACK, the reliability of a set of peers, for every set of similarity metrics at once.

    JACK(X, M, A) = P over m ( ∃ a ≠ a': QUEEN(a) > 0, QUEEN(a') > 0, ∀x: x(a, a') ≤ x(a, m) )

(Amigó et al. 2005, section 3.4; the QUEENs are over all models with the same metric set.) The
existence of a pair is not additive, so a histogram of metric sets cannot be used as for QUEEN.
Instead each family of metric sets is a bit vector, 64 sets per word: the sets with QUEEN(a) > 0,
those with QUEEN(a') > 0, and the subsets of the metrics for which x(a, a') ≤ x(a, m). The union
over pairs of peers of their intersections is the family of sets for which model m has a pair. The
empty set always has one.
"""

import torch
from torch import Tensor

from tensormt.kernels.queen_counts import set_counts, triple_weights, write_masks
from tensormt.qarla.case_chunks import Cases
from tensormt.qarla.checks import check_cases, check_inputs, check_peers, check_sets


@check_inputs
def jack(
    am: Tensor,
    mm: Tensor,
    aa: Tensor,
    triples: str = "pairs",
    *,
    model_mask: Tensor | None = None,
    peer_mask: Tensor | None = None,
) -> Tensor:
    """Compute JACK with all metrics together, over models and cases.

    Args:
        am: Similarities x(peer, model) [T,A,M,X].
        mm: Similarities x(model, model) [T,M,M,X].
        aa: Similarities x(peer, peer) [T,A,A,X].
        triples: "pairs", "distinct" or "all"; see `measures`.
        model_mask: Which models are present, bool [T,M]; None: all.
        peer_mask: Which peers are present, bool [T,A]; None: all.

    Returns:
        float64 [].

    Raises:
        TensorMTError: If shapes do not match, a used similarity is NaN, or a case has fewer than
            two peers or too few models for a triple.

    >>> am = torch.tensor([[[[0.9], [0.8]], [[0.7], [0.6]]]])  # 2 peers, 2 models, 1 metric
    >>> mm = torch.full((1, 2, 2, 1), 0.5)
    >>> jack(am, mm, torch.full((1, 2, 2, 1), 0.85))
    tensor(0.5000, dtype=torch.float64)
    """
    cases = check_cases(am, mm, triples, model_mask, peer_mask)
    return _jacks(cases, aa, triples, together=True)[1]


@check_inputs
def jack_sets(
    am: Tensor,
    mm: Tensor,
    aa: Tensor,
    triples: str = "pairs",
    *,
    model_mask: Tensor | None = None,
    peer_mask: Tensor | None = None,
) -> Tensor:
    """Compute JACK of every set of metrics; arguments as `jack`.

    Returns:
        float64 [2**X]; the index of a set is its bit mask (bit k = metric k).

    Raises:
        TensorMTError: As `jack`, or if there are more than 16 metrics.

    >>> am = torch.tensor([[[[0.9], [0.8]], [[0.7], [0.6]]]])  # 2 peers, 2 models, 1 metric
    >>> jack_sets(am, torch.full((1, 2, 2, 1), 0.5), torch.full((1, 2, 2, 1), 0.85)).tolist()
    [1.0, 0.5]
    """
    check_sets(am.shape[-1])
    cases = check_cases(am, mm, triples, model_mask, peer_mask)
    return _jacks(cases, aa, triples, together=False)


def _jacks(cases: Cases, aa: Tensor, triples: str, together: bool) -> Tensor:
    """Compute JACK, float64 [bins], with bins as `Cases.bins`."""
    check_peers(cases, aa)
    peers, bins = cases.am.shape[1], cases.bins(together)
    words = max(1, bins // 64)
    others = ~torch.eye(peers, dtype=torch.bool, device=aa.device)
    found = torch.zeros(bins, dtype=torch.int64, device=aa.device)

    def cost(width: int) -> tuple[int, int]:
        return peers * peers * width * words, peers * width**3

    for part in cases.chunks(cost):
        weight = triple_weights(part.peers, part.models, triples)
        alive = pack(set_counts(part.am, part.mm, weight, triples, bins) > 0)
        passed = _passed_metrics(part.am, aa[part.cases], together)
        families = alive[:, None, :, None] & alive[:, None, None, :] & subsets(passed, bins)
        families = (families * others[..., None]).flatten(2, 3)
        pairs = unpack(union(families), bins) & part.models[..., None]
        found += pairs.sum(dim=(0, 1))
    return found / cases.models.sum().to(torch.float64)


def _passed_metrics(am: Tensor, aa: Tensor, together: bool) -> Tensor:
    """Return the bit mask of metrics with x(a, a') ≤ x(a, m), int64 [T,M,A,A]."""
    to_model = am.transpose(1, 2)
    passes = (aa[:, None, :, :, k] <= to_model[..., None, k] for k in range(am.shape[-1]))
    return write_masks(passes, together).to(torch.int64)


def pack(family: Tensor) -> Tensor:
    """Pack a family of sets, bool [..., bins], into int64 [..., words].

    Bit j of word w is set 64w + j.

    >>> pack(torch.tensor([True, False, True, False])).tolist()
    [5]
    """
    width = min(64, family.shape[-1])
    bits = torch.arange(width, device=family.device)
    words = family.reshape(*family.shape[:-1], -1, width).to(torch.int64)
    return (words << bits).sum(dim=-1)


def unpack(packed: Tensor, bins: int) -> Tensor:
    """Unpack the result of `pack`, int64 [..., words], to bool [..., bins]."""
    bits = torch.arange(min(64, bins), device=packed.device)
    return ((packed[..., None] >> bits) & 1).to(torch.bool).flatten(-2)


def subsets(mask: Tensor, bins: int) -> Tensor:
    """Return the packed family of all subsets of each bit mask, int64 [..., words].

    The six low bits of a mask select the pattern within a word, the higher bits the words.

    >>> subsets(torch.tensor(2), 4).tolist()  # the sets 0 and 2: bits 0 and 2
    [5]
    """
    width, words = min(64, bins), max(1, bins // 64)
    low = torch.arange(width, device=mask.device)
    inside = pack((low & ~low[:, None]) == 0)[:, 0]
    word = torch.arange(words, device=mask.device)
    reached = (word & ~(mask[..., None] // width)) == 0
    return inside[mask % width][..., None] * reached


def union(families: Tensor) -> Tensor:
    """Return the union of F packed families, int64 [..., F, words] to [..., words]."""
    while families.shape[-2] > 1:
        half = families.shape[-2] // 2
        left = families[..., :half, :] | families[..., half : 2 * half, :]
        families = torch.cat([left, families[..., 2 * half :, :]], dim=-2)
    return families[..., 0, :]
