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

from tensormt.data import files
from tensormt.data.markup import Markup, read_markup
from tensormt.data.rows import rows
from tensormt.errors import TensorMTError

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


class _Source(NamedTuple):
    """What one file brings: systems by name, references, documents, number of segments."""

    systems: dict[str, Column]
    refs: list[Column]
    docs: Column | None
    size: int


def open_corpus(hyps: Sequence[str], refs: Sequence[str], docs: str | None = None) -> Corpus:
    """The corpus of files named on a command line; `-` is standard input."""
    spool = files.Spool()
    names = [spool.path(name) for name in (*hyps, *refs, *([docs] if docs else []))]
    markup: list[Markup] = []
    ours = [_source(name, "hypothesis", markup) for name in names[: len(hyps)]]
    theirs = [_source(n, "references", markup) for n in names[len(hyps) : len(hyps) + len(refs)]]
    sources = [*ours, *theirs]
    if docs:
        sources.append(_source(names[-1], "doc", markup))
    _check_sizes(
        {files.shown(name): source.size for name, source in zip(names, sources, strict=True)},
        "segments" if markup else "lines",
    )
    systems: dict[str, Column] = {}
    for source in ours:
        for name, column in source.systems.items():
            if name in systems:
                raise TensorMTError(f"two systems are called {name!r}: rename one of the files")
            systems[name] = column
    streams = [column for source in theirs for column in source.refs]
    if not streams:
        streams = _own_references(ours)
    papers = next((source.docs for source in reversed(sources) if source.docs), None)
    digest = hashlib.blake2b(digest_size=16)
    for name in names:
        with files.open_bytes(name) as file:
            while block := file.read(1 << 20):
                digest.update(block)
        digest.update(b"\0")
    return Corpus(systems, streams, papers, sources[0].size, digest.hexdigest())


def _own_references(sources: Sequence[_Source]) -> list[Column]:
    """The references that hypothesis files bring along; several files must agree on them."""
    bring = [source.refs for source in sources if source.refs]
    if not bring:
        raise TensorMTError(
            "no references: name at least one reference file before -i, "
            "or give rows (.jsonl, .tsv) that hold references"
        )
    for other in bring[1:]:
        columns = [column() for column in (*bring[0], *other)]
        for number, row in enumerate(zip(*columns, strict=True), 1):
            if len(other) != len(bring[0]) or row[: len(other)] != row[len(other) :]:
                raise TensorMTError(
                    f"segment {number}: the hypothesis files have different references; give them "
                    "in a file of their own, or score the files one by one"
                )
    return bring[0]


def _source(path: str, role: str, markup: list[Markup]) -> _Source:
    """A file in its role (hypothesis, references, doc); markup follows the first such file."""
    kind, name = files.kind(path), files.shown(path)
    if role != "doc" and kind in MARKUP:
        found = read_markup(path)
        found = found.arranged(markup[0]) if markup else found
        markup.append(found)
        systems = found.hyps or found.refs
        refs = found.refs or (found.hyps if role == "references" else {})
        return _Source(
            {system: _listed(lines) for system, lines in systems.items()},
            [_listed(lines) for lines in refs.values()],
            _listed([doc for doc, _ in found.places]),
            len(found.places),
        )
    if role != "doc" and kind in ROWS:
        return _row_source(path, role)
    column: Column = lambda: files.lines(path)  # noqa: E731
    one = _Source({name: column}, [column], column, files.count(path))
    return one._replace(
        refs=one.refs if role == "references" else [], docs=one.docs if role == "doc" else None
    )


def _row_source(path: str, role: str) -> _Source:
    size, most, papers = 0, 0, False
    for row in rows(path, role):
        size += 1
        most = max(most, len(row.refs))
        papers = papers or row.doc is not None

    def ref(place: int) -> Column:
        return lambda: (row.refs[place] if place < len(row.refs) else None for row in rows(path))

    return _Source(
        {files.shown(path): lambda: (row.hyp for row in rows(path))},
        [ref(place) for place in range(most)],
        (lambda: (row.doc for row in rows(path))) if papers else None,
        size,
    )


def _listed(lines: Sequence[str | None]) -> Column:
    return lambda: iter(lines)
