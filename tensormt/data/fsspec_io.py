"""Files wherever fsspec opens them: this machine, shared folders, s3, gs, memory.

What is read is opened by `open_input`, or copied to this machine by `fetched`; what is written
appears in one step, by `stored` or `replace`. Trouble is one sentence that names the file.
"""

from __future__ import annotations

import gzip
import io
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from tensormt.errors import TensorMTError

BLOCK = 1 << 20  # bytes that are read at a time


def filesystem(path: str) -> tuple[Any, str]:
    """The file system of a path, by fsspec, and the path in it."""
    import fsspec

    try:
        found: tuple[Any, str] = fsspec.core.url_to_fs(os.fspath(path))
    except (ValueError, ImportError) as error:
        raise TensorMTError(f"{path} cannot be opened: {error}") from None
    return found


@contextmanager
def named(path: str) -> Iterator[None]:
    """Whatever goes wrong with a file is one sentence that names it."""
    try:
        yield
    except (OSError, EOFError) as error:
        reason = getattr(error, "strerror", None) or error
        raise TensorMTError(f"{path} cannot be read: {reason}") from None


@contextmanager
def open_input(path: str) -> Iterator[IO[bytes]]:
    """A file to read bytes from, unpacked where its name ends in .gz."""
    system, inner = filesystem(path)
    with named(path), system.open(inner, "rb") as raw:
        if path.endswith(".gz"):
            with gzip.GzipFile(fileobj=raw) as file:
                yield io.BufferedReader(file, BLOCK)
        else:
            yield raw


def replace(system: Any, fresh: str, target: str) -> None:
    """Put a finished file in its place in one step, whoever else may do so too."""
    try:
        if "file" in system.protocol:
            os.replace(fresh, target)
        else:
            system.mv(fresh, target)
    except FileNotFoundError:
        if not system.exists(target):
            raise


@contextmanager
def stored(path: str) -> Iterator[Path]:
    """A local file to write, which is put to the path when it is whole."""
    system, target = filesystem(path)
    local = "file" in system.protocol
    try:
        system.makedirs(system._parent(target), exist_ok=True)
        folder = os.path.dirname(target) if local else None
        with tempfile.TemporaryDirectory(prefix=".", suffix=".tmp", dir=folder) as home:
            fresh = Path(home) / "file"
            yield fresh
            if local:
                os.replace(fresh, target)
            else:
                system.put(str(fresh), target)
    except OSError as error:
        raise TensorMTError(f"{path} cannot be written: {error.strerror or error}") from None


@contextmanager
def fetched(path: str) -> Iterator[Path]:
    """A local file with what lies at the path."""
    system, inner = filesystem(path)
    if "file" in system.protocol:
        yield Path(inner)
        return
    with tempfile.TemporaryDirectory() as home, named(path):
        system.get(inner, f"{home}/file")
        yield Path(home) / "file"
