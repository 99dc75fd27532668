"""`tensormt metaeval`: how well metrics agree with people, on a JSONL, score files or folders."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tensormt.command import options
from tensormt.command.progress import Progress
from tensormt.errors import TensorMTError

if TYPE_CHECKING:  # torch takes a second to import: only a command that runs needs it
    from torch import Tensor

    from tensormt.data.judged import TestSet
    from tensormt.metaeval.scores import Scores
    from tensormt.metaeval.study import Contest, Plan, Row
    from tensormt.metaeval.tasks import Judged, Table
    from tensormt.metric import Metric
    from tensormt.texts import Texts

EXAMPLES = """
examples:
  tensormt metaeval DATA.jsonl -m bleu stm hwcm --human fluency
  tensormt metaeval DATA.jsonl -m bleu hwcm stm dstm tkm --orders 1 2 3 4 --statistic pearson
  tensormt metaeval DATA.jsonl -m bleu stm:max_depth=4,balance=f1 --bootstrap 1000 --test
  tensormt metaeval DATA.jsonl --statistic tau_wmt10 --grouping pooled --least-gap 25
  tensormt metaeval en-de.mqm.seg.score --scores BLEU.seg.score COMET.seg.score --docs en-de.docs
  tensormt metaeval mt-metrics-eval-v2/wmt23 --lp zh-en en-de -m bleu chrf --human mqm --table wmt24

DATA.jsonl has one segment a line:
  {"doc": ..., "refs": [...], "sys": {NAME: {"hyp": ..., "scores": {"fluency": ...}}}}
