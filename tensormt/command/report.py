"""`tensormt report`: one HTML file that shows where systems differ, and what they match."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from tensormt.command import arguments
from tensormt.command.progress import Progress
from tensormt.data.atomic_write import output_path
from tensormt.errors import TensorMTError

if TYPE_CHECKING:  # torch takes a second to import: only a command that runs needs it
    from tensormt.data.corpus import Corpus
    from tensormt.scoring import Scorer

__all__ = ["add", "run"]

EXAMPLES = """
examples:
  tensormt report ref1.txt ref2.txt -i sysA.txt sysB.txt -o report.html
  tensormt report ref.txt -i a.txt b.txt c.txt -m bleu stm hwcm tkm --docs docs.txt --trees-for all
  tensormt report ref.ptb -i a.ptb b.ptb --trees -m stm dstm       # parses at hand
  tensormt report -i judged.jsonl                                  # rows with refs, sys and scores

The file needs no network and no server: open it in a browser, or send it to a colleague. Trees are
drawn for the segments with the largest differences; a judged set (see 'tensormt metaeval') brings
its systems, references, documents and human scores along.
"""


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "report",
        help="a page in the browser: where systems differ, and what they match",
        description="Write one self-contained HTML file about systems and metrics.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    arguments.add_inputs(parser, ["bleu", "stm", "hwcm"])
    parser.add_argument(
        "-o", "--output", default="report.html", metavar="FILE", help="(default report.html)"
    )
    parser.add_argument(
        "--trees-for",
        default="2000",
        metavar="N|all",
        help="draw the trees of so many segments, the largest differences (default 2000)",
    )
    parser.add_argument("--title", default="tensormt report", help="heading of the page")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Gather, and write the page."""
    from tensormt.reporting.build import build
    from tensormt.reporting.collect import gather

    count = None if args.trees_for == "all" else _number(args.trees_for)
    output_path(args.output, arguments.input_files(args))
    corpus, scorer, human, present = _load(args)
    shown = arguments.names(corpus.systems)
    with Progress(corpus.segments, "report", quiet=args.quiet) as bar:
        arguments.watch(scorer.trees, bar)
        size = arguments.chunk_size(args, scorer)
        gathered = gather(scorer, corpus, list(shown.values()), size, bar, present)
    path = build(gathered, args.output, human, count, args.title)
    print(f"{path}: {corpus.segments:,} segments, {path.stat().st_size:,} bytes", file=sys.stderr)
    return 0


def _number(text: str) -> int:
    if not text.isdigit():
        raise TensorMTError(f"--trees-for {text!r}: expected a number of segments, or all")
    return int(text)


def _load(args: argparse.Namespace) -> tuple[Corpus, Scorer, dict[str, Any], Any]:
    """Corpus, scorer, human scores, where outputs are; a judged set is told by its rows."""
    if len(args.input) > 1 or args.refs or not _is_judged(args.input[0]):
        return (*arguments.load(args), {}, None)
    import numpy as np

    from tensormt.data.corpus import Corpus
    from tensormt.data.human_scores import read_jsonl
    from tensormt.scoring import Scorer

    test = read_jsonl(args.input[0])
    most = max(len(refs) for refs in test.references)
    refs = [[row[k] if k < len(row) else None for row in test.references] for k in range(most)]
    hyps: dict[str, Any] = dict(zip(test.systems, test.outputs, strict=True))
    scorer = Scorer(list(dict.fromkeys(args.metrics)), device=arguments.choose_device(args.device))
    scorer.trees = arguments.trees_for(args, scorer.metrics.values())
    present = np.array([[line is not None for line in lines] for lines in test.outputs])
    return Corpus.of_lists(hyps, refs, test.documents), scorer, test.human, present


def _is_judged(path: str) -> bool:
    """Whether the first row of a JSONL file holds outputs by system."""
    from tensormt.data import files

    if files.kind(path) != ".jsonl" or path == "-":
        return False
    line = next(iter(files.lines(path)), "")
    try:
        row = json.loads(line)
    except ValueError:
        return False
    return isinstance(row, dict) and "sys" in row
