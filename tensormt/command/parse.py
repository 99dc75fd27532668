"""`tensormt parse`: text to trees, brackets or CoNLL-U, to be scored again and again."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

from tensormt.command.arguments import LANG, PARSERS, load_parser
from tensormt.command.progress import Progress, loading
from tensormt.data import atomic_write, files
from tensormt.errors import TensorMTError

EXAMPLES = """
examples:
  tensormt parse hyp.txt -o hyp.ptb
  zcat big.gz | tensormt parse - -o - > big.ptb
  tensormt score ref.ptb -i hyp.ptb -m stm hwcm --trees
  tensormt parse hyp.de.txt --lang de -o hyp.conllu
  tensormt score ref.conllu -i hyp.conllu -m hwcm dstm --trees

One segment a line in, one tree a line out; an empty segment is an empty line. CoNLL-U has a tree a
segment too, numbered by '# sent_id'.
"""
SLICE = 10_000  # lines in memory at once
MOST = 1000  # tokens of a sentence: the chart of more takes gigabytes


def add(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "parse",
        help="text to trees",
        description="Parse text, one segment a line, into Penn-style brackets or CoNLL-U.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", metavar="FILE", help="text, one segment a line ('-': stdin)")
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="('-': stdout)")
    options = {
        "--trusted": "open a supar checkpoint although a pickle can run any code",
        "--tokenized": "the text is tokenised: split at spaces only",
        "--whole": "a segment is one sentence: do not split it",
    }
    for name, text in options.items():
        parser.add_argument(name, action="store_true", help=text)
    parser.add_argument("--parser", default="default", metavar="NAME|PATH", help=PARSERS)
    parser.add_argument("--lang", metavar="CODE", help=LANG)
    text = "brackets (of constituents) or conllu (dependencies); as the parser has them"
    parser.add_argument("-f", "--format", choices=["brackets", "conllu"], help=text)
    text = "cut sentences of more than N tokens (400)"
    parser.add_argument("--max-length", type=int, default=400, metavar="N", help=text)
    parser.add_argument("--device", default="auto", choices=["auto", "cpu", "cuda"])
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress bar")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Parse the file; the output appears whole or not at all."""
    source = files.Spool().path(args.file)
    total = files.count(source)
    with ExitStack() as stack:
        out = stack.enter_context(_output(args))
        if not 2 <= args.max_length <= MOST:
            raise TensorMTError(
                f"--max-length {args.max_length}: expected a whole number from 2 to {MOST}"
            )
        parser = load_parser(args, split=not args.whole, max_length=args.max_length)
        form = args.format or ("conllu" if parser.kind == "dependency" else "brackets")
        if form == "brackets" and parser.kind == "dependency":
            raise TensorMTError(
                f"--parser {args.parser} makes dependency trees, which brackets cannot hold: "
                "write --format conllu"
            )
        if form == "conllu":
            out.write(f"# segments = {total}\n".encode())
        done = 0
        with loading("the parser", quiet=args.quiet):
            parser.parse(["."] if total else [])  # the weights are read when they are first used
        bar = stack.enter_context(Progress(total, "parse", quiet=args.quiet))
        for part in files.slices(source, SLICE):
            segments = [line.split() for line in part] if args.tokenized else part
            trees = parser.parse(segments, bar)
            if form == "conllu":
                out.write(trees.dependencies().to_conllu(first=done + 1).encode())
            else:
                out.write("".join(tree + "\n" for tree in trees.to_brackets()).encode())
            out.flush()
            done += len(part)
    return 0


@contextmanager
def _output(args: argparse.Namespace) -> Iterator[IO[bytes]]:
    """Where the trees go: standard output, a device or pipe as it is, or a file in one step."""
    if args.output == "-":
        yield sys.stdout.buffer
        return
    path = Path(args.output)
    if atomic_write.is_stream(path):
        with files.open_stream(path) as out:
            yield out
        return
    with atomic_write.whole_file(atomic_write.output_path(path, [args.file, args.parser])) as out:
        yield out
