"""`tensormt compare`: paired significance tests between systems."""

from __future__ import annotations

import argparse
from dataclasses import replace

from tensormt.command import arguments
from tensormt.command.progress import Progress
from tensormt.data import tables

# Constants of the library, repeated so that --help does not import torch; a test compares them.
SAMPLES = {"bs": 1000, "ar": 10000}
SEED = 12345

DESCRIPTION = "Compare systems with a paired test on any of the metrics."
EXAMPLES = """
examples:
  tensormt compare ref.txt -i baseline.txt system.txt -m bleu stm
  tensormt compare ref.txt -i a.txt b.txt c.txt --all-pairs --paired-ar -f json

The first system is the baseline; differences are system minus baseline, with 95% bootstrap
intervals. p is the probability of a difference at least this large if the systems are equal;
p (Holm) is corrected for the number of comparisons with the same metric. verdict says better or
worse where p (Holm) is below .05; win/tie/loss counts segments by their scores. A LaTeX document
needs the package booktabs.
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
        help="paired bootstrap (default)",
    )
    tests.add_argument(
        "--paired-ar",
        dest="test",
        action="store_const",
        const="ar",
        help="approximate randomization, without intervals",
    )
    parser.add_argument("--all-pairs", action="store_true", help="compare all pairs of systems")
    parser.add_argument(
        "--sacrebleu-p",
        action="store_true",
        help="p-values as computed by sacrebleu, to reproduce published numbers, with its "
        f"{SAMPLES['bs']:,} resamples ({SAMPLES['ar']:,} with --paired-ar)",
    )
    parser.add_argument(
        "--samples",
        type=int,
        metavar="N",
        help="number of resamples (default 10,000, or 1,000 for each pair of systems if that is "
        "more; fewer if segments are many)",
    )
    parser.add_argument("--seed", type=int, default=SEED, metavar="N", help=f"(default {SEED})")
    parser.add_argument(
        "--signatures", action="store_true", help="print signatures in full: all settings"
    )
    arguments.add_format(parser)


def run(args: argparse.Namespace) -> int:
    """Compute the statistics of all segments, compare the systems and print the results."""
    from tensormt.comparison import compare_systems
    from tensormt.result import column_title
    from tensormt.significance import check_systems
    from tensormt.statistics import Statistics

    job = arguments.load(args)
    check_systems(list(job.names))  # before any work
    corpus, parts, names = job.corpus, [], list(job.names.values())
    text = args.format in ("text", "latex")
    shown = list(arguments.table_names(names).values()) if text else names
    with Progress(len(corpus), "compare", quiet=args.quiet) as bar:
        job.parsing.show_on(bar)
        evaluator = job.evaluator.fit(corpus, job.size)
        for segments, found in evaluator.run(corpus, job.size):
            parts.append(replace(found, systems=shown))
            bar(len(segments))
    result = compare_systems(
        Statistics.concat(parts),
        evaluator.signatures(corpus.reference_count, short=text and not args.signatures),
        args.test,
        args.all_pairs,
        args.samples,
        args.seed,
        args.sacrebleu_p,
    )
    if args.format == "json":
        print(tables.json_text(result.to_json()))
    elif args.format == "text":
        print(result)
    else:
        head, *rows = result.rows()
        metrics = result.metrics.items()
        titles = {name: column_title(name, metric, args.format) for name, metric in metrics}
        rows = [head, *([titles[name], *cells] for name, *cells in rows)]
        for note in result.shared_notes:  # a table has no place for them
            arguments.print_message(note)
        print(tables.format_table(rows, args.format, result.name_columns))
    return 0
