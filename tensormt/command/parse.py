"""`tensormt parse`: parse text into bracketed trees or CoNLL-U, which other commands read."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

from tensormt.command.arguments import add_parsing, load_parser
from tensormt.command.progress import Progress, loading
from tensormt.data import atomic_write, files
from tensormt.errors import TensorMTError

DESCRIPTION = "Parse text, one segment per line, into Penn-style brackets or CoNLL-U."
EXAMPLES = """
examples:
  tensormt parse hyp.txt -o hyp.ptb
  zcat big.gz | tensormt parse - -o - > big.ptb
  tensormt score ref.ptb -i hyp.ptb -m stm hwcm --trees
  tensormt parse hyp.de.txt --lang de -o hyp.conllu
  tensormt score ref.conllu -i hyp.conllu -m hwcm dstm --trees

Input has one segment per line, output one tree per line; an empty segment is an empty line. CoNLL-U
also has one tree per segment, numbered by '# sent_id'.
"""
BATCH_LINES = 10_000  # lines in memory at a time
MAX_LENGTH = 1000  # tokens per sentence: the chart of longer ones needs gigabytes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("file", metavar="FILE", help="text, one segment per line ('-': stdin)")
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="('-': stdout)")
    text = "the text is tokenized: split at spaces only"
    parser.add_argument("--tokenized", action="store_true", help=text)
    text = "each segment is one sentence: do not split it"
    parser.add_argument("--whole", action="store_true", help=text)
    text = "brackets (constituents) or conllu (dependencies); default: that of the parser"
    parser.add_argument("-f", "--format", choices=["brackets", "conllu"], help=text)
    text = "split sentences of more than N tokens (default 400)"
    parser.add_argument("--max-length", type=int, default=400, metavar="N", help=text)
    add_parsing(parser, cache=False)


def run(args: argparse.Namespace) -> int:
    """Parse the file; the output file is written completely or not at all."""
    source = files.Spool().path(args.file)
    total = files.count_lines(source)
    with ExitStack() as stack:
        out = stack.enter_context(open_output(args.output, [args.file, args.parser]))
        if not 2 <= args.max_length <= MAX_LENGTH:
            raise TensorMTError(
                f"--max-length {args.max_length}: expected an integer from 2 to {MAX_LENGTH}"
            )
        parser = load_parser(args, split=not args.whole, max_length=args.max_length)
        form = args.format or ("conllu" if parser.kind == "dependency" else "brackets")
        if form == "brackets" and parser.kind == "dependency":
            raise TensorMTError(
                f"--parser {args.parser} produces dependency trees, which cannot be written as "
                "brackets: use --format conllu"
            )
        if form == "conllu":
            out.write(f"# segments = {total}\n".encode())
        done = 0
        with loading("the parser", quiet=args.quiet):
            parser.parse(["."] if total else [])  # weights are loaded at the first use
        bar = stack.enter_context(Progress(total, "parse", quiet=args.quiet))
        check = None if args.no_language_check else getattr(parser, "language", None)
        for part in files.line_batches(source, BATCH_LINES):
            if check is not None and not done:
                check.require_script(part)
                check.warn(part)
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
def open_output(name: str, inputs: Sequence[str]) -> Iterator[IO[bytes]]:
    """Open the output: standard output, a device or pipe, or a file that is replaced atomically.

    Args:
        name: The file; `-`: standard output.
        inputs: Files that are read, which the output must not replace.
    """
    if name == "-":
        yield sys.stdout.buffer
        return
    path = Path(name)
    if atomic_write.is_stream(path):
        with files.open_stream(path) as out:
            yield out
        return
    with atomic_write.atomic_file(atomic_write.output_path(path, inputs)) as out:
        yield out
