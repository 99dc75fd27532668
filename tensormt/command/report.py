"""`tensormt report`: one HTML file that shows where systems differ, and what they match."""

from __future__ import annotations

import argparse
import json
import sys

from tensormt.command import arguments
from tensormt.command.progress import Progress
from tensormt.data.atomic_write import output_path
from tensormt.errors import TensorMTError

DESCRIPTION = "Write one self-contained HTML file about systems and metrics."
EXAMPLES = """
examples:
  tensormt report ref1.txt ref2.txt -i sysA.txt sysB.txt -o report.html
  tensormt report ref.txt -i a.txt b.txt c.txt -m bleu stm hwcm tkm --docs docs.txt --trees-for all
  tensormt report ref.ptb -i a.ptb b.ptb --trees -m stm dstm       # trees instead of text
  tensormt report -i judged.jsonl                                  # rows with refs, sys and scores

The file needs no network and no server: open it in a browser, or send it by e-mail. Trees are shown
for the segments with the largest differences. A judged set (see 'tensormt metaeval') contains
systems, references, documents and human scores.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    arguments.add_inputs(parser)
    parser.add_argument(
        "-o", "--output", default="report.html", metavar="FILE", help="(default report.html)"
    )
    parser.add_argument(
        "--trees-for",
        default="2000",
        metavar="N|all",
        help="show the trees of the N segments with the largest differences (default 2000)",
    )
    parser.add_argument("--title", default="tensormt report", help="heading of the page")


def run(args: argparse.Namespace) -> int:
    """Collect what the page shows, and write it."""
    from tensormt.reporting.build import build
    from tensormt.reporting.collect import collect

    count = None if args.trees_for == "all" else _number(args.trees_for)
    output_path(args.output, arguments.input_files(args))
    job = _load(args)
    corpus, shown = job.corpus, list(arguments.table_names(job.names.values()).values())
    with Progress(len(corpus), "report", quiet=args.quiet) as bar:
        job.parsing.show_on(bar)
        collected = collect(job.evaluator, corpus, shown, job.size, bar)
    path = build(collected, args.output, count, args.title)
    print(f"{path}: {len(corpus):,} segments, {path.stat().st_size:,} bytes", file=sys.stderr)
    return 0


def _number(text: str) -> int:
    if not text.isdigit():
        raise TensorMTError(f"--trees-for {text!r}: expected a number of segments, or all")
    return int(text)


def _load(args: argparse.Namespace) -> arguments.CommandInputs:
    """Corpus and evaluator; a file of rows with outputs by system is a judged set."""
    if len(args.input) > 1 or args.refs or not _is_judged(args.input[0]):
        return arguments.load(args)
    from tensormt.data.human_scores import read_jsonl

    parsing = arguments.ParseProgress()
    evaluator = arguments.make_evaluator(args, progress=parsing)
    return arguments.make_inputs(args, read_jsonl(args.input[0]), evaluator, parsing)


def _is_judged(path: str) -> bool:
    """Return whether the first row of a JSONL file has outputs by system."""
    from tensormt.data import files

    if files.suffix(path) != ".jsonl" or path == "-":
        return False
    line = next(iter(files.lines(path)), "")
    try:
        row = json.loads(line)
    except ValueError:
        return False
    return isinstance(row, dict) and "sys" in row
