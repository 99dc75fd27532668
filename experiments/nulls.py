"""Whether the tests keep the null: how often equals differ with p ≤ .05, for every test.

    python experiments/nulls.py [--cases 1000] [--only WORD …]
    python experiments/nulls.py --ties [--only WORD …]        are ties why a test rejects less
    often? python experiments/nulls.py --unscaled [--only WORD …]    is scaling why it rejects more
    often?

Every line is a test at N = 10, 100 and 1,000 of what it exchanges or draws (segments, outputs or
systems; for Williams' test, items): the share of simulated cases with p ≤ .05. `compare` is given
two systems of the same quality, the tests of `metaeval` two metrics that follow people with equal
noise. All scores are rounded, so that about a third of them tie. 39 draws a case: with them p ≤ .05
has a chance of exactly 5% where nothing ties (bootstrap: 200). One thread.

An exchange that gives exactly the difference seen counts against it, so a test of a statistic with
few values rejects less often than it may. `--ties` shows for each permutation test how many
exchanges tie so, and what the test would reject if ties were broken at random: p = (larger + U
(equal + 1)) / 40 with U uniform. That is 5% where ties are the cause, and less where they are not.

Metrics are brought to one scale before they are exchanged, each by its own mean and spread; what is
exchanged afterwards is not quite exchangeable. These two have one scale anyway: `--unscaled`.
"""

import argparse
import math
import os
import time
from collections.abc import Callable

os.environ["OMP_NUM_THREADS"] = "1"

import torch
from torch import Tensor

import tensormt as tm
from tensormt.metaeval import permutation_test, resample, spa_permutation
from tensormt.metaeval.config import Config
from tensormt.metaeval.judged_sets import JudgedSet
from tensormt.metaeval.resample import TOLERANCE
from tensormt.metaeval.runner import meta_evaluations, pairwise_tests
from tensormt.metaeval.scores import Scores
from tensormt.metaeval.spa import PERMUTATIONS
from tensormt.significance import compare
from tensormt.statistics import Statistics

SIZES = (10, 100, 1000)
DRAWS = 39
SYSTEMS = 5
LIMIT = " (normal limit)"

# level, statistic, grouping, units, what N counts
TESTS = [
    ("segment", "pearson", "none", "both", "outputs"),
    ("segment", "pearson", "none", "segments", "segments"),
    ("segment", "pearson", "none", "systems", "systems"),
    ("segment", "pearson", "segment", "segments", "segments"),
    ("segment", "pearson", "system", "systems", "systems"),
    ("segment", "spearman", "segment", "segments", "segments"),
    ("segment", "tau_a", "segment", "segments", "segments"),
    ("segment", "tau_b", "segment", "segments", "segments"),
    ("segment", "tau_c", "segment", "segments", "segments"),
    ("segment", "tau_wmt10", "pooled", "segments", "segments"),
    ("segment", "tau_wmt13", "pooled", "segments", "segments"),
    ("segment", "tau_wmt14", "pooled", "segments", "segments"),
    ("segment", "accuracy", "segment", "segments", "segments"),
    ("segment", "accuracy_ties", "segment", "segments", "segments"),
    ("segment", "accuracy_ties", "pooled", "segments", "segments"),
    ("segment", "accuracy_ties", "segment", "pairs", "segments"),
    ("document", "pearson", "none", "both", "documents"),
    ("document", "tau_b", "segment", "segments", "documents"),
    ("system", "pearson", "none", "systems", "systems"),
    ("mean", "pearson", "none", "both", "segments"),
    ("mean", "accuracy", "none", "segments", "segments"),
    ("system", "spa", "none", "both", "segments"),
    ("system", "spa", "none", "segments", "segments"),
    ("system", "spa" + LIMIT, "none", "both", "segments"),
    ("system", "spa" + LIMIT, "none", "segments", "segments"),
    ("segment", "spearman", "none", "both", "outputs"),
    ("segment", "tau_b", "none", "both", "outputs"),
    ("system", "accuracy", "none", "systems", "systems"),
]


