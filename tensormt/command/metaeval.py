"""`tensormt metaeval`: how well metrics agree with people, on a JSONL or on score files."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tensormt.command import options
from tensormt.command.progress import Progress
from tensormt.data.judged import TestSet, align_scores, read_documents, read_jsonl
from tensormt.data.tables import tsv
from tensormt.errors import TensorMTError
from tensormt.metaeval import layout
from tensormt.metaeval.levels import GROUPINGS, STATISTICS
from tensormt.metaeval.scores import LEVELS, Scores, collect_texts, score_metric
from tensormt.metaeval.study import Contest, Plan, Row, contests, measure
from tensormt.metaeval.sweep import sweep
from tensormt.metric import Metric
from tensormt.reading import Trees
from tensormt.texts import Texts

EXAMPLES = """
examples:
  tensormt metaeval DATA.jsonl -m bleu stm hwcm --human fluency
  tensormt metaeval DATA.jsonl -m bleu hwcm stm dstm tkm --orders 1 2 3 4 --statistic pearson
  tensormt metaeval DATA.jsonl -m bleu stm:max_depth=4,balance=f1 --bootstrap 1000 --test
  tensormt metaeval en-de.mqm.seg.score --scores BLEU.seg.score COMET.seg.score --docs en-de.docs

DATA.jsonl has one segment a line:
  {"doc": ..., "refs": [...], "sys": {NAME: {"hyp": ..., "scores": {"fluency": ...}}}}
