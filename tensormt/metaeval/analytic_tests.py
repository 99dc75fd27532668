"""Analytic p-values and confidence intervals of correlations (scipy), and Williams' test.

The p-value is the probability of a correlation at least as far from 0 if the true correlation is 0.
Intervals use Fisher's z = artanh r, whose standard error is 1/√(n - 3) for Pearson's r,
√(1.06/(n - 3)) for Spearman's ρ and √(0.437/(n - 4)) for Kendall's τ (Fieller, Hartley & Pearson
1957). Williams (1959) tests the difference r12 - r13 between the correlations of two metrics with
the same human scores, given the correlation r23 of the metrics (Graham & Baldwin 2014).

All of these assume independent items, which holds for systems but not for segments of the same
document.
"""

import math
from typing import NamedTuple

from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.metaeval.checks import check_arguments
from tensormt.metaeval.correlation import pearson
from tensormt.metaeval.grouping import STATISTICS
from tensormt.validation import one_of

# The variance of artanh r is numerator / (n - offset).
_FISHER = {"pearson": (1.0, 3), "spearman": (1.06, 3), "tau_b": (0.437, 4)}


class CorrelationTest(NamedTuple):
    """Result of `correlation_test`; all fields are None if the test does not apply.

    Attributes:
        p: Two-sided p-value of the hypothesis that there is no correlation.
        low: Lower end of the confidence interval.
        high: Upper end of the confidence interval.

    >>> CorrelationTest(0.04, 0.1, 0.9).p
    0.04
    """

    p: float | None
    low: float | None
    high: float | None


_NOT_APPLICABLE = CorrelationTest(None, None, None)


@check_arguments
def correlation_test(
    statistic: str, human: Tensor, metric: Tensor, confidence: float = 0.95
) -> CorrelationTest:
    """Test a correlation analytically and compute its Fisher interval.

    Args:
        statistic: Name of a statistic; only "pearson", "spearman" and "tau_b" have such a test.
        human: Human scores [N]; NaN where there is no score.
        metric: Metric scores [N] of the same items.
        confidence: Level of the confidence interval, between 0 and 1.

    Returns:
        p-value and interval. All are None for other statistics, for too few items and if one side
        is constant.

    Raises:
        TensorMTError: If the statistic is unknown or the scores are not of the same N items.

    >>> import torch
    >>> human = torch.tensor([1.0, 2, 3, 4, 5, 6])
    >>> found = correlation_test("pearson", human, torch.tensor([2.0, 1, 4, 3, 6, 5]))
    >>> round(found.p, 4), round(found.low, 4), round(found.high, 4)
    (0.0416, 0.0519, 0.9807)
    """
    from scipy import stats

    if one_of((*STATISTICS, "spa"))(statistic, "statistic") not in _FISHER:
        return _NOT_APPLICABLE
    human, metric = _check_rows(human, metric)
    present = ~(human.isnan() | metric.isnan())
    x, y = human[present].numpy(), metric[present].numpy()
    numerator, offset = _FISHER[statistic]
    if len(x) <= offset or len(set(x.tolist())) < 2 or len(set(y.tolist())) < 2:
        return _NOT_APPLICABLE
    tests = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "tau_b": stats.kendalltau}
    found = tests[statistic](x, y)
    value = float(found.statistic)
    if abs(value) >= 1 - 1e-12:
        return CorrelationTest(float(found.pvalue), value, value)
    width = stats.norm.ppf((1 + confidence) / 2) * math.sqrt(numerator / (len(x) - offset))
    low, high = (math.tanh(math.atanh(value) + side * width) for side in (-1, 1))
    return CorrelationTest(float(found.pvalue), low, high)


def _check_rows(*rows: Tensor) -> tuple[Tensor, ...]:
    """Return the rows if all are one-dimensional and of the same length."""
    for row in rows:
        if row.dim() != 1 or row.shape != rows[0].shape:
            shapes = " and ".join(str(list(row.shape)) for row in rows)
            raise TensorMTError(f"scores of shapes {shapes}: expected rows of the same items")
    return rows


@check_arguments
def williams(
    human: Tensor, first: Tensor, second: Tensor, two_sided: bool = True
) -> tuple[float, float]:
    """Test whether two metrics correlate differently (Pearson) with the same human scores.

    Args:
        human: Human scores [N]; NaN where there is no score.
        first: Scores of the first metric [N].
        second: Scores of the second metric [N].
        two_sided: False tests whether the first metric correlates better.

    Returns:
        The difference of the correlations (first minus second) and its p-value.

    Raises:
        TensorMTError: If fewer than 4 items have all three scores, or the rows differ in length.

    >>> import torch
    >>> human = torch.tensor([1.0, 2, 3, 4, 5, 6])
    >>> first, second = torch.tensor([2.0, 1, 4, 3, 6, 5]), torch.tensor([3.0, 1, 2, 6, 4, 5])
    >>> difference, p = williams(human, first, second)
    >>> round(difference, 4), round(p, 4)
    (0.1714, 0.6048)
    """
    from scipy import stats

    human, first, second = _check_rows(human, first, second)
    present = ~(human.isnan() | first.isnan() | second.isnan())
    n = int(present.sum())
    if n < 4:
        raise TensorMTError(f"Williams' test needs at least 4 items, {n} have all scores")
    human, first, second = human[present], first[present], second[present]
    r12, r13, r23 = (
        float(pearson(a, b)) for a, b in ((human, first), (human, second), (first, second))
    )
    determinant = 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23
    mean_term = ((r12 + r13) / 2) ** 2 * (1 - r23) ** 3
    variance = 2 * (n - 1) / (n - 3) * determinant + mean_term
    if not variance > 1e-15:
        # The two metrics are perfectly correlated, or a correlation does not exist.
        return r12 - r13, 1.0 if abs(r12 - r13) < 1e-12 else math.nan
    t = (r12 - r13) * math.sqrt((n - 1) * (1 + r23) / variance)
    p = stats.t.sf(abs(t) if two_sided else t, n - 3)
    return r12 - r13, float(min(1.0, 2 * p) if two_sided else p)
