"""`tensormt metaeval`: correlation of metrics with human scores of JSONL or score files."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tensormt.command import arguments, judged
from tensormt.errors import TensorMTError

if TYPE_CHECKING:  # torch takes a second to import: only a command that runs needs it
    from tensormt.evaluator import Evaluator
    from tensormt.metaeval.config import Config, PairwiseTest, Row
    from tensormt.metaeval.judged_sets import JudgedSet
    from tensormt.metaeval.wmt_tables import WMTTable

DESCRIPTION = "Correlate metrics with human scores."
EXAMPLES = """
examples:
  tensormt metaeval DATA.jsonl -m bleu stm hwcm --human fluency
  tensormt metaeval DATA.jsonl -m bleu hwcm stm dstm tkm --orders 1 2 3 4 --statistic pearson
  tensormt metaeval DATA.jsonl -m bleu stm:max_depth=4,balance=f1 --bootstrap 1000 --test
  tensormt metaeval DATA.jsonl --statistic tau_wmt10 --grouping pooled --least-gap 25
  tensormt metaeval en-de.mqm.seg.score --scores BLEU.seg.score COMET.seg.score --docs en-de.docs
  tensormt metaeval mt-metrics-eval-v2/wmt23 --lp zh-en he-en en-de -m bleu chrf --table wmt24
  tensormt metaeval DATA.jsonl -m bleu chrf blend --report page.html

DATA.jsonl has one segment a line:
  {"doc": ..., "refs": [...], "sys": {NAME: {"hyp": ..., "scores": {"fluency": ...}}}}
