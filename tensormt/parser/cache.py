"""Parses kept: each different segment is parsed once in a run, and once for all runs that share a
folder.

The folder holds one SQLite file for every parser fingerprint; a segment is found by a hash of its
text, its tree is a bracketing. SQLite lets several processes read and write at once, and a process
that is killed leaves whole rows. Trees always pass through brackets, so scores do not depend on
what was in the cache.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

from tensormt.errors import TensorMTError
from tensormt.parser import Parser
from tensormt.trees.batch import TreeBatch

__all__ = ["Forester"]

_MOST = 100_000  # trees held in memory
_AT_ONCE = 500  # keys in one query


class Forester:
    """Text to trees through a parser, with memory: call it with a list of segments."""

    def __init__(
        self,
        parser: Parser,
        folder: Path | None = None,
        progress: Callable[[int], object] | None = None,
    ) -> None:
        self.parser, self.progress = parser, progress
        self.fingerprint = parser.fingerprint
        self.parsed = 0
        self._memory: dict[str, str] = {}
        self._database = None if folder is None else _connect(folder, self.fingerprint)

    def __call__(self, lines: Sequence[str | None]) -> TreeBatch:
        """The trees of the segments; an empty one has an empty tree."""
        texts = [line or "" for line in lines]
        wanted = [text for text in dict.fromkeys(texts) if text not in self._memory]
        found = self._recall(wanted)
        new = [text for text in wanted if text not in found]
        if new:
            trees = self.parser.parse(new, self.progress).to_brackets()
            self.parsed += len(new)
            fresh = dict(zip(new, trees, strict=True))
            self._keep(fresh)
            found |= fresh
        if len(self._memory) + len(found) > _MOST:
            here = set(texts)
            self._memory = {text: tree for text, tree in self._memory.items() if text in here}
        self._memory |= found
        return TreeBatch.from_brackets([self._memory[text] for text in texts])

    def _recall(self, texts: Sequence[str]) -> dict[str, str]:
        if self._database is None:
            return {}
        found: dict[str, str] = {}
        for start in range(0, len(texts), _AT_ONCE):
            keys = {_key(text): text for text in texts[start : start + _AT_ONCE]}
            marks = ",".join("?" * len(keys))
            query = f"SELECT key, tree FROM parses WHERE key IN ({marks})"
            rows = self._do(query, list(keys))
            found |= {keys[key]: tree for key, tree in rows}
        return found

    def _keep(self, trees: dict[str, str]) -> None:
        if self._database is not None:
            rows = [(_key(text), tree) for text, tree in trees.items()]
            try:
                with self._database:
                    self._database.executemany("INSERT OR IGNORE INTO parses VALUES (?, ?)", rows)
            except sqlite3.Error as error:
                raise _trouble(error) from None

    def _do(self, query: str, values: list[bytes]) -> list[tuple[bytes, str]]:
        assert self._database is not None
        try:
            return self._database.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise _trouble(error) from None


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=20).digest()


def _connect(folder: Path, fingerprint: str) -> sqlite3.Connection:
    name = hashlib.blake2b(fingerprint.encode(), digest_size=8).hexdigest()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        database = sqlite3.connect(folder / f"{name}.sqlite", timeout=60)
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=NORMAL")
        with database:
            database.execute(
                "CREATE TABLE IF NOT EXISTS parses (key BLOB PRIMARY KEY, tree TEXT) WITHOUT ROWID"
            )
    except (OSError, sqlite3.Error) as error:
        raise _trouble(error) from None
    return database


def _trouble(error: Exception) -> TensorMTError:
    return TensorMTError(
        f"the parse cache cannot be used: {error}; remove its folder, name another one "
        "with --cache, or go without by --no-cache"
    )
