"""Arguments that several commands have, and how files, metrics and parsers are loaded from them."""

from __future__ import annotations

import argparse
import os
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tensormt.command.progress import Progress, loading
from tensormt.data.names import shown_name
from tensormt.data.tables import printable
from tensormt.errors import TensorMTError
from tensormt.registry import DEFAULT_METRICS, split_specs

if TYPE_CHECKING:  # torch is imported only when a command runs
    from tensormt.data.corpus import Corpus
    from tensormt.data.row_columns import Columns
    from tensormt.evaluator import Evaluator
    from tensormt.metric import Metric
    from tensormt.parser.registry import TextParser
    from tensormt.segments import Segments
    from tensormt.trees.sources import TreeOptions, TreesAsText

PARSERS = (
    "'default', 'ud', 'spacy:MODEL', 'stanza:LANG[:DIR]', a folder of train-parser or a supar "
    "checkpoint"
)
LANG = "language of the text, such as de: sets parser (ud), tokenizer and sentence splitter"
SOURCE = "source text (default: src, where there is one); beside text files, a file of lines"
FORMATS = ("text", "json", "tsv", "latex")
_EXTENSIONS = re.compile(r"(?<=.)(\.txt)?(\.gz|\.bz2|\.xz|\.zst)?$")
_MAX_CHUNK = 1_000_000  # largest value of --chunk


def add_inputs(
    parser: argparse.ArgumentParser,
    *,
    outputs: bool = True,
    metrics: Sequence[str] = DEFAULT_METRICS,
) -> None:
    """Add the arguments of the commands on files: inputs, metrics, parsing, chunks.

    Args:
        parser: The parser of the command.
        outputs: Whether hypothesis files are required.
        metrics: Metrics if none is named.
    """
    parser.add_argument("refs", nargs="*", metavar="REF", help="reference files ('-': stdin)")
    parser.add_argument(
        "-i",
        "--input",
        nargs="+",
        required=outputs,
        default=[],
        metavar="HYP",
        help="hypothesis files, one per system",
    )
    add_metrics(parser, metrics)
    parser.add_argument(
        "--trees",
        action="store_true",
        help="all files contain trees: one bracketing per line, .mrg or .conllu",
    )
    parser.add_argument(
        "--group",
        default="sentence",
        metavar="RULE",
        help="which CoNLL-U sentences form a segment: sentence (each), blank, newdoc, sent_id, or "
        "a file with the number of sentences of every segment, one per line",
    )
    parser.add_argument(
        "--names",
        nargs="+",
        metavar="NAME",
        help="names of the systems in the results (default: names of the files)",
    )
    parser.add_argument(
        "--scores",
        action="append",
        default=[],
        metavar="NAME=FILE[,FILE]",
        help="segment scores of another tool beside the metrics: one number per line in a file for "
        "each system, system <tab> score, or a .jsonl, .tsv or .csv table; may be repeated",
    )
    add_error_rates(parser)
    parser.add_argument("--docs", metavar="FILE", help="document id of every segment, one per line")
    add_columns(parser)
    add_parsing(parser)
    parser.add_argument("--chunk", type=int, metavar="N", help="segments per batch")


def add_error_rates(parser: argparse.ArgumentParser) -> None:
    """Add the argument that says of which --scores lower ones are better."""
    parser.add_argument(
        "--lower-is-better",
        nargs="+",
        default=[],
        metavar="NAME",
        help="which --scores are error rates",
    )


