"""progress: a bar on a terminal, silence where nobody watches."""

import io

import pytest

from tensormt.command.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_it_is_drawn_on_a_terminal_and_wiped():
    stream = Terminal()
    with Progress(4, "parse", stream=stream) as bar:
        bar(1)
        bar(0, "9 texts parsed")
    drawn = stream.getvalue()
    assert "parse" in drawn
    assert "1/4" in drawn
    assert "9 texts parsed" in drawn
    assert not drawn.split("\r")[-1].strip()


@pytest.mark.parametrize("columns", ["8", "20", "200"])
def test_a_narrow_terminal(columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    stream = Terminal()
    with Progress(None, "read", "lines", stream=stream) as bar:
        bar(3)
    assert stream.getvalue()


def test_it_keeps_quiet():
    for stream, quiet in ((io.StringIO(), False), (Terminal(), True)):
        with Progress(2, "parse", stream=stream, quiet=quiet) as bar:
            bar(2)
        assert stream.getvalue() == ""
