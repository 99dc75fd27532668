"""What commands share: files, metrics, parser, device, cache, progress, and how they are loaded."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tensormt.command.progress import Progress, loading
from tensormt.data.tables import printable
from tensormt.errors import TensorMTError

if TYPE_CHECKING:  # torch takes a second to import: only a command that runs needs it
    from tensormt.data.corpus import Corpus
    from tensormt.metric import Metric
    from tensormt.parser.cache import CachedParser
    from tensormt.parser.registry import TextParser
    from tensormt.scoring import Scorer

__all__ = [
    "add_inputs",
    "add_metrics",
    "add_parsing",
    "chunk_size",
    "input_files",
    "load",
    "load_parser",
    "names",
    "tell",
    "told_warnings",
    "trees_for",
    "watch",
]

PARSERS = (
    "'default', 'ud', 'spacy:MODEL', 'stanza:LANG[:DIR]', a folder of train-parser or a supar "
    "checkpoint"
)
LANG = "language of the text, such as de: sets parser (ud), tokeniser and sentence splitter"
_MOST_AT_ONCE = 1_000_000  # segments that --chunk may ask for
_PARSED_CHUNK = 500  # segments between two states of a run whose time goes into parsing


def add_inputs(parser: argparse.ArgumentParser, default: list[str]) -> None:
    """Arguments for files, metrics and parsing, as `score` and `compare` have them."""
    parser.add_argument("refs", nargs="*", metavar="REF", help="reference files ('-': stdin)")
    parser.add_argument(
        "-i",
        "--input",
        nargs="+",
        required=True,
        metavar="HYP",
        help="hypothesis files, a system each",
    )
    add_metrics(parser, default)
    parser.add_argument(
        "--trees",
        action="store_true",
        help="all files hold trees: a bracketing a line, .mrg or .conllu",
    )
    parser.add_argument(
        "--group",
        default="sentence",
        metavar="RULE",
        help="sentences of CoNLL-U that make a segment: sentence (each), blank, newdoc, sent_id, "
        "or a file with their number a line",
    )
    parser.add_argument(
        "--docs", metavar="FILE", help="a document id for every segment, a line each"
    )
    add_parsing(parser)
    parser.add_argument("--chunk", type=int, metavar="N", help="segments at a time")


def add_metrics(parser: argparse.ArgumentParser, default: list[str]) -> None:
    """The argument that names metrics."""
    parser.add_argument(
        "-m",
        "--metrics",
        nargs="+",
        default=default,
        metavar="METRIC",
        help="see 'tensormt list'; options as stm:max_depth=3,balance=f1 "
        f"(default: {' '.join(default)})",
    )


def add_parsing(parser: argparse.ArgumentParser, *, cache: bool = True) -> None:
    """Arguments of every command that parses: the parser, its device and cache, the bar."""
    parser.add_argument(
        "--parser",
        default="default",
        metavar="NAME|PATH",
        help=PARSERS,
    )
    parser.add_argument("--lang", metavar="CODE", help=LANG)
    parser.add_argument(
        "--trusted",
        action="store_true",
        help="open a supar checkpoint although a pickle can run any code",
    )
    parser.add_argument("--device", default="auto", choices=["auto", "cpu", "cuda"])
    if cache:
        parser.add_argument("--cache", metavar="DIR", help="folder of the parse cache")
        parser.add_argument("--no-cache", action="store_true", help="keep no parses for later")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress bar")


def choose_device(name: str) -> str:
    """The device that --device names: auto is CUDA where there is one."""
    from tensormt.devices import resolve_device

    return resolve_device(name).type


def load_parser(args: argparse.Namespace, **rules: Any) -> TextParser:
    """The parser that the arguments name, on their device."""
    with loading("the parser", quiet=args.quiet):
        from tensormt.parser.registry import open_parser

        device = choose_device(args.device)
        return open_parser(args.parser, args.trusted, device, lang=args.lang, **rules)


def trees_for(args: argparse.Namespace, metrics: Iterable[Metric[Any]]) -> CachedParser | None:
    """The parser with its cache, where one of the metrics reads trees."""
    from tensormt.parser.cache import CachedParser

    if not any(metric.reads_trees for metric in metrics):
        return None
    parser = load_parser(args)
    if args.cache or args.no_cache:
        return CachedParser(parser, Path(args.cache) if args.cache else None)
    # the user's own folder: where it cannot be used, the run goes on without
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return CachedParser(parser, Path(base) / "tensormt" / "parses", strict=False)


def load(args: argparse.Namespace) -> tuple[Corpus, Scorer]:
    """The corpus, and a scorer with a parser where a metric needs trees."""
    from tensormt.data.corpus import open_corpus
    from tensormt.data.files import Spool
    from tensormt.scoring import Scorer
    from tensormt.trees.sources import TreesAsText

    device = choose_device(args.device)
    if args.chunk is not None and not 1 <= args.chunk <= _MOST_AT_ONCE:
        raise TensorMTError(
            f"--chunk {args.chunk}: expected a whole number from 1 to {_MOST_AT_ONCE:,}"
        )
    scorer = Scorer(list(dict.fromkeys(args.metrics)), device=device)
    if args.trees:
        spool = Spool()  # what a pipe holds is seen from its beginning
        input, refs = ([spool.path(name) for name in names] for names in (args.input, args.refs))
        corpus = open_corpus(input, refs, args.docs, trees=True, segments=args.group)
        scorer.trees = TreesAsText(_form([*input, *refs]))
    else:
        corpus = open_corpus(args.input, args.refs, args.docs)
        scorer.trees = trees_for(args, scorer.metrics.values())
    return corpus, scorer


def _form(paths: list[str]) -> str:
    """What files of trees hold, CoNLL-U or brackets: all the same."""
    from tensormt.data.tree_files import form

    forms = {form(path) == "conllu" for path in paths}
    if len(forms) > 1:
        raise TensorMTError("--trees: some files are CoNLL-U and some are not: give one kind")
    return "conllu" if forms == {True} else "brackets"


def input_files(args: argparse.Namespace) -> list[str]:
    """The files that a run reads: no output may take the place of one."""
    named = [*args.input, *args.refs, *([args.docs] if args.docs else []), args.group]
    return [name for name in (*named, args.parser) if name != "-"]


def watch(trees: Any, bar: Progress) -> None:
    """Show on the bar how many texts have been parsed, while a chunk is under way."""
    if hasattr(trees, "progress"):
        parsed = 0

        def show(count: int) -> None:
            nonlocal parsed
            parsed += count
            bar(0, f"{parsed:,} texts parsed" if parsed else "loading the parser")

        trees.progress = show


def tell(message: object) -> None:
    """One line on standard error, with nothing in it that a terminal would obey."""
    print(f"tensormt: {printable(' '.join(str(message).split()))}", file=sys.stderr)


@contextmanager
def told_warnings() -> Iterator[None]:
    """Warnings of the package as one line each on standard error."""

    def show(message: Warning | str, *rest: Any, **more: Any) -> None:
        tell(message)

    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = show
        yield


def chunk_size(args: argparse.Namespace, scorer: Scorer) -> int:
    """Segments at a time: as asked, else fewer where parsing takes most of the time."""
    from tensormt.scoring import CHUNK

    chosen: int | None = args.chunk
    return chosen or (_PARSED_CHUNK if hasattr(scorer.trees, "parser") else CHUNK)


def names(systems: list[str]) -> dict[str, str]:
    """System → how it is shown: its file name, or the whole path where two names are equal.

    A name that comes from within a file, such as sysid="a/b", stays whole.
    """
    short = [Path(system).name if os.path.exists(system) else system for system in systems]
    return {
        system: printable(name if short.count(name) == 1 else system)
        for system, name in zip(systems, short, strict=True)
    }
