"""What commands share: files, metrics, parser, device, cache, progress, and how they are loaded."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tensormt.command.progress import Progress, loading
from tensormt.data.tables import printable
from tensormt.errors import TensorMTError

if TYPE_CHECKING:  # torch takes a second to import: only a command that runs needs it
    from tensormt.data.corpus import Corpus
    from tensormt.evaluator import Evaluator
    from tensormt.parser.registry import TextParser
    from tensormt.segments import Segments
    from tensormt.trees.sources import TreeOptions, TreesAsText

PARSERS = (
    "'default', 'ud', 'spacy:MODEL', 'stanza:LANG[:DIR]', a folder of train-parser or a supar "
    "checkpoint"
)
LANG = "language of the text, such as de: sets parser (ud), tokeniser and sentence splitter"
_MOST_AT_ONCE = 1_000_000  # segments that --chunk may ask for


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


class ParseProgress:
    """Shows on a progress bar how many texts have been parsed, while a chunk is under way."""

    def __init__(self) -> None:
        self._bar: Progress | None = None
        self._parsed = 0

    def show_on(self, bar: Progress) -> None:
        """Show the number on this bar from now on."""
        self._bar = bar

    def __call__(self, count: int) -> None:
        """Count more parsed texts."""
        self._parsed += count
        if self._bar is not None:
            parsed = f"{self._parsed:,} texts parsed" if self._parsed else "loading the parser"
            self._bar(0, parsed)


def tree_options(args: argparse.Namespace, progress: Any = None) -> TreeOptions:
    """How texts are parsed, as the arguments say."""
    from tensormt.trees.sources import TreeOptions

    strict = bool(args.cache or args.no_cache)
    # the user's own folder: where it cannot be used, the run goes on without
    cache = args.cache if strict else default_cache()
    return TreeOptions(
        args.parser, args.lang, args.trusted, cache, strict_cache=strict, progress=progress
    )


def default_cache() -> str:
    """The folder of parses where none is named."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(base, "tensormt", "parses")


def make_evaluator(
    args: argparse.Namespace, metrics: Any = None, trees: Any = None, progress: Any = None
) -> Evaluator:
    """The evaluator of the arguments: metrics, source of trees, device, all checked."""
    with loading("metrics", quiet=args.quiet):
        from tensormt.evaluator import Evaluator

        chosen = list(dict.fromkeys(args.metrics)) if metrics is None else metrics
        source = tree_options(args, progress) if trees is None else trees
        return Evaluator(chosen, source, choose_device(args.device))


class Job(NamedTuple):
    """What a command on files works with."""

    corpus: Any  # Corpus of files, or Segments of a judged set
    evaluator: Evaluator
    names: dict[str, str]  # system → how it is shown
    size: int  # segments at a time
    parsing: ParseProgress


def load(args: argparse.Namespace) -> Job:
    """Check metrics and options, then open the files."""
    from tensormt.data.corpus import open_corpus
    from tensormt.data.files import Spool

    if args.chunk is not None and not 1 <= args.chunk <= _MOST_AT_ONCE:
        raise TensorMTError(
            f"--chunk {args.chunk}: expected a whole number from 1 to {_MOST_AT_ONCE:,}"
        )
    parsing = ParseProgress()
    if args.trees:
        spool = Spool()  # what a pipe holds is seen from its beginning
        input, refs = ([spool.path(name) for name in names] for names in (args.input, args.refs))
        evaluator = make_evaluator(args, trees=_trees_as_text([*input, *refs]))
        corpus = open_corpus(input, refs, args.docs, trees=True, segments=args.group)
    else:
        evaluator = make_evaluator(args, progress=parsing)
        corpus = open_corpus(args.input, args.refs, args.docs)
    return job(args, corpus, evaluator, parsing)


def job(
    args: argparse.Namespace,
    corpus: Corpus | Segments,
    evaluator: Evaluator,
    parsing: ParseProgress,
) -> Job:
    """What a command works with, given its corpus and evaluator."""
    size = args.chunk or evaluator.chunk_size
    return Job(corpus, evaluator, shown_names(corpus.systems), size, parsing)


def _trees_as_text(paths: list[str]) -> TreesAsText:
    """The reader of files of trees, CoNLL-U or brackets: all the same."""
    from tensormt.data.tree_files import form
    from tensormt.trees.sources import TreesAsText

    forms = {form(path) == "conllu" for path in paths}
    if len(forms) > 1:
        raise TensorMTError("--trees: some files are CoNLL-U and some are not: give one kind")
    return TreesAsText("conllu" if forms == {True} else "brackets")


def input_files(args: argparse.Namespace) -> list[str]:
    """The files that a run reads: no output may take the place of one."""
    named = [*args.input, *args.refs, *([args.docs] if args.docs else []), args.group]
    return [name for name in (*named, args.parser) if name != "-"]


def print_message(message: object) -> None:
    """One line on standard error, with nothing in it that a terminal would obey."""
    print(f"tensormt: {printable(' '.join(str(message).split()))}", file=sys.stderr)


@contextmanager
def printed_warnings() -> Iterator[None]:
    """Warnings of the package as one line each on standard error."""

    def show(message: Warning | str, *rest: Any, **more: Any) -> None:
        print_message(message)

    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = show
        yield


def shown_names(systems: list[str]) -> dict[str, str]:
    """System → how it is shown: its file name, or the whole path where two names are equal.

    A name that comes from within a file, such as sysid="a/b", stays whole.
    """
    short = [Path(system).name if os.path.exists(system) else system for system in systems]
    return {
        system: printable(name if short.count(name) == 1 else system)
        for system, name in zip(systems, short, strict=True)
    }
