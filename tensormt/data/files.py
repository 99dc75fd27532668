"""Reading of input files: plain or gzip, line by line; standard input is copied for rereading.

All files of users are read here: UTF-8 with or without a byte order mark, plain or `.gz`, `-` for
standard input. Errors name the file and the line.
"""

from __future__ import annotations

import gzip
import json
import sys
import tempfile
import zlib
from codecs import BOM_UTF16_BE, BOM_UTF16_LE, getincrementaldecoder
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

from tensormt.errors import TensorMTError

_BLOCK = 1 << 20  # bytes read at a time


class Spool:
    """Copies standard input and pipes to temporary files, since input is read more than once."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def path(self, name: str) -> str:
        """Return a file that can be read repeatedly: `name`, or a copy of what a pipe delivers.

        Raises:
            TensorMTError: If a pipe is named twice or cannot be read.
        """
        if name != "-" and (not Path(name).exists() or Path(name).is_file()):
            return name
        if name in self.names:
            raise TensorMTError(f"{name!r} is named twice: it can be read only once")
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
    """Return a file that can be read repeatedly, for a single input."""
    return Spool().path(name)


def _suffix(name: str) -> str:
    return Path(name).suffix if name != "-" else ""


# path of a copy → name to display, and the file, which is deleted when the program ends
_KEPT: dict[str, tuple[str, IO[bytes]]] = {}


def display_name(path: str) -> str:
    """Return the name of a file in messages and tables."""
    return _KEPT[path][0] if path in _KEPT else path


def open_bytes(path: str) -> IO[bytes] | gzip.GzipFile:
    """Open a file for reading bytes, decompressed if its name ends in .gz."""
    try:
        return gzip.open(path) if path.endswith(".gz") else open(path, "rb")
    except OSError as error:
        raise TensorMTError(f"{display_name(path)} cannot be read: {error.strerror}") from None
    except ValueError:  # a NUL byte in the name
        raise TensorMTError(f"{path!r} is not a valid file name") from None


@contextmanager
def _reading(path: str) -> Iterator[IO[bytes] | gzip.GzipFile]:
    """Open a file; errors while it is read name it."""
    with open_bytes(path) as file:
        try:
            yield file
        except (OSError, EOFError, zlib.error) as error:
            raise TensorMTError(f"{display_name(path)} cannot be read: {error}") from None


def suffix(path: str) -> str:
    """Return the suffix of a file name in lower case, without .gz.

    >>> suffix("data/rows.JSONL.gz")
    '.jsonl'
    """
    return Path(path.removesuffix(".gz")).suffix.lower()


def lines(path: str, *, block_size: int = _BLOCK) -> Iterator[str]:
    """Iterate over the lines of a UTF-8 file, without line ends.

    Args:
        path: The file.
        block_size: Bytes that are read and decoded at a time.

    Raises:
        TensorMTError: If the file cannot be read or a line is not UTF-8.
    """
    return chain.from_iterable(_blocks(path, block_size))


def _blocks(path: str, block_size: int) -> Iterator[list[str]]:
    """The lines of a UTF-8 file in lists, decoded block by block."""
    with _reading(path) as file:
        number = 0  # lines so far
        rest: list[bytes] = []  # the incomplete last line, in the parts in which it was read
        while block := file.read(block_size):
            whole, end, last = block.rpartition(b"\n")
            if end:
                whole = b"".join([*rest, whole])
                yield _decoded(whole, path, number)
                number, rest = number + whole.count(b"\n") + 1, []
            rest.append(last)
        if last := b"".join(rest):
            yield _decoded(last, path, number)


def _decoded(data: bytes, path: str, number: int) -> list[str]:
    """The lines of a block that follows `number` lines."""
    try:
        text = data.decode("utf-8" if number else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise _not_utf8(path, number + error.object.count(b"\n", 0, error.start) + 1) from None
    found = text.split("\n")
    return [line.rstrip("\r") for line in found] if "\r" in text else found


def line_batches(
    path: str, size: int, start: int = 0, *, block_size: int = _BLOCK
) -> Iterator[list[str]]:
    """Iterate over lists of `size` lines of a UTF-8 file, from line `start` (counted from 0) on."""
    rest = islice(lines(path, block_size=block_size), start, None)
    while part := list(islice(rest, size)):
        yield part


def open_stream(path: Path) -> IO[bytes]:
    """Open a device or pipe for writing."""
    try:
        return path.open("wb")
    except OSError as error:
        raise TensorMTError(f"{path} cannot be written: {error.strerror}") from None


def text(path: str) -> str:
    """Read the whole text of a UTF-8 file."""
    with _reading(path) as file:
        data = file.read()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _not_utf8(path, error.object.count(b"\n", 0, error.start) + 1) from None


def count_lines(path: str, *, block_size: int = _BLOCK) -> int:
    """Count the lines of a file; the last line may lack a line end.

    Raises:
        TensorMTError: If the file cannot be read or is not UTF-8.
    """
    found, last = 0, b"\n"
    decoder = getincrementaldecoder("utf-8")()
    with _reading(path) as file:
        while block := file.read(block_size):
            try:
                decoder.decode(block)
            except UnicodeDecodeError as error:
                # what the decoder kept of the block before has no line end
                raise _not_utf8(
                    path, found + error.object.count(b"\n", 0, error.start) + 1
                ) from None
            found += block.count(b"\n")
            last = block[-1:]
    return found + (last != b"\n")


def _not_utf8(path: str, line: int) -> TensorMTError:
    """The error of a file that is not UTF-8, from that line on."""
    with open_bytes(path) as file:
        utf16 = file.read(2) in (BOM_UTF16_BE, BOM_UTF16_LE)
    found = "not UTF-8 text" + " but UTF-16" * utf16
    return TensorMTError(f"{display_name(path)}, line {line}: {found}: convert it to UTF-8")


def json_line(line: str, where: str) -> dict[str, Any]:
    """Parse one line as a JSON object; errors start with `where`.

    >>> json_line('{"a": 1}', "x.jsonl, line 1")
    {'a': 1}
    """
    try:
        data = json.loads(line, object_pairs_hook=_unique)
    except TensorMTError as error:
        raise TensorMTError(f"{where}: {error}") from None
    except ValueError:
        raise TensorMTError(f"{where}: not a JSON object") from None
    except RecursionError:
        raise TensorMTError(f"{where}: the JSON object is nested too deeply") from None
    if not isinstance(data, dict):
        raise TensorMTError(f"{where}: expected a JSON object, found {line[:40]!r}")
    return data


def json_objects(path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Iterate over the JSON objects of a file, one a line; blank lines are left out.

    Args:
        path: File.

    Returns:
        Pairs of the place, as errors name it («x.jsonl, line 1»), and the object.
    """
    for number, line in enumerate(lines(path), 1):
        if line.strip():
            where = f"{display_name(path)}, line {number}"
            yield where, json_line(line, where)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON, whose keys must differ."""
    found = dict(pairs)
    if len(found) != len(pairs):
        twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise TensorMTError(f"the key {twice[:60]!r} occurs twice: keep one of the values")
    return found


def json_object(path: str) -> dict[str, Any]:
    """Read a file that contains one JSON object."""
    return json_line(text(path), display_name(path))