A folder is a test set in the layout of mt-metrics-eval (documents, references, system-outputs,
human-scores, metric-scores).
"""
# Names of the library, repeated so that --help does not import torch; a test compares them.
LEVELS = ("segment", "document", "system", "mean")
STATISTICS = ("pearson", "spearman", "tau_a", "tau_b", "tau_c", "tau_wmt10", "tau_wmt13",
              "tau_wmt14", "accuracy", "accuracy_ties", "spa")  # fmt: skip
GROUPINGS = ("segment", "system", "pooled", "none")
UNITS = ("both", "systems", "segments", "pairs")
TABLES = ("wmt22", "wmt23", "wmt24")
# Parsers that take the language of the text from the language pair.
_PARSERS_OF_LANGUAGES = ("default", "english-large", "english-small", "ud")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    judged.add_data_options(parser)
    add = parser.add_argument
    add("--orders", type=int, nargs="+", default=[], metavar="N",
        help="orders, depths or lengths of every metric that has one")  # fmt: skip
    add("--scores", nargs="+", default=[], metavar="[NAME=]FILE",
        help="metric scores in mt-metrics-eval's format; DATA is then human scores. NAME=FILE: "
        "scores of another metric for the outputs in DATA.jsonl")  # fmt: skip
    add("--lower-is-better", nargs="+", default=[], metavar="NAME",
        help="which --scores, or stored metrics of a folder, are error rates")  # fmt: skip
    add("--docs", metavar="FILE", help="document of every segment, for --scores")
    folder = parser.add_argument_group("folders of mt-metrics-eval")
    folder.add_argument("--lp", nargs="+", default=[], metavar="LP", help="language pairs")
    folder.add_argument("--references", nargs="+", default=[], metavar="[LP=]NAME[,NAME]",
                        help="references to use, of all pairs or of one, as in he-en=refA "
                        "(default: the one that WMT used)")  # fmt: skip
    folder.add_argument("--stored", nargs="+", metavar="METRIC",
                        help="stored metrics to use, or 'none' (default: all)")  # fmt: skip
    folder.add_argument("--human-outputs", action="store_true",
                        help="compare human outputs like those of systems "
                        "(default: leave them out)")  # fmt: skip
    folder.add_argument("--write-scores", metavar="FOLDER",
                        help="write computed scores as NAME-REF.seg.score, .sys.score")  # fmt: skip
    add("--level", nargs="+", default=["segment", "system"], choices=LEVELS,
        help="system: corpus scores; mean: means of segment scores")  # fmt: skip
    add("--statistic", nargs="+", default=["pearson", "spearman", "tau_b"], choices=STATISTICS)
    add("--grouping", default="segment", choices=GROUPINGS,
        help="items compared with each other below system level: the outputs of a segment (as WMT "
        "does), of a system, of a segment with all pairs pooled (WMT's taus), or all of them "
        "(none); default: segment")  # fmt: skip
    add("--least-gap", type=float, default=0.0, metavar="X",
        help="leave out pairs whose human scores differ by less (DARR: 25)")  # fmt: skip
    add("--bootstrap", type=int, default=0, metavar="N",
        help="number of resamples for confidence intervals (0: none)")  # fmt: skip
    add("--draw", nargs="+", default=["segments"], choices=["segments", "systems"],
        help="what the bootstrap resamples")  # fmt: skip
    add("--confidence", type=float, default=0.95)
    add("--fisher", action="store_true", help="analytic p-values and intervals of correlations")
    add("--test", nargs="?", const="permutation", choices=["permutation", "williams"],
        help="test the difference of every pair of metrics")  # fmt: skip
    add("--units", choices=UNITS, help="what the test swaps between two metrics")
    add("--permutations", type=int, default=1000, metavar="N", help="permutations of the test")
    add("--one-sided", action="store_true", help="test whether the first metric is better")
    add("--correction", default="none", choices=["none", "holm", "bh"],
        help="correct p-values for the number of pairs: Holm, Benjamini–Hochberg")  # fmt: skip
    add("--table", choices=TABLES, help="the table of a WMT metrics task, with clusters")
    add("--no-clusters", action="store_true",
        help="a table of values alone, without tests of metrics")  # fmt: skip
    add("--spa-permutations", type=int, default=1000, metavar="N",
        help="sign changes of soft pairwise accuracy (0: normal approximation)")  # fmt: skip
    add("--plots", metavar="FOLDER", help="write plots of metrics and human scores there")
    add("--report", metavar="FILE", help="write an HTML page with tables and charts there")
    add("--seed", type=int, default=12345)
    arguments.add_format(parser)


def run(args: argparse.Namespace) -> int:
    """Print the correlation of every metric with every human score."""
    from tensormt.metaeval.config import check_config, check_test
    from tensormt.metaeval.runner import meta_evaluate, pairwise_tests
    from tensormt.metaeval.wmt_tables import make_table

    if args.plots:
        from tensormt.figures import check_matplotlib

        check_matplotlib()
    if args.report:
        from tensormt.data.atomic_write import output_path

        named = [*args.data, *arguments.score_files(args.scores), *filter(None, (args.docs,))]
        output_path(args.report, named)
    config = _config(args)
    check_config(replace(config, levels=(), statistics=()) if args.table else config)
    if args.test and not args.table:
        check_test(config)
    sets = _test_sets(args)
    if args.table:
        judged_pairs = [parts[0] for parts in sets]
        table = make_table(judged_pairs, args.table, config, clustered=not args.no_clusters)
        if args.plots:
            _plot(args, sets, table)
        _write_page(args, sets, config, [], table)
        print(_render_table(args, table, judged_pairs))
        return 0
    rows: list[Row] = []
    tests: list[PairwiseTest] = []
    for parts in sets:
        rows += meta_evaluate(parts, config)
        tests += pairwise_tests(parts, config) if args.test else []
    if args.plots:
        _plot(args, sets, None)
    _write_page(args, sets, config, rows, None)
    print(_render(args, rows, tests, [own for parts in sets for own in parts]))
    return 0


def _test_sets(args: argparse.Namespace) -> list[list[JudgedSet]]:
    """Return for each language pair (or the one test set) one judged set per human score."""
    from tensormt.metaeval import judged_sets
    from tensormt.metaeval.scores import evaluate_metrics
    from tensormt.metaeval.sweep import sweep
    from tensormt.metaeval.wmt_sets import judged_sets_from_folder

    if args.table and len(args.human or ()) > 1:
        raise TensorMTError(f"--table takes one human score, got {' '.join(args.human)}")
    folder, named = Path(args.data[0]).is_dir(), any("=" in item for item in args.scores)
    if folder and named:
        raise TensorMTError("a folder has its own metric scores: put the file into metric-scores")
    if named and str(args.data[0]).endswith(".score"):
        raise TensorMTError(
            f"{args.data[0]} holds scores, not texts: name the files of --scores alone, without "
            "NAME="
        )
    if folder or (args.scores and not named):
        what = "--scores goes with one file of human scores" if args.scores else "name one folder"
        if len(args.data) != 1:
            raise TensorMTError(f"{what}, got {len(args.data)}: {' '.join(args.data)}")
    if args.scores and not named:
        if args.metrics != judged.DEFAULT_METRICS:
            raise TensorMTError(
                f"-m {' '.join(args.metrics)}: score files have no texts; pass DATA.jsonl, and "
                "--scores NAME=FILE for other scores"
            )
        return [
            judged_sets.judged_sets_from_score_files(
                args.data[0], args.scores, args.docs, args.lower_is_better
            )
        ]
    if folder and (args.min_references != 1 or args.max_references is not None):
        raise TensorMTError("a folder names its references: choose them with --references")
    if not folder and (args.lp or args.references or args.stored):
        raise TensorMTError("--lp, --references and --stored are for a folder of mt-metrics-eval")
    metrics, selection = sweep(args.metrics, args.orders, args.lang), judged.selection(args)
    progress = arguments.ParseProgress()
    if folder:

        def evaluator_for(language: str) -> Evaluator:
            # a parser of one language knows it, and --lang is for all language pairs
            lang = args.lang or (language if args.parser in _PARSERS_OF_LANGUAGES else None)
            own = argparse.Namespace(**{**vars(args), "lang": lang})
            metrics = sweep(args.metrics, args.orders, lang)
            return arguments.make_evaluator(own, metrics, progress=progress)

        with judged.ParsingBar(args, progress):
            return judged_sets_from_folder(
                args.data[0],
                evaluator_for,
                selection,
                pairs=list(dict.fromkeys(args.lp)),
                references=_references(args.references),
                stored=args.stored,
                lower_is_better=args.lower_is_better,
                human_outputs=args.human_outputs,
                write_to=args.write_scores,
                for_table=bool(args.table),
            )
    from tensormt.data.human_scores import read_jsonl

    if not args.trees:
        evaluator = arguments.make_evaluator(args, metrics, progress=progress)
    whole = read_jsonl(*args.data)
    stored = arguments.stored_scores(args, {name: name for name in whole.systems}, len(whole))
    segments = selection.select(whole)
    if args.trees:
        trees = judged.trees_for(args, segments)
        evaluator = arguments.make_evaluator(args, metrics, trees)
    if stored:
        evaluator = evaluator.with_metrics({**evaluator.metrics, **stored})
    judged.check_sources(evaluator, segments)
    selection.human_tables(segments)  # unknown names are an error before anything is scored
    with judged.ParsingBar(args, progress):
        scores = evaluate_metrics(evaluator, segments)
    return [
        judged_sets.judged_sets_from_segments(Path(args.data[0]).name, segments, scores, selection)
    ]


def _references(items: list[str]) -> dict[str, list[str]]:
    """Return the references by language pair; those of "" are for all other pairs."""
    found: dict[str, list[str]] = {}
    for item in items:
        pair, equals, names = item.rpartition("=")
        if not names.strip(",") or (equals and not pair):
            raise TensorMTError(f"--references {item!r}: expected NAME or LP=NAME,NAME")
        found.setdefault(pair, []).extend(name for name in names.split(",") if name)
    return found


def _config(args: argparse.Namespace) -> Config:
    from tensormt.metaeval.config import Config

    return Config(
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


def _plot(args: argparse.Namespace, sets: list[list[JudgedSet]], table: WMTTable | None) -> None:
    from tensormt.metaeval.plots import save_plots

    save_plots([own for parts in sets for own in parts], table, Path(args.plots))


def _write_page(
    args: argparse.Namespace,
    sets: list[list[JudgedSet]],
    config: Config,
    rows: list[Row],
    table: WMTTable | None,
) -> None:
    """Write the page of --report, if it was asked for."""
    if args.report:
        from tensormt.reporting.metaeval_page import write_metaeval_page

        title = f"tensormt metaeval: {', '.join(Path(path).name for path in args.data)}"
        own = [judged for parts in sets for judged in parts]
        path = write_metaeval_page(args.report, own, config, rows, table, title)
        print(f"{path}: {path.stat().st_size:,} bytes", file=sys.stderr)


def _render(
    args: argparse.Namespace, rows: list[Row], tests: list[PairwiseTest], sets: list[JudgedSet]
) -> str:
    from tensormt.data.tables import json_text
    from tensormt.metaeval import format

    notes = format.set_notes(sets)
    if args.format == "json":
        found = {"rows": [asdict(row) for row in rows], "tests": [asdict(test) for test in tests]}
        return json_text(found | {"sets": format.sets_json(sets)})
    if args.format != "text":
        _print_notes(notes)
        whole = [[asdict(row) for row in rows], [asdict(test) for test in tests]]
        return "\n\n".join(_cells(table, args.format) for table in whole if table)
    parts = [(format.tables_by_order if args.orders else format.tables_by_metric)(rows)]
    parts += [format.format_pairwise_tests(tests)] if tests else []
    return "\n\n".join([*parts, *(["\n".join(notes)] if notes else [])])


def _render_table(args: argparse.Namespace, table: WMTTable, sets: list[JudgedSet]) -> str:
    from tensormt.data.tables import format_table, json_text
    from tensormt.metaeval import format

    if args.format == "json":
        return json_text(format.wmt_table_json(table) | {"sets": format.sets_json(sets)})
    text = format_table(format.wmt_table_rows(table), args.format)
    notes = format.set_notes(sets)
    if table.partial:
        notes.append(f"Left out, not in every language pair: {', '.join(table.partial)}.")
    if args.format != "text":
        _print_notes(notes)
        return text
    human = ", ".join(dict.fromkeys(own.human_name for own in sets))
    units = "pairs" if args.units == "pairs" else "segments"
    caption = f"{args.table} with {human}"
    if table.clustered:
        caption += (
            ": cluster and value; clusters at p ≤ .05, one-sided,"
            f" up to {args.permutations} permutations (of {units} in acc_eq), seed {args.seed}"
        )
    return "\n".join([text, "", caption, *notes])


def _print_notes(notes: list[str]) -> None:
    """Print on standard error what a table in another format has no place for."""
    for note in notes:
        arguments.print_message(note)


def _cells(rows: list[dict[str, str | float | None]], form: str) -> str:
    """A table of rows: TSV of everything, or LaTeX of what is not empty, without signatures."""
    from tensormt.data.tables import latex, tsv
    from tensormt.metaeval.format import format_number

    if form == "tsv":
        return tsv([list(rows[0]), *([_text(value) for value in row.values()] for row in rows)])
    names = [name for name in rows[0] if name != "signature" and any(_text(r[name]) for r in rows)]
    cells = [
        [format_number(v) if isinstance(v, float) else _text(v) for v in map(row.get, names)]
        for row in rows
    ]
    return latex([names, *cells])


def _text(value: str | float | None) -> str:
    return "" if value is None or value != value else str(value)
