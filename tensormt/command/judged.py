"""Arguments of the commands on test sets with human scores (`metaeval`, `qarla`)."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from tensormt.command import arguments
from tensormt.command.progress import Progress
from tensormt.errors import TensorMTError

if TYPE_CHECKING:  # torch is imported only when a command runs
    import numpy as np

    from tensormt.evaluator import Evaluator
    from tensormt.metaeval.judged_sets import Selection
    from tensormt.segments import Segments


DEFAULT_METRICS = ["bleu"]


def add_data_options(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of every command on test sets with human scores."""
    parser.add_argument("data", nargs="+", metavar="DATA.jsonl")
    arguments.add_metrics(parser, DEFAULT_METRICS)
    parser.add_argument(
        "--human",
        nargs="+",
        metavar="SCORE",
        help="human scores to use (default: all except counts n_*)",
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
        help="the texts of DATA are trees: bracketings or CoNLL-U sentences",
    )
    arguments.add_parsing(parser)


def selection(args: argparse.Namespace) -> Selection:
    """Return the part of a test set that the arguments select."""
    from tensormt.metaeval.judged_sets import Selection

    return Selection(args.human or (), args.without, args.min_references, args.max_references)


def trees_for(args: argparse.Namespace, segments: Segments) -> Any:
    """Return the reader of texts that are trees (--trees); None: the texts are parsed."""
    if not args.trees:
        return None
    from tensormt.trees.sources import TreesAsText

    texts = (text for stream in segments.references for text in stream if text)
    first = next((text.lstrip() for text in texts), "")
    form = "brackets" if first.startswith("(") else "conllu"
    return TreesAsText(form, f"{args.data[0]}, ")


def stored_tables(args: argparse.Namespace, segments: Segments) -> dict[str, np.ndarray]:
    """Return the scores of other tools that --scores names, float64 [S,N]; error rates negated."""
    import numpy as np

    names = {name: name for name in segments.systems}
    stored: Any = arguments.stored_scores(args, names, len(segments))
    signs = {name: 1.0 if metric.higher_is_better else -1.0 for name, metric in stored.items()}
    for name in stored:
        if name in segments.human:
            raise TensorMTError(
                f"--scores {name}=…: there is a human score {name}, choose another name"
            )
    return {
        name: signs[name] * np.stack([metric.scores[system] for system in names])
        for name, metric in stored.items()
    }


def check_sources(evaluator: Evaluator, segments: Segments) -> None:
    """Raise if a metric reads sources and the rows have none."""
    for name, metric in evaluator.metrics.items():
        if metric.reads.uses_sources and segments.sources is None:
            raise TensorMTError(
                f"{name} compares with the source text: the rows of DATA.jsonl need a key src"
            )


class ParsingBar:
    """Context manager: a progress bar that counts parsed texts."""

    def __init__(self, args: argparse.Namespace, progress: arguments.ParseProgress) -> None:
        self._bar = Progress(None, "parse", "texts", quiet=args.quiet)
        self._progress = progress

    def __enter__(self) -> None:
        self._progress.show_on(self._bar.__enter__())

    def __exit__(self, *error: Any) -> None:
        self._bar.__exit__(*error)
