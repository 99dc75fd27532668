"""`tensormt report`: one HTML file that shows where systems differ, and what they match."""

from __future__ import annotations

import argparse
import sys

from tensormt.command import arguments
from tensormt.command.progress import Progress
from tensormt.command.report_inputs import load_report
from tensormt.data.atomic_write import output_path
from tensormt.errors import TensorMTError
from tensormt.registry import REPORT_METRICS

DESCRIPTION = "Write one self-contained HTML file about systems and metrics."
EXAMPLES = """
examples:
  tensormt report ref1.txt ref2.txt -i sysA.txt sysB.txt -o report.html
  tensormt report ref.txt -i a.txt b.txt c.txt -m bleu stm hwcm tkm --docs docs.txt --trees-for all
  tensormt report ref.ptb -i a.ptb b.ptb --trees -m stm dstm       # trees instead of text
  tensormt report -i judged.jsonl                                  # rows with refs, sys and scores
  tensormt report ref.txt -i a.txt b.txt --errors mqm.seg.rating   # errors that people marked
  tensormt report -i mt-metrics-eval-v2/wmt23 --lp en-de           # a folder, with its ratings
  tensormt report -m none --scores COMET=comet.seg.score           # scores of other tools alone

The file needs no network and no server: open it in a browser, or send it by e-mail. Trees are shown
for the segments with the largest differences. A judged set (see 'tensormt metaeval') contains
systems, references, documents and human scores.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    arguments.add_inputs(parser, outputs=False, metrics=REPORT_METRICS)
    parser.add_argument(
        "-o", "--output", default="report.html", metavar="FILE", help="(default report.html)"
    )
    parser.add_argument(
        "--trees-for",
        default="2000",
        metavar="N|all",
        help="show the trees of the N segments with the largest differences (default 2000)",
    )
    parser.add_argument(
        "--errors",
        nargs="+",
        default=[],
        metavar="FILE",
        help="errors that people marked in the outputs: .seg.rating of mt-metrics-eval (MQM), or "
        "ESA as .jsonl or as the .csv of Appraise",
    )
    parser.add_argument("--lp", metavar="LP", help="language pair of a folder (-i FOLDER)")
    parser.add_argument("--title", default="tensormt report", help="heading of the page")


def run(args: argparse.Namespace) -> int:
    """Collect what the page shows, and write it."""
    from tensormt.reporting.build import build
    from tensormt.reporting.collect import collect

    count = None if args.trees_for == "all" else _number(args.trees_for)
    output_path(args.output, [*arguments.input_files(args), *args.errors])
    job, ratings = load_report(args)
    corpus, shown = job.corpus, list(arguments.table_names(job.names.values()).values())
    with Progress(len(corpus), "report", quiet=args.quiet) as bar:
        job.parsing.show_on(bar)
        collected = collect(job.evaluator, corpus, shown, job.size, bar, ratings)
    path = build(collected, args.output, count, args.title)
    print(f"{path}: {len(corpus):,} segments, {path.stat().st_size:,} bytes", file=sys.stderr)
    return 0


def _number(text: str) -> int:
    if not text.isdigit():
        raise TensorMTError(f"--trees-for {text!r}: expected a number of segments, or all")
    return int(text)