def noise(random: torch.Generator, *shape: int) -> Tensor:
    """Normal noise, float64."""
    return torch.randn(shape, generator=random, dtype=torch.float64)


def judged(seed: int, systems: int, segments: int) -> tuple[Tensor, Tensor]:
    """Human scores [S,N] and those of two metrics [2,S,N], all with ties."""
    random = torch.Generator().manual_seed(seed)
    human = (noise(random, systems, 1) / 3 + noise(random, systems, segments)).round()
    return human, (human + noise(random, 2, systems, segments)).round()


def shape_of(counted: str, size: int) -> tuple[int, int]:
    """Systems and segments, so that there are so many of what is counted."""
    return {
        "outputs": (SYSTEMS, size // SYSTEMS),
        "segments": (SYSTEMS, size),
        "documents": (SYSTEMS, 2 * size),
        "systems": (size, 4),
    }[counted]


def metaeval_case(
    seed: int, size: int, row: tuple[str, str, str, str, str]
) -> tuple[list[JudgedSet], Config]:
    """Two equally good metrics, and what is asked of them."""
    level, statistic, grouping, units, counted = row
    human, metrics = judged(seed, *shape_of(counted, size))
    config = Config(
        levels=(level,),
        statistics=(statistic.removesuffix(LIMIT),),
        grouping=grouping,
        units=units,
        permutations=DRAWS,
        spa_permutations=0 if statistic.endswith(LIMIT) else PERMUTATIONS,
        seed=seed,
    )
    numbers = torch.arange(human.shape[1]) // (2 if level == "document" else 1)
    scores = [Scores(name, name, table) for name, table in zip("ab", metrics, strict=True)]
    documents = numbers, int(numbers[-1]) + 1
    systems = [str(k) for k in range(len(human))]
    return [JudgedSet("simulated", "human", human, scores, documents, systems)], config


def metaeval_p(seed: int, size: int, row: tuple[str, str, str, str, str]) -> float:
    """p of a permutation test of two equally good metrics."""
    return pairwise_tests(*metaeval_case(seed, size, row))[0].p


def metaeval_ties(
    seed: int, size: int, row: tuple[str, str, str, str, str]
) -> tuple[float, float, float]:
    """p of the same test, p with ties broken at random, and the share of exchanges that tie."""
    sets, config = metaeval_case(seed, size, row)
    found = next(meta_evaluations(sets, config)).pairwise_permutation(sets[0].metrics)
    null, seen = found.null[:, 0, 1].abs(), found.differences()[0, 1].abs()
    larger, equal = (null > seen + TOLERANCE).sum(), ((null - seen).abs() <= TOLERANCE).sum()
    chance = torch.rand((), generator=torch.Generator().manual_seed(seed + 1_000_000))
    broken = (larger + chance * (equal + 1)) / (DRAWS + 1)
    return float(found.p()[0, 1]), float(broken), float(equal) / DRAWS


def williams_p(seed: int, size: int) -> float:
    """p of Williams' test of two equally good metrics."""
    human, metrics = judged(seed, 1, size)
    return tm.metaeval.williams(human[0], metrics[0, 0], metrics[1, 0])[1]


def correlation_p(statistic: str) -> Callable[[int, int], float]:
    """p (from theory) of a correlation where there is none."""

    def p(seed: int, size: int) -> float:
        random = torch.Generator().manual_seed(seed)
        human, metric = ((1.5 * noise(random, size)).round() for _ in range(2))
        found = tm.metaeval.correlation_test(statistic, human, metric).p
        return 1.0 if found is None else found

    return p


def compare_p(test: str) -> Callable[[int, int], float]:
    """p of two systems of the same quality: BLEU's statistics of made-up segments."""
    metric = tm.BLEU(2)

    def p(seed: int, size: int) -> float:
        random = torch.Generator().manual_seed(seed)
        length = torch.randint(8, 12, (2, size, 1), generator=random)
        matched = (torch.rand((2, size, 2), generator=random) * 7).long()
        heads = torch.cat([torch.ones_like(length), length, torch.full_like(length, 10)], 2)
        rows = torch.cat([heads, matched, length - torch.tensor([0, 1])], 2)
        same = torch.rand((size, 1), generator=random) < 0.3  # segments that both translate alike
        rows[1] = torch.where(same, rows[0], rows[1])
        present = torch.ones(2, size, dtype=torch.bool)
        statistics = Statistics({"bleu": metric}, {"bleu": rows}, present, ["a", "b"])
        draws = DRAWS if test == "ar" else 200
        return compare(statistics, test, samples=draws, seed=seed)[0].p

    return p


def name_of(row: tuple[str, str, str, str, str]) -> str:
    """The name of a permutation test."""
    level, statistic, grouping, units, counted = row
    return f"{level}, {statistic}, {grouping}, {units} ({counted})"


def print_ties(args: argparse.Namespace) -> None:
    """Print for each permutation test what ties do."""
    header = [f"N = {n:,}: p ≤ .05; ties at random; exchanges that tie" for n in args.sizes]
    print("| test (what N counts) | " + " | ".join(header) + " |")
    for row in TESTS:
        if not any(word in name_of(row) for word in args.only):
            continue
        cells = []
        for size in args.sizes:
            found = torch.tensor(
                [metaeval_ties(seed, size, row) for seed in range(args.cases)], dtype=torch.float64
            )
            alarms = (found[:, :2] <= 0.05).double().mean(dim=0)
            shares = [*alarms.tolist(), float(found[:, 2].mean())]
            cells.append("; ".join(f"{100 * share:.1f}%" for share in shares))
        print(f"| {name_of(row)} | {' | '.join(cells)} |", flush=True)


def tests() -> dict[str, Callable[[int, int], float]]:
    """Every test by name: p of a case of a seed and a size."""
    found: dict[str, Callable[[int, int], float]] = {
        "compare, bootstrap (segments)": compare_p("bs"),
        "compare, randomisation (segments)": compare_p("ar"),
    }
    for row in TESTS:
        found[name_of(row)] = lambda seed, size, row=row: metaeval_p(seed, size, row)  # type: ignore[misc]
    found["Williams (items)"] = williams_p
    for statistic in ("pearson", "spearman", "tau_b"):
        found[f"theory, {statistic} (items)"] = correlation_p(statistic)
    return found


def main() -> None:
    """Print a line a test."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--only", nargs="+", default=[""], help="tests whose name has one of these")
    parser.add_argument("--ties", action="store_true", help="what ties do to permutation tests")
    parser.add_argument(
        "--unscaled", action="store_true", help="exchange scores as they are, not standardised"
    )
    args = parser.parse_args()
    if args.unscaled:
        for module in (permutation_test, resample, spa_permutation):
            module.standardize = lambda scores, real: scores.masked_fill(~real, torch.nan)  # type: ignore[attr-defined]
    torch.set_num_threads(1)
    margin = 3 * math.sqrt(0.05 * 0.95 / args.cases)
    print(f"{args.cases} cases; three standard errors around 5% are ± {100 * margin:.1f}%")
    if args.ties:
        print_ties(args)
        return
    print("| test (what N counts) | " + " | ".join(f"N = {n:,}" for n in args.sizes) + " | s |")
    for name, p in tests().items():
        if not any(word in name for word in args.only):
            continue
        begin = time.process_time()
        cells = []
        for size in args.sizes:
            alarms = sum(p(seed, size) <= 0.05 for seed in range(args.cases))
            cells.append(f"{100 * alarms / args.cases:.1f}%")
        took = time.process_time() - begin
        print(f"| {name} | {' | '.join(cells)} | {took:.0f} |", flush=True)


if __name__ == "__main__":
    main()
