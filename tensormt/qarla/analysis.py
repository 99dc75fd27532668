"""The paper's evaluation of QARLA itself (Amigó et al. 2005, sections 4.2, 5 and 6).

- Human-ranked-first (Table 1): one human author m is taken out of the models and added to the
  peers. The measure is right if, on average over all cases, m scores above every system. Model k is
  taken as the same author in every case.
- KING against correlation (Figure 7): for every metric set its KING, and the correlation over
  systems of its mean QUEEN with the mean human score.
"""

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.metaeval import pearson
from tensormt.qarla.checks import check_cases, check_inputs, check_sets, check_similarities
from tensormt.qarla.measures import king_cost, king_counts, queen_sets
from tensormt.qarla.similarity_tensors import SimilarityTensors

# Number of cases whose QUEENs with every set are in memory at a time.
CASES = 20


def mean_queens(tensors: SimilarityTensors, triples: str = "pairs") -> Tensor:
    """Compute the mean QUEEN of every system over its cases, with every set of metrics.

    Args:
        tensors: Similarities of all texts.
        triples: "pairs", "distinct" or "all"; see `measures`.

    Returns:
        float64 [A,2**X].

    Raises:
        TensorMTError: If there are more than 16 metrics or the similarities are not valid.
    """
    check_sets(len(tensors.names))
    am, mm = tensors.am, tensors.mm
    total = torch.zeros(
        (am.shape[1], 1 << len(tensors.names)), dtype=torch.float64, device=am.device
    )
    for start in range(0, len(am), CASES):
        part = slice(start, start + CASES)
        masks = {name: mask[part] for name, mask in tensors.masks.items()}
        total += queen_sets(am[part], mm[part], triples, **masks).sum(dim=0)
    return total / tensors.peer_mask.sum(dim=0)[:, None].to(torch.float64)


def king_and_correlation(
    tensors: SimilarityTensors, human: Tensor, leave_one_out: bool = True, triples: str = "pairs"
) -> tuple[Tensor, Tensor]:
    """Compute the KING of every metric set, and the correlation of its QUEENs with human scores.

    Args:
        tensors: Similarities of all texts.
        human: Human scores of each system in each case, float64 [A,T]; NaN where there is none.
        leave_one_out: As in `king`.
        triples: As in `king`.

    Returns:
        KING and Pearson's r of mean QUEENs and mean human scores over systems, float64 [2**X] each;
        r is NaN if all systems have the same QUEEN.

    Raises:
        TensorMTError: If the shape of the human scores does not match.
    """
    expected = tensors.peer_mask.T.shape
    if human.shape != expected:
        raise TensorMTError(
            f"human scores have shape {list(human.shape)}, the similarities have {list(expected)}"
            " = [peers, cases]"
        )
    means = human.nanmean(dim=1)
    queens = mean_queens(tensors, triples).T
    judged = ~means.isnan()
    r = pearson(means.expand(queens.shape), queens, judged.expand(queens.shape))
    return tensors.king_sets(leave_one_out, triples), r


@check_inputs
def human_ranked_first(
    tensors: SimilarityTensors, triples: str = "pairs", *, together: bool = False
) -> Tensor:
    """Compute whether each human author has a higher QUEEN than all systems, for every metric set.

    Args:
        tensors: Similarities of all texts.
        triples: "pairs", "distinct" or "all"; see `measures`.
        together: Whether only the set of all metrics is wanted, which may then be of any size.

    Returns:
        bool [M,2**X]; [M,2] for all metrics together, in the last column.

    Raises:
        TensorMTError: If there are too many metrics (16 unless together) or a case has too few
            models.
    """
    if not together:
        check_sets(len(tensors.names))
    masks = tensors.model_mask, tensors.peer_mask
    cases = check_cases(tensors.am, tensors.mm, triples, *masks, leave_one_out=True)
    peers, models = tensors.am.shape[1:3]
    bins = cases.bins(together)
    by_human = torch.zeros((models, bins), dtype=torch.float64, device=tensors.am.device)
    by_peer = torch.zeros((peers, models, bins), dtype=torch.float64, device=tensors.am.device)
    for part in cases.chunks(king_cost(peers, bins)):
        own, others, total = king_counts(part, True, triples, bins)
        share = part.models.to(torch.float64) / total.clamp(min=1)
        places = part.places.flatten()
        by_human.index_add_(0, places, (own * share[..., None]).flatten(0, 1))
        shares = (others * share[:, None, :, None]).transpose(0, 1).flatten(1, 2)
        by_peer.index_add_(1, places, shares)
    return _above_all(by_human, by_peer, cases.models, cases.peers)


def human_ranked_first_by_metric(tensors: SimilarityTensors) -> Tensor:
    """Compute whether each human author scores above all systems by each metric alone.

    The score of a text is its mean similarity to the other models, without QUEEN.

    Args:
        tensors: Similarities of all texts.

    Returns:
        bool [M,X].
    """
    width = tensors.mm.shape[1]
    masks = tensors.model_mask, tensors.peer_mask
    models, peers = check_similarities(tensors.am, tensors.mm, *masks, diagonal=False)
    other = models[:, :, None] & models[:, None, :]
    other = (other & ~torch.eye(width, dtype=torch.bool, device=models.device)).to(torch.float64)
    share = other / other.sum(dim=-1, keepdim=True).clamp(min=1)
    mm = tensors.mm.masked_fill((other == 0)[..., None], 0.0)
    am = tensors.am.masked_fill(~(peers[:, :, None] & models[:, None, :])[..., None], 0.0)
    by_human = torch.einsum("tmk,tmkx->mx", share, mm)
    by_peer = torch.einsum("tmk,takx->amx", share, am)
    return _above_all(by_human, by_peer, models, peers)


def _above_all(by_human: Tensor, by_peer: Tensor, models: Tensor, peers: Tensor) -> Tensor:
    """Compare sums over cases [M,K] and [A,M,K] as means over the cases that have both texts."""
    cases = models.sum(dim=0).to(torch.float64)[:, None]
    both = torch.einsum("ta,tm->am", peers.to(torch.float64), models.to(torch.float64))[..., None]
    means = torch.where(both > 0, by_peer / both, -torch.inf)
    return (by_human / cases > means).all(dim=0)
