"""Corpus: segments in chunks, from text files, rows or mteval markup.

Text files (one segment per line, also `.gz`), rows with their own references (`.jsonl`, `.tsv`,
`.csv`) and mteval or WMT markup (`.sgm`, `.sgml`, `.xml`) are read as one `Corpus`, which iterates
over chunks of segments in order, from any segment on, any number of times. Each file is a `Source`,
which is read once per iteration; text and rows are never held in memory completely. An empty
reference line is a missing reference; a segment without any reference is an error.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

from tensormt.data import files, tree_files
from tensormt.data.row_columns import Columns
from tensormt.data.row_reader import read_rows
from tensormt.data.sgml import Markup, read_markup
from tensormt.errors import TensorMTError
from tensormt.segments import Segments, check_sizes, reference_streams

MARKUP = {".sgm", ".sgml", ".xml"}
ROWS = {".jsonl", ".tsv", ".csv"}

Lines = list[str | None]


class SourceBlock(NamedTuple):
    """Consecutive segments of one source: a list for each of its columns."""

    hyps: list[Lines]
    refs: list[Lines]
    docs: Lines | None = None
    ids: list[Any] | None = None
    sources: Lines | None = None


class Source(NamedTuple):
    """The contents of one file.

    Attributes:
        name: Name in messages and tables.
        systems: Names of the systems.
        refs: Number of reference streams.
        docs: Whether the file has document ids.
        size: Number of segments.
        blocks: `blocks(start, size)` iterates over blocks of `size` segments from `start` on.
        columns: Columns of rows that were named; None: the file has no rows.
        has_sources: Whether the file has the source text.
    """

    name: str
    systems: list[str]
    refs: int
    docs: bool
    size: int
    blocks: Callable[[int, int], Iterator[SourceBlock]]
    columns: Columns | None = None
    has_sources: bool = False


class Corpus:
    """Segments in chunks: systems, references and documents of files.

    Args:
        hyps: Sources of hypotheses.
        refs: Sources of references.
        docs: Source of document ids; None: there are none.
        paths: All files, for `digest`.
        sources: Source of the source texts; None: there are none.
    """

    def __init__(
        self,
        hyps: Sequence[Source],
        refs: Sequence[Source],
        docs: Source | None = None,
        paths: Sequence[str] = (),
        sources: Source | None = None,
    ) -> None:
        self._hyps, self._refs, self._docs = list(hyps), list(refs), docs
        self._paths = list(paths)
        self.systems = [system for source in hyps for system in source.systems]
        self.reference_count = sum(source.refs for source in refs)
        self.has_documents = docs is not None
        self._ids = next((s for s in hyps if s.columns is not None and s.columns.id), None)
        self._sources = sources

    def __len__(self) -> int:
        return self._hyps[0].size

    @cached_property
    def digest(self) -> str:
        """A hash of the contents of all files."""
        digest = hashlib.blake2b(digest_size=16)
        for name in self._paths:
            with files.open_bytes(name) as file:
                while block := file.read(1 << 20):
                    digest.update(block)
            digest.update(b"\0")
        return digest.hexdigest()

    def chunks(self, size: int, start: int = 0, hyps: bool = True) -> Iterator[Segments]:
        """Iterate over chunks of at most `size` segments.

        Args:
            size: Segments per chunk.
            start: Position of the first segment.
            hyps: Whether hypotheses are read.

        Raises:
            TensorMTError: If a segment has no reference.
        """
        needed = {id(s): s for s in (*(self._hyps if hyps else ()), *self._refs)}
        for source in (self._docs, self._ids, self._sources):
            if source is not None:
                needed[id(source)] = source
        readers = {key: source.blocks(start, size) for key, source in needed.items()}
        while start < len(self):
            blocks = {key: next(reader) for key, reader in readers.items()}
            own = [
                [line or "" for line in lines]  # an output that a file lacks is empty
                for source in self._hyps
                if hyps
                for lines in blocks[id(source)].hyps
            ]
            references = [lines for source in self._refs for lines in blocks[id(source)].refs]
            documents = None
            if self._docs is not None:
                documents = [doc or "" for doc in blocks[id(self._docs)].docs or ()]
            stop = start + len(references[0])
            segments = Segments(
                dict(zip(self.systems, own, strict=hyps)),
                references,
                documents,
                None if self._ids is None else blocks[id(self._ids)].ids,
                None if self._sources is None else blocks[id(self._sources)].sources,
                numbers=range(start, stop),
            )
            segments.check_references()
            yield segments
            start += size


def open_corpus(
    hyps: Sequence[str],
    refs: Sequence[str],
    docs: str | None = None,
    sources: str | None = None,
    *,
    trees: bool = False,
    segments: str = "sentence",
    columns: Columns | None = None,
) -> Corpus:
    """Open files as a corpus.

    Args:
        hyps: Files of hypotheses, one per system; `-`: standard input.
        refs: Files of references; empty: the hypothesis files contain them.
        docs: File of document ids.
        sources: File of source texts, one per line; rows and markup have their own.
        trees: Whether the files contain trees, which may span several lines (`.mrg`, CoNLL-U).
        segments: Which CoNLL-U sentences form a segment (`tensormt.data.tree_files`).
        columns: Names of the columns of rows (`tensormt.data.row_columns`).

    Raises:
        TensorMTError: If a file cannot be read, or files do not align.
    """
    spool = files.Spool()
    more = {"doc": docs, "source": sources}
    extra = {role: spool.path(name) for role, name in more.items() if name}
    names = [*(spool.path(name) for name in (*hyps, *refs)), *extra.values()]
    markup: list[Markup] = []
    rule = segments if trees else ""
    wanted = columns or Columns()
    if wanted != Columns() and not any(files.suffix(name) in ROWS for name in names):
        raise TensorMTError(
            f"columns are named, but no file has rows: expected {', '.join(sorted(ROWS))}",
            options="hyp refs doc id src",
        )
    reads = wanted._replace(refs=()) if refs else wanted
    own = [
        _source(name, "hypothesis", markup, rule, reads, not refs) for name in names[: len(hyps)]
    ]
    others = [
        _source(name, "references", markup, rule, Columns(refs=wanted.refs))
        for name in names[len(hyps) : len(hyps) + len(refs)]
    ]
    beside = [_source(path, role, markup) for role, path in extra.items()]
    opened = [*own, *others, *beside]
    check_sizes({source.name: source.size for source in opened}, "segments" if markup else "lines")
    if not own[0].size:
        raise TensorMTError(f"{own[0].name} contains no segment: expected at least one")
    seen: set[str] = set()
    for system in (system for source in own for system in source.systems):
        if system in seen:
            raise TensorMTError(f"two systems are named {system!r}: rename one of the files")
        seen.add(system)
    documents = next((source for source in reversed(opened) if source.docs), None)
    texts = next((source for source in reversed(opened) if source.has_sources), None)
    return Corpus(own, others or _own_references(own), documents, names, texts)


def _own_references(sources: Sequence[Source]) -> list[Source]:
    """The hypothesis file that contains references; several such files must agree on them."""
    found = [source for source in sources if source.refs]
    if not found:
        raise TensorMTError(
            "no references: name at least one reference file, "
            "or use rows (.jsonl, .tsv, .csv) that contain references",
            options="refs" if any(source.columns for source in sources) else "",
        )
    first, *rest = found
    for other in rest:
        done = 0
        for one, two in zip(first.blocks(0, 1000), other.blocks(0, 1000), strict=True):
            pairs = zip(zip(*one.refs, strict=True), zip(*two.refs, strict=True), strict=True)
            for number, (ours, theirs) in enumerate(pairs, done + 1):
                if ours != theirs:
                    raise TensorMTError(
                        f"segment {number}: the hypothesis files have different references; put "
                        "these into a separate file, or score the files one by one"
                    )
            done += 1000
    return [first]


def _source(
    path: str,
    role: str,
    markup: list[Markup],
    trees: str = "",
    columns: Columns | None = None,
    refs: bool = True,
) -> Source:
    """Open a file in a role: hypothesis, references, doc or source.

    Markup is ordered as in the first file; `trees` is the rule of segments if the file contains
    trees; `refs` says whether the references of rows are read.
    """
    kind, name = files.suffix(path), files.display_name(path)
    if trees and tree_files.tree_format(path) != "brackets":
        items = tree_files.read_trees(path, trees)
        own = role == "hypothesis"
        return _memory_source(name, [name], [items] * own, [items] * (not own), None, len(items))
    texts_only = role in ("doc", "source")
    if not texts_only and kind in MARKUP:
        found = read_markup(path)
        found = found.ordered_as(markup[0]) if markup else found
        markup.append(found)
        systems = found.hyps or found.refs
        others = found.refs or (found.hyps if role == "references" else {})
        docs = [doc for doc, _ in found.places]
        texts = (list(systems.values()), list(others.values()), docs)
        return _memory_source(name, list(systems), *texts, len(found.places), found.sources)
    if not texts_only and kind in ROWS:
        return _row_source(path, name, role, columns or Columns(), refs)

    def blocks(start: int, size: int) -> Iterator[SourceBlock]:
        for lines in files.line_batches(path, size, start):
            part: Lines = list(lines)
            yield SourceBlock(
                [part] if role == "hypothesis" else [],
                [part] if role == "references" else [],
                part if role == "doc" else None,
                sources=part if role == "source" else None,
            )

    systems_of = [name] if role == "hypothesis" else []
    return Source(
        name,
        systems_of,
        int(role == "references"),
        role == "doc",
        files.count_lines(path),
        blocks,
        has_sources=role == "source",
    )


def _row_source(path: str, name: str, role: str, columns: Columns, refs: bool) -> Source:
    hyp = role == "hypothesis"
    size, most, documents, texts = 0, 0, False, False
    for row in read_rows(path, columns, hyp=hyp, refs=refs):
        size += 1
        most = max(most, len(row.refs))
        documents = documents or row.doc is not None
        texts = texts or row.src is not None

    def blocks(start: int, size: int) -> Iterator[SourceBlock]:
        rest = islice(read_rows(path, columns, hyp=hyp, refs=refs), start, None)
        while part := list(islice(rest, size)):
            # every block has the same number of streams
            streams = reference_streams(
                [[*row.refs, *[None] * (most - len(row.refs))] for row in part]
            )
            yield SourceBlock(
                [[row.hyp for row in part]],
                streams[:most],
                [row.doc for row in part],
                [row.id for row in part],
                [row.src for row in part],
            )

    return Source(name, [name], most, documents, size, blocks, columns, texts)


def _memory_source(
    name: str,
    systems: list[str],
    hyps: Sequence[Sequence[str | None]],
    refs: Sequence[Sequence[str | None]],
    docs: Sequence[str] | None,
    size: int,
    texts: Sequence[str | None] | None = None,
) -> Source:
    """A source of columns in memory; texts are the source text of the segments."""

    def blocks(start: int, step: int) -> Iterator[SourceBlock]:
        for first in range(start, size, step):
            rows = slice(first, first + step)
            yield SourceBlock(
                [list(lines[rows]) for lines in hyps],
                [list(lines[rows]) for lines in refs],
                None if docs is None else list(docs[rows]),
                sources=None if texts is None else list(texts[rows]),
            )

    return Source(
        name, systems, len(refs), docs is not None, size, blocks, has_sources=texts is not None
    )
