"""Input files: opened (gzip too), decoded by lines, counted; standard input kept for rereading."""

from __future__ import annotations

import gzip
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from tensormt.errors import TensorMTError

__all__ = ["Spool", "count", "kind", "lines", "open_bytes", "shown"]


class Spool:
    """Standard input kept in a temporary file, since input is read more than once."""

    def __init__(self) -> None:
        self.file: IO[bytes] | None = None

    def path(self, name: str) -> str:
        if name != "-":
            return name
        if self.file is not None:
            raise TensorMTError("'-' (standard input) can be named only once")
        self.file = tempfile.NamedTemporaryFile(prefix="tensormt-stdin-")  # noqa: SIM115
        while block := sys.stdin.buffer.read(1 << 20):
            self.file.write(block)
        self.file.flush()
        _KEPT[self.file.name] = self.file
        return self.file.name


_KEPT: dict[str, IO[bytes]] = {}  # spooled files live as long as the program


def shown(path: str) -> str:
    return "standard input" if path in _KEPT else path


def open_bytes(path: str) -> IO[bytes] | gzip.GzipFile:
    try:
        return gzip.open(path) if path.endswith(".gz") else open(path, "rb")
    except OSError as error:
        raise TensorMTError(f"{shown(path)} cannot be read: {error.strerror}") from None


def kind(path: str) -> str:
    return Path(path.removesuffix(".gz")).suffix.lower()


def lines(path: str) -> Iterator[str]:
    """The lines of a UTF-8 file, without their ends."""
    with open_bytes(path) as file:
        try:
            for number, line in enumerate(file, 1):
                try:
                    text = line.decode("utf-8-sig" if number == 1 else "utf-8")
                except UnicodeDecodeError:
                    raise TensorMTError(f"{shown(path)}, line {number}: not UTF-8 text") from None
                yield text.rstrip("\r\n")
        except (OSError, EOFError) as error:
            raise TensorMTError(f"{shown(path)} cannot be read: {error}") from None


def count(path: str) -> int:
    """Number of lines, the last one with or without its end."""
    found, last = 0, b"\n"
    with open_bytes(path) as file:
        try:
            while block := file.read(1 << 20):
                found += block.count(b"\n")
                last = block[-1:]
        except (OSError, EOFError) as error:
            raise TensorMTError(f"{shown(path)} cannot be read: {error}") from None
    return found + (last != b"\n")
