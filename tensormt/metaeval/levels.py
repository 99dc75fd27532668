"""Agreement between a metric and people at segment, document and system level.

Scores are a table of systems S × segments N, NaN where there is no judgement. At segment (or
document) level the items that are compared with each other depend on the grouping:

    "segment"  for each segment over the systems, then the mean over segments ("group by item")
    "system"   for each system over its segments, then the mean over systems
    "none"     all items together

At system level every system has one score and there is one group. Groups for which the statistic
does not exist (a single item, all scores equal) are left out of the mean, as in WMT.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.metaeval import pairs
from tensormt.metaeval.correlation import pearson, spearman

Statistic = Callable[[Tensor, Tensor, Tensor], Tensor]

GROUPINGS = ("segment", "system", "none")


def _mean_over_groups(
    statistic: Callable[[Tensor, Tensor, Tensor | None], Tensor],
) -> Statistic:
    """Turn a statistic of items [..., N] into its mean over groups [..., G, N]."""

    def grouped(human: Tensor, metric: Tensor, mask: Tensor) -> Tensor:
        return statistic(human, metric, mask).nanmean(dim=-1)

    return grouped


def _calibrated(human: Tensor, metric: Tensor, mask: Tensor) -> Tensor:
    return pairs.calibrated_accuracy(human, metric, mask)[0]


# Every statistic takes human, metric, mask [..., G, N] and returns float64 [...].
STATISTICS: dict[str, Statistic] = {
    "pearson": _mean_over_groups(pearson),
    "spearman": _mean_over_groups(spearman),
    "tau_a": _mean_over_groups(pairs.tau_a),
    "tau_b": _mean_over_groups(pairs.tau_b),
    "tau_c": _mean_over_groups(pairs.tau_c),
    "tau_wmt10": _mean_over_groups(pairs.tau_wmt10),
    "tau_wmt13": _mean_over_groups(pairs.tau_wmt13),
    "tau_wmt14": _mean_over_groups(pairs.tau_wmt14),
    "accuracy": _mean_over_groups(pairs.accuracy),
    "accuracy_ties": _calibrated,
}


def statistic_named(name: str) -> Statistic:
    """Return the statistic of that name, or say which there are."""
    if name not in STATISTICS:
        raise TensorMTError(f"statistic {name!r} is unknown: use one of {', '.join(STATISTICS)}")
    return STATISTICS[name]


def group(table: Tensor, grouping: str) -> Tensor:
    """Arrange items [..., S, N] as groups [..., G, items]."""
    if grouping == "segment":
        return table.transpose(-1, -2)
    if grouping == "system":
        return table
    if grouping == "none":
        return table.flatten(-2)[..., None, :]
    raise TensorMTError(f"grouping {grouping!r} is unknown: use one of {', '.join(GROUPINGS)}")


def agreement(
    human: Tensor, metric: Tensor, statistic: str = "pearson", grouping: str = "none"
) -> Tensor:
    """Return the agreement of two tables of item scores, float64 [...].

    human, metric [..., S, N]; an item counts where both have a score that is not NaN.
    """
    if human.shape[-2:] != metric.shape[-2:]:
        raise TensorMTError(
            f"human scores are {list(human.shape[-2:])}, metric scores {list(metric.shape[-2:])}:"
            " both must be [systems, segments] of the same test set"
        )
    mask = ~(human.isnan() | metric.isnan())
    sides = (group(side.expand(mask.shape), grouping) for side in (human, metric, mask))
    return statistic_named(statistic)(*sides)


def system_agreement(human: Tensor, metric: Tensor, statistic: str = "pearson") -> Tensor:
    """Return the agreement of two rows of system scores [..., S], float64 [...]."""
    return agreement(human[..., None], metric[..., None], statistic, "none")


def document_means(scores: Tensor, documents: Tensor, count: int) -> Tensor:
    """Return the mean of the segments that have a score per document, [..., N] -> [..., D].

    documents int64 [N] is the number of each segment's document, count is D; NaN without a score.
    """
    real = ~scores.isnan()
    out = torch.zeros((*scores.shape[:-1], count), dtype=torch.float64, device=scores.device)
    total = out.index_add(-1, documents, scores.to(torch.float64).masked_fill(~real, 0.0))
    return total / out.index_add(-1, documents, real.to(torch.float64))
