"""`tensormt`: finds the subcommand, runs it, and turns what goes wrong into one line and a status.

Status 0: done. 2: bad input, with one sentence on standard error. 130 and 143: stopped by Ctrl-C or
SIGTERM. 141: the reader of standard output went away (`| head`).
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
from typing import TYPE_CHECKING, NoReturn

from tensormt.command.arguments import print_message, printed_warnings
from tensormt.errors import TensorMTError
from tensormt.version import __version__

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

# command → its module, and what it does in the list of commands
COMMANDS = {
    "score": ("score", "text in, scores out"),
    "score-files": ("score_files", "folders of shards, many workers"),
    "compare": ("compare", "is one system better than another?"),
    "parse": ("parse", "text to trees"),
    "train-parser": ("train_parser", "train a parser on a treebank"),
    "metaeval": ("metaeval", "correlation of metrics with human scores"),
    "qarla": ("qarla", "QUEEN, KING, JACK and the best set of metrics"),
    "report": ("report", "a page in the browser: where systems differ, what they match"),
    "explain": ("explain", "what was matched in a segment"),
    "list": ("listing", "metrics with their options"),
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
    """SIGTERM arrived."""


class _Parser(argparse.ArgumentParser):
    """Complains in one sentence, like everything else."""

    def error(self, message: str) -> NoReturn:
        """End with status 2."""
        print_message(f"{message[:500]} (see {self.prog} --help)")
        self.exit(2)


def build_parser(wanted: Collection[str] | None = None) -> argparse.ArgumentParser:
    """The parser with all subcommands, or with those wanted: the others are only named."""
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
        if wanted is None or name in wanted:
            import_module(f"tensormt.command.{module}").add(subparsers)
        else:
            subparsers.add_parser(name, help=summary)
    return parser


def _wanted(arguments: Sequence[str]) -> Collection[str] | None:
    """The commands that a command line can be about: only their modules need to be imported."""
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


_arrived: list[int] = []  # signals that stop the run


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    _arrived.append(number)
    raise KeyboardInterrupt if number == signal.SIGINT else _Stopped


def _watch_signals() -> None:
    """End in one line when a signal comes; a signal that the caller has switched off stays off."""
    _arrived.clear()
    if threading.current_thread() is threading.main_thread():
        _watch_callbacks()
        signal.signal(signal.SIGTERM, _stop)
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, _stop)


def _watch_callbacks() -> None:
    """A signal that falls into a callback or a `__del__`, where Python drops it, comes again."""
    otherwise = sys.unraisablehook

    def again(dropped: UnraisableHookArgs) -> None:
        if _arrived and issubclass(dropped.exc_type, KeyboardInterrupt | _Stopped):
            # a thread without ceremony: nothing is left to do here when it sends the signal
            _thread.start_new_thread(_send, (_arrived[-1],))
        else:
            otherwise(dropped)

    sys.unraisablehook = again


def _send(number: int) -> None:
    time.sleep(0.02)  # the callback is over
    if signal.getsignal(number) is _stop:
        os.kill(os.getpid(), number)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line; the exit status."""
    unraisable = sys.unraisablehook
    try:
        _watch_signals()
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")  # a terminal that has no ±
        given = sys.argv[1:] if arguments is None else list(arguments)
        args = build_parser(_wanted(given)).parse_args(given)
        with printed_warnings():
            status: int = args.run(args)
        sys.stdout.flush()
        if _arrived:  # a library kept it for itself
            raise _Stopped
        return status
    except BrokenPipeError:
        # nobody reads standard output any more: leave without a complaint at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except BaseException as error:
        if _arrived:  # whatever a library made of it
            if signal.getsignal(_arrived[0]) is _stop:
                signal.signal(_arrived[0], signal.SIG_IGN)  # impatience adds no second line
            stopped = "Ctrl-C" if _arrived[0] == signal.SIGINT else "SIGTERM"
            print_message(f"stopped by {stopped}")
            return 128 + _arrived[0]
        sentence = _sentence(error)
        if sentence is None:
            raise
        print_message(sentence)
        return 2
    finally:
        sys.unraisablehook = unraisable


def _sentence(error: BaseException) -> str | None:
    """What went wrong, for people; None where nobody has foreseen it."""
    if isinstance(error, TensorMTError):
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in error.options.split())
        return f"{error} ({flags})" if flags else str(error)
    if isinstance(error, OSError):
        return f"{error.filename or 'output'}: {error.strerror or error}"
    if isinstance(error, MemoryError) or "can't allocate memory" in str(error):
        return "there is not enough memory for this input: cut it, or try a smaller --chunk"
    if isinstance(error, RecursionError):
        return "the input is nested too deeply to be read"
    if isinstance(error, UnicodeError):
        return (
            f"the input holds characters that cannot be encoded: {error.reason}"
            if isinstance(error, UnicodeEncodeError | UnicodeDecodeError)
            else "the input holds characters that cannot be encoded"
        )
    if isinstance(error, OverflowError):
        return f"a number is too large: {error}"
    return None


if __name__ == "__main__":
    sys.exit(main())
