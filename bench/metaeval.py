"""A WMT-sized meta-evaluation, what it costs and how it grows.

    python bench/metaeval.py job        15 systems × 1,500 segments × 20 metrics, all statistics,
                                        1,000 permutations of all pairs of metrics
    python bench/metaeval.py growth     the same at other numbers of segments and systems

Processor time of one thread; values are compared with scipy and plain numpy before anything is
timed.
"""

import argparse
import itertools
import math
import time
from collections.abc import Callable

import numpy as np
import scipy.stats
import torch
from torch import Tensor

from tensormt.metaeval import STATISTICS, correlate, pairwise_permutation, soft_pairwise_accuracy
from tensormt.metaeval.spa_permutation import pairwise_permutation_spa

# statistic, grouping, units
TESTS = [
    ("pearson", "none", "both"),
    ("pearson", "segment", "segments"),
    ("tau_b", "segment", "segments"),
    ("tau_wmt14", "pooled", "segments"),
    ("accuracy_ties", "segment", "segments"),
    ("accuracy_ties", "segment", "pairs"),
]


def data(systems: int, segments: int, metrics: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Human scores with ties as MQM has them, and metrics that follow them with noise."""
    random = torch.Generator().manual_seed(seed)
    quality = torch.randn(systems, 1, generator=random, dtype=torch.float64) / 4
    human = quality + torch.randn(systems, segments, generator=random, dtype=torch.float64)
    human = (human.clamp(max=0.5) * 3).round()
    noise = torch.randn(metrics, systems, segments, generator=random, dtype=torch.float64)
    spread = torch.linspace(1, 6, metrics, dtype=torch.float64)[:, None, None]
    return human, human + noise * spread


def clock(run: Callable[[], object]) -> float:
    """Processor time of a call in seconds."""
    start = time.process_time()
    run()
    return time.process_time() - start


def numpy_spa(human: Tensor, metric: Tensor, permutations: int = 1000) -> float:
    """Thompson et al. 2024 pair by pair in plain numpy."""
    random = np.random.default_rng(4).random((permutations, human.shape[1]), dtype=np.float32)
    flips = np.rint(random).astype(np.float64) * 2 - 1
    errors = []
    for i in range(len(human)):
        for j in range(i + 1, len(human)):
            p = []
            for table in (human.numpy(), metric.numpy()):
                gap = table[i] - table[j]
                p.append(np.mean(flips @ gap >= gap.sum() - 1e-9))
            errors.append(abs(p[0] - p[1]))
    return float(1 - np.mean(errors))


def job(systems: int = 15, segments: int = 1500, metrics: int = 20) -> None:
    """Every statistic of every metric, then every pair of metrics."""
    human, tables = data(systems, segments, metrics)
    tau = scipy.stats.kendalltau(human.flatten(), tables[0].flatten())[0]
    assert math.isclose(float(correlate(human, tables[0], "tau_b", "none")), tau, abs_tol=1e-12)
    spa = float(soft_pairwise_accuracy(human, tables[0]))
    assert math.isclose(spa, numpy_spa(human, tables[0]), abs_tol=1e-12)
    print(f"{systems} systems × {segments} segments × {metrics} metrics, values equal to peers")
    for grouping in ("segment", "none"):
        for statistic in STATISTICS:
            if statistic == "accuracy_ties" and grouping == "none":
                continue
            seconds = clock(
                lambda s=statistic, g=grouping: [correlate(human, t, s, g) for t in tables]
            )
            print(f"  values  {statistic:14} {grouping:8} {seconds:8.2f} s")
    ours = clock(lambda: [soft_pairwise_accuracy(human, t) for t in tables])
    peer = clock(lambda: numpy_spa(human, tables[0])) * metrics
    print(f"  values  {'spa':14} {'':8} {ours:8.2f} s   numpy pair by pair {peer:.1f} s")
    pairs = metrics * (metrics - 1) // 2
    for statistic, grouping, units in TESTS:
        seconds = clock(
            lambda s=statistic, g=grouping, u=units: pairwise_permutation(human, tables, s, g, u)
        )
        print(f"  test    {statistic:14} {grouping:8} {seconds:8.2f} s   {pairs} pairs, by {units}")
    for permutations, count in itertools.product((1000, 0), (2, metrics)):
        few, many = (
            clock(
                lambda k=permutations, x=count, r=r: pairwise_permutation_spa(
                    human, tables[:x], "both", k, resamples=r
                )
            )
            for r in (10, 60)
        )
        told = f"{count * (count - 1) // 2} pairs, by both (from 60 of 1,000 draws)"
        print(f"  test    spa, {permutations:4} sign changes  {(many - few) * 20:8.2f} s   {told}")


def growth() -> None:
    """Seconds of the tests of 6 metrics at growing sizes, the better of two runs."""
    print("6 metrics, 1,000 permutations; seconds by test")
    print("  " + "  ".join(f"{s} {g} {u}" for s, g, u in TESTS))
    for systems, segments in ((8, 400), (8, 800), (8, 1600), (16, 400), (16, 800), (32, 400)):
        human, tables = data(systems, segments, 6)
        row = [
            min(
                clock(lambda s=s, g=g, u=u: pairwise_permutation(human, tables, s, g, u))  # noqa: B023
                for _ in range(2)
            )
            for s, g, u in TESTS
        ]
        print(f"  {systems:3} × {segments:5}  " + "  ".join(f"{seconds:6.2f}" for seconds in row))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["job", "growth"])
    args = parser.parse_args()
    torch.set_num_threads(1)
    {"job": job, "growth": growth}[args.what]()
