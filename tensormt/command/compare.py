"""`tensormt compare`: paired significance tests between systems."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tensormt.command import arguments
from tensormt.command.progress import Progress
from tensormt.data import tables

if TYPE_CHECKING:  # torch is imported only when the command runs
    from tensormt.metric import Metric
    from tensormt.significance import Comparison

# The defaults of the library, repeated so that --help does not import torch; a test compares them.
SAMPLES = {"bs": 1000, "ar": 10000}
SEED = 12345

DESCRIPTION = "Compare systems with a paired test on any of the metrics."
EXAMPLES = """
examples:
  tensormt compare ref.txt -i baseline.txt system.txt -m bleu stm
  tensormt compare ref.txt -i a.txt b.txt c.txt --all-pairs --paired-ar -f json

The first system is the baseline. p is the probability of a difference at least this large if the
systems are equal; p (Holm) is corrected for the number of comparisons with the same metric.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    arguments.add_inputs(parser)
    tests = parser.add_mutually_exclusive_group()
    tests.add_argument(
        "--paired-bs",
        dest="test",
        action="store_const",
        const="bs",
        default="bs",
        help=f"paired bootstrap, {SAMPLES['bs']} resamples (default)",
    )
    tests.add_argument(
        "--paired-ar",
        dest="test",
        action="store_const",
        const="ar",
        help=f"approximate randomisation, {SAMPLES['ar']} trials",
    )
    parser.add_argument("--all-pairs", action="store_true", help="compare all pairs of systems")
    parser.add_argument(
        "--sacrebleu-p",
        action="store_true",
        help="p-values as computed by sacrebleu, to reproduce published numbers",
    )
    parser.add_argument("--samples", type=int, metavar="N", help="number of resamples or trials")
    parser.add_argument("--seed", type=int, default=SEED, metavar="N", help=f"(default {SEED})")
    arguments.add_format(parser)


def run(args: argparse.Namespace) -> int:
    """Compute the statistics of all segments, compare the systems and print the results."""
    from tensormt.significance import check_systems, compare
    from tensormt.statistics import Statistics

    job = arguments.load(args)
    check_systems(list(job.names))  # before any work
    corpus, parts = job.corpus, []
    with Progress(len(corpus), "compare", quiet=args.quiet) as bar:
        job.parsing.show_on(bar)
        evaluator = job.evaluator.fit(corpus, job.size)
        for segments, found in evaluator.run(corpus, job.size):
            parts.append(replace(found, systems=list(job.names.values())))
            bar(len(segments))
    results = compare(
        Statistics.concat(parts),
        args.test,
        args.all_pairs,
        args.samples,
        args.seed,
        args.sacrebleu_p,
    )
    signatures = evaluator.signatures(corpus.reference_count)
    print(_report(args, results, evaluator.metrics, signatures))
    return 0


def _report(
    args: argparse.Namespace,
    results: list[Comparison],
    metrics: Mapping[str, Metric[Any]],
    signatures: dict[str, str],
) -> str:
    from tensormt.result import format_score

    samples = args.samples or SAMPLES[args.test]
    if args.format == "json":
        rows = [result._asdict() for result in results]
        facts = {"test": args.test, "samples": samples, "seed": args.seed}
        facts["sacrebleu_p"] = args.sacrebleu_p
        return json.dumps({**facts, "comparisons": rows, "signatures": signatures}, indent=1)
    head = ["metric", "baseline", "system", "baseline score", "score", "95% interval", "p"]
    table = [[*head, "p (Holm)"]]
    for result in results:
        metric = metrics[result.metric]
        interval = ""
        if result.mean is not None:
            width = format_score(result.width or 0.0, metric.digits)
            interval = f"{format_score(result.mean, metric.digits)} ± {width}"
        table.append(
            [
                result.metric,
                result.baseline,
                result.system,
                format_score(result.baseline_score, metric.digits),
                format_score(result.score, metric.digits),
                interval,
                f"{result.p:.4f}",
                f"{result.p_holm:.4f}",
            ]
        )
    if args.format != "text":
        return tables.format_table(table, args.format)
    name = "paired bootstrap" if args.test == "bs" else "approximate randomisation"
    note = f"{name}, {samples} resamples, seed {args.seed}"
    if args.sacrebleu_p:
        note += ", p-values as in sacrebleu"
    return "\n".join([tables.text_table(table), "", note, *signatures.values()])
