"""Where results go: never over an input, never over a device or a pipe, whole or not at all.

A link is followed: what it points to is replaced, and the link stays. A file appears in one step,
under its name, when it is complete, with the rights of the file that it replaces.
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
    """The file that an output's name stands for; `beside`: a suffix of a helper file next to it.

    Raises where it is one of the inputs, is no regular file, or has no folder.
    """
    try:
        real = Path(os.path.realpath(name))
        path = real.with_name(real.name + beside)
        if real.is_dir():
            raise TensorMTError(f"{name} cannot be written: it is a folder")
        if not real.parent.is_dir():
            raise TensorMTError(
                f"{name} cannot be written: No such file or directory, "
                f"there is no folder {real.parent}"
            )
        for other in inputs:
            if str(other) != "-" and _same(path, other):
                shown = f"{name}{beside}" if beside else str(name)
                raise TensorMTError(
                    f"{shown} is an input of this run: name another file for the output"
                )
    except (OSError, ValueError) as error:
        if isinstance(error, TensorMTError):
            raise
        reason = getattr(error, "strerror", None) or "it is no file name"
        raise TensorMTError(f"{str(name)!r} cannot be written: {reason}") from None
    return path


def _same(path: Path, other: str | Path) -> bool:
    if Path(os.path.realpath(other)) == path:
        return True
    try:
        return path.samefile(other)
    except OSError:  # one of them is not there
        return False


def is_stream(path: Path) -> bool:
    """Whether a name is that of a terminal, a pipe or another device: written to, not replaced."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)


def check_regular(path: Path) -> None:
    """Raise where something that is no regular file has this name."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return
    if not stat.S_ISREG(mode):
        raise TensorMTError(
            f"{path} cannot be written: it is no regular file; name another one for the output"
        )


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A new file that takes the place of `path` when the block ends well, and else goes away."""
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
