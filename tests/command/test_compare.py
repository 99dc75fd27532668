"""`tensormt compare`."""

import json
import signal
from pathlib import Path

import pytest

from tensormt.command.main import main

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


REFS = [str(EXAMPLES / "ref1.txt"), str(EXAMPLES / "ref2.txt")]


SYSTEMS = [str(EXAMPLES / "sysA.txt"), str(EXAMPLES / "sysB.txt")]


def here(capsys, *arguments):
    """The command in this process: status, standard output, standard error."""
    previous = signal.getsignal(signal.SIGTERM)
    try:
        status = main([str(argument) for argument in arguments])
    finally:
        signal.signal(signal.SIGTERM, previous)
    return status, *capsys.readouterr()


def test_compare(capsys):
    arguments = ("compare", *REFS, "-i", *SYSTEMS, "-m", "bleu")
    status, text, _ = here(capsys, *arguments)
    assert status == 0
    assert "paired bootstrap, 1000 resamples, seed 12345" in text
    _, out, _ = here(capsys, *arguments, "--paired-ar", "--samples", 99, "-f", "json")
    report = json.loads(out)
    assert (report["test"], report["samples"]) == ("ar", 99)
    assert report["comparisons"][0]["system"] == "sysB.txt"
    assert report["comparisons"][0]["p"] == pytest.approx(0.01)
