"""Parallel input in chunks: hypotheses of several systems, references, documents, aligned.

Text files (one segment a line, `.gz` too), rows with their own references (`.jsonl`, `.tsv`) and
mteval or WMT markup (`.sgm`, `.sgml`, `.xml`) become one `Corpus`, which hands out chunks of
segments in order, from any segment on, as often as wanted. Text and rows are never held whole in
memory. An empty reference line is an absent reference; a segment without any is an error.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from tensormt import files
from tensormt.errors import TensorMTError
from tensormt.markup import read_markup
from tensormt.rows import rows

__all__ = ["Chunk", "Corpus", "open_corpus"]

MARKUP = {".sgm", ".sgml", ".xml"}
ROWS = {".jsonl", ".tsv"}


class Chunk(NamedTuple):
    """Segments start, start + 1, …: hypotheses by system, R lists of references, document ids."""

    start: int
    hyps: dict[str, list[str]]
    refs: list[list[str | None]]
    docs: list[str] | None

    def __len__(self) -> int:
        return len(self.refs[0])


Column = Callable[[], Iterator[str | None]]


class Corpus:
    """Aligned columns: `hyps` by system, `refs`, perhaps `docs`; each call iterates afresh."""

    def __init__(
        self,
        hyps: dict[str, Column],
        refs: list[Column],
        docs: Column | None,
        segments: int,
        digest: str = "",
    ) -> None:
        self.hyps, self.refs, self.docs = hyps, refs, docs
        self.segments, self.digest = segments, digest

    @classmethod
    def of_lists(
        cls,
        hyps: dict[str, Sequence[str]],
        refs: Sequence[Sequence[str | None]],
        docs: Sequence[str] | None = None,
    ) -> Corpus:
        """A corpus that lies in memory: refs[k][i] is reference k of segment i."""
        sizes = {f"hypothesis {name!r}": len(lines) for name, lines in hyps.items()}
        sizes |= {f"reference {k}": len(lines) for k, lines in enumerate(refs, 1)}
        sizes |= {} if docs is None else {"the list of documents": len(docs)}
        _check_sizes(sizes, "segments")
        return cls(
            {name: _listed(lines) for name, lines in hyps.items()},
            [_listed(lines) for lines in refs],
            None if docs is None else _listed(docs),
            next(iter(sizes.values())),
        )

    def chunks(self, size: int, start: int = 0, hyps: bool = True) -> Iterator[Chunk]:
        """Chunks of at most `size` segments from `start` on; `hyps=False` leaves these out."""
        ours = {name: islice(column(), start, None) for name, column in self.hyps.items() if hyps}
        theirs = [islice(column(), start, None) for column in self.refs]
        docs = None if self.docs is None else islice(self.docs(), start, None)
        while start < self.segments:
            chunk = Chunk(
                start,
                {name: [line or "" for line in islice(it, size)] for name, it in ours.items()},
                [list(islice(it, size)) for it in theirs],
                None if docs is None else [doc or "" for doc in islice(docs, size)],
            )
            for number, row in enumerate(zip(*chunk.refs, strict=True), start + 1):
                if not any(ref and not ref.isspace() for ref in row):
                    raise TensorMTError(
                        f"segment {number} has no reference: every segment needs at least one "
                        "line that is not empty"
                    )
            yield chunk
            start += size


def _check_sizes(sizes: dict[str, int], unit: str) -> None:
    (first, count), *rest = sizes.items()
    for name, other in rest:
        if other != count:
            raise TensorMTError(
                f"{name} has {other} {unit}, {first} has {count}: they must align one to one"
            )


def open_corpus(hyps: Sequence[str], refs: Sequence[str], docs: str | None = None) -> Corpus:
    """The corpus of files named on a command line; `-` is standard input."""
    spool = files.Spool()
    names = [spool.path(name) for name in (*hyps, *refs, *([docs] if docs else []))]
    sizes: dict[str, int] = {}
    ours: dict[str, Column] = {}
    theirs: list[Column] = []
    papers: Column | None = None
    for name in names[: len(hyps)]:
        for system, column in _hypotheses(name, sizes).items():
            if system in ours:
                raise TensorMTError(f"two systems are called {system!r}: rename one of the files")
            ours[system] = column
    for name in names[len(hyps) : len(hyps) + len(refs)]:
        theirs += _references(name, sizes)
    for name in names[: len(hyps)]:
        own, own_docs = _own_columns(name)
        papers = papers or own_docs
        theirs = theirs or own
    for name in names[len(hyps) : len(hyps) + len(refs)]:
        papers = papers or _own_columns(name)[1]
    if docs:
        sizes[docs] = files.count(names[-1])
        papers = _column(names[-1])
    if not theirs:
        raise TensorMTError(
            "no references: name at least one reference file before -i, "
            "or give rows (.jsonl, .tsv) that hold references"
        )
    _check_sizes(sizes, "lines" if len(sizes) == len(names) else "segments")
    digest = hashlib.blake2b(digest_size=16)
    for name in names:
        with files.open_bytes(name) as file:
            while block := file.read(1 << 20):
                digest.update(block)
        digest.update(b"\0")
    return Corpus(ours, theirs, papers, next(iter(sizes.values())), digest.hexdigest())


def _hypotheses(path: str, sizes: dict[str, int]) -> dict[str, Column]:
    """The systems of a hypothesis file; their number of segments goes into `sizes`."""
    kind, name = files.kind(path), files.shown(path)
    if kind in MARKUP:
        found = read_markup(path)
        systems = found.hyps or found.refs
        for system, lines in systems.items():
            sizes[f"{name} ({system})"] = len(lines)
        return {system: _listed(lines) for system, lines in systems.items()}
    if kind in ROWS:
        sizes[name] = sum(1 for _ in rows(path, "hypothesis"))
        return {name: lambda: (row.hyp for row in rows(path, "hypothesis"))}
    sizes[name] = files.count(path)
    return {name: _column(path)}


def _references(path: str, sizes: dict[str, int]) -> list[Column]:
    """The reference streams of a file."""
    kind, name = files.kind(path), files.shown(path)
    if kind in MARKUP:
        found = read_markup(path)
        streams = found.refs or found.hyps
        for system, lines in streams.items():
            sizes[f"{name} ({system})"] = len(lines)
        return [_listed(lines) for lines in streams.values()]
    if kind in ROWS:
        sizes[name] = sum(1 for _ in rows(path, "references"))
        return _own_columns(path)[0]
    sizes[name] = files.count(path)
    return [_column(path)]


def _column(path: str) -> Column:
    return lambda: files.lines(path)


def _listed(lines: Sequence[str | None]) -> Column:
    return lambda: iter(lines)


def _own_columns(path: str) -> tuple[list[Column], Column | None]:
    """References and documents that a file of rows or markup brings along."""
    kind = files.kind(path)
    if kind in MARKUP:
        found = read_markup(path)
        return [_listed(lines) for lines in found.refs.values()], _listed(found.docs)
    if kind not in ROWS:
        return [], None
    most, papers = 0, False
    for row in rows(path):
        most = max(most, len(row.refs))
        papers = papers or row.doc is not None

    def column(place: int) -> Column:
        return lambda: (row.refs[place] if place < len(row.refs) else None for row in rows(path))

    docs: Column | None = (lambda: (row.doc for row in rows(path))) if papers else None
    return [column(place) for place in range(most)], docs
