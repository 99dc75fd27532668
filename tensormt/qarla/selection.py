"""Which set of metrics tells models from peers best: the largest KING.

`best_set` looks at all 2^X - 1 sets; `greedy_set` adds, as long as KING rises, the metric that
raises it most, for more metrics than can be enumerated. Both can be made to keep given metrics
(``include``) or to do without some (``exclude``), as the paper does for metrics that need manual
annotation (Amigó et al. 2005, section 4.1). Equal KING: the smaller set, then the one whose
metrics come first.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from tensormt.data.coercion import as_list
from tensormt.errors import TensorMTError
from tensormt.qarla.checks import CHECKED
from tensormt.qarla.measures import king, king_sets
from tensormt.validation import integer


@dataclass(frozen=True)
class MetricSet:
    """A set of metrics, by their indices on the axis X, and its KING."""

    metrics: tuple[int, ...]
    king: float


@CHECKED
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
    """Return the set of metrics with the largest KING; shapes as `king_sets`."""
    kept, dropped = _choices(include, exclude, am.shape[-1])
    kings = king_sets(
        am, mm, leave_one_out, triples=triples, model_mask=model_mask, peer_mask=peer_mask
    )
    return best_of(kings, include=kept, exclude=dropped)


@CHECKED
def best_of(
    kings: Tensor, *, include: Iterable[int] = (), exclude: Iterable[int] = ()
) -> MetricSet:
    """Return the best set from the KING of every set at hand, float64 [2**X]."""
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
    # The first by size, then by index: sizes never reach the number of sets.
    order = (member.sum(dim=1) * len(kings) + sets).masked_fill(
        ~allowed | (kings < top), torch.iinfo(torch.int64).max
    )
    chosen = int(order.argmin())
    members = tuple(k for k in range(metrics) if chosen >> k & 1)
    return MetricSet(members, float(kings[chosen]))


@CHECKED
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
    """Return a set of metrics found by forward selection on KING; any number of metrics."""
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
    """Return the metrics to keep and to drop as sorted lists."""
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
