"""Files of file systems of fsspec: local, shared folders, s3, gs, memory.

Input is opened by `open_input`, or copied to a local file by `local_copy`; output is written
atomically by `atomic_upload` or `move_into_place`. Errors name the file. Of the many protocols that
fsspec knows, some open connections to any host or read other files: those that are not storage of
files (`PROTOCOLS`) are opened only if `allow_protocols` was called.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from tensormt.errors import TensorMTError

BLOCK = 1 << 20  # bytes read at a time
PROTOCOLS = ("file", "local", "memory", "s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "hdfs")
_WORD = re.compile("[a-z0-9_]+")
_allowed = set(PROTOCOLS)


def allow_protocols(names: Iterable[str]) -> None:
    """Allow further protocols of fsspec in this process, such as "https".

    Raises:
        TensorMTError: If fsspec does not know a protocol.
    """
    from fsspec.registry import available_protocols

    for name in names:
        if name not in available_protocols():
            raise TensorMTError(
                f"fsspec knows no protocol {name!r}: choose from {', '.join(available_protocols())}"
            )
        _allowed.add(name)


def check_protocol(path: str) -> None:
    """Raise unless all protocols of a path are allowed; there are several in zip://…::s3://….

    >>> check_protocol("s3://bucket/rows.jsonl")
    """
    parts = path.split("::")
    for part in parts:
        name, mark, _ = part.partition("://")
        if part.startswith("data:"):
            name = "data"
        elif not (mark and len(name) > 1):  # as fsspec reads it: c:// is a drive
            name = part if len(parts) > 1 and _WORD.fullmatch(part) else "file"
        if name not in _allowed:
            raise TensorMTError(
                f"{path} cannot be opened: the protocol {name!r} is not one of "
                f"{', '.join(PROTOCOLS)}; allow it if you trust the address",
                options="protocols",
            )


def filesystem(path: str) -> tuple[Any, str]:
    """Return the fsspec file system of a path, and the path in it.

    Raises:
        TensorMTError: If the protocol is not allowed, or the package that it needs is missing.

    >>> filesystem("memory://folder/file")[1]
    '/folder/file'
    """
    import fsspec

    check_protocol(os.fspath(path))
    try:
        found: tuple[Any, str] = fsspec.core.url_to_fs(os.fspath(path))
    except Exception as error:  # of the packages behind fsspec, which have their own kinds
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
