"""Meta-evaluation of metrics: correlation with human scores, confidence intervals, and tests."""

from tensormt.metaeval.analytic_tests import CorrelationTest, correlation_test, williams
from tensormt.metaeval.calibration import calibrated_accuracy
from tensormt.metaeval.correlation import pearson, ranks, spearman
from tensormt.metaeval.grouping import STATISTICS, correlate, correlate_systems, document_means
from tensormt.metaeval.pairs import (
    PairCounts,
    accuracy,
    count_pairs,
    tau_a,
    tau_b,
    tau_c,
    tau_wmt10,
    tau_wmt13,
    tau_wmt14,
)
from tensormt.metaeval.permutation_test import PairwisePermutation, pairwise_permutation
from tensormt.metaeval.resample import Difference, Interval, bootstrap, permutation
from tensormt.metaeval.spa import soft_pairwise_accuracy

# Former names of two functions, which scripts may still use.
agreement = correlate
exchange = pairwise_permutation

__all__ = [
    "STATISTICS",
    "CorrelationTest",
    "Difference",
    "Interval",
    "PairCounts",
    "PairwisePermutation",
    "accuracy",
    "bootstrap",
    "calibrated_accuracy",
    "correlate",
    "correlate_systems",
    "correlation_test",
    "count_pairs",
    "document_means",
    "pairwise_permutation",
    "pearson",
    "permutation",
    "ranks",
    "soft_pairwise_accuracy",
    "spearman",
    "tau_a",
    "tau_b",
    "tau_c",
    "tau_wmt10",
    "tau_wmt13",
    "tau_wmt14",
    "williams",
]