def add_columns(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Add the arguments that name the columns of rows."""
    group = parser.add_argument_group("columns of rows (.jsonl, .tsv, .csv, .parquet)")
    group.add_argument("--hyp", metavar="COLUMN", help="hypothesis (default: hypothesis)")
    group.add_argument(
        "--refs",
        nargs="+",
        default=[],
        dest="ref_columns",
        metavar="COLUMN",
        help="reference columns, or one column of lists (default: references, or else reference, "
        "reference1, …)",
    )
    group.add_argument("--doc", metavar="COLUMN", help="document id")
    group.add_argument("--id", metavar="COLUMN", help="segment id, copied to files of scores")
    group.add_argument("--src", metavar="COLUMN", help=SOURCE)
    return group


def columns(args: argparse.Namespace) -> Columns:
    """Return the columns that the arguments name."""
    from tensormt.data.row_columns import Columns

    hyp, src = args.hyp or Columns().hyp, None if source_file(args) else args.src
    return Columns(hyp, tuple(args.ref_columns), args.doc, args.id, src)


def source_file(args: argparse.Namespace) -> str | None:
    """The file of source texts: what --src names beside text files, which have no columns."""
    from tensormt.data.corpus import ROWS
    from tensormt.data.files import suffix

    names = getattr(args, "input", None)  # score-files reads rows alone
    return None if names is None or any(suffix(name) in ROWS for name in names) else args.src


def add_metrics(parser: argparse.ArgumentParser, default: Sequence[str] = DEFAULT_METRICS) -> None:
    """Add the argument that selects metrics."""
    parser.add_argument(
        "-m",
        "--metrics",
        nargs="+",
        action=_Specs,
        default=list(default),
        metavar="METRIC",
        help="see 'tensormt list'; options as stm:max_depth=3,balance=f1 "
        f"(default: {' '.join(default)})",
    )


class Store(argparse.Action):
    """Stores values; those of an option with several values join the ones given before."""

    def __call__(self, parser: Any, args: Any, values: Any, option: str | None = None) -> None:
        """Store the values of an argument."""
        before: Any = getattr(args, self.dest, None)
        again = self.nargs == "+" and before is not self.default
        setattr(args, self.dest, [*before, *values] if again else values)


class _Specs(Store):
    """Stores metrics, which may also be separated by commas."""

    def __call__(self, parser: Any, args: Any, values: Any, option: str | None = None) -> None:
        specs = [spec for value in values for spec in split_specs(value)]
        super().__call__(parser, args, specs, option)


def add_parsing(parser: argparse.ArgumentParser, *, cache: bool = True) -> None:
    """Add the arguments of every command that parses: parser, language, device, cache, quiet."""
    parser.add_argument(
        "--parser",
        default="default",
        metavar="NAME|PATH",
        help=PARSERS,
    )
    parser.add_argument("--lang", metavar="CODE", help=LANG)
    parser.add_argument(
        "--no-language-check",
        action="store_true",
        help="parse text in a script that the parser was not trained on",
    )
    parser.add_argument(
        "--trusted",
        action="store_true",
        help="load a supar checkpoint, a pickle that can execute arbitrary code",
    )
    parser.add_argument("--device", default="auto", choices=["auto", "cpu", "cuda"])
    if cache:
        parser.add_argument("--cache", metavar="DIR", help="folder of the parse cache")
        parser.add_argument("--no-cache", action="store_true", help="do not cache parses")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress bar")


def add_format(parser: argparse.ArgumentParser, formats: Sequence[str] = FORMATS) -> None:
    """Add the argument that selects the output format; the first one is the default."""
    parser.add_argument("-f", "--format", default=formats[0], choices=formats)


def choose_device(name: str) -> str:
    """Return the type of the device that --device selects; auto: CUDA if available."""
    from tensormt.devices import resolve_device

    return resolve_device(name).type


def load_parser(args: argparse.Namespace, **rules: Any) -> TextParser:
    """Open the parser that the arguments select, on their device."""
    with loading("the parser", quiet=args.quiet):
        from tensormt.parser.registry import open_parser

        device = choose_device(args.device)
        return open_parser(args.parser, args.trusted, device, lang=args.lang, **rules)


class ParseProgress:
    """Shows the number of parsed texts on a progress bar while a chunk is processed."""

    def __init__(self) -> None:
        self._bar: Progress | None = None
        self._parsed = 0

    def show_on(self, bar: Progress) -> None:
        """Show the number on this bar."""
        self._bar = bar

    def __call__(self, count: int) -> None:
        """Add to the number of parsed texts."""
        self._parsed += count
        if self._bar is not None:
            parsed = f"{self._parsed:,} texts parsed" if self._parsed else "loading the parser"
            self._bar(0, parsed)


def tree_options(args: argparse.Namespace, progress: Any = None) -> TreeOptions:
    """Return the options of parsing that the arguments select."""
    from tensormt.trees.sources import TreeOptions

    strict = bool(args.cache or args.no_cache)
    # the default folder is optional: if it is unusable, the run continues without a cache
    cache = args.cache if strict else default_cache()
    return TreeOptions(
        args.parser,
        args.trusted,
        cache,
        strict_cache=strict,
        progress=progress,
        check_language=not args.no_language_check,
    )


def default_cache() -> str:
    """Return the default folder of the parse cache."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(base, "tensormt", "parses")


def make_evaluator(
    args: argparse.Namespace, metrics: Any = None, trees: Any = None, progress: Any = None
) -> Evaluator:
    """Make the evaluator that the arguments select; metrics and options are checked here."""
    with loading("metrics", quiet=args.quiet):
        from tensormt.evaluator import Evaluator

        chosen = list(dict.fromkeys(args.metrics)) if metrics is None else metrics
        source = tree_options(args, progress) if trees is None else trees
        return Evaluator(chosen, source, args.device, args.lang)


class CommandInputs(NamedTuple):
    """The inputs of a command on files."""

    corpus: Any  # Corpus of files, or Segments of a judged set
    evaluator: Evaluator
    names: dict[str, str]  # system → displayed name
    size: int  # segments per chunk
    parsing: ParseProgress


def load(args: argparse.Namespace) -> CommandInputs:
    """Check metrics and options, then open the files."""
    from tensormt.data.corpus import open_corpus
    from tensormt.data.files import Spool

    if args.chunk is not None and not 1 <= args.chunk <= _MAX_CHUNK:
        raise TensorMTError(f"--chunk {args.chunk}: expected an integer from 1 to {_MAX_CHUNK:,}")
    parsing = ParseProgress()
    if args.trees:
        spool = Spool()  # pipes are copied, since the format is recognized by their first lines
        input, refs = ([spool.path(name) for name in names] for names in (args.input, args.refs))
        evaluator = make_evaluator(args, trees=_trees_as_text([*input, *refs]))
        corpus = open_corpus(
            input,
            refs,
            args.docs,
            source_file(args),
            trees=True,
            segments=args.group,
            columns=columns(args),
        )
    else:
        evaluator = make_evaluator(args, progress=parsing)
        corpus = open_corpus(
            args.input, args.refs, args.docs, source_file(args), columns=columns(args)
        )
    return make_inputs(args, corpus, evaluator, parsing)


def make_inputs(
    args: argparse.Namespace,
    corpus: Corpus | Segments,
    evaluator: Evaluator,
    parsing: ParseProgress,
) -> CommandInputs:
    """Return the inputs of a command, given its corpus and evaluator."""
    size = args.chunk or evaluator.chunk_size
    names = display_names(corpus.systems, getattr(args, "names", None))
    if stored := stored_scores(args, names, len(corpus)):
        evaluator = evaluator.with_metrics({**evaluator.metrics, **stored})
    return CommandInputs(corpus, evaluator, names, size, parsing)


def stored_scores(
    args: argparse.Namespace, names: Mapping[str, str], size: int
) -> dict[str, Metric[Any]]:
    """Read the scores of other tools that the arguments name, for systems by displayed name."""
    given = [spec.partition("=") for spec in getattr(args, "scores", ())]
    titles = [title for title, _, _ in given]
    for title, _, path in given:
        if titles.count(title) > 1 or title in args.metrics:
            raise TensorMTError(
                f"--scores {title}={path}: there is another metric {title}, choose another name"
            )
        if not title or not path:
            raise TensorMTError(
                f"--scores {title}: expected NAME=FILE, for example --scores COMET=comet.txt"
            )
    for title in getattr(args, "lower_is_better", ()):
        if title not in titles:
            raise TensorMTError(f"--lower-is-better {title}: there are no --scores of that name")
    if not given:
        return {}
    from tensormt.data.score_columns import read_column
    from tensormt.stored_scores import Scores

    short = table_names(names.values())
    known = {system: [name, short[name]] for system, name in names.items()}
    return {
        title: Scores(
            title,
            read_column(path.split(","), title, known, size),
            title not in args.lower_is_better,
        )
        for title, _, path in given
    }


def _trees_as_text(paths: list[str]) -> TreesAsText:
    """The reader of tree files, which are all CoNLL-U or all bracketed."""
    from tensormt.data.files import display_name
    from tensormt.data.tree_files import tree_format
    from tensormt.trees.sources import TreesAsText

    forms = {tree_format(path) == "conllu" for path in paths}
    if len(forms) > 1:
        raise TensorMTError("--trees: some files are CoNLL-U and some are not: use one format")
    form = "conllu" if forms == {True} else "brackets"
    return TreesAsText(form, files=[display_name(path) for path in paths])


def input_files(args: argparse.Namespace) -> list[str]:
    """Return the files that a run reads, which no output may overwrite."""
    named = [*args.input, *args.refs, *filter(None, (args.docs, source_file(args))), args.group]
    return [name for name in (*named, *score_files(args.scores), args.parser) if name != "-"]


def score_files(specs: Sequence[str]) -> list[str]:
    """Return the files of --scores, FILE or NAME=FILE,FILE each.

    >>> score_files(["A=a.txt,b.txt", "c.score"])
    ['a.txt', 'b.txt', 'c.score']
    """
    files = (spec.partition("=")[2] if "=" in spec else spec for spec in specs)
    return [path for names in files for path in names.split(",")]


def with_flags(message: Warning | Exception | str) -> str:
    """Return the text of a message with the command-line options that would help."""
    flags = ", ".join(f"--{name}" for name in getattr(message, "options", "").split())
    flags = flags.replace("_", "-").replace("=", " ")
    return f"{message} ({flags})" if flags else str(message)


def print_message(message: object) -> None:
    """Print one line on standard error, with control characters escaped."""
    print(f"tensormt: {printable(' '.join(str(message).split()))}", file=sys.stderr)


@contextmanager
def printed_warnings() -> Iterator[None]:
    """Print warnings as one line each on standard error."""

    def show(message: Warning | str, *rest: Any, **more: Any) -> None:
        print_message(with_flags(message))

    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = show
        yield


def display_names(systems: list[str], given: Sequence[str] | None = None) -> dict[str, str]:
    """Map systems to names: those given, the file name, or the path if two file names are equal.

    A name that comes from the contents of a file, such as sysid="a/b", is not shortened.

    Args:
        systems: Systems as the corpus calls them.
        given: A name for each system; None: none are given.

    Raises:
        TensorMTError: If the number of given names is another one, or two are equal.
    """
    short = [Path(system).name if os.path.exists(system) else system for system in systems]
    count = Counter(short)
    names = {
        system: shown_name(name if count[name] == 1 else system)
        for system, name in zip(systems, short, strict=True)
    }
    if given is None:
        return names
    if len(given) != len(systems) or len(set(given)) != len(given):
        raise TensorMTError(
            f"--names: {len(systems)} different names are needed, a name for each system: "
            f"{', '.join(names.values())}"
        )
    return dict(zip(systems, map(shown_name, given), strict=True))


def table_names(names: Iterable[str]) -> dict[str, str]:
    """Map names of systems to what tables for people show: file names without .txt and .gz.

    >>> table_names(["a.txt.gz", "b.de"])
    {'a.txt.gz': 'a', 'b.de': 'b.de'}
    """
    short = {name: _EXTENSIONS.sub("", name) for name in names}
    return short if len(set(short.values())) == len(short) else {name: name for name in short}
