"""QUEEN and KING (Amigó, Gonzalo, Peñas & Verdejo 2005): metrics combined without weights.

Every test case has models M (human texts), peers A (texts of systems) and a set X of similarity
metrics x(candidate, reference).

    QUEEN(a)  = P over triples of models ( ∀x: x(a, m) ≥ x(m', m'') )
    KING(X)   = P over models and cases ( ∀a: QUEEN(m) > QUEEN(a) )
    JACK(X)   = P over models and cases ( ∃ a ≠ a': QUEEN(a) > 0, QUEEN(a') > 0,
                                           ∀x: x(a, a') ≤ x(a, m) )

Choices where the paper leaves one:
- ``triples``: "pairs" (default): m is any model, m' and m'' are two different models, in both
  orders; "distinct": all three are different; "all": the literal M × M × M, which uses x(m', m').
- KING ``leave_one_out`` (default): both QUEENs are over M without m, so that a model is not
  compared with itself; False is the literal reading, which uses x(m, m).
- The QUEENs of JACK are over all models M with the same metric set X.
- Cases may have different numbers of models and peers (``model_mask``, ``peer_mask``). KING and
  JACK then are means over all models of all cases, not over cases.
- The empty set of metrics (index 0 of the ``_sets`` functions) passes every triple: its QUEEN is 1
  for all texts, hence its KING is 0.
- QUEENs are compared as integer counts of triples, so that rounding does not affect ties.

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
from tensormt.qarla.case_chunks import CaseChunk, Cases, Cost
from tensormt.qarla.checks import check_cases, check_inputs, check_sets


@check_inputs
def queen(
    am: Tensor,
    mm: Tensor,
    triples: str = "pairs",
    *,
    model_mask: Tensor | None = None,
    peer_mask: Tensor | None = None,
) -> Tensor:
    """Compute the QUEEN of every peer with all metrics together.

    Args:
        am: Similarities x(peer, model) [T,A,M,X].
        mm: Similarities x(model, model) [T,M,M,X].
        triples: "pairs", "distinct" or "all"; see the module.
        model_mask: Which models are present, bool [T,M]; None: all.
        peer_mask: Which peers are present, bool [T,A]; None: all. Absent peers have QUEEN 0.

    Returns:
        float64 [T,A].

    Raises:
        TensorMTError: If shapes do not match, a used similarity is NaN, or a case has too few
            models for a triple.

    >>> am = torch.tensor([[[[0.9], [0.8]], [[0.1], [0.6]]]])  # 2 peers, 2 models, 1 metric
    >>> mm = torch.tensor([[[[1.0], [0.5]], [[0.5], [1.0]]]])
    >>> queen(am, mm)
    tensor([[1.0000, 0.5000]], dtype=torch.float64)
    """
    return _queens(check_cases(am, mm, triples, model_mask, peer_mask), triples, True)[..., 1]


@check_inputs
def queen_sets(
    am: Tensor,
    mm: Tensor,
    triples: str = "pairs",
    *,
    model_mask: Tensor | None = None,
    peer_mask: Tensor | None = None,
) -> Tensor:
    """Compute the QUEEN of every peer with every set of metrics; arguments as `queen`.

    Returns:
        float64 [T,A,2**X]; the index of a set is its bit mask (bit k = metric k).

    Raises:
        TensorMTError: As `queen`, or if there are more than 16 metrics.

    >>> am = torch.tensor([[[[0.9, 0.2], [0.8, 0.9]]]])  # 1 peer, 2 models, 2 metrics
    >>> mm = torch.full((1, 2, 2, 2), 0.5)
    >>> queen_sets(am, mm).tolist()
    [[[1.0, 1.0, 0.5, 0.5]]]
    """
    check_sets(am.shape[-1])
    return _queens(check_cases(am, mm, triples, model_mask, peer_mask), triples, False)


@check_inputs
def king(
    am: Tensor,
    mm: Tensor,
    leave_one_out: bool = True,
    *,
    triples: str = "pairs",
    model_mask: Tensor | None = None,
    peer_mask: Tensor | None = None,
) -> Tensor:
    """Compute the KING of all metrics together, over models and cases.

    Args:
        am: Similarities x(peer, model) [T,A,M,X].
        mm: Similarities x(model, model) [T,M,M,X].
        leave_one_out: Whether QUEENs are computed without the model itself; see the module.
        triples: "pairs", "distinct" or "all"; see the module.
        model_mask: Which models are present, bool [T,M]; None: all.
        peer_mask: Which peers are present, bool [T,A]; None: all.

    Returns:
        float64 [].

    Raises:
        TensorMTError: As `queen`.

    >>> am = torch.tensor([[[[0.1], [0.6], [0.2]]]])  # 1 peer, 3 models, 1 metric
    >>> mm = torch.full((1, 3, 3, 1), 0.5)
    >>> king(am, mm)
    tensor(1., dtype=torch.float64)
    """
    return _kings(am, mm, leave_one_out, triples, model_mask, peer_mask, together=True)[1]


@check_inputs
def king_sets(
    am: Tensor,
    mm: Tensor,
    leave_one_out: bool = True,
    *,
    triples: str = "pairs",
    model_mask: Tensor | None = None,
    peer_mask: Tensor | None = None,
) -> Tensor:
    """Compute the KING of every set of metrics; arguments as `king`.

    Returns:
        float64 [2**X]; the index of a set is its bit mask (bit k = metric k).

    Raises:
        TensorMTError: As `queen`, or if there are more than 16 metrics.

    >>> am = torch.tensor([[[[0.1, 0.9], [0.6, 0.9], [0.2, 0.9]]]])  # 1 peer, 3 models, 2 metrics
    >>> king_sets(am, torch.full((1, 3, 3, 2), 0.5)).tolist()
    [0.0, 1.0, 0.0, 1.0]
    """
    check_sets(am.shape[-1])
    return _kings(am, mm, leave_one_out, triples, model_mask, peer_mask, together=False)


def _queens(cases: Cases, triples: str, together: bool) -> Tensor:
    """Compute QUEEN, float64 [T,A,bins], with bins as `Cases.bins`."""
    count, peers = cases.am.shape[:2]
    bins = cases.bins(together)
    out = torch.empty((count, peers, bins), dtype=torch.float64, device=cases.am.device)
    for part in cases.chunks(lambda w: (peers * bins, peers * w**3)):
        weight = triple_weights(part.peers, part.models, triples)
        total = weight.sum(dim=(2, 3)).amax(dim=1).to(torch.float64)
        counts = set_counts(part.am, part.mm, weight, triples, bins)
        out[part.cases] = counts / total[:, None, None]
    return out


def king_counts(
    part: CaseChunk, leave_one_out: bool, triples: str, bins: int
) -> tuple[Tensor, ...]:
    """Count the triples that each model m passes, and each peer beside m, which KING compares.

    Args:
        part: A chunk of t cases with w models.
        leave_one_out: As in `king`.
        triples: As in `king`.
        bins: Number of metric sets.

    Returns:
        Counts of the models, int32 [t,w,bins]; counts of the peers, int32 [t,A,w,bins]
        ([t,A,1,bins] unless `leave_one_out`); the number of triples, int32 [t,w]. Absent texts pass
        no triple.
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


def king_cost(peers: int, bins: int) -> Cost:
    """Return the cost of `king_counts` as a function of the number of models."""
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
    """Compute KING, float64 [bins], with bins as `Cases.bins`."""
    literal = not leave_one_out
    cases = check_cases(
        am, mm, triples, model_mask, peer_mask, leave_one_out=leave_one_out, diagonal=literal
    )
    bins = cases.bins(together)
    wins = torch.zeros(bins, dtype=torch.int64, device=am.device)
    for part in cases.chunks(king_cost(am.shape[1], bins)):
        by_model, by_peer, _ = king_counts(part, leave_one_out, triples, bins)
        # An absent peer passes no triple, so that it beats no model; an absent model never wins.
        wins += (by_model > by_peer.amax(dim=1)).sum(dim=(0, 1))
    return wins / cases.models.sum().to(torch.float64)
