"""Agreement between a metric and people at segment, document and system level.

Scores are a table of systems S × segments N, NaN where there is no judgement. At segment (or
document) level the items that are compared with each other depend on the grouping:

    "segment"  for each segment over the systems, then the mean over segments ("group by item")
    "system"   for each system over its segments, then the mean over systems
    "pooled"   pairs of systems on the same segment, counted together over all segments: WMT's taus
    "none"     all items together

At system level every system has one score and there is one group. Groups for which the statistic
does not exist (a single item, all scores equal) are left out of the mean, as in WMT.

A resample says how often each system and each segment counts. It is never a table with copies: a
segment drawn twice would be compared with itself and be right.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.kernels.backend import on_cpu
from tensormt.kernels.kendall import round_for_ties
from tensormt.metaeval import pairs
from tensormt.metaeval.calibration import calibrated_accuracy
from tensormt.metaeval.checks import CHECKED, check_tables
from tensormt.metaeval.correlation import pearson, spearman
from tensormt.validation import one_of

GROUPINGS = ("segment", "system", "pooled", "none")

# Statistics of items [..., N] that counts of pairs do not give.
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


def check(statistic: str, grouping: str, least_gap: float = 0.0) -> None:
    """Raise an error that says which statistics and groupings there are and go together."""
    one_of(STATISTICS)(statistic, "statistic")
    one_of(GROUPINGS)(grouping, "grouping")
    if grouping == "pooled" and statistic in _OF_ITEMS:
        known = ", ".join([*pairs.FORMULAS, "accuracy_ties"])
        raise TensorMTError(f"grouping 'pooled' pools pairs, {statistic} has none: use {known}")
    if least_gap > 0 and statistic not in pairs.FORMULAS:
        known = ", ".join(pairs.FORMULAS)
        raise TensorMTError(
            f"a least gap is for counts of pairs, {statistic} has none: use {known}"
        )


def group(table: Tensor, grouping: str) -> Tensor:
    """Arrange items [..., S, N] as groups [..., G, items]."""
    if grouping in ("segment", "pooled"):
        return table.transpose(-1, -2)
    if grouping == "system":
        return table
    return table.flatten(-2)[..., None, :]


@CHECKED
def agreement(
    human: Tensor,
    metric: Tensor,
    statistic: str = "pearson",
    grouping: str = "none",
    *,
    least_gap: float = 0.0,
    systems: Tensor | None = None,
    segments: Tensor | None = None,
) -> Tensor:
    """Return the agreement of two tables of item scores, float64 [...].

    human, metric [..., S, N]; an item counts where both have a score that is not NaN. A resample
    is systems int64 [..., S] and segments int64 [..., N], how often each counts. least_gap: the
    pairs that people set apart by less do not count.
    """
    check(statistic, grouping, least_gap)
    check_tables(human, metric, systems, segments)
    mask = ~(human.isnan() | metric.isnan())
    by_segment = grouping in ("segment", "pooled")
    # Weights of whole groups come in at their mean, so that groups are computed once for all draws.
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
    if least_gap > 0:
        counts = pairs.count_pairs_apart(human, metric, mask, least_gap)
    else:
        counts = pairs.count_pairs(human, metric, mask)
    formula = pairs.FORMULAS[statistic]
    return formula(counts.pooled(times)) if grouping == "pooled" else _mean(formula(counts), times)


def _mean(values: Tensor, times: Tensor | None) -> Tensor:
    """Return the mean over the groups [..., G] that have a value, each as often as times says."""
    if times is None:
        return values.nanmean(dim=-1)
    times = times * ~values.isnan()
    return (values.nan_to_num() * times).sum(dim=-1) / times.sum(dim=-1)


@CHECKED
def system_agreement(
    human: Tensor,
    metric: Tensor,
    statistic: str = "pearson",
    *,
    least_gap: float = 0.0,
    systems: Tensor | None = None,
) -> Tensor:
    """Return the agreement of two rows of system scores [..., S], float64 [...]."""
    table = round_for_ties(human)[..., None], round_for_ties(metric)[..., None]
    return agreement(*table, statistic, "none", least_gap=least_gap, systems=systems)


@CHECKED
def document_means(scores: Tensor, documents: Tensor, count: int) -> Tensor:
    """Return the mean of the segments that have a score per document, [..., N] -> [..., D].

    documents int64 [N] is the number of each segment's document, count is D; NaN without a score.
    Means that are equal on paper are equal here (`round_for_ties`): the last bit breaks no tie.
    """
    # on other devices indexing itself raises, without a synchronisation here
    inside = not on_cpu(documents) or bool(((documents >= 0) & (documents < count)).all())
    if documents.shape != scores.shape[-1:] or not inside:
        raise TensorMTError(
            f"documents of shape {list(documents.shape)} for scores of shape {list(scores.shape)}:"
            f" expected the number of each segment's document, from 0 to {count - 1}"
        )
    real = ~scores.isnan()
    out = torch.zeros((*scores.shape[:-1], count), dtype=torch.float64, device=scores.device)
    total = out.index_add(-1, documents, scores.to(torch.float64).masked_fill(~real, 0.0))
    return round_for_ties(total / out.index_add(-1, documents, real.to(torch.float64)))
