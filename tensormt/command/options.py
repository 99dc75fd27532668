"""What `score` and `compare` share: files, metrics, parser, device, and the scorer of them."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from tensormt.command.progress import Progress
from tensormt.data.corpora import Corpus, open_corpus
from tensormt.errors import TensorMTError
from tensormt.scoring import CHUNK, Scorer

if TYPE_CHECKING:
    from tensormt.parser import Parser
    from tensormt.parser.cache import Forester

__all__ = ["add_inputs", "choose_device", "chunk_size", "load", "names", "watch"]

_PARSED_CHUNK = 500  # segments between two states of a run whose time goes into parsing


def add_inputs(parser: argparse.ArgumentParser, default: list[str]) -> None:
    """Arguments for files, metrics and parsing."""
    parser.add_argument("refs", nargs="*", metavar="REF", help="reference files ('-': stdin)")
    parser.add_argument(
        "-i",
        "--input",
        nargs="+",
        required=True,
        metavar="HYP",
        help="hypothesis files, a system each",
    )
    parser.add_argument(
        "-m",
        "--metrics",
        nargs="+",
        default=default,
        metavar="METRIC",
        help="see 'tensormt list'; options as stm:max_depth=3,balance=f1 "
        f"(default: {' '.join(default)})",
    )
    parser.add_argument("--trees", action="store_true", help="all files hold bracketed trees")
    parser.add_argument(
        "--docs", metavar="FILE", help="a document id for every segment, a line each"
    )
    parser.add_argument(
        "--parser",
        default="default",
        metavar="NAME|PATH",
        help="'default', a folder of train-parser or a supar checkpoint",
    )
    parser.add_argument(
        "--trusted",
        action="store_true",
        help="open a supar checkpoint although a pickle can run any code",
    )
    parser.add_argument("--device", default="auto", choices=["auto", "cpu", "cuda"])
    parser.add_argument("--cache", metavar="DIR", help="folder of the parse cache")
    parser.add_argument("--no-cache", action="store_true", help="keep no parses for later runs")
    parser.add_argument("--chunk", type=int, metavar="N", help="segments at a time")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress bar")


def choose_device(name: str) -> str:
    """The device that --device names: auto is CUDA where there is one."""
    if name == "cuda" and not torch.cuda.is_available():
        raise TensorMTError("no CUDA device is available here: use --device cpu or auto")
    return name if name != "auto" else "cuda" if torch.cuda.is_available() else "cpu"


def load(args: argparse.Namespace) -> tuple[Corpus, Scorer]:
    """The corpus, and a scorer whose parser is loaded where a metric needs trees."""
    device = choose_device(args.device)
    if args.chunk is not None and args.chunk < 1:
        raise TensorMTError(f"--chunk {args.chunk}: expected at least 1")
    scorer = Scorer(list(dict.fromkeys(args.metrics)), device=device, bracketed=args.trees)
    corpus = open_corpus(args.input, args.refs, args.docs)
    if not args.trees and scorer.needs_trees:
        from tensormt.parser import Parser
        from tensormt.parser.cache import Forester

        loaded = Parser.load(args.parser, args.trusted, device)
        if args.cache or args.no_cache:
            forester = Forester(loaded, Path(args.cache) if args.cache else None)
        else:
            forester = _at_home(loaded)
        scorer.forest, scorer.parser_name = forester, forester.fingerprint
    return corpus, scorer


def watch(scorer: Scorer, bar: Progress) -> None:
    """Show on the bar how many texts have been parsed, while a chunk is under way."""
    from tensormt.parser.cache import Forester

    forest = scorer.forest
    if isinstance(forest, Forester):
        forest.progress = lambda count: bar(0, f"{forest.parsed:,} texts parsed")


def _at_home(parser: Parser) -> Forester:
    """With the user's own cache folder; without one where that cannot be used."""
    from tensormt.parser.cache import Forester

    try:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        return Forester(parser, Path(base) / "tensormt" / "parses")
    except (TensorMTError, RuntimeError) as error:
        print(f"tensormt: going on without a parse cache: {error}", file=sys.stderr)
        return Forester(parser)


def chunk_size(args: argparse.Namespace, scorer: Scorer) -> int:
    """Segments at a time: as asked, else fewer where parsing takes most of the time."""
    chosen: int | None = args.chunk
    return chosen or (_PARSED_CHUNK if scorer.forest else CHUNK)


def names(systems: list[str]) -> dict[str, str]:
    """System → how it is shown: its file name, or the whole path where two names are equal."""
    short = [Path(system).name or system for system in systems]
    return {
        system: name if short.count(name) == 1 else system
        for system, name in zip(systems, short, strict=True)
    }
