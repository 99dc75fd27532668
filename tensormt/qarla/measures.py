"""QUEEN, KING and JACK (Amigó, Gonzalo, Peñas & Verdejo 2005): metrics combined without weights.

Every test case has models M (texts by people), peers A (texts by systems) and a set X of
similarity metrics x(candidate, reference).

    QUEEN(a)  = P over triples of models ( ∀x: x(a, m) ≥ x(m', m'') )
    KING(X)   = P over models and cases ( ∀a: QUEEN(m) > QUEEN(a) )
    JACK(X)   = P over models and cases ( ∃ a ≠ a': QUEEN(a) > 0, QUEEN(a') > 0,
                                           ∀x: x(a, a') ≤ x(a, m) )

Decided where the paper leaves it open:
- ``triples``: "pairs" (default) m any model, m' and m'' two different models, in both orders;
  "distinct" all three different; "all" the literal M × M × M, where x(m', m') takes part.
- KING ``leave_one_out`` (default): both QUEENs over M without m, so that a model does not meet
  itself; False is the literal reading, where x(m, m) takes part.
- JACK's QUEENs are over all models M with the same metric set X.
- Cases may have different numbers of models and peers (``model_mask``, ``peer_mask``); KING and
  JACK then count every model of every case once, not every case once.
- The empty set of metrics (index 0 of the ``_sets`` functions) passes every triple: QUEEN 1 for
  all, hence KING 0.
- QUEENs are compared as integer counts of triples: no rounding decides a tie.

Axes: T cases, A peers, M models, X metrics; an index of an axis 2**X is a bit mask, bit k =
metric k.
"""

import torch
from torch import Tensor

from tensormt.kernels.queen_counts import (
    set_counts,
    set_counts_without_each,
    triple_weights,
    without_each,
)
from tensormt.qarla.checks import (
    CHECKED,
    check_models,
    check_sets,
    check_similarities,
)
from tensormt.qarla.chunks import Chunk, Cost, chunks


@CHECKED
def queen(
    am: Tensor,
    mm: Tensor,
    triples: str = "pairs",
    *,
    model_mask: Tensor | None = None,
    peer_mask: Tensor | None = None,
) -> Tensor:
    """Return the QUEEN of every peer with all metrics together, float64 [T,A].

    am [T,A,M,X] = x(peer, model), mm [T,M,M,X] = x(model, model); model_mask bool [T,M], peer_mask
    bool [T,A]: True is real. A peer that is masked out gets 0.
    """
    return _queens(am, mm, triples, model_mask, peer_mask, together=True)[..., 1]


@CHECKED
def queen_sets(
    am: Tensor,
    mm: Tensor,
    triples: str = "pairs",
    *,
    model_mask: Tensor | None = None,
    peer_mask: Tensor | None = None,
) -> Tensor:
    """Return the QUEEN of every peer with every metric set, float64 [T,A,2**X]; see `queen`."""
    check_sets(am.shape[-1])
    return _queens(am, mm, triples, model_mask, peer_mask, together=False)


@CHECKED
def king(
    am: Tensor,
    mm: Tensor,
    leave_one_out: bool = True,
    *,
    triples: str = "pairs",
    model_mask: Tensor | None = None,
    peer_mask: Tensor | None = None,
) -> Tensor:
    """Return KING of all metrics together, over models and cases, float64 []; shapes as `queen`."""
    return _kings(am, mm, leave_one_out, triples, model_mask, peer_mask, together=True)[1]


@CHECKED
def king_sets(
    am: Tensor,
    mm: Tensor,
    leave_one_out: bool = True,
    *,
    triples: str = "pairs",
    model_mask: Tensor | None = None,
    peer_mask: Tensor | None = None,
) -> Tensor:
    """Return KING of every metric set, float64 [2**X]; shapes as `queen`."""
    check_sets(am.shape[-1])
    return _kings(am, mm, leave_one_out, triples, model_mask, peer_mask, together=False)


def _queens(
    am: Tensor,
    mm: Tensor,
    triples: str,
    model_mask: Tensor | None,
    peer_mask: Tensor | None,
    *,
    together: bool,
) -> Tensor:
    """Return QUEEN as float64 [T,A,bins], bins 2 (bin 1: all metrics) or 2**X."""
    models, peers = check_similarities(am, mm, model_mask, peer_mask, diagonal=triples == "all")
    check_models(models, triples, leave_one_out=False)
    cases, count, _, metrics = am.shape
    bins = 2 if together else 1 << metrics
    out = torch.empty((cases, count, bins), dtype=torch.float64, device=am.device)
    ragged = model_mask is not None
    for part in chunks(am, mm, models, peers, ragged, lambda w: (count * bins, count * w**3)):
        weight = triple_weights(part.peers, part.models, triples)
        total = weight.sum(dim=(2, 3)).amax(dim=1).to(torch.float64)
        counts = set_counts(part.am, part.mm, weight, triples, bins)
        out[part.cases] = counts / total[:, None, None]
    return out


def rivals(part: Chunk, leave_one_out: bool, triples: str, bins: int) -> tuple[Tensor, ...]:
    """Return what KING compares: triples passed by each model m and by each peer beside m.

    Counts int32 [t,w,bins] of the models, int32 [t,A,w,bins] (literal reading: [t,A,1,bins]) of the
    peers, and the triples there are, int32 [t,w]. What is masked out passes none.
    """
    by_models = triple_weights(part.models, part.models, triples)
    by_peers = triple_weights(part.peers, part.models, triples)
    if leave_one_out:
        by_models = without_each(by_models, triples)
        peer_counts = set_counts_without_each(part.am, part.mm, by_peers, triples, bins)
    else:
        peer_counts = set_counts(part.am, part.mm, by_peers, triples, bins)[:, :, None]
    total = by_models.sum(dim=(2, 3), dtype=torch.int32)
    return set_counts(part.mm, part.mm, by_models, triples, bins), peer_counts, total


def rivals_cost(peers: int, bins: int) -> Cost:
    """The counters and comparisons of `rivals` for a case with so many models."""
    return lambda w: ((peers + 1) * w * bins, max(peers, w) * w**3)


def _kings(
    am: Tensor,
    mm: Tensor,
    leave_one_out: bool,
    triples: str,
    model_mask: Tensor | None,
    peer_mask: Tensor | None,
    *,
    together: bool,
) -> Tensor:
    """Return KING as float64 [bins], bins 2 (bin 1: all metrics) or 2**X."""
    diagonal = triples == "all" or not leave_one_out
    models, peers = check_similarities(am, mm, model_mask, peer_mask, diagonal=diagonal)
    check_models(models, triples, leave_one_out)
    count, metrics = am.shape[1], am.shape[3]
    bins = 2 if together else 1 << metrics
    wins = torch.zeros(bins, dtype=torch.int64, device=am.device)
    ragged = model_mask is not None
    for part in chunks(am, mm, models, peers, ragged, rivals_cost(count, bins)):
        by_model, by_peer, _ = rivals(part, leave_one_out, triples, bins)
        # A masked peer passes no triple, so it never stands in the way; a masked model never wins.
        wins += (by_model > by_peer.amax(dim=1)).sum(dim=(0, 1))
    return wins / models.sum().to(torch.float64)
