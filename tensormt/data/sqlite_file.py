"""SQLite files in which results are kept by text: one file for each source of results.

The key of a text is a hash of it. SQLite allows several processes to read and write concurrently,
and its transactions are atomic.
"""

from __future__ import annotations

import errno
import hashlib
import os
import sqlite3
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["open_database", "select_by_text", "text_key"]

_QUERY_KEYS = 500  # keys per query


def text_key(text: str) -> bytes:
    """Return the key of a text."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=20).digest()


def open_database(
    folder: Path, fingerprint: str, columns: str, timeout: float = 20
) -> sqlite3.Connection:
    """Open the file of a fingerprint, readable by its owner only; make it if there is none.

    Args:
        folder: Folder of the files.
        fingerprint: What made the results.
        columns: Table and columns besides the key, such as "parses (tree TEXT)".
        timeout: Seconds to wait for a file that another process has locked.

    Raises:
        OSError: If folder or file cannot be used.
        sqlite3.Error: If the file is no database.
    """
    name = hashlib.blake2b(fingerprint.encode(), digest_size=8).hexdigest()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / f"{name}.sqlite"
    _make_private(path)
    database = sqlite3.connect(path, timeout=timeout, check_same_thread=False)
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("PRAGMA synchronous=NORMAL")
    table, _, rest = columns.partition(" (")
    with database:
        database.execute(
            f"CREATE TABLE IF NOT EXISTS {table} (key BLOB PRIMARY KEY, {rest} WITHOUT ROWID"
        )
    return database


def _make_private(path: Path) -> None:
    """Create a file if there is none; only its owner may read it.

    A file that exists is not opened: where this process has the database open already, closing the
    file would release the locks of that connection (POSIX locks belong to the process), and another
    process could then destroy the database.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        if path.is_symlink():  # what it leads to must be neither created nor changed
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path)) from None
        if stat.S_IMODE(path.stat().st_mode) != 0o600:  # a file of an older version
            path.chmod(0o600)


def select_by_text(
    database: sqlite3.Connection, query: str, texts: Sequence[str]
) -> dict[str, tuple[Any, ...]]:
    """Return the rows of those texts that have one, without the key.

    Args:
        database: The database.
        query: Such as "SELECT key, tree FROM parses".
        texts: The texts.
    """
    found: dict[str, tuple[Any, ...]] = {}
    for start in range(0, len(texts), _QUERY_KEYS):
        keys = {text_key(text): text for text in texts[start : start + _QUERY_KEYS]}
        marks = ",".join("?" * len(keys))
        rows = database.execute(f"{query} WHERE key IN ({marks})", list(keys)).fetchall()
        found |= {keys[key]: tuple(values) for key, *values in rows}
    return found
