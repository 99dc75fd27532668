"""How well a metric agrees with people: correlations, pairwise accuracy, intervals and tests."""

from tensormt.metaeval.analytic_tests import theory, williams
from tensormt.metaeval.calibration import calibrated_accuracy
from tensormt.metaeval.correlation import pearson, ranks, spearman
from tensormt.metaeval.grouping import (
    STATISTICS,
    agreement,
    document_means,
    system_agreement,
)
from tensormt.metaeval.pairs import (
    Pairs,
    accuracy,
    count_pairs,
    tau_a,
    tau_b,
    tau_c,
    tau_wmt10,
    tau_wmt13,
    tau_wmt14,
)
from tensormt.metaeval.permutation_test import Exchange, exchange
from tensormt.metaeval.resample import Difference, Interval, bootstrap, permutation
from tensormt.metaeval.spa import soft_pairwise_accuracy

__all__ = [
    "STATISTICS",
    "Difference",
    "Exchange",
    "Interval",
    "Pairs",
    "accuracy",
    "agreement",
    "bootstrap",
    "calibrated_accuracy",
    "count_pairs",
    "document_means",
    "exchange",
    "pearson",
    "permutation",
    "ranks",
    "soft_pairwise_accuracy",
    "spearman",
    "system_agreement",
    "tau_a",
    "tau_b",
    "tau_c",
    "tau_wmt10",
    "tau_wmt13",
    "tau_wmt14",
    "theory",
    "williams",
]
