"""`tensormt qarla`: combine metrics by QUEEN, judge them by KING, the test bed by JACK."""

import argparse
from dataclasses import asdict
from pathlib import Path

from tensormt.command import arguments, judged
from tensormt.data.human_scores import read_jsonl
from tensormt.data.tables import format_table, json_text
from tensormt.errors import TensorMTError
from tensormt.kernels.queen_counts import TRIPLES
from tensormt.metaeval.format import number
from tensormt.qarla.from_texts import PAPERS_OWN, bed_from_segments, is_papers_own
from tensormt.qarla.summary import Options, Report, make_report

DESCRIPTION = "QARLA (Amigó et al. 2005): metrics combined without weights, and judged."
EXAMPLES = f"""
examples:
  tensormt qarla DATA.jsonl -m rouge1-content-stem vector vector-8 bleu stm --human fluency
  tensormt qarla DATA.jsonl -m rouge1 vector bleu --subset extractive=Lead-3,NEUSUM --plots FIGURES
  tensormt qarla DATA.jsonl -m rouge1 bleu --min-references 5 --max-references 10 -f json

The references of a segment are its models, the systems its peers. Metrics are those of
`tensormt list`, with options as in stm:max_depth=4,balance=f1, and the paper's own:
  {", ".join(PAPERS_OWN)}
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    judged.add_data_options(parser)
    parser.add_argument(
        "--include",
        nargs="+",
        default=[],
        metavar="METRIC",
        help="metrics that the best set must hold",
    )
    parser.add_argument(
        "--exclude",
        nargs="+",
        default=[],
        metavar="METRIC",
        help="report a second best set without these metrics",
    )
    parser.add_argument(
        "--subset",
        nargs="+",
        default=[],
        metavar="NAME=SYSTEM,…",
        help="sets of systems whose reliability (JACK) is reported",
    )
    parser.add_argument("--triples", default="pairs", choices=TRIPLES)
    parser.add_argument(
        "--literal", action="store_true", help="KING without leaving the model out of its own QUEEN"
    )
    parser.add_argument("--plots", type=Path, metavar="FOLDER", help="write the figures there")
    arguments.add_format(parser, ("text", "json"))


def run(args: argparse.Namespace) -> int:
    """Print KING, QUEEN and JACK of a test set."""
    if args.plots:
        from tensormt.figures import check_matplotlib

        check_matplotlib()
    names = list(dict.fromkeys(args.metrics))
    ours = [name for name in names if not is_papers_own(name)]
    progress, selection, evaluator = arguments.ParseProgress(), judged.selection(args), None
    if ours and not args.trees:
        evaluator = arguments.make_evaluator(args, ours, progress=progress)
    segments = selection.select(read_jsonl(*args.data))
    if ours and args.trees:
        evaluator = arguments.make_evaluator(args, ours, judged.trees_for(args, segments))
    human = selection.human_tables(segments) if args.human else {}
    subsets = _subsets(args.subset)
    with judged.ParsingBar(args, progress):
        bed = bed_from_segments(segments, names, evaluator)
    options = Options(args.triples, not args.literal, tuple(args.include), tuple(args.exclude))
    report = make_report(bed, segments.systems, options, subsets, human)
    if args.plots:
        from tensormt.qarla.plots import save_plots

        save_plots(report, args.plots)
    if args.format == "json":
        print(json_text(asdict(report)))
    else:
        print(render(report))
    return 0


def _subsets(items: list[str]) -> dict[str, list[str]]:
    subsets = {}
    for item in items:
        name, equals, systems = item.partition("=")
        if not equals or not systems:
            raise TensorMTError(f"--subset {item!r}: expected NAME=SYSTEM,SYSTEM")
        subsets[name] = systems.split(",")
    return subsets


def render(report: Report) -> str:
    """Lay the report out as the tables of the paper's study."""
    kings = [[name, number(value)] for name, value in report.kings.items()]
    for label, found in (("best set", report.best), ("best set without", report.best_without)):
        if found:
            kings.append([f"{label}: {' + '.join(found['metrics'])}", number(found["king"])])
    people = list(report.human)
    queens = [
        [name, number(value), *(number(report.human[key]["scores"][name]) for key in people)]
        for name, value in sorted(report.queens.items(), key=lambda item: -item[1])
    ]
    if people:
        for statistic in ("pearson", "spearman"):
            cells = (number(report.human[key][statistic]) for key in people)
            queens.append([f"{statistic} with QUEEN", "", *cells])
    parts = [
        [[f"metric ({report.cases} cases)", "KING"], *kings],
        [["system (best set)", "QUEEN", *people], *queens],
        [["peers (best set)", "JACK"], *([k, number(v)] for k, v in report.jacks.items())],
        [["criterion", "humans ranked first"], *([k, v] for k, v in report.ranked_first.items())],
    ]
    if report.king_against_people:
        against = [
            [name, str(len(found["sets"])), number(found["pearson"]), number(found["spearman"])]
            for name, found in report.king_against_people.items()
        ]
        parts.append([["KING against correlation", "sets", "pearson", "spearman"], *against])
    return "\n\n".join(format_table(part, "text") for part in parts)