A folder is a test set in mt-metrics-eval's layout (documents, references, system-outputs,
human-scores, metric-scores).
"""
# The library's names, written again so that --help need not import torch; a test compares them.
LEVELS = ("segment", "document", "system", "mean")
STATISTICS = ("pearson", "spearman", "tau_a", "tau_b", "tau_c", "tau_wmt10", "tau_wmt13",
              "tau_wmt14", "accuracy", "accuracy_ties", "spa")  # fmt: skip
GROUPINGS = ("segment", "system", "pooled", "none")
UNITS = ("both", "systems", "segments", "pairs")
TABLES = ("wmt22", "wmt23", "wmt24")


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "metaeval",
        help="correlation of metrics with human scores",
        description="How well metrics agree with people.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_data_options(parser)
    add = parser.add_argument
    add("--orders", type=int, nargs="+", default=[], metavar="N",
        help="orders, depths or lengths to try for every metric that has one")  # fmt: skip
    add("--scores", nargs="+", default=[], metavar="FILE",
        help="metric scores in mt-metrics-eval's form; DATA is then human scores")  # fmt: skip
    add("--docs", metavar="FILE", help="document of every segment, for --scores")
    folder = parser.add_argument_group("folders of mt-metrics-eval")
    folder.add_argument("--lp", nargs="+", default=[], metavar="LP", help="language pairs")
    folder.add_argument("--references", nargs="+", default=[], metavar="NAME",
                        help="references to use (default: the first by name)")  # fmt: skip
    folder.add_argument("--stored", nargs="+", metavar="METRIC",
                        help="of the metrics in metric-scores only these; 'none'")  # fmt: skip
    folder.add_argument("--write-scores", metavar="FOLDER",
                        help="write our scores as NAME-REF.seg.score and .sys.score")  # fmt: skip
    add("--level", nargs="+", default=["segment", "system"], choices=LEVELS,
        help="system: corpus scores; mean: means of segment scores")  # fmt: skip
    add("--statistic", nargs="+", default=["pearson", "spearman", "tau_b"], choices=STATISTICS)
    add("--grouping", default="none", choices=GROUPINGS,
        help="items compared with each other below system level; pooled: WMT's taus")  # fmt: skip
    add("--least-gap", type=float, default=0.0, metavar="X",
        help="pairs that people set apart by less do not count (DARR: 25)")  # fmt: skip
    add("--bootstrap", type=int, default=0, metavar="N",
        help="draws for confidence intervals (0: none)")  # fmt: skip
    add("--draw", nargs="+", default=["segments"], choices=["segments", "systems"],
        help="what the bootstrap draws")  # fmt: skip
    add("--confidence", type=float, default=0.95)
    add("--fisher", action="store_true", help="p-values and intervals of correlations from theory")
    add("--test", nargs="?", const="permutation", choices=["permutation", "williams"],
        help="test the difference of every pair of metrics")  # fmt: skip
    add("--units", choices=UNITS, help="what the test exchanges between two metrics")
    add("--permutations", type=int, default=1000, metavar="N", help="exchanges of the test")
    add("--one-sided", action="store_true", help="p that the first metric is better")
    add("--correction", default="none", choices=["none", "holm", "bh"],
        help="of p-values for the number of pairs: Holm, Benjamini–Hochberg")  # fmt: skip
    add("--table", choices=TABLES, help="the table of a WMT metrics task, with clusters")
    add("--spa-permutations", type=int, default=1000, metavar="N",
        help="sign changes behind soft pairwise accuracy (0: normal limit)")  # fmt: skip
    add("--plots", metavar="FOLDER", help="draw metrics against people and each other")
    add("--seed", type=int, default=12345)
    add("-f", "--format", default="text", choices=["text", "json", "tsv", "latex"])
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
    from tensormt.data.judged import read_jsonl

    return _narrow(args, read_jsonl(*args.data))


def _narrow(args: argparse.Namespace, test: TestSet) -> TestSet:
    return test.select(
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
    from tensormt.metaeval.scores import collect_texts
    from tensormt.reading import Trees

    trees = options.trees_for(args, metrics)
    texts = collect_texts(test, trees, options.choose_device(args.device))
    if trees is not None:
        with Progress(None, "parse", "texts", quiet=args.quiet) as trees.progress:
            texts.read(Trees())
    return texts


def run(args: argparse.Namespace) -> int:
    """Print the agreement of every metric with every human score."""
    from tensormt.metaeval.study import contests, measure
    from tensormt.metaeval.tasks import make_table

    plan = _plan(args)
    sets = _sets(args)
    if args.table:
        table = make_table([judged[0] for judged in sets], args.table, plan)
        if args.plots:
            _draw(args, sets, table)
        print(_render_table(args, table, [judged[0] for judged in sets]))
        return 0
    rows: list[Row] = []
    tests: list[Contest] = []
    for parts in sets:
        human = {judged.human_name: judged.human for judged in parts}
        metrics, documents = parts[0].metrics, parts[0].documents
        rows += measure(human, metrics, plan, documents)
        tests += contests(human, metrics, plan, documents) if args.test else []
    if args.plots:
        _draw(args, sets, None)
    print(_render(args, rows, tests))
    return 0


def _plan(args: argparse.Namespace) -> Plan:
    from tensormt.metaeval.study import Plan

    return Plan(
        levels=tuple(args.level),
        statistics=tuple(args.statistic),
        grouping=args.grouping,
        least_gap=args.least_gap,
        resamples=args.bootstrap,
        confidence=args.confidence,
        draw=tuple(args.draw),
        fisher=args.fisher,
        test=args.test or "permutation",
        permutations=args.permutations,
        units=args.units,
        two_sided=not args.one_sided,
        correction=args.correction,
        spa_permutations=args.spa_permutations,
        seed=args.seed,
    )


def _sets(args: argparse.Namespace) -> list[list[Judged]]:
    """The language pairs (or the one test set), each once for every human score."""
    if args.permutations < 1:
        raise TensorMTError(f"--permutations {args.permutations}: expected at least 1")
    if args.scores:
        return [_from_files(args)]
    if Path(args.data[0]).is_dir():
        return _from_folder(args)
    test = read_data(args)
    return [_judged(args, Path(args.data[0]).name, test, _score(args, test))]


def _judged(
    args: argparse.Namespace, name: str, test: TestSet, metrics: list[Scores], prefix: str = ""
) -> list[Judged]:
    from tensormt.metaeval.tasks import Judged

    numbers, names = test.document_numbers()
    return [
        Judged(name, prefix + score, table, metrics, (numbers, len(names)), test.systems)
        for score, table in human_tables(args, test).items()
    ]


def _score(args: argparse.Namespace, test: TestSet) -> list[Scores]:
    from tensormt.metaeval.scores import score_metric
    from tensormt.metaeval.sweep import sweep

    named = sweep(args.metrics, args.orders)
    texts = prepare(args, test, [metric for _, metric in named])
    return [score_metric(metric, name, test, texts) for name, metric in named]


def _from_folder(args: argparse.Namespace) -> list[list[Judged]]:
    from tensormt.data.wmt import language_pairs, read_folder, write_scores
    from tensormt.metaeval.scores import Scores

    if len(args.data) != 1:
        raise TensorMTError(f"{args.data[0]} is a folder: name one folder, got {len(args.data)}")
    if args.min_references != 1 or args.max_references is not None:
        raise TensorMTError("a folder names its references: choose them with --references")
    folder = args.data[0]
    pairs = args.lp or language_pairs(folder)
    found = []
    for pair in pairs:
        read = read_folder(folder, pair, args.references, args.stored != ["none"])
        rows = [k for k, name in enumerate(read.test.systems) if name not in args.without]
        test = _narrow(args, read.test)
        metrics = _score(args, test)
        if args.write_scores:
            target = Path(args.write_scores) / pair if len(pairs) > 1 else args.write_scores
            for own in metrics:
                tables = {"seg": own.segments, "sys": own.systems()[:, None]}
                for level, table in tables.items():
                    by_system = dict(zip(test.systems, table.tolist(), strict=True))
                    write_scores(target, own.name, read.references, by_system, level)
        for name in set(args.stored or ()) - set(read.stored) - {"none"}:
            raise TensorMTError(
                f"{folder} has no scores of {name!r} for {pair}: {', '.join(read.stored) or 'none'}"
            )
        metrics += [
            Scores(name, name, table[rows])
            for name, table in read.stored.items()
            if args.stored is None or name in args.stored
        ]
        prefix = f"{pair}, " if len(pairs) > 1 and not args.table else ""
        found.append(_judged(args, pair, test, metrics, prefix))
    return found


def _from_files(args: argparse.Namespace) -> list[Judged]:
    import torch

    from tensormt.data.judged import align_scores, read_documents
    from tensormt.metaeval.scores import Scores
    from tensormt.metaeval.tasks import Judged

    if len(args.data) != 1:
        raise TensorMTError(f"--scores goes with one file of human scores, got {len(args.data)}")
    systems, (human, *tables) = align_scores([args.data[0], *args.scores])
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
    name = Path(args.data[0]).name
    return [Judged(name, name, human, metrics, (index, len(numbers)), systems)]


def _draw(args: argparse.Namespace, sets: list[list[Judged]], table: Table | None) -> None:
    from tensormt.metaeval.plots import save_plots

    save_plots([judged for parts in sets for judged in parts], table, Path(args.plots))


def _render(args: argparse.Namespace, rows: list[Row], tests: list[Contest]) -> str:
    from tensormt.data.tables import latex, tsv
    from tensormt.metaeval import layout

    if args.format == "json":
        found = {"rows": [asdict(row) for row in rows], "tests": [asdict(test) for test in tests]}
        return json.dumps(layout.without_nan(found), indent=1)
    if args.format != "text":
        cells = [[_text(value) for value in asdict(row).values()] for row in rows]
        return (tsv if args.format == "tsv" else latex)([list(asdict(rows[0])), *cells])
    text = (layout.by_order if args.orders else layout.by_metric)(rows)
    return "\n\n".join([text, layout.of_contests(tests)]) if tests else text


def _render_table(args: argparse.Namespace, table: Table, sets: list[Judged]) -> str:
    from tensormt.data.tables import formatted
    from tensormt.metaeval import layout

    if args.format == "json":
        return json.dumps(layout.without_nan(layout.table_facts(table)), indent=1)
    text = formatted(layout.of_table(table), args.format)
    if args.format != "text":
        return text
    human = ", ".join(dict.fromkeys(judged.human_name for judged in sets))
    units = "pairs" if args.units == "pairs" else "segments"
    return (
        f"{text}\n\n{args.table} with {human}: cluster and value; clusters at p ≤ .05, one-sided,"
        f" {args.permutations} exchanges (of {units} in acc_eq), seed {args.seed}"
    )


def _text(value: str | float | None) -> str:
    return "" if value is None or value != value else str(value)
