"""A tqdm progress bar on standard error, shown on terminals only and removed at the end.

parse:  45%|████▌     | 4500/10000 [00:08<00:10, 512 segments/s, 90 texts parsed]
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TextIO

_WIDTH = 80  # columns where the terminal does not know its width


@contextmanager
def loading(what: str, *, quiet: bool = False) -> Iterator[None]:
    """Show on a terminal that something is being loaded; the line is removed afterwards."""
    shown = not quiet and sys.stderr.isatty()
    if shown:
        print(f"loading {what} …", end="", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        if shown:
            print("\r" + " " * (len(what) + 10) + "\r", end="", file=sys.stderr, flush=True)


def _width(stream: TextIO) -> int:
    """The columns of a terminal; 0 if it does not know them, where tqdm would show nothing."""
    try:
        return os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        return _WIDTH


class Progress:
    """Context manager: a progress bar.

    Args:
        total: Number of items; None: unknown.
        title: Text before the bar.
        unit: What is counted.
        quiet: Whether to show nothing.
        stream: Where the bar is drawn; None: standard error.
    """

    def __init__(
        self,
        total: int | None,
        title: str,
        unit: str = "segments",
        *,
        quiet: bool = False,
        stream: TextIO | None = None,
    ) -> None:
        stream = sys.stderr if stream is None else stream
        self._bar = None
        if quiet or not stream.isatty():
            return
        from tqdm import tqdm

        self._bar = tqdm(
            total=total,
            desc=title,
            unit=f" {unit}",
            file=stream,
            leave=False,
            dynamic_ncols=_width(stream) > 0,
            ncols=None if _width(stream) > 0 else _WIDTH,
        )

    def __call__(self, count: int = 1, note: str | None = None) -> None:
        """Count `count` more items; `note` is shown at the end of the line until the next note."""
        if self._bar is None:
            return
        if note is not None:
            self._bar.set_postfix_str(note, refresh=False)
        self._bar.update(count)
        if not count:
            self._bar.refresh()

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()
