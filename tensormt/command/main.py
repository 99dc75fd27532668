"""`tensormt`: finds the subcommand, runs it, and turns what goes wrong into one line and a status.

Status 0: done. 2: bad input, with one sentence on standard error. 130 and 143: stopped by Ctrl-C or
SIGTERM. 141: the reader of standard output went away (`| head`).
"""

from __future__ import annotations

import argparse
import io
import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from types import FrameType
from typing import NoReturn

from tensormt.errors import TensorMTError
from tensormt.version import __version__

__all__ = ["build_parser", "main"]

COMMANDS = (
    "score",
    "compare",
    "parse",
    "train_parser",
    "metaeval",
    "qarla",
    "report",
    "explain",
    "listing",
)

EXAMPLES = """
examples:
  tensormt score ref.txt -i hyp.txt -m bleu stm hwcm
  tensormt score ref1.txt ref2.txt -i sysA.txt sysB.txt -m bleu bm stm:balance=f1 -f json
  tensormt compare ref.txt -i baseline.txt system.txt -m bleu stm
  tensormt parse hyp.txt -o hyp.ptb
  tensormt list

`tensormt COMMAND --help` shows the options and examples of a command.
Shell completion: eval "$(tensormt --print-completion bash)" (or zsh, tcsh).
"""


class _Stopped(BaseException):
    """SIGTERM arrived."""


def build_parser() -> argparse.ArgumentParser:
    """The parser with all subcommands."""
    parser = argparse.ArgumentParser(
        prog="tensormt",
        description="Syntactic and multi-reference evaluation of machine translation.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"tensormt {__version__}")
    parser.add_argument("--print-completion", action=_Completion, metavar="SHELL")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name in COMMANDS:
        import_module(f"tensormt.command.{name}").add(subparsers)
    return parser


class _Completion(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *args: object, **kwargs: object) -> None:
        import shtab

        shell = str(args[1])
        if shell not in shtab.SUPPORTED_SHELLS:
            parser.error(f"no completion for {shell!r}: choose from {shtab.SUPPORTED_SHELLS}")
        print(shtab.complete(parser, shell=shell))
        parser.exit(0)


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    raise _Stopped


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line; the exit status."""
    signal.signal(signal.SIGTERM, _stop)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal that has no ± shows ?
    try:
        args = build_parser().parse_args(arguments)
        status: int = args.run(args)
        sys.stdout.flush()
        return status
    except TensorMTError as error:
        print(f"tensormt: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # nobody reads standard output any more: leave without a complaint at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except KeyboardInterrupt:
        print("tensormt: stopped by Ctrl-C", file=sys.stderr)
        return 130
    except _Stopped:
        print("tensormt: stopped by SIGTERM", file=sys.stderr)
        return 143
    except OSError as error:
        print(f"tensormt: {error.filename or 'output'}: {error.strerror}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
