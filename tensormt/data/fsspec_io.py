"""Files of all file systems of fsspec: local, shared folders, s3, gs, memory.

Input is opened by `open_input`, or copied to a local file by `local_copy`; output is written
atomically by `atomic_upload` or `move_into_place`. Errors name the file.
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

BLOCK = 1 << 20  # bytes read at a time


def filesystem(path: str) -> tuple[Any, str]:
    """Return the fsspec file system of a path, and the path in it.

    Raises:
        TensorMTError: If fsspec does not know the protocol.

    >>> filesystem("memory://folder/file")[1]
    '/folder/file'
    """
    import fsspec

    try:
        found: tuple[Any, str] = fsspec.core.url_to_fs(os.fspath(path))
    except (ValueError, ImportError) as error:
        raise TensorMTError(f"{path} cannot be opened: {error}") from None
    return found


@contextmanager
def reading_errors(path: str) -> Iterator[None]:
    """Convert errors of reading to a TensorMTError that names the file."""
    try:
        yield
    except (OSError, EOFError) as error:
        reason = getattr(error, "strerror", None) or error
        raise TensorMTError(f"{path} cannot be read: {reason}") from None


@contextmanager
def open_input(path: str) -> Iterator[IO[bytes]]:
    """Open a file for reading bytes, decompressed if its name ends in .gz."""
    system, inner = filesystem(path)
    with reading_errors(path), system.open(inner, "rb") as raw:
        if path.endswith(".gz"):
            with gzip.GzipFile(fileobj=raw) as file:
                yield io.BufferedReader(file, BLOCK)
        else:
            yield raw


def move_into_place(system: Any, fresh: str, target: str) -> None:
    """Rename a finished file atomically; another process may do the same at the same time."""
    try:
        if "file" in system.protocol:
            os.replace(fresh, target)
        else:
            system.mv(fresh, target)
    except FileNotFoundError:
        if not system.exists(target):
            raise


@contextmanager
def atomic_upload(path: str) -> Iterator[Path]:
    """Yield a local path to write to, which is copied to `path` when the block succeeds."""
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
def local_copy(path: str) -> Iterator[Path]:
    """Yield a local file with the contents of `path`."""
    system, inner = filesystem(path)
    if "file" in system.protocol:
        yield Path(inner)
        return
    with tempfile.TemporaryDirectory() as home, reading_errors(path):
        system.get(inner, f"{home}/file")
        yield Path(home) / "file"
