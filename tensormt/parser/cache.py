"""A parser with a cache: each distinct segment is parsed once per run, or once for all runs that
share a folder.

In memory, trees are tensors, one page per parsed batch; the least recently used trees are dropped.
The folder has one SQLite file per parser fingerprint: the key of a segment is a hash of its text,
the value its tree as a bracketing (or CoNLL-U). SQLite allows several processes to read and write
concurrently, and its transactions are atomic.

A `CachedParser` may be called from any thread. Its pickle contains the name of the parser, but
neither cached trees nor the connection; deep copies share the object.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import warnings
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tensormt.data.sqlite_file import open_database, select_by_text, text_key
from tensormt.errors import TensorMTError
from tensormt.parser.language_check import LanguageCheck
from tensormt.parser.registry import TextParser
from tensormt.plain import MAX_SEGMENTS
from tensormt.trees.batch import TreeBatch
from tensormt.trees.plain_trees import PlainTree
from tensormt.trees.sources import read_lines, write_lines

_MAX_TREES = 20_000  # trees in memory, which take some 5 kB each
_MAX_RECENT = 1_000  # trees in memory as lists, for calls with a few segments
_MAX_PAGES = 32  # pages in memory before they are merged


class CachedParser:
    """A parser with a cache; call it with a list of segments.

    Args:
        parser: Parser whose trees are cached.
        folder: Folder in which trees are stored for later runs; None: in memory only.
        progress: Called with numbers of parsed segments.
        strict: Whether an unusable folder raises an error; otherwise it is ignored with a warning.
        timeout: Seconds to wait for a database that another process has locked.
        check_language: Whether `check_language` looks at texts.
        memory: Trees in memory, which several objects with the same parser may share; None: own.

    Raises:
        TensorMTError: If the folder cannot be used and `strict` is set.
    """

    def __init__(
        self,
        parser: TextParser,
        folder: str | Path | None = None,
        progress: Callable[[int], object] | None = None,
        *,
        strict: bool = True,
        timeout: float = 20,
        check_language: bool = True,
        memory: TreeMemory | None = None,
    ) -> None:
        self.parser, self.progress, self.strict = parser, progress, strict
        self.timeout = timeout
        self._checks_language, self._first = check_language, True
        self.folder: Path | None = None if folder is None else Path(folder)
        self.parsed = 0
        self._restart(memory)
        if folder is not None and strict:
            self._connection()

    def _restart(self, memory: TreeMemory | None = None) -> None:
        self._memory = TreeMemory() if memory is None else memory
        self._database: sqlite3.Connection | None = None
        self._process = os.getpid()

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the parser."""
        return self.parser.fingerprint

    @property
    def kind(self) -> str:
        """The kind of the trees: constituency or dependency."""
        return self.parser.kind

    def __call__(self, lines: Sequence[str | None]) -> TreeBatch:
        """Return the trees of N segments; the tree of an empty or missing segment is empty."""
        texts = [line or "" for line in lines]
        with self._memory.lock:
            wanted = [text for text in dict.fromkeys(texts) if text not in self._memory]
            if self.folder is not None:
                self._load_stored(wanted)
            new = [text for text in wanted if text not in self._memory]
            if new:
                if self.progress is not None:
                    self.progress(0)  # shown while the parser is loaded
                trees = self.parser.parse(new, self.progress)
                self.parsed += len(new)
                self._memory.add(new, trees)
                if self.folder is not None:
                    self._store(dict(zip(new, write_lines(trees), strict=True)))
            return self._memory.gather(texts)

    def check_language(self, texts: Sequence[str | None]) -> None:
        """Compare references with the training data of the parser; there is one warning at most.

        Raises:
            TensorMTError: If the first texts are in a script that the parser was not trained on.
        """
        check: LanguageCheck | None = getattr(self.parser, "language", None)
        if check is None or not self._checks_language:
            return
        if self._first:
            check.require_script(texts)
        self._first, self._checks_language = False, not check.warn(texts)

    # --- the folder ---------------------------------------------------------------------------

    def _connection(self) -> sqlite3.Connection | None:
        """The database connection of this process; None: there is no folder."""
        if self._database is None or self._process != os.getpid():
            folder = self.folder
            if folder is None:
                return None
            self._process = os.getpid()
            self._database = self._guarded(
                lambda: open_database(folder, self.fingerprint, "parses (tree TEXT)", self.timeout)
            )
        return self._database

    def _guarded(self, action: Callable[[], Any]) -> Any:
        """Run an action on the folder; its errors are raised, or disable the folder."""
        try:
            return action()
        except (OSError, sqlite3.Error) as error:
            message = f"the parse cache cannot be used: {error}"
            if self.strict:
                raise TensorMTError(
                    f"{message}; remove its folder, choose another one, or disable the cache",
                    options="cache no_cache",
                ) from None
            warnings.warn(f"continuing without a parse cache: {message}", stacklevel=4)
            self.folder = self._database = None
            return None

    def _load_stored(self, texts: Sequence[str]) -> None:
        """Load the trees of those texts that are in the folder."""
        database = self._connection()
        if database is None or not texts:
            return
        query = "SELECT key, tree FROM parses"
        rows = self._guarded(lambda: select_by_text(database, query, texts)) or {}
        trees = [(text, tree) for text, (tree,) in rows.items() if isinstance(tree, str)]
        for some, batch in _readable(trees):
            self._memory.add(some, batch)

    def _store(self, trees: dict[str, str]) -> None:
        database = self._connection()
        if database is not None:
            rows = [(text_key(text), tree) for text, tree in trees.items()]

            def write() -> None:
                with database:
                    database.executemany("INSERT OR REPLACE INTO parses VALUES (?, ?)", rows)

            self._guarded(write)

    # --- copies -------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        names = ("parser", "folder", "strict", "timeout", "_checks_language", "_first")
        return {name: getattr(self, name) for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, progress=None, parsed=0)
        self._restart()

    def __deepcopy__(self, memo: dict[int, Any]) -> CachedParser:
        return self  # weights and cached trees are large and immutable

    def __repr__(self) -> str:
        return f"CachedParser({self.fingerprint}, {self.folder})"


