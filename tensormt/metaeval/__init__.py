"""How well a metric agrees with people: correlations, pairwise accuracy, intervals and tests."""

from tensormt.metaeval.correlation import pearson, ranks, spearman
from tensormt.metaeval.levels import (
    STATISTICS,
    agreement,
    document_means,
    system_agreement,
)
from tensormt.metaeval.pairs import (
    Pairs,
    accuracy,
    calibrated_accuracy,
    count_pairs,
    tau_a,
    tau_b,
    tau_c,
    tau_wmt10,
    tau_wmt13,
    tau_wmt14,
)
from tensormt.metaeval.resample import Difference, Interval, bootstrap, permutation

__all__ = [
    "STATISTICS",
    "Difference",
    "Interval",
    "Pairs",
    "accuracy",
    "agreement",
    "bootstrap",
    "calibrated_accuracy",
    "count_pairs",
    "document_means",
    "pearson",
    "permutation",
    "ranks",
    "spearman",
    "system_agreement",
    "tau_a",
    "tau_b",
    "tau_c",
    "tau_wmt10",
    "tau_wmt13",
    "tau_wmt14",
]
