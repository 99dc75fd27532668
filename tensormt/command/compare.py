"""`tensormt compare`: does the difference between systems mean anything?"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tensormt.command import arguments
from tensormt.command.progress import Progress
from tensormt.data import tables

if TYPE_CHECKING:  # torch takes a second to import: only a command that runs needs it
    from tensormt.metric import Metric
    from tensormt.significance import Comparison

# The library's numbers, written again so that --help need not import torch; a test compares them.
SAMPLES = {"bs": 1000, "ar": 10000}
SEED = 12345

EXAMPLES = """
examples:
  tensormt compare ref.txt -i baseline.txt system.txt -m bleu stm
  tensormt compare ref.txt -i a.txt b.txt c.txt --all-pairs --paired-ar -f json

The first system is the baseline. p is the chance of a difference this large between systems that
are equal; p (Holm) is corrected for the number of comparisons with the same metric.
"""


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "compare",
        help="is one system better than another?",
        description="Compare systems with a paired test on any of the metrics.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    arguments.add_inputs(parser, ["bleu", "stm", "hwcm"])
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
    parser.add_argument("--all-pairs", action="store_true", help="every system against every other")
    parser.add_argument(
        "--sacrebleu-p",
        action="store_true",
        help="p-values as sacrebleu counts them: to repeat old numbers, not to be trusted",
    )
    parser.add_argument("--samples", type=int, metavar="N", help="number of resamples or trials")
    parser.add_argument("--seed", type=int, default=SEED, metavar="N", help=f"(default {SEED})")
    parser.add_argument("-f", "--format", default="text", choices=["text", "json", "tsv", "latex"])
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Compute the statistics of all segments, compare, print."""
    from tensormt.significance import compare
    from tensormt.statistics import Statistics

    job = arguments.load(args)
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
    from tensormt.command.score import cell

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
        interval = (
            ""
            if result.mean is None
            else f"{cell(metric, result.mean)} ± {cell(metric, result.width or 0.0)}"
        )
        table.append(
            [
                result.metric,
                result.baseline,
                result.system,
                cell(metric, result.baseline_score),
                cell(metric, result.score),
                interval,
                f"{result.p:.4f}",
                f"{result.p_holm:.4f}",
            ]
        )
    if args.format != "text":
        return tables.formatted(table, args.format)
    name = "paired bootstrap" if args.test == "bs" else "approximate randomisation"
    note = f"{name}, {samples} resamples, seed {args.seed}"
    if args.sacrebleu_p:
        note += ", p as sacrebleu's"
    return "\n".join([tables.aligned(table), "", note, *signatures.values()])