class TreeMemory:
    """Trees by text, in pages (batches); the least recently used ones are dropped.

    Args:
        most: Number of trees that are kept.
    """

    def __init__(self, most: int = _MAX_TREES) -> None:
        self.most = most
        self.lock = threading.RLock()
        self.place: OrderedDict[str, tuple[int, int]] = OrderedDict()  # text → page, row
        self.pages: dict[int, TreeBatch] = {}
        self.used: Counter[int] = Counter()  # number of cached rows of each page
        self._next = 0
        # the trees of a few texts that were asked for together, as lists
        self._recent: OrderedDict[str, tuple[str, PlainTree]] = OrderedDict()  # kind and tree

    def __contains__(self, text: str) -> bool:
        return text in self.place

    def add(self, texts: Sequence[str], trees: TreeBatch) -> None:
        """Add a page."""
        page, self._next = self._next, self._next + 1
        self.pages[page] = trees
        for row, text in enumerate(texts):
            self._forget(text)
            self.place[text] = page, row
        self.used[page] = len(texts)

    def _forget(self, text: str) -> None:
        if text in self.place:
            page, _ = self.place.pop(text)
            self.used[page] -= 1
            if not self.used[page]:
                del self.pages[page], self.used[page]

    def gather(self, texts: Sequence[str]) -> TreeBatch:
        """Return the trees of texts that are in memory."""
        if not texts:
            return TreeBatch.from_brackets([])
        if len(texts) > MAX_SEGMENTS:
            return self._gather(texts)
        known = [self._recent[text] for text in texts if text in self._recent]
        if len(known) == len(texts) and len({kind for kind, _ in known}) == 1:
            return TreeBatch.from_plain_trees([tree for _, tree in known], known[0][0])
        batch = self._gather(texts)
        for text, tree in zip(texts, batch.plain_trees() or (), strict=False):
            self._recent[text] = batch.kind, tree
        while len(self._recent) > _MAX_RECENT:
            self._recent.popitem(last=False)
        return batch

    def _gather(self, texts: Sequence[str]) -> TreeBatch:
        """The same, from the pages."""
        for text in texts:
            self.place.move_to_end(text)
        rows: dict[int, dict[int, int]] = {}  # page → row → position in the joined batch
        for text in texts:
            page, row = self.place[text]
            rows.setdefault(page, {}).setdefault(row, 0)
        parts, count = [], 0
        for page, own in rows.items():
            for row in own:
                own[row] = count
                count += 1
            parts.append(self.pages[page][list(own)])
        joined = _joined(parts)
        index = [rows[page][row] for page, row in (self.place[text] for text in texts)]
        self._evict()
        return joined if index == list(range(count)) else joined[index]

    def _evict(self) -> None:
        """Drop the least recently used trees, and merge pages if there are many."""
        while len(self.place) > self.most:
            self._forget(next(iter(self.place)))
        held = sum(len(page) for page in self.pages.values())
        if len(self.pages) > _MAX_PAGES or held > 2 * len(self.place) + 1000:
            texts = list(self.place)
            starts, total = {}, 0
            for page, batch in self.pages.items():
                starts[page], total = total, total + len(batch)
            joined = _joined(list(self.pages.values()))
            index = [starts[page] + row for page, row in self.place.values()]
            for kept in (self.place, self.pages, self.used):
                kept.clear()
            self.add(texts, joined[index])


def _joined(parts: list[TreeBatch]) -> TreeBatch:
    """The trees of all parts; empty trees are converted to the kind of the others."""
    if len(parts) == 1:
        return parts[0]
    if len({part.kind for part in parts}) > 1:
        parts = [
            part if len(part.nodes) else TreeBatch.from_heads([[]] * len(part), [[]] * len(part))
            for part in parts
        ]
    return TreeBatch.concat(parts)


def _readable(rows: list[tuple[str, str]]) -> list[tuple[list[str], TreeBatch]]:
    """The trees that can be read, in groups; damaged ones are left out and parsed again."""
    if not rows:
        return []
    try:
        return [([text for text, _ in rows], read_lines([tree for _, tree in rows]))]
    except TensorMTError:
        half = len(rows) // 2
        return [*_readable(rows[:half]), *_readable(rows[half:])] if half else []
