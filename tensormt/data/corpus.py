"""Corpus: segments in chunks, from text files, rows or mteval markup.

Text files (one segment a line, `.gz` too), rows with their own references (`.jsonl`, `.tsv`) and
mteval or WMT markup (`.sgm`, `.sgml`, `.xml`) become one `Corpus`, which hands out chunks of
segments in order, from any segment on, as often as wanted. Each file is a `Source` that is read
once a pass; text and rows are never held whole in memory. An empty reference line is an absent
reference; a segment without any is an error.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from tensormt.data import files, tree_files
from tensormt.data.row_reader import rows
from tensormt.data.sgml import Markup, read_markup
from tensormt.errors import TensorMTError
from tensormt.segments import Segments, check_sizes, reference_streams

MARKUP = {".sgm", ".sgml", ".xml"}
ROWS = {".jsonl", ".tsv"}

Lines = list[str | None]


class Block(NamedTuple):
    """Some segments of one source: a list for each of its columns."""

    hyps: list[Lines]
    refs: list[Lines]
    docs: Lines | None


class Source(NamedTuple):
    """What one file brings: its systems, how many references, documents, segments, blocks.

    `blocks(start, size)` iterates over blocks of `size` segments from `start` on.
    """

    name: str
    systems: list[str]
    refs: int
    docs: bool
    size: int
    blocks: Callable[[int, int], Iterator[Block]]


class Corpus:
    """Where segments come from, chunk by chunk: systems, references and documents of files.

    Args:
        hyps: Files of hypotheses.
        refs: Files of references.
        docs: The file that names documents.
        paths: All files, for `digest`.
    """

    def __init__(
        self,
        hyps: Sequence[Source],
        refs: Sequence[Source],
        docs: Source | None = None,
        paths: Sequence[str] = (),
    ) -> None:
        self._hyps, self._refs, self._docs = list(hyps), list(refs), docs
        self._paths = list(paths)
        self.systems = [system for source in hyps for system in source.systems]
        self.reference_count = sum(source.refs for source in refs)
        self.has_documents = docs is not None

    def __len__(self) -> int:
        return self._hyps[0].size

    @cached_property
    def digest(self) -> str:
        """A hash of all files."""
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
            size: Segments at a time.
            start: Position of the first segment.
            hyps: Whether hypotheses are read too.

        Raises:
            TensorMTError: If a segment has no reference.
        """
        needed = {id(s): s for s in (*(self._hyps if hyps else ()), *self._refs)}
        if self._docs is not None:
            needed[id(self._docs)] = self._docs
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
                numbers=range(start, stop),
            )
            segments.check_references()
            yield segments
            start += size


def open_corpus(
    hyps: Sequence[str],
    refs: Sequence[str],
    docs: str | None = None,
    *,
    trees: bool = False,
    segments: str = "sentence",
) -> Corpus:
    """The corpus of files named on a command line; `-` is standard input.

    `trees`: the files hold trees, in which a segment may take several lines (`.mrg`, CoNLL-U);
    `segments`: which sentences of CoNLL-U make a segment (tensormt.data.tree_files).
    """
    spool = files.Spool()
    names = [spool.path(name) for name in (*hyps, *refs, *([docs] if docs else []))]
    markup: list[Markup] = []
    rule = segments if trees else ""
    own = [_source(name, "hypothesis", markup, rule) for name in names[: len(hyps)]]
    others = [
        _source(name, "references", markup, rule)
        for name in names[len(hyps) : len(hyps) + len(refs)]
    ]
    sources = [*own, *others]
    if docs:
        sources.append(_source(names[-1], "doc", markup))
    check_sizes({source.name: source.size for source in sources}, "segments" if markup else "lines")
    if not own[0].size:
        raise TensorMTError(f"{own[0].name} holds no segment: expected at least one")
    seen: set[str] = set()
    for system in (system for source in own for system in source.systems):
        if system in seen:
            raise TensorMTError(f"two systems are called {system!r}: rename one of the files")
        seen.add(system)
    documents = next((source for source in reversed(sources) if source.docs), None)
    return Corpus(own, others or _own_references(own), documents, names)


def _own_references(sources: Sequence[Source]) -> list[Source]:
    """The hypothesis file that brings references along; several files must agree on them."""
    bring = [source for source in sources if source.refs]
    if not bring:
        raise TensorMTError(
            "no references: name at least one reference file before -i, "
            "or give rows (.jsonl, .tsv) that hold references"
        )
    first, *rest = bring
    for other in rest:
        done = 0
        for one, two in zip(first.blocks(0, 1000), other.blocks(0, 1000), strict=True):
            pairs = zip(zip(*one.refs, strict=True), zip(*two.refs, strict=True), strict=True)
            for number, (ours, theirs) in enumerate(pairs, done + 1):
                if ours != theirs:
                    raise TensorMTError(
                        f"segment {number}: the hypothesis files have different references; give "
                        "them in a file of their own, or score the files one by one"
                    )
            done += 1000
    return [first]


def _source(path: str, role: str, markup: list[Markup], trees: str = "") -> Source:
    """A file in its role (hypothesis, references, doc); markup follows the first such file.

    `trees`: the rule of the segments of trees, where the file holds these.
    """
    kind, name = files.kind(path), files.shown(path)
    if trees and tree_files.form(path) != "brackets":
        items = tree_files.cut(path, trees)
        own = role == "hypothesis"
        return _listed(name, [name], [items] * own, [items] * (not own), None, len(items))
    if role != "doc" and kind in MARKUP:
        found = read_markup(path)
        found = found.arranged(markup[0]) if markup else found
        markup.append(found)
        systems = found.hyps or found.refs
        refs = found.refs or (found.hyps if role == "references" else {})
        docs = [doc for doc, _ in found.places]
        columns = (list(systems.values()), list(refs.values()), docs)
        return _listed(name, list(systems), *columns, len(found.places))
    if role != "doc" and kind in ROWS:
        return _row_source(path, name, role)

    def blocks(start: int, size: int) -> Iterator[Block]:
        for lines in files.slices(path, size, start):
            part: Lines = list(lines)
            yield Block(
                [part] if role == "hypothesis" else [],
                [part] if role == "references" else [],
                part if role == "doc" else None,
            )

    systems_of = [name] if role == "hypothesis" else []
    return Source(
        name, systems_of, int(role == "references"), role == "doc", files.count(path), blocks
    )


def _row_source(path: str, name: str, role: str) -> Source:
    size, most, documents = 0, 0, False
    for row in rows(path, role):
        size += 1
        most = max(most, len(row.refs))
        documents = documents or row.doc is not None

    def blocks(start: int, size: int) -> Iterator[Block]:
        rest = islice(rows(path), start, None)
        while part := list(islice(rest, size)):
            # every block has as many streams as the whole file
            refs = reference_streams(
                [[*row.refs, *[None] * (most - len(row.refs))] for row in part]
            )
            yield Block([[row.hyp for row in part]], refs[:most], [row.doc for row in part])

    return Source(name, [name], most, documents, size, blocks)


def _listed(
    name: str,
    systems: list[str],
    hyps: Sequence[Sequence[str | None]],
    refs: Sequence[Sequence[str | None]],
    docs: Sequence[str] | None,
    size: int,
) -> Source:
    """Columns that lie in memory."""

    def blocks(start: int, step: int) -> Iterator[Block]:
        for first in range(start, size, step):
            rows = slice(first, first + step)
            yield Block(
                [list(lines[rows]) for lines in hyps],
                [list(lines[rows]) for lines in refs],
                None if docs is None else list(docs[rows]),
            )

    return Source(name, systems, len(refs), docs is not None, size, blocks)
