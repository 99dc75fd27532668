"""Signals that fall where Python drops exceptions: the command ends all the same, in one line."""

import signal
import subprocess
import sys

import pytest

from tensormt.command import listing
from tensormt.command.main import build_parser, main

# `tensormt list`, in whose midst {moment} happens; without a stop it goes on to a result
PROGRAM = """
import signal, sys, time, weakref
from tensormt.command import listing
from tensormt.command.main import main

class Thing:
    pass

def strike(*rest):
    signal.raise_signal({number})
    time.sleep(0)

def callback():
    thing = Thing()
    kept = weakref.ref(thing, strike)
    del thing

def finaliser():
    Thing.__del__ = strike
    Thing()

def library():
    try:
        strike()
    except BaseException:
        pass

def run(args):
    {moment}()
    time.sleep({seconds})
    print("result")
    return 0

listing.run = run
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(main(["list"]))
"""


def struck(moment, number, seconds):
    program = PROGRAM.format(moment=moment, number=int(number), seconds=seconds)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("moment", ["callback", "finaliser"])
@pytest.mark.parametrize(
    ("number", "name"), [(signal.SIGINT, "Ctrl-C"), (signal.SIGTERM, "SIGTERM")]
)
def test_a_dropped_signal_comes_again(moment, number, name):
    """From a weakref's callback and from `__del__`: nothing is printed of it, not even a result."""
    assert struck(moment, number, 20) == (128 + number, "", f"tensormt: stopped by {name}\n")


@pytest.mark.parametrize("moment", ["callback", "library"])
def test_a_dropped_signal_is_not_forgotten_at_the_end(moment):
    """The run was over before the signal came again, or a library kept it: still a stop."""
    status, _, err = struck(moment, signal.SIGTERM, 0)
    assert (status, err) == (143, "tensormt: stopped by SIGTERM\n")


def test_other_dropped_errors_are_told_as_before(monkeypatch, capsys):
    """They go to the hook of the caller, who has it back in the end."""
    told = []

    def hook(dropped):
        told.append(dropped.exc_type)

    class Thing:
        def __init__(self, error):
            self.error = error

        def __del__(self):
            raise self.error

    def run(args):
        Thing(ValueError())
        Thing(KeyboardInterrupt())  # nobody's signal
        return 0

    monkeypatch.setattr(sys, "unraisablehook", hook)
    monkeypatch.setattr(listing, "run", run)
    previous = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        assert main(["list"]) == 0
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    assert told == [ValueError, KeyboardInterrupt]
    assert sys.unraisablehook is hook
    assert capsys.readouterr() == ("", "")


def test_an_option_with_several_values_may_be_repeated():
    parser = build_parser()
    words = ["score", "r", "-i", "a", "-m", "bleu,ter", "-i", "b", "c", "-m", "wer"]
    args = parser.parse_args(words)
    assert (args.input, args.metrics) == (["a", "b", "c"], ["bleu", "ter", "wer"])
    options = ["--scores", "A=a", "--scores", "B=b", "--lower-is-better", "A", "B"]
    args = parser.parse_args(["metaeval", "d.jsonl", *options])
    assert (args.scores, args.lower_is_better) == (["A=a", "B=b"], ["A", "B"])
    assert args.metrics == ["bleu"]
    assert parser.parse_args(["metaeval", "d.jsonl"]).scores == []
