"""`tensormt`: runs a command, and reports errors in one line with an exit status.

Exit status 0: success. 2: invalid input, with a message of one line on standard error. 130 and 143:
stopped by Ctrl-C or SIGTERM. 141: standard output was closed (`| head`).
"""

from __future__ import annotations

import _thread
import argparse
import io
import os
import signal
import sys
import threading
import time
from collections.abc import Collection, Sequence
from importlib import import_module
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from tensormt.command.arguments import Store, print_message, printed_warnings, with_flags
from tensormt.errors import TensorMTError
from tensormt.version import __version__

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

# command → its module, and its line in the list of commands
COMMANDS = {
    "score": ("score", "score systems against references"),
    "score-files": ("score_files", "score folders of Parquet, JSONL or TSV files on many workers"),
    "compare": ("compare", "test whether one system is better than another"),
    "parse": ("parse", "parse text into trees"),
    "train-parser": ("train_parser", "train a parser on a treebank"),
    "metaeval": ("metaeval", "correlate metrics with human scores"),
    "qarla": ("qarla", "QUEEN, KING, JACK and the best set of metrics"),
    "report": ("report", "write an HTML report: where systems differ, what they match"),
    "explain": ("explain", "print what was matched in a segment"),
    "rerank": ("rerank", "choose among candidates by minimum Bayes risk"),
    "diversity": ("diversity", "self-BLEU, distinct-n, self-STM of several outputs"),
    "list": ("listing", "list the metrics with their options"),
}

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
    """Raised on SIGTERM."""


class _Parser(argparse.ArgumentParser):
    """Reports errors in one line; an option with several values may be repeated."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.register("action", None, Store)

    def error(self, message: str) -> NoReturn:
        """Print the message and exit with status 2."""
        print_message(f"{message[:500]} (see {self.prog} --help)")
        self.exit(2)


def build_parser(wanted: Collection[str] | None = None) -> argparse.ArgumentParser:
    """Build the argument parser.

    Args:
        wanted: Commands whose modules are imported; the others are only listed. None: all.

    Returns:
        A parser whose namespaces have the function `run` of the command.
    """
    parser = _Parser(
        prog="tensormt",
        description="Syntactic and multi-reference evaluation of machine translation.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"tensormt {__version__}")
    parser.add_argument("--print-completion", action=_Completion, metavar="SHELL")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, (module, summary) in COMMANDS.items():
        if wanted is not None and name not in wanted:
            subparsers.add_parser(name, help=summary)
            continue
        command = import_module(f"tensormt.command.{module}")
        own = subparsers.add_parser(
            name,
            help=summary,
            description=command.DESCRIPTION,
            epilog=command.EXAMPLES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_arguments(own)
        own.set_defaults(run=command.run)
    return parser


def _wanted(arguments: Sequence[str]) -> Collection[str] | None:
    """The commands that a command line can use: only their modules are imported."""
    first = arguments[0] if arguments else "--help"
    if first in ("-h", "--help", "--version"):
        return ()
    return (first,) if first in COMMANDS else None


class _Completion(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *args: object, **kwargs: object) -> None:
        import shtab

        shell = str(args[1])
        if shell not in shtab.SUPPORTED_SHELLS:
            parser.error(f"no completion for {shell!r}: choose from {shtab.SUPPORTED_SHELLS}")
        print(shtab.complete(parser, shell=shell))
        parser.exit(0)


_arrived: list[int] = []  # signals received that stop the run


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    _arrived.append(number)
    raise KeyboardInterrupt if number == signal.SIGINT else _Stopped


def _watch_signals() -> None:
    """Handle SIGTERM and SIGINT; a SIGINT that the caller ignores stays ignored."""
    _arrived.clear()
    if threading.current_thread() is threading.main_thread():
        _watch_callbacks()
        signal.signal(signal.SIGTERM, _stop)
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, _stop)


def _watch_callbacks() -> None:
    """Send a signal again if it arrived in a callback or a `__del__`, where Python drops it."""
    otherwise = sys.unraisablehook

    def again(dropped: UnraisableHookArgs) -> None:
        if _arrived and issubclass(dropped.exc_type, KeyboardInterrupt | _Stopped):
            # a bare thread, since the hook must return before the signal is sent
            _thread.start_new_thread(_send, (_arrived[-1],))
        else:
            otherwise(dropped)

    sys.unraisablehook = again


def _send(number: int) -> None:
    time.sleep(0.02)  # until the callback has returned
    if signal.getsignal(number) is _stop:
        os.kill(os.getpid(), number)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line.

    Args:
        arguments: Arguments without the program's name; None: those of the process.

    Returns:
        The exit status.

    >>> main(["list"])  # doctest: +ELLIPSIS
    bleu ...
    0
    """
    unraisable = sys.unraisablehook
    try:
        _watch_signals()
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")  # a terminal that cannot print ±
        if sys.stdout is None:  # closed by the caller, `>&-`
            raise TensorMTError("standard output is closed: send it to a file or a terminal")
        given = sys.argv[1:] if arguments is None else list(arguments)
        args = build_parser(_wanted(given)).parse_args(given or ["--help"])
        with printed_warnings():
            status: int = args.run(args)
        sys.stdout.flush()
        if _arrived:  # a library caught the exception
            raise _Stopped
        return status
    except BrokenPipeError:
        # standard output was closed: avoid a second error at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except BaseException as error:
        if _arrived:  # also if a library raised another exception instead
            if signal.getsignal(_arrived[0]) is _stop:
                signal.signal(_arrived[0], signal.SIG_IGN)  # a second Ctrl-C prints nothing more
            stopped = "Ctrl-C" if _arrived[0] == signal.SIGINT else "SIGTERM"
            print_message(f"stopped by {stopped}")
            return 128 + _arrived[0]
        message = _message(error)
        if message is None:
            raise
        print_message(message)
        return 2
    finally:
        sys.unraisablehook = unraisable


def _message(error: BaseException) -> str | None:
    """The message of an expected error; None: an unexpected one, which keeps its traceback."""
    if isinstance(error, TensorMTError):
        return with_flags(error)
    if isinstance(error, OSError):
        return f"{error.filename or 'output'}: {error.strerror or error}"
    if isinstance(error, MemoryError) or "can't allocate memory" in str(error):
        return "not enough memory for this input: split it, or try a smaller --chunk"
    if isinstance(error, RecursionError):
        return "the input is nested too deeply to be read"
    if isinstance(error, UnicodeError):
        return (
            f"the input contains characters that cannot be encoded: {error.reason}"
            if isinstance(error, UnicodeEncodeError | UnicodeDecodeError)
            else "the input contains characters that cannot be encoded"
        )
    if isinstance(error, OverflowError):
        return f"a number is too large: {error}"
    return None


if __name__ == "__main__":
    sys.exit(main())
