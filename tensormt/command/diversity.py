"""`tensormt diversity`: how much several outputs for one input differ."""

from __future__ import annotations

import argparse

from tensormt.command import arguments
from tensormt.command.progress import Progress, loading
from tensormt.command.rerank import FORMS, add_source, check_lines, columns
from tensormt.data import tables
from tensormt.errors import TensorMTError

DESCRIPTION = "Self-BLEU, self-STM or any other metric among the outputs, and distinct n-grams."
EXAMPLES = f"""
examples:
  tensormt diversity samples.jsonl                               # self-BLEU, self-STM, distinct-n
  tensormt diversity samples.txt --lines 8 -m bleu chrf --max-order 4 -f json

{FORMS} Columns:
  self-METRIC   mean score of an output with the others of its input as references; lower is more
                diverse, of error rates higher
  distinct-N    different n-grams of the outputs of an input / their n-grams
  unique        different outputs / outputs
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_source(parser)
    arguments.add_metrics(parser, ("bleu", "stm"))
    parser.add_argument("--max-order", type=int, default=2, metavar="N", help="largest n-gram")
    arguments.add_format(parser)
    arguments.add_parsing(parser)


def run(args: argparse.Namespace) -> int:
    """Measure the diversity and print a table or a JSON object."""
    check_lines(args)
    if not 1 <= args.max_order <= 9:
        raise TensorMTError(f"--max-order {args.max_order}: expected an integer from 1 to 9")
    arguments.make_evaluator(args)  # metrics and options are checked before the file is read
    from tensormt.data.nbest_lists import read_text_lists

    with loading("metrics", quiet=args.quiet):
        from tensormt.nbest import diversity
    found = read_text_lists(args.file, columns(args), size=args.lines)
    with Progress(len(found.texts), "diversity", quiet=args.quiet) as bar:
        result = diversity(
            found.texts,
            list(dict.fromkeys(args.metrics)),
            args.max_order,
            arguments.tree_options(args),
            arguments.choose_device(args.device),
            lang=args.lang,
            progress=bar,
        )
    found.warn()
    if args.format == "json":
        report: dict[str, object] = {
            "diversity": result.means,
            "segments": len(found.texts),
            "outputs": sum(map(len, found.texts)),
            "signatures": result.signatures,
        }
        if higher := result.higher_is_more_diverse:
            report["higher_is_more_diverse"] = higher
        print(tables.json_text(report))
    elif args.format == "text":
        print("\n".join([str(result), "", *result.signatures.values()]))
    else:
        for note in result.notes:  # a table has no place for them
            arguments.print_message(note)
        print(tables.format_table(result.rows(), args.format, left=0))
    return 0
