"""`tensormt qarla`: combine metrics by QUEEN, evaluate them by KING, and the peers by JACK."""

import argparse
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from tensormt.command import arguments, judged
from tensormt.data.human_scores import read_jsonl
from tensormt.data.tables import format_table, json_text
from tensormt.errors import TensorMTError
from tensormt.kernels.queen_counts import TRIPLES
from tensormt.metaeval.format import format_number
from tensormt.qarla.from_texts import (
    PAPER_MEASURES,
    check_measures,
    is_paper_measure,
    similarity_tensors_from_segments,
)
from tensormt.qarla.summary import Summary, SummaryOptions, check_request, summarize

DESCRIPTION = "QARLA (Amigó et al. 2005): metrics combined without weights, and evaluated."
EXAMPLES = f"""
examples:
  tensormt qarla DATA.jsonl -m rouge1-content-stem vector vector-8 bleu stm --human fluency
  tensormt qarla DATA.jsonl -m rouge1 vector bleu --subset extractive=Lead-3,NEUSUM --plots FIGURES
  tensormt qarla DATA.jsonl -m rouge1 bleu --min-references 5 --max-references 10 -f json

The references of a segment are its models, the systems its peers. Metrics are those of
`tensormt list`, with options as in stm:max_depth=4,balance=f1, and those of the paper:
  {", ".join(PAPER_MEASURES)}
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    judged.add_data_options(parser)
    parser.add_argument(
        "--include",
        nargs="+",
        default=[],
        metavar="METRIC",
        help="metrics that the best set must contain",
    )
    parser.add_argument(
        "--exclude",
        nargs="+",
        default=[],
        metavar="METRIC",
        help="also report the best set without these metrics",
    )
    parser.add_argument(
        "--subset",
        nargs="+",
        default=[],
        metavar="NAME=SYSTEM,…",
        help="sets of systems whose reliability (JACK) is reported",
    )
    parser.add_argument(
        "--scores",
        nargs="+",
        default=[],
        metavar="NAME=FILE",
        help="segment scores of another tool for the outputs in DATA.jsonl, with which QUEEN is "
        "correlated as with human scores (error rates are negated)",
    )
    arguments.add_error_rates(parser)
    parser.add_argument("--triples", default="pairs", choices=TRIPLES)
    parser.add_argument("--literal", action="store_true", help="KING without leaving one model out")
    parser.add_argument("--plots", type=Path, metavar="FOLDER", help="write plots there")
    arguments.add_format(parser, ("text", "json"))


def run(args: argparse.Namespace) -> int:
    """Print KING, QUEEN and JACK of a test set."""
    if args.plots:
        from tensormt.figures import check_matplotlib

        check_matplotlib()
    names = list(dict.fromkeys(args.metrics))
    check_measures(names)
    ours = [name for name in names if not is_paper_measure(name)]
    subsets = _subsets(args.subset)
    progress, selection, evaluator = arguments.ParseProgress(), judged.selection(args), None
    if ours and not args.trees:
        evaluator = arguments.make_evaluator(args, ours, progress=progress)
    whole = read_jsonl(*args.data)
    stored = judged.stored_tables(args, whole)
    selection = replace(selection, human=[*selection.human, *stored])
    segments = selection.select(replace(whole, human={**whole.human, **stored}))
    if ours and args.trees:
        evaluator = arguments.make_evaluator(args, ours, judged.trees_for(args, segments))
    human = selection.human_tables(segments) if selection.human else {}
    options = SummaryOptions(
        args.triples, not args.literal, tuple(args.include), tuple(args.exclude)
    )
    check_request(segments, names, options, subsets)
    with judged.ParsingBar(args, progress):
        tensors = similarity_tensors_from_segments(segments, names, evaluator)
    summary = summarize(tensors, segments.systems, options, subsets, human)
    for name in stored:
        if missing := int(np.isnan(segments.human[name]).sum()):
            arguments.print_message(
                f"{missing:,} outputs have no score of {name}: its means are over the others"
            )
    if args.plots:
        from tensormt.qarla.plots import save_plots

        save_plots(summary, args.plots)
    if args.format == "json":
        print(json_text(asdict(summary)))
    else:
        print(render(summary, args.exclude))
    return 0


def _subsets(items: list[str]) -> dict[str, list[str]]:
    subsets = {}
    for item in items:
        name, equals, systems = item.partition("=")
        if not equals or not systems:
            raise TensorMTError(f"--subset {item!r}: expected NAME=SYSTEM,SYSTEM")
        subsets[name] = systems.split(",")
    return subsets


def render(summary: Summary, excluded: Sequence[str] = ()) -> str:
    """Format the summary as tables; excluded: the metrics that one best set must not contain."""
    kings = [[name, format_number(value)] for name, value in summary.kings.items()]
    greedy = " (greedy search)" if summary.search == "greedy" else ""
    without = f"best set without {', '.join(excluded)}{greedy}"
    for label, found in ((f"best set{greedy}", summary.best), (without, summary.best_without)):
        if found:
            kings.append([f"{label}: {' + '.join(found['metrics'])}", format_number(found["king"])])
    human = list(summary.human)
    queens = [
        [
            name,
            format_number(value),
            *(format_number(summary.human[key]["scores"][name]) for key in human),
        ]
        for name, value in sorted(summary.queens.items(), key=lambda item: -item[1])
    ]
    if human:
        for statistic in ("pearson", "spearman"):
            cells = (format_number(summary.human[key][statistic]) for key in human)
            queens.append([f"{statistic} with QUEEN", "", *cells])
    parts = [
        [[f"metric ({summary.cases} cases)", "KING"], *kings],
        [["system (best set)", "QUEEN", *human], *queens],
        [["peers (best set)", "JACK"], *([k, format_number(v)] for k, v in summary.jacks.items())],
        [["criterion", "humans ranked first"], *([k, v] for k, v in summary.ranked_first.items())],
    ]
    if summary.king_and_correlation:
        against = [
            [
                name,
                str(len(found["sets"])),
                format_number(found["pearson"]),
                format_number(found["spearman"]),
            ]
            for name, found in summary.king_and_correlation.items()
        ]
        parts.append([["KING against correlation", "sets", "pearson", "spearman"], *against])
    blocks = [format_table(part, "text") for part in parts]
    if human and summary.king_and_correlation is None:
        blocks.append(
            f"KING against correlation: left out, for it takes all sets of {len(summary.kings)} "
            "metrics"
        )
    return "\n\n".join(blocks)
