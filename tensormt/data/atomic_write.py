"""Atomic writing of output files: never over an input or a device, completely or not at all.

Symbolic links are followed: their target is replaced, and the link is kept. A file is renamed to
its final name when it is complete, with the permissions of the file that it replaces.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from tensormt.errors import TensorMTError


def output_path(name: str | Path, inputs: Iterable[str | Path] = (), beside: str = "") -> Path:
    """Return the path to which an output is written, with symbolic links resolved.

    Args:
        name: Name of the output file.
        inputs: Files that must not be overwritten.
        beside: Suffix of an auxiliary file next to the output, whose path is returned instead.

    Raises:
        TensorMTError: If the output is one of the inputs or a folder, or if its folder is missing.

    >>> output_path("scores.tsv").name, output_path("scores.tsv", beside=".part").name
    ('scores.tsv', 'scores.tsv.part')
    """
    try:
        real = Path(os.path.realpath(name))
        path = real.with_name(real.name + beside)
        if real.is_dir():
            raise TensorMTError(f"{name} cannot be written: it is a folder")
        if not real.parent.is_dir():
            raise TensorMTError(
                f"{name} cannot be written: No such file or directory, "
                f"the folder {real.parent} does not exist"
            )
        for other in inputs:
            if str(other) != "-" and _same(path, other):
                shown = f"{name}{beside}" if beside else str(name)
                raise TensorMTError(
                    f"{shown} is an input of this run: choose another file for the output"
                )
    except (OSError, ValueError) as error:
        if isinstance(error, TensorMTError):
            raise
        reason = getattr(error, "strerror", None) or "it is not a valid file name"
        raise TensorMTError(f"{str(name)!r} cannot be written: {reason}") from None
    return path


def _same(path: Path, other: str | Path) -> bool:
    if Path(os.path.realpath(other)) == path:
        return True
    try:
        return path.samefile(other)
    except OSError:  # one of them does not exist
        return False


def is_stream(path: Path) -> bool:
    """Return whether a path is a terminal, a pipe or another device, which cannot be replaced."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)


def check_regular(path: Path) -> None:
    """Raise if a path exists and is not a regular file."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return
    if not stat.S_ISREG(mode):
        raise TensorMTError(
            f"{path} cannot be written: it is not a regular file; choose another output file"
        )


def open_without_links(path: Path, mode: str) -> IO[bytes]:
    """Open a file that is written in place; a link, which could lead to any file, is refused.

    Args:
        path: The file.
        mode: "ab" or "r+b".

    Raises:
        TensorMTError: If the path is a symbolic link, or a file with several names.
        OSError: If it cannot be opened.
    """
    check_regular(path)
    no_links = getattr(os, "O_NOFOLLOW", 0)
    file = open(path, mode, opener=lambda name, flags: os.open(name, flags | no_links, 0o666))  # noqa: SIM115
    if os.fstat(file.fileno()).st_nlink > 1:
        file.close()
        raise TensorMTError(
            f"{path} cannot be written: it is a file with several names; choose another output file"
        )
    return file


@contextmanager
def replacing(path: Path, fresh: Path) -> Iterator[IO[bytes]]:
    """Open a new file under the name `fresh`, which replaces `path` if the block succeeds.

    What has that name before, left by a killed run or put there by others, is removed and never
    written to.

    Raises:
        OSError: If the file cannot be written.
    """
    fresh.unlink(missing_ok=True)
    with fresh.open("xb") as file:  # fails if there is a file or a link
        yield file
    fresh.replace(path)


@contextmanager
def atomic_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file that replaces `path` if the block succeeds, and is removed otherwise.

    Raises:
        TensorMTError: If `path` is not a regular file or cannot be written.
    """
    check_regular(path)
    try:
        mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o666 & ~_umask()
        handle, name = tempfile.mkstemp(prefix=f".{path.name[:100]}.", dir=path.parent)
    except OSError as error:
        raise TensorMTError(f"{path} cannot be written: {error.strerror}") from None
    fresh = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
        fresh.chmod(mode)
        fresh.replace(path)
    except OSError as error:
        if error.filename not in (None, name):
            raise
        raise TensorMTError(f"{path} cannot be written: {error.strerror}") from None
    finally:
        fresh.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
