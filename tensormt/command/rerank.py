"""`tensormt rerank`: choose among candidates by minimum Bayes risk with any metric."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tensormt.command import arguments
from tensormt.command.parse import open_output
from tensormt.command.progress import Progress, loading
from tensormt.data.tables import json_text
from tensormt.errors import TensorMTError

if TYPE_CHECKING:
    from tensormt.nbest import Reranked

DESCRIPTION = "Choose among candidates by minimum Bayes risk: the one most like all others."
FORMS = """Candidates are rows (.jsonl) with a list of texts in the column candidates, or text: a
text a line with an empty line behind each segment, with --lines N N lines for each segment, or
n-best lists of Moses and Marian (0 ||| text ||| features ||| score), recognised by their first
line."""
EXAMPLES = f"""
examples:
  tensormt rerank samples.jsonl                                  # chrF, a line for each segment
  tensormt rerank samples.jsonl -m stm:balance=f1 -o best.txt
  tensormt rerank nbest.txt -m bleu --log-probs score            # 0 ||| text ||| … ||| -4.2
  tensormt rerank hyps.txt --lines 8 --references pool.jsonl     # 8 lines each; another pool
  tensormt rerank samples.jsonl --nbest 3 -f jsonl               # with places and scores

{FORMS} --references has a pool of pseudo-references in the same forms (column
references or candidates); without it candidates are compared with each other. Pseudo-references
count equally, or by --weights or --log-probs. Of error rates the lowest expected one is chosen.
"""


def add_source(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of commands on several texts for each segment."""
    parser.add_argument("file", metavar="CANDIDATES", help="rows or text ('-': text of stdin)")
    parser.add_argument("--column", metavar="COLUMN", help="texts in rows (default: candidates)")
    parser.add_argument("--lines", type=int, metavar="N", help="lines of each segment in text")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_source(parser)
    parser.add_argument("-m", "--metric", default="chrf", metavar="METRIC", help="(default: chrf)")
    parser.add_argument("--references", metavar="FILE", help="pool of pseudo-references")
    parser.add_argument(
        "--reference-lines", type=int, metavar="N", help="lines of each segment in that pool"
    )
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--weights", metavar="COLUMN", help="weights of the pseudo-references")
    group.add_argument("--log-probs", metavar="COLUMN", help="their log-probabilities")
    parser.add_argument("--nbest", type=int, default=1, metavar="N", help="(default 1)")
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="('-': stdout)")
    arguments.add_format(parser, ("text", "jsonl"))
    arguments.add_parsing(parser)


def columns(args: argparse.Namespace, *more: str) -> tuple[str, ...]:
    """Return the columns of rows that may have the texts."""
    return (args.column,) if args.column else (*more, "candidates")


def check_lines(args: argparse.Namespace) -> None:
    """Raise unless numbers of lines are from 1 on."""
    for option in ("lines", "reference_lines"):
        number = getattr(args, option, None)
        if number is not None and number < 1:
            flag = option.replace("_", "-")
            raise TensorMTError(f"--{flag} {number}: expected an integer from 1")


def run(args: argparse.Namespace) -> int:
    """Rerank the candidates and print the best ones."""
    check_lines(args)
    if args.nbest < 1:
        raise TensorMTError(f"--nbest {args.nbest}: expected an integer from 1")
    from tensormt.data.nbest_lists import read_text_lists

    numbers, pool = args.weights or args.log_probs, None
    with loading("metrics", quiet=args.quiet):
        from tensormt.nbest import rerank
        from tensormt.nbest.reranking import single_metric

        device = arguments.choose_device(args.device)
        single_metric(args.metric, arguments.tree_options(args), device, args.lang)
    own = None if args.references else numbers
    found = read_text_lists(args.file, columns(args), size=args.lines, numbers=own)
    weights = found.numbers
    if args.references:
        names = columns(args, "references")
        pool = read_text_lists(args.references, names, size=args.reference_lines, numbers=numbers)
        weights = pool.numbers
    inputs = [name for name in (args.file, args.references) if name and name != "-"]
    with open_output(args.output, inputs) as out:
        with Progress(len(found.texts), "rerank", quiet=args.quiet) as bar:
            ranked = rerank(
                found.texts,
                args.metric,
                None if pool is None else pool.texts,
                arguments.tree_options(args),
                device,
                lang=args.lang,
                weights=weights if args.weights else None,
                log_probabilities=weights if args.log_probs else None,
                progress=bar,
            )
        out.write(_written(args, ranked).encode())
    for read in (found, pool):
        if read is not None:
            read.warn()
    return 0


def _written(args: argparse.Namespace, ranked: Reranked) -> str:
    """The best candidates, as text or as rows."""
    lines = []
    rows = zip(ranked.texts, ranked.indices, ranked.scores, strict=True)
    for number, (texts, indices, scores) in enumerate(rows, 1):
        best = texts[: args.nbest]
        if args.format == "jsonl":
            row = {"segment": number, "candidates": best}
            row |= {"indices": indices[: args.nbest], "scores": scores[: args.nbest]}
            lines.append(json_text(row, None))
            continue
        if any("\n" in text or "\r" in text for text in best):
            raise TensorMTError(
                f"segment {number}: the candidate has several lines, which text cannot hold: use "
                "-f jsonl"
            )
        lines += [*best, *([""] if args.nbest > 1 else [])]
    return "".join(f"{line}\n" for line in lines)
