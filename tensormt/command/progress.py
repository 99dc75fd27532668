"""A progress bar on standard error: how far, how fast, how long still.

    parse  45 %  4,500/10,000 segments  512/s  0:10 left

It is drawn over itself at most ten times a second, only on a terminal, and wiped at the end, so
that logs, pipes and quiet runs see nothing of it.
"""

import sys
import time
from types import TracebackType
from typing import TextIO


def clock(seconds: float) -> str:
    """Seconds as h:mm:ss or m:ss.

    >>> clock(75), clock(3675)
    ('1:15', '1:01:15')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class Progress:
    """Counts items towards a total (None: unknown) and draws a line; use it in a `with`."""

    def __init__(
        self,
        total: int | None,
        title: str,
        unit: str = "segments",
        *,
        quiet: bool = False,
        stream: TextIO | None = None,
    ) -> None:
        self.total, self.title, self.unit = total, title, unit
        self.stream = sys.stderr if stream is None else stream
        self.shown = not quiet and self.stream.isatty()
        self.done = 0
        self.note = ""
        self.start = time.monotonic()
        self._drawn = float("-inf")

    def __call__(self, count: int = 1, note: str | None = None) -> None:
        """Count `count` more items; `note` stays at the end of the line until the next one."""
        self.done += count
        self.note = self.note if note is None else note
        now = time.monotonic()
        if self.shown and now - self._drawn >= 0.1:
            self._drawn = now
            self.stream.write(f"\r\x1b[2K{self.line(now - self.start)}")
            self.stream.flush()

    def line(self, seconds: float) -> str:
        """What the bar says after so many seconds."""
        rate = self.done / seconds if seconds > 0 else 0.0
        speed = f"{rate:,.0f}/s" if rate >= 10 or not rate else f"{rate:.1f}/s"
        parts = [self.title, f"{self.done:,} {self.unit}", speed]
        if self.total:
            parts[1:2] = [
                f"{100 * self.done // self.total:3} %",
                f"{self.done:,}/{self.total:,} {self.unit}",
            ]
            if rate:
                parts.append(f"{clock((self.total - self.done) / rate)} left")
        return "  ".join([*parts, self.note]).rstrip()

    def __enter__(self) -> "Progress":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.shown:
            self.stream.write("\r\x1b[2K")
            self.stream.flush()
