"""progress: a bar on a terminal, silence where nobody watches."""

import contextlib
import fcntl
import io
import os
import pty
import struct
import termios

import pytest

from tensormt.command.progress import Progress, loading


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


def written(terminal):
    """All that was written; one read may return a part of it."""
    found = b""
    with contextlib.suppress(OSError), os.fdopen(terminal, "rb", buffering=0) as stream:
        while part := stream.read(10_000):
            found += part
    return found.decode()


@pytest.mark.parametrize("columns", [9, 20, 200])
@pytest.mark.parametrize("total", [None, 40])
def test_a_narrow_terminal(columns, total):
    """A real one: a line that is longer than it would leave its rest behind."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 9, columns, 0, 0))
    with os.fdopen(theirs, "w") as stream, Progress(total, "read", "lines", stream=stream) as bar:
        bar(3)
        bar(0, "12 texts parsed")
    lines = written(ours).split("\r")
    assert any("read" in line for line in lines)
    assert max(map(len, lines)) < columns


def test_a_terminal_without_a_width():
    """Some report 0 columns: the bar is drawn all the same."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 0, 0, 0, 0))
    with os.fdopen(theirs, "w") as stream, Progress(40, "read", "lines", stream=stream) as bar:
        bar(3)
        bar(0, "12 texts parsed")
    drawn = written(ours)
    assert "3/40" in drawn
    assert "12 texts parsed" in drawn


def test_it_keeps_quiet():
    for stream, quiet in ((io.StringIO(), False), (Terminal(), True)):
        with Progress(2, "parse", stream=stream, quiet=quiet) as bar:
            bar(2)
        assert stream.getvalue() == ""


class Notebook:
    """What Jupyter puts in the place of standard error: no file, no terminal, no size."""

    def __init__(self, terminal):
        self.terminal, self.drawn = terminal, ""

    def write(self, text):
        self.drawn += text
        return len(text)

    def flush(self):
        pass

    def isatty(self):
        return self.terminal

    def fileno(self):
        raise io.UnsupportedOperation("fileno")


@pytest.mark.parametrize("terminal", [False, True])
def test_a_notebook(terminal):
    stream = Notebook(terminal)
    with Progress(3, "parse", stream=stream) as bar:
        bar(1)
        bar(2, "done")
    assert ("0/3" in stream.drawn) is terminal
    assert "\n" not in stream.drawn.strip()


def test_a_log_file(tmp_path):
    """Nothing is drawn into a file, which would keep every state of the bar."""
    with open(tmp_path / "log", "w") as stream:
        with Progress(3, "parse", stream=stream) as bar:
            for _ in range(3):
                bar(1, "some")
        print("tensormt: a warning", file=stream)
    assert (tmp_path / "log").read_text() == "tensormt: a warning\n"


def test_loading_is_said_on_a_terminal_only(monkeypatch):
    for stream, expected in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr("sys.stderr", stream)
        with loading("the parser"):
            assert ("loading the parser" in stream.getvalue()) is expected
        assert not stream.getvalue().split("\r")[-1].strip()
