"""progress: what the bar says, and that it keeps quiet where nobody watches."""

import io

from tensormt.command.progress import Progress, clock


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_clock():
    assert [clock(s) for s in (0, 59.6, 75, 3599, 3675)] == [
        "0:00",
        "1:00",
        "1:15",
        "59:59",
        "1:01:15",
    ]


def test_the_line_says_how_far_how_fast_how_long():
    bar = Progress(10_000, "parse", stream=Terminal())
    bar(4500)
    assert bar.line(9.0) == "parse   45 %  4,500/10,000 segments  500/s  0:11 left"
    assert Progress(None, "read", "lines", stream=Terminal()).line(1.0) == "read  0 lines  0/s"
    slow = Progress(100, "train", "sentences", stream=Terminal())
    slow(5, "loss 0.5")
    assert slow.line(10.0) == "train    5 %  5/100 sentences  0.5/s  3:10 left  loss 0.5"


def test_it_draws_over_itself_and_wipes_the_line():
    stream = Terminal()
    with Progress(2, "parse", stream=stream) as bar:
        bar()
    assert stream.getvalue().startswith("\r\x1b[2Kparse   50 %  1/2 segments")
    assert stream.getvalue().endswith("\r\x1b[2K")


def test_it_keeps_quiet():
    for stream, quiet in ((io.StringIO(), False), (Terminal(), True)):
        with Progress(2, "parse", stream=stream, quiet=quiet) as bar:
            bar(2)
        assert stream.getvalue() == ""
        assert bar.done == 2
