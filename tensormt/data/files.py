"""Input files: opened (gzip too), decoded by lines, counted; standard input kept for rereading."""

from __future__ import annotations

import gzip
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from tensormt.errors import TensorMTError

__all__ = ["Spool", "count", "kind", "lines", "open_bytes", "shown", "text"]


class Spool:
    """Standard input and pipes kept in temporary files, since input is read more than once."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def path(self, name: str) -> str:
        """A file that can be read again: the name itself, or a copy of what a pipe gives."""
        if name != "-" and (not Path(name).exists() or Path(name).is_file()):
            return name
        if name in self.names:
            raise TensorMTError(f"{name!r} can be named only once: it can be read only once")
        self.names.add(name)
        copy = tempfile.NamedTemporaryFile(prefix="tensormt-", suffix=_suffix(name))  # noqa: SIM115
        try:
            source = sys.stdin.buffer if name == "-" else open(name, "rb")  # noqa: SIM115
            while block := source.read(1 << 20):
                copy.write(block)
        except OSError as error:
            raise TensorMTError(f"{name} cannot be read: {error.strerror}") from None
        copy.flush()
        _KEPT[copy.name] = ("standard input" if name == "-" else name, copy)
        return copy.name


def _suffix(name: str) -> str:
    return Path(name).suffix if name != "-" else ""


# path of a copy → what it is called, and the file, which lives as long as the program
_KEPT: dict[str, tuple[str, IO[bytes]]] = {}


def shown(path: str) -> str:
    return _KEPT[path][0] if path in _KEPT else path


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
        except (OSError, EOFError, zlib.error) as error:
            raise TensorMTError(f"{shown(path)} cannot be read: {error}") from None


def text(path: str) -> str:
    """The whole text of a UTF-8 file."""
    with open_bytes(path) as file:
        try:
            return file.read().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = error.object[: error.start].count(b"\n") + 1
            raise TensorMTError(f"{shown(path)}, line {line}: not UTF-8 text") from None
        except (OSError, EOFError, zlib.error) as error:
            raise TensorMTError(f"{shown(path)} cannot be read: {error}") from None


def count(path: str) -> int:
    """Number of lines, the last one with or without its end."""
    found, last = 0, b"\n"
    with open_bytes(path) as file:
        try:
            while block := file.read(1 << 20):
                found += block.count(b"\n")
                last = block[-1:]
        except (OSError, EOFError, zlib.error) as error:
            raise TensorMTError(f"{shown(path)} cannot be read: {error}") from None
    return found + (last != b"\n")
