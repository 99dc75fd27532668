"""Selection of the set of metrics with the largest KING.

`best_set` compares all 2^X - 1 sets. `greedy_set` adds the metric that increases KING most, as long
as one does, for more metrics than can be enumerated. Metrics can be required (``include``) or left
out (``exclude``), as the paper does with metrics that need manual annotation (Amigó et al. 2005,
section 4.1). Among sets with equal KING the smaller one is chosen, then the one whose metrics come
first.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from tensormt.data.coercion import as_list
from tensormt.errors import TensorMTError
from tensormt.qarla.checks import check_inputs
from tensormt.qarla.measures import king, king_sets
from tensormt.validation import integer


@dataclass(frozen=True)
class MetricSet:
    """A set of metrics and its KING.

    Args:
        metrics: Indices of the metrics on the axis X.
        king: KING of the set.

    >>> MetricSet((0, 2), 0.75).metrics
    (0, 2)
    """

    metrics: tuple[int, ...]
    king: float


@check_inputs
def best_set(
    am: Tensor,
    mm: Tensor,
    leave_one_out: bool = True,
    *,
    include: Iterable[int] = (),
    exclude: Iterable[int] = (),
    triples: str = "pairs",
    model_mask: Tensor | None = None,
    peer_mask: Tensor | None = None,
) -> MetricSet:
    """Find the set of metrics with the largest KING among all sets.

    Args:
        am: Similarities x(peer, model) [T,A,M,X].
        mm: Similarities x(model, model) [T,M,M,X].
        leave_one_out: As in `king`.
        include: Indices of metrics that the set must contain.
        exclude: Indices of metrics that the set must not contain.
        triples: As in `king`.
        model_mask: Which models are present, bool [T,M]; None: all.
        peer_mask: Which peers are present, bool [T,A]; None: all.

    Returns:
        The best set.

    Raises:
        TensorMTError: If the similarities are not valid, a metric does not exist or is both
            included and excluded, or there are more than 16 metrics.

    >>> am = torch.tensor([[[[0.1, 0.9], [0.6, 0.9], [0.2, 0.9]]]])  # 1 peer, 3 models, 2 metrics
    >>> best_set(am, torch.full((1, 3, 3, 2), 0.5))
    MetricSet(metrics=(0,), king=1.0)
    """
    kept, dropped = _choices(include, exclude, am.shape[-1])
    kings = king_sets(
        am, mm, leave_one_out, triples=triples, model_mask=model_mask, peer_mask=peer_mask
    )
    return best_of(kings, include=kept, exclude=dropped)


@check_inputs
def best_of(
    kings: Tensor, *, include: Iterable[int] = (), exclude: Iterable[int] = ()
) -> MetricSet:
    """Find the best set, given the KING of every set.

    Args:
        kings: KING of every set (see `king_sets`), [2**X].
        include: Indices of metrics that the set must contain.
        exclude: Indices of metrics that the set must not contain.

    Returns:
        The best set.

    Raises:
        TensorMTError: If there are not 2^X numbers, or a metric does not exist or is both included
            and excluded.

    >>> best_of(torch.tensor([0.0, 0.25, 0.5, 0.75]), exclude=[0])
    MetricSet(metrics=(1,), king=0.5)
    """
    metrics = len(kings).bit_length() - 1
    if len(kings) != 1 << max(metrics, 1) or bool(torch.isnan(kings).any()):
        raise TensorMTError(
            f"kings has {len(kings)} values: expected 2^X numbers, one for each set of X metrics"
        )
    kept, dropped = _choices(include, exclude, metrics)
    sets = torch.arange(len(kings), device=kings.device)
    member = (sets[:, None] >> torch.arange(metrics, device=kings.device)) & 1
    allowed = member[:, kept].all(dim=1) & ~member[:, dropped].any(dim=1) & (sets > 0)
    top = kings.masked_fill(~allowed, -1).max()
    # Order by size, then by index.
    order = (member.sum(dim=1) * len(kings) + sets).masked_fill(
        ~allowed | (kings < top), torch.iinfo(torch.int64).max
    )
    chosen = int(order.argmin())
    members = tuple(k for k in range(metrics) if chosen >> k & 1)
    return MetricSet(members, float(kings[chosen]))


@check_inputs
def greedy_set(
    am: Tensor,
    mm: Tensor,
    leave_one_out: bool = True,
    *,
    include: Iterable[int] = (),
    exclude: Iterable[int] = (),
    triples: str = "pairs",
    model_mask: Tensor | None = None,
    peer_mask: Tensor | None = None,
) -> MetricSet:
    """Find a set of metrics with a large KING by forward selection; arguments as `best_set`.

    The number of metrics is not limited.

    Returns:
        The set that was found.

    Raises:
        TensorMTError: If the similarities are not valid, or a metric does not exist or is both
            included and excluded.

    >>> am = torch.tensor([[[[0.1, 0.9], [0.6, 0.9], [0.2, 0.9]]]])  # 1 peer, 3 models, 2 metrics
    >>> greedy_set(am, torch.full((1, 3, 3, 2), 0.5))
    MetricSet(metrics=(0,), king=1.0)
    """
    metrics = am.shape[-1]
    kept, dropped = _choices(include, exclude, metrics)

    def value(members: list[int]) -> float:
        return float(
            king(
                am[..., members],
                mm[..., members],
                leave_one_out,
                triples=triples,
                model_mask=model_mask,
                peer_mask=peer_mask,
            )
        )

    chosen = kept
    reached = value(chosen) if chosen else -1.0
    left = [k for k in range(metrics) if k not in kept and k not in dropped]
    while left:
        kings = [value([*chosen, k]) for k in left]
        top = max(kings)
        if top <= reached:
            break
        chosen, reached = [*chosen, left.pop(kings.index(top))], top
    return MetricSet(tuple(sorted(chosen)), reached)


def _choices(
    include: Iterable[int], exclude: Iterable[int], metrics: int
) -> tuple[list[int], list[int]]:
    """Return the metrics to include and to exclude as sorted lists."""
    kept, dropped = (
        sorted({integer()(k, f"a metric of {name}") for k in as_list(given, name)})
        for given, name in ((include, "include"), (exclude, "exclude"))
    )
    for k in kept + dropped:
        if k >= metrics:
            raise TensorMTError(f"metric {k} does not exist: there are {metrics}, from 0")
    both = sorted(set(kept) & set(dropped))
    if both:
        raise TensorMTError(f"metric {both[0]} is both included and excluded: choose one")
    if len(dropped) == metrics:
        raise TensorMTError("every metric is excluded: leave at least one")
    return kept, dropped
