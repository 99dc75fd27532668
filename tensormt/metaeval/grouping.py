"""Correlation of a metric with human scores at segment, document and system level.

Scores are tables of S systems × N segments, NaN where there is no judgment. At segment (or
document) level the grouping says which items are compared with each other:

    "segment"  over the systems of each segment, then the mean over segments ("group by item")
    "system"   over the segments of each system, then the mean over systems
    "pooled"   pairs of systems on the same segment, counted together over all segments (WMT's taus)
    "none"     all items together

At system level every system has one score and there is one group. Groups for which the statistic
does not exist (a single item, all scores equal) are left out of the mean, as in WMT.

A bootstrap sample is given as weights: how often each system and each segment counts. Copies in a
table would be wrong, because a segment drawn twice would be compared with itself and count as a
correct tie.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.formulas import round_for_ties
from tensormt.metaeval import pairs
from tensormt.metaeval.calibration import calibrated_accuracy
from tensormt.metaeval.checks import check_arguments, check_tables
from tensormt.metaeval.correlation import pearson, spearman
from tensormt.validation import one_of

GROUPINGS = ("segment", "system", "pooled", "none")

# Statistics of items [..., N] that are not functions of pair counts.
_OF_ITEMS: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "pearson": pearson,
    "spearman": spearman,
    "tau_c": pairs.tau_c,
}
STATISTICS = (
    "pearson",
    "spearman",
    "tau_a",
    "tau_b",
    "tau_c",
    "tau_wmt10",
    "tau_wmt13",
    "tau_wmt14",
    "accuracy",
    "accuracy_ties",
)


def check_statistic(statistic: str, grouping: str, least_gap: float = 0.0) -> None:
    """Raise a TensorMTError unless statistic and grouping exist and can be combined."""
    one_of(STATISTICS)(statistic, "statistic")
    one_of(GROUPINGS)(grouping, "grouping")
    if grouping == "pooled" and statistic in _OF_ITEMS:
        known = ", ".join([*pairs.FORMULAS, "accuracy_ties"])
        raise TensorMTError(
            f"grouping 'pooled' needs a statistic of pairs, {statistic} is not: use {known}"
        )
    if least_gap > 0 and statistic not in pairs.FORMULAS:
        known = ", ".join(pairs.FORMULAS)
        raise TensorMTError(
            f"a least gap needs a statistic of pair counts, {statistic} is not: use {known}"
        )


def group(table: Tensor, grouping: str) -> Tensor:
    """Arrange items [..., S, N] as groups [..., G, items].

    >>> group(torch.zeros(3, 5), "segment").shape
    torch.Size([5, 3])
    """
    if grouping in ("segment", "pooled"):
        return table.transpose(-1, -2)
    if grouping == "system":
        return table
    return table.flatten(-2)[..., None, :]


@check_arguments
def correlate(
    human: Tensor,
    metric: Tensor,
    statistic: str = "pearson",
    grouping: str = "none",
    *,
    least_gap: float = 0.0,
    systems: Tensor | None = None,
    segments: Tensor | None = None,
) -> Tensor:
    """Compute the correlation (or pairwise accuracy) of human and metric scores of segments.

    Args:
        human: Human scores [..., S, N]; NaN where there is no score.
        metric: Metric scores [..., S, N]. An item counts if neither score is NaN.
        statistic: One of `STATISTICS`.
        grouping: "segment", "system", "pooled" or "none"; see the module.
        least_gap: Pairs whose human scores differ by less are left out.
        systems: Bootstrap weights: how often each system counts, int64 [..., S].
        segments: Bootstrap weights: how often each segment counts, int64 [..., N].

    Returns:
        float64 [...]; NaN where the statistic does not exist.

    Raises:
        TensorMTError: If the shapes do not match, a name is unknown, or statistic, grouping and
            least gap cannot be combined.

    >>> human = torch.tensor([[1.0, 2.0, 3.0], [2.0, 3.0, 5.0]])
    >>> metric = torch.tensor([[0.1, 0.3, 0.2], [0.2, 0.4, 0.6]])
    >>> round(float(correlate(human, metric)), 4)
    0.9001
    >>> round(float(correlate(human, metric, "tau_b", "system")), 4)
    0.6667
    """
    check_statistic(statistic, grouping, least_gap)
    check_tables(human, metric, systems, segments)
    mask = ~(human.isnan() | metric.isnan())
    by_segment = grouping in ("segment", "pooled")
    # Weights of groups enter in the mean over groups, so that each group is computed only once for
    # all bootstrap samples.
    times = {"segment": segments, "pooled": segments, "system": systems}.get(grouping)
    if systems is not None and grouping != "system":
        mask = mask * systems[..., :, None]
    if segments is not None and not by_segment:
        mask = mask * segments[..., None, :]
    human, metric, mask = (
        group(side.expand(mask.shape), grouping) for side in (human, metric, mask)
    )
    if statistic == "accuracy_ties":
        return calibrated_accuracy(human, metric, mask, times, grouping == "pooled")[0]
    if statistic in _OF_ITEMS:
        return _mean(_OF_ITEMS[statistic](human, metric, mask), times)
    counts = pairs.count_pairs(human, metric, mask, least_gap)
    formula = pairs.FORMULAS[statistic]
    return formula(counts.pooled(times)) if grouping == "pooled" else _mean(formula(counts), times)


def _mean(values: Tensor, times: Tensor | None) -> Tensor:
    """Compute the mean over the groups [..., G] that have a value, weighted by times."""
    if times is None:
        return values.nanmean(dim=-1)
    times = times * ~values.isnan()
    return (values.nan_to_num() * times).sum(dim=-1) / times.sum(dim=-1)


@check_arguments
def correlate_systems(
    human: Tensor,
    metric: Tensor,
    statistic: str = "pearson",
    *,
    least_gap: float = 0.0,
    systems: Tensor | None = None,
) -> Tensor:
    """Compute the correlation (or pairwise accuracy) of human and metric scores of systems.

    Args:
        human: Human scores [..., S].
        metric: Metric scores [..., S].
        statistic: One of `STATISTICS`.
        least_gap: Pairs whose human scores differ by less are left out.
        systems: Bootstrap weights: how often each system counts, int64 [..., S].

    Returns:
        float64 [...]; NaN where the statistic does not exist.

    Raises:
        TensorMTError: As `correlate`.

    >>> human, metric = torch.tensor([1.0, 2.0, 4.0]), torch.tensor([0.3, 0.2, 0.9])
    >>> round(float(correlate_systems(human, metric, "accuracy")), 4)
    0.6667
    """
    table = round_for_ties(human)[..., None], round_for_ties(metric)[..., None]
    return correlate(*table, statistic, "none", least_gap=least_gap, systems=systems)


@check_arguments
def document_means(scores: Tensor, documents: Tensor, count: int) -> Tensor:
    """Compute the mean score of each document over the segments that have a score.

    Means that are mathematically equal are equal in the result (`round_for_ties`), so that rounding
    errors do not break ties.

    Args:
        scores: Segment scores [..., N]; NaN where there is no score.
        documents: Number of each segment's document, int64 [N].
        count: Number of documents D.

    Returns:
        float64 [..., D]; NaN for documents without a score.

    Raises:
        TensorMTError: If the numbers of documents are not N numbers from 0 to D - 1.

    >>> document_means(torch.tensor([1.0, 3.0, 5.0]), torch.tensor([0, 0, 1]), 2).tolist()
    [2.0, 5.0]
    """
    # On a CUDA device a number out of range would make the device unusable for the whole process:
    # one synchronization.
    inside = bool(((documents >= 0) & (documents < count)).all())
    if documents.shape != scores.shape[-1:] or not inside:
        raise TensorMTError(
            f"documents of shape {list(documents.shape)} for scores of shape {list(scores.shape)}:"
            f" expected the number of each segment's document, from 0 to {count - 1}"
        )
    present = ~scores.isnan()
    out = torch.zeros((*scores.shape[:-1], count), dtype=torch.float64, device=scores.device)
    total = out.index_add(-1, documents, scores.to(torch.float64).masked_fill(~present, 0.0))
    return round_for_ties(total / out.index_add(-1, documents, present.to(torch.float64)))
