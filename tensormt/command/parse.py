"""`tensormt parse`: text to bracketed trees, one a line, to be scored again and again."""

import argparse
import os
import sys
import tempfile
import warnings
from contextlib import ExitStack
from pathlib import Path

from tensormt.command.options import choose_device
from tensormt.command.progress import Progress
from tensormt.data import files
from tensormt.errors import TensorMTError

EXAMPLES = """
examples:
  tensormt parse hyp.txt -o hyp.ptb
  zcat big.gz | tensormt parse - -o - > big.ptb
  tensormt score ref.ptb -i hyp.ptb -m stm hwcm --trees

One segment a line in, one tree a line out; an empty segment is an empty line.
"""
SLICE = 10_000  # lines in memory at once


def add(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "parse",
        help="text to bracketed trees",
        description="Parse text, one segment a line, into Penn-style brackets.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", metavar="FILE", help="text, one segment a line ('-': stdin)")
    parser.add_argument("-o", "--output", default="-", metavar="FILE.ptb", help="('-': stdout)")
    options = {
        "--trusted": "open a supar checkpoint although a pickle can run any code",
        "--tokenized": "the text is tokenised: split at spaces only",
        "--whole": "a segment is one sentence: do not split it",
    }
    for name, text in options.items():
        parser.add_argument(name, action="store_true", help=text)
    text = "'default', a folder of train-parser or a supar checkpoint"
    parser.add_argument("--parser", default="default", metavar="NAME|PATH", help=text)
    text = "cut sentences of more than N tokens (400)"
    parser.add_argument("--max-length", type=int, default=400, metavar="N", help=text)
    parser.add_argument("--device", default="auto", choices=["auto", "cpu", "cuda"])
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress bar")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Parse the file; the output appears whole or not at all."""
    from tensormt.parser import Parser

    lines = list(files.lines(files.Spool().path(args.file)))
    parser = Parser.load(
        args.parser,
        args.trusted,
        choose_device(args.device),
        split=not args.whole,
        max_length=args.max_length,
    )
    with ExitStack() as stack:
        if args.output == "-":
            out, final, temporary = sys.stdout, None, None
        else:
            final = Path(args.output)
            handle, name = tempfile.mkstemp(prefix=f".{final.name}.", dir=_folder(final))
            temporary = Path(name)
            stack.callback(temporary.unlink, missing_ok=True)
            out = stack.enter_context(os.fdopen(handle, "w", encoding="utf-8", newline="\n"))
        caught = stack.enter_context(warnings.catch_warnings(record=True))
        bar = stack.enter_context(Progress(len(lines), "parse", quiet=args.quiet))
        for start in range(0, len(lines), SLICE):
            part = lines[start : start + SLICE]
            segments = [line.split() for line in part] if args.tokenized else part
            trees = parser.parse(segments, bar)
            out.write("".join(tree + "\n" for tree in trees.to_brackets()))
        out.flush()
        if temporary is not None and final is not None:
            os.chmod(temporary, 0o666 & ~_umask())
            os.replace(temporary, final)
    for warning in caught:
        print(f"tensormt: {warning.message}", file=sys.stderr)
    return 0


def _folder(path: Path) -> Path:
    if not path.parent.is_dir():
        raise TensorMTError(f"{path} cannot be written: there is no folder {path.parent}")
    return path.parent


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
