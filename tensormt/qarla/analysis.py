"""The paper's tests of the framework itself (Amigó et al. 2005, sections 4.2, 5 and 6).

- Human-ranked-first (Table 1): one human author m is taken out of the models and joins the peers;
  the measure is right when, on the mean over all cases, m comes out above every system. Model k of
  every case is read as the same author.
- KING against people (Figure 7): for every metric set, its KING and the correlation over systems
  of its mean QUEEN with the mean human score.
"""

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.metaeval import pearson
from tensormt.qarla.checks import CHECKED, check_models, check_sets, check_similarities
from tensormt.qarla.chunks import chunks
from tensormt.qarla.measures import queen_sets, rivals, rivals_cost
from tensormt.qarla.similarity_tensors import Bed

# Cases whose QUEENs with every set are held at a time.
CASES = 20


def mean_queens(bed: Bed, triples: str = "pairs") -> Tensor:
    """Return the mean QUEEN of every system over its cases with every set, float64 [A,2**X]."""
    check_sets(len(bed.names))
    total = torch.zeros(
        (bed.am.shape[1], 1 << len(bed.names)), dtype=torch.float64, device=bed.am.device
    )
    for start in range(0, len(bed.am), CASES):
        part = slice(start, start + CASES)
        masks = {name: mask[part] for name, mask in bed.masks.items()}
        total += queen_sets(bed.am[part], bed.mm[part], triples, **masks).sum(dim=0)
    return total / bed.peer_mask.sum(dim=0)[:, None].to(torch.float64)


def king_against_people(
    bed: Bed, human: Tensor, leave_one_out: bool = True, triples: str = "pairs"
) -> tuple[Tensor, Tensor]:
    """Return KING of every set and Pearson's r of its mean QUEENs with people, float64 [2**X] both.

    human float64 [A,T] are the scores of each system in each case, NaN where there is none. r is
    NaN where all systems have the same QUEEN.
    """
    expected = bed.peer_mask.T.shape
    if human.shape != expected:
        raise TensorMTError(
            f"human scores have shape {list(human.shape)}, the bed has {list(expected)}"
            " = [peers, cases]"
        )
    people = human.nanmean(dim=1)
    queens = mean_queens(bed, triples).T
    judged = ~people.isnan()
    r = pearson(people.expand(queens.shape), queens, judged.expand(queens.shape))
    return bed.king_sets(leave_one_out, triples), r


@CHECKED
def human_first(bed: Bed, triples: str = "pairs") -> Tensor:
    """Return whether human author m comes first by QUEEN with every metric set, bool [M,2**X]."""
    check_sets(len(bed.names))
    models, peers = check_similarities(bed.am, bed.mm, **bed.masks, diagonal=triples == "all")
    check_models(models, triples, leave_one_out=True)
    count, width, metrics = bed.am.shape[1:]
    bins = 1 << metrics
    by_human = torch.zeros((width, bins), dtype=torch.float64, device=bed.am.device)
    by_peer = torch.zeros((count, width, bins), dtype=torch.float64, device=bed.am.device)
    for part in chunks(bed.am, bed.mm, models, peers, True, rivals_cost(count, bins)):
        own, others, total = rivals(part, True, triples, bins)
        share = part.models.to(torch.float64) / total.clamp(min=1)
        places = part.places.flatten()
        by_human.index_add_(0, places, (own * share[..., None]).flatten(0, 1))
        shares = (others * share[:, None, :, None]).transpose(0, 1).flatten(1, 2)
        by_peer.index_add_(1, places, shares)
    return _above_all(by_human, by_peer, models, peers)


def human_first_by_metric(bed: Bed) -> Tensor:
    """Return whether author m comes first by each metric alone, bool [M,X].

    The score of a text is its mean similarity to the other models, without QUEEN.
    """
    width = bed.mm.shape[1]
    models, peers = check_similarities(bed.am, bed.mm, **bed.masks, diagonal=False)
    other = models[:, :, None] & models[:, None, :]
    other = (other & ~torch.eye(width, dtype=torch.bool, device=bed.mm.device)).to(torch.float64)
    share = other / other.sum(dim=-1, keepdim=True).clamp(min=1)
    mm = bed.mm.masked_fill((other == 0)[..., None], 0.0)
    am = bed.am.masked_fill(~(peers[:, :, None] & models[:, None, :])[..., None], 0.0)
    by_human = torch.einsum("tmk,tmkx->mx", share, mm)
    by_peer = torch.einsum("tmk,takx->amx", share, am)
    return _above_all(by_human, by_peer, models, peers)


def _above_all(by_human: Tensor, by_peer: Tensor, models: Tensor, peers: Tensor) -> Tensor:
    """Compare sums over cases [M,K] and [A,M,K] as means over the cases that hold both texts."""
    cases = models.sum(dim=0).to(torch.float64)[:, None]
    both = torch.einsum("ta,tm->am", peers.to(torch.float64), models.to(torch.float64))[..., None]
    means = torch.where(both > 0, by_peer / both, -torch.inf)
    return (by_human / cases > means).all(dim=0)
