"""Input files: opened (gzip too), decoded by lines, counted; standard input kept for rereading.

Every file that a user gives is read here: UTF-8 with or without a byte order mark, plain or `.gz`,
`-` for standard input. What cannot be read is one sentence that names the file and the line.
"""

from __future__ import annotations

import gzip
import json
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

from tensormt.errors import TensorMTError

_BLOCK = 1 << 20


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
            while block := source.read(_BLOCK):
                copy.write(block)
        except OSError as error:
            raise TensorMTError(f"{name} cannot be read: {error.strerror}") from None
        copy.flush()
        _KEPT[copy.name] = ("standard input" if name == "-" else name, copy)
        return copy.name


def rereadable(name: str) -> str:
    """A file that can be read again, for a single input."""
    return Spool().path(name)


def _suffix(name: str) -> str:
    return Path(name).suffix if name != "-" else ""


# path of a copy → what it is called, and the file, which lives as long as the program
_KEPT: dict[str, tuple[str, IO[bytes]]] = {}


def shown(path: str) -> str:
    """What a file is called in messages and tables."""
    return _KEPT[path][0] if path in _KEPT else path


def open_bytes(path: str) -> IO[bytes] | gzip.GzipFile:
    """A file to read bytes from, unpacked where its name ends in .gz."""
    try:
        return gzip.open(path) if path.endswith(".gz") else open(path, "rb")
    except OSError as error:
        raise TensorMTError(f"{shown(path)} cannot be read: {error.strerror}") from None
    except ValueError:  # a NUL byte in the name
        raise TensorMTError(f"{path!r} is no file name") from None


@contextmanager
def _reading(path: str) -> Iterator[IO[bytes] | gzip.GzipFile]:
    """The open file; whatever goes wrong while it is read names it."""
    with open_bytes(path) as file:
        try:
            yield file
        except (OSError, EOFError, zlib.error) as error:
            raise TensorMTError(f"{shown(path)} cannot be read: {error}") from None


def kind(path: str) -> str:
    """The suffix of a file's name in lower case, .gz left aside."""
    return Path(path.removesuffix(".gz")).suffix.lower()


def lines(path: str) -> Iterator[str]:
    """The lines of a UTF-8 file, without their ends."""
    return chain.from_iterable(_blocks(path))


def _blocks(path: str) -> Iterator[list[str]]:
    """The lines of a UTF-8 file in lists, decoded a block at a time."""
    with _reading(path) as file:
        number, rest = 0, b""  # of lines so far, and what follows the last whole one
        while block := file.read(_BLOCK):
            whole, end, rest = (rest + block).rpartition(b"\n")
            if end:
                yield _decoded(whole, path, number)
                number += whole.count(b"\n") + 1
        if rest:
            yield _decoded(rest, path, number)


def _decoded(data: bytes, path: str, number: int) -> list[str]:
    """The lines of a block that follows so many lines."""
    try:
        text = data.decode("utf-8" if number else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = number + error.object.count(b"\n", 0, error.start) + 1
        raise TensorMTError(f"{shown(path)}, line {line}: not UTF-8 text") from None
    found = text.split("\n")
    return [line.rstrip("\r") for line in found] if "\r" in text else found


def slices(path: str, size: int, start: int = 0) -> Iterator[list[str]]:
    """The lines of a UTF-8 file from a line on, `size` at a time."""
    rest = islice(lines(path), start, None)
    while part := list(islice(rest, size)):
        yield part


def open_stream(path: Path) -> IO[bytes]:
    """A device or pipe to write to."""
    try:
        return path.open("wb")
    except OSError as error:
        raise TensorMTError(f"{path} cannot be written: {error.strerror}") from None


def text(path: str) -> str:
    """The whole text of a UTF-8 file."""
    with _reading(path) as file:
        data = file.read()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise TensorMTError(f"{shown(path)}, line {line}: not UTF-8 text") from None


def count(path: str) -> int:
    """Number of lines, the last one with or without its end."""
    found, last = 0, b"\n"
    with _reading(path) as file:
        while block := file.read(_BLOCK):
            found += block.count(b"\n")
            last = block[-1:]
    return found + (last != b"\n")


def json_line(line: str, where: str) -> dict[str, Any]:
    """The JSON object of one line."""
    try:
        data = json.loads(line)
    except ValueError:
        raise TensorMTError(f"{where}: not a JSON object") from None
    except RecursionError:
        raise TensorMTError(f"{where}: nested too deeply for a JSON object of texts") from None
    if not isinstance(data, dict):
        raise TensorMTError(f"{where}: expected a JSON object, found {line[:40]!r}")
    return data


def json_object(path: str) -> dict[str, Any]:
    """The JSON object that a whole file holds."""
    return json_line(text(path), shown(path))
