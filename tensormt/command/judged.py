"""Options of commands that read test sets with human scores."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from tensormt.command import arguments
from tensormt.command.progress import Progress

if TYPE_CHECKING:  # torch takes a second to import: only a command that runs needs it
    from tensormt.metaeval.judged_sets import Selection
    from tensormt.segments import Segments


def add_data_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of a test set with human scores."""
    parser.add_argument("data", nargs="+", metavar="DATA.jsonl")
    arguments.add_metrics(parser, ["bleu"])
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
    parser.add_argument(
        "--trees",
        action="store_true",
        help="the texts of DATA are trees: bracketings, or sentences of CoNLL-U",
    )
    arguments.add_parsing(parser)


def selection(args: argparse.Namespace) -> Selection:
    """Return which part of a test set is used."""
    from tensormt.metaeval.judged_sets import Selection

    return Selection(args.human or (), args.without, args.min_references, args.max_references)


def trees_for(args: argparse.Namespace, segments: Segments) -> Any:
    """Return the source of trees if texts are trees (--trees); None if they must be parsed."""
    if not args.trees:
        return None
    from tensormt.trees.sources import TreesAsText

    texts = (text for stream in segments.references for text in stream if text)
    first = next((text.lstrip() for text in texts), "")
    form = "brackets" if first.startswith("(") else "conllu"
    return TreesAsText(form, f"{args.data[0]}, ")


class parsing:
    """A progress bar that counts parsed texts, where an evaluator reads trees."""

    def __init__(self, args: argparse.Namespace, progress: arguments.ParseProgress) -> None:
        self._bar = Progress(None, "parse", "texts", quiet=args.quiet)
        self._progress = progress

    def __enter__(self) -> None:
        self._progress.show_on(self._bar.__enter__())

    def __exit__(self, *error: Any) -> None:
        self._bar.__exit__(*error)