"""


def add(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "metaeval",
        help="correlation of metrics with human scores",
        description="How well metrics agree with people.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_data_options(parser)
    parser.add_argument(
        "--orders",
        type=int,
        nargs="+",
        default=[],
        metavar="N",
        help="orders, depths or lengths to try for every metric that has one",
    )
    parser.add_argument(
        "--scores",
        nargs="+",
        default=[],
        metavar="FILE",
        help="metric scores in mt-metrics-eval's form; DATA is then human scores",
    )
    parser.add_argument("--docs", metavar="FILE", help="document of every segment, for --scores")
    parser.add_argument("--level", nargs="+", default=["segment", "system"], choices=LEVELS)
    parser.add_argument(
        "--statistic", nargs="+", default=["pearson", "spearman", "tau_b"], choices=list(STATISTICS)
    )
    parser.add_argument(
        "--grouping",
        default="none",
        choices=GROUPINGS,
        help="items compared with each other below system level",
    )
    parser.add_argument(
        "--bootstrap",
        type=int,
        default=0,
        metavar="N",
        help="draws for confidence intervals (0: none)",
    )
    parser.add_argument("--confidence", type=float, default=0.95)
    parser.add_argument(
        "--test",
        action="store_true",
        help="permutation test of the difference of every pair of metrics",
    )
    parser.add_argument(
        "--units",
        default="both",
        choices=["both", "systems", "segments"],
        help="what the test exchanges between two metrics",
    )
    parser.add_argument("--seed", type=int, default=12345)
    parser.add_argument("-f", "--format", default="text", choices=["text", "json", "tsv"])
    parser.set_defaults(run=run)


def add_data_options(parser: argparse.ArgumentParser) -> None:
    """Add what every command on human-judged sets takes."""
    parser.add_argument("data", nargs="+", metavar="DATA.jsonl")
    options.add_metrics(parser, ["bleu"])
    parser.add_argument(
        "--human",
        nargs="+",
        metavar="SCORE",
        help="human scores to compare with (default: all but counts n_*)",
    )
    parser.add_argument(
        "--min-references",
        type=int,
        default=1,
        metavar="N",
        help="leave out segments with fewer references",
    )
    parser.add_argument(
        "--max-references",
        type=int,
        metavar="N",
        help="use only the first N references of a segment",
    )
    parser.add_argument(
        "--without", nargs="+", default=[], metavar="SYSTEM", help="systems to leave out"
    )
    options.add_parsing(parser)


def read_data(args: argparse.Namespace) -> TestSet:
    """Read and narrow the test set of the arguments."""
    return read_jsonl(*args.data).select(
        least_references=args.min_references,
        most_references=args.max_references,
        without=args.without,
    )


def human_tables(args: argparse.Namespace, test: TestSet) -> dict[str, Tensor]:
    """Return the human scores asked for, or all that are not counts of raters."""
    names = args.human or [name for name in test.human if not name.startswith("n_")]
    if not names:
        raise TensorMTError(f"{args.data[0]}: no human scores, nothing to compare with")
    return {name: test.scores(name) for name in names}


def prepare(args: argparse.Namespace, test: TestSet, metrics: Sequence[Metric[Any]]) -> Texts:
    """The texts of a test set, parsed with a bar where one of the metrics reads trees."""
    trees = options.trees_for(args, metrics)
    texts = collect_texts(test, trees, options.choose_device(args.device))
    if trees is not None:
        with Progress(None, "parse", "texts", quiet=args.quiet) as trees.progress:
            texts.read(Trees())
    return texts


def run(args: argparse.Namespace) -> int:
    """Print the agreement of every metric with every human score."""
    human, metrics, documents = _from_files(args) if args.scores else _from_texts(args)
    plan = Plan(
        tuple(args.level),
        tuple(args.statistic),
        args.grouping,
        args.bootstrap,
        args.confidence,
        args.units,
        args.seed,
    )
    rows = measure(human, metrics, plan, documents)
    tests = contests(human, metrics, plan, documents) if args.test else []
    print(_render(args, rows, tests))
    return 0


def _from_texts(
    args: argparse.Namespace,
) -> tuple[dict[str, Tensor], list[Scores], tuple[Tensor, int]]:
    test = read_data(args)
    named = sweep(args.metrics, args.orders)
    texts = prepare(args, test, [metric for _, metric in named])
    metrics = [score_metric(metric, name, test, texts) for name, metric in named]
    numbers, names = test.document_numbers()
    return human_tables(args, test), metrics, (numbers, len(names))


def _from_files(
    args: argparse.Namespace,
) -> tuple[dict[str, Tensor], list[Scores], tuple[Tensor, int]]:
    if len(args.data) != 1:
        raise TensorMTError(f"--scores goes with one file of human scores, got {len(args.data)}")
    _, (human, *tables) = align_scores([args.data[0], *args.scores])
    names = [Path(path).name.removesuffix(".score").rsplit(".", 1)[0] for path in args.scores]
    metrics = [Scores(name, name, table) for name, table in zip(names, tables, strict=True)]
    documents = [str(i) for i in range(human.shape[1])]
    if args.docs:
        documents = read_documents(args.docs)
        if len(documents) != human.shape[1]:
            raise TensorMTError(
                f"{args.docs} has {len(documents)} lines, {args.data[0]} has {human.shape[1]}"
                " scores a system: they must align"
            )
    numbers = {name: k for k, name in enumerate(dict.fromkeys(documents))}
    index = torch.tensor([numbers[name] for name in documents], dtype=torch.int64)
    return {Path(args.data[0]).name: human}, metrics, (index, len(numbers))


def _render(args: argparse.Namespace, rows: list[Row], tests: list[Contest]) -> str:
    if args.format == "json":
        found = {"rows": [asdict(row) for row in rows], "tests": [asdict(test) for test in tests]}
        return json.dumps(found, indent=1)
    if args.format == "tsv":
        cells = [[_text(value) for value in asdict(row).values()] for row in rows]
        return tsv([list(asdict(rows[0])), *cells])
    text = (layout.by_order if args.orders else layout.by_metric)(rows)
    return "\n\n".join([text, layout.of_contests(tests)]) if tests else text


def _text(value: str | float | None) -> str:
    return "" if value is None else str(value)
