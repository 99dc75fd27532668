"""What theory says of a correlation: p-values, Fisher's intervals, Williams' test; from scipy.

p is the chance of a correlation as far from 0 where there is none. Intervals by Fisher's
z = artanh r, whose standard error is 1/√(n - 3) for Pearson's r, √(1.06/(n - 3)) for Spearman's ρ
and √(0.437/(n - 4)) for Kendall's τ (Fieller, Hartley & Pearson 1957). Williams (1959) compares the
correlations of two metrics with the same human scores, r12 - r13 given r23 (Graham & Baldwin 2014).

All of it takes items for independent: true of systems, not of segments of the same documents.
"""

import math
from typing import NamedTuple

from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.metaeval.checks import CHECKED
from tensormt.metaeval.correlation import pearson
from tensormt.metaeval.grouping import STATISTICS
from tensormt.validation import one_of

# variance of artanh r: above / (n - below)
_FISHER = {"pearson": (1.0, 3), "spearman": (1.06, 3), "tau_b": (0.437, 4)}


class Theory(NamedTuple):
    """p (two-sided) of no correlation, and Fisher's interval; None where n is too small."""

    p: float | None
    low: float | None
    high: float | None


@CHECKED
def theory(statistic: str, human: Tensor, metric: Tensor, confidence: float = 0.95) -> Theory:
    """Return what theory says of the correlation of two rows of scores [N]; NaN: no score."""
    from scipy import stats

    if one_of((*STATISTICS, "spa"))(statistic, "statistic") not in _FISHER:
        return Theory(None, None, None)
    human, metric = _rows(human, metric)
    real = ~(human.isnan() | metric.isnan())
    x, y = human[real].numpy(), metric[real].numpy()
    above, below = _FISHER[statistic]
    if len(x) <= below or len(set(x.tolist())) < 2 or len(set(y.tolist())) < 2:
        return Theory(None, None, None)
    test = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "tau_b": stats.kendalltau}
    found = test[statistic](x, y)
    value = float(found.statistic)
    if abs(value) >= 1 - 1e-12:
        return Theory(float(found.pvalue), value, value)
    width = stats.norm.ppf((1 + confidence) / 2) * math.sqrt(above / (len(x) - below))
    low, high = (math.tanh(math.atanh(value) + side * width) for side in (-1, 1))
    return Theory(float(found.pvalue), low, high)


def _rows(*sides: Tensor) -> tuple[Tensor, ...]:
    """Rows of scores of the same items."""
    for side in sides:
        if side.dim() != 1 or side.shape != sides[0].shape:
            told = " and ".join(str(list(side.shape)) for side in sides)
            raise TensorMTError(f"scores of shapes {told}: expected rows of the same items")
    return sides


@CHECKED
def williams(
    human: Tensor, first: Tensor, second: Tensor, two_sided: bool = True
) -> tuple[float, float]:
    """Return the difference of two correlations (Pearson) with people, rows [N], and its p."""
    from scipy import stats

    human, first, second = _rows(human, first, second)
    real = ~(human.isnan() | first.isnan() | second.isnan())
    n = int(real.sum())
    if n < 4:
        raise TensorMTError(f"Williams' test needs at least 4 items, {n} have all scores")
    human, first, second = human[real], first[real], second[real]
    r12, r13, r23 = (
        float(pearson(a, b)) for a, b in ((human, first), (human, second), (first, second))
    )
    rest = 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23
    middle = ((r12 + r13) / 2) ** 2 * (1 - r23) ** 3
    spread = 2 * (n - 1) / (n - 3) * rest + middle
    if not spread > 1e-15:
        # metrics that are one and the same (or have no correlation at all)
        return r12 - r13, 1.0 if abs(r12 - r13) < 1e-12 else math.nan
    t = (r12 - r13) * math.sqrt((n - 1) * (1 + r23) / spread)
    p = stats.t.sf(abs(t) if two_sided else t, n - 3)
    return r12 - r13, float(min(1.0, 2 * p) if two_sided else p)
