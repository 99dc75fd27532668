"""Sources of trees: what turns segments into a TreeBatch, and says how in a signature.

A source is called with segments and gives their trees; its `fingerprint` stands in signatures, and
its `kind`, where it has one, says whether they are trees of constituents or of dependencies.
`tensormt.parser.cache.CachedParser` parses text. The two here bring trees that exist already:
`TreesAsText`, where the segments themselves are trees (brackets or CoNLL-U), and `PreparsedTrees`,
where trees lie beside the text, by place.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tensormt.data.coercion import as_lines
from tensormt.errors import TensorMTError
from tensormt.segments import Segments

if TYPE_CHECKING:
    from tensormt.trees.batch import TreeBatch

GIVEN = "given"  # in signatures: the trees came with the text, no parser made them

_BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}


class TreeSource(Protocol):
    """Text to trees."""

    @property
    def fingerprint(self) -> str:
        """What makes the trees, in short: it stands in signatures and names a cache."""

    def __call__(self, lines: Sequence[str | None]) -> TreeBatch:
        """The trees of segments; an empty one has an empty tree."""


@dataclass(frozen=True)
class TreeOptions:
    """How texts are parsed.

    Args:
        parser: Name, path, or a loaded parser (`tensormt.parser.registry`).
        trusted: Whether a supar checkpoint may be opened although it is a pickle.
        cache: Folder in which parses are kept for later runs.
        strict_cache: Whether a folder that cannot be used is an error; else a warning.
        progress: Called with the number of texts that were parsed.
        check_language: Whether references in a script that the parser was not trained on are an
            error, and many unknown words a warning.
        rules: Further arguments of `Parser.load`.
    """

    parser: Any = "default"
    trusted: bool = False
    cache: str | Path | None = None
    strict_cache: bool = True
    progress: Callable[[int], object] | None = None
    check_language: bool = True
    rules: Mapping[str, Any] = field(default_factory=dict)


class TreesAsText:
    """Texts that are trees themselves: one bracketing each, or CoNLL-U sentences.

    Several CoNLL-U sentences of a segment have an empty line between them and become one tree.

    Args:
        form: "brackets" or "conllu".
        source: Begins messages about trees that cannot be read.
        files: Names of the files of all streams, outputs first, for messages; () if unknown.
    """

    fingerprint = GIVEN

    def __init__(
        self,
        form: str = "brackets",
        source: str = "in a file of trees, ",
        files: Sequence[str] = (),
    ) -> None:
        self.form, self.source, self.files = form, source, list(files)
        self.kind = "dependency" if form == "conllu" else "constituency"

    def streams(self, streams: Sequence[Sequence[str | None]], first: int) -> list[TreeBatch]:
        """Read the trees of the last streams; an error names the file and the line."""
        names = self.files[-len(streams) :] if len(self.files) >= len(streams) else []
        sources = [f"{name}, " for name in names] or [self.source] * len(streams)
        pairs = zip(streams, sources, strict=True)
        return [self(lines, first, source) for lines, source in pairs]

    def __call__(
        self, lines: Sequence[str | None], first: int = 1, source: str | None = None
    ) -> TreeBatch:
        """Read the trees; an error names the line (or tree), the first one being `first`."""
        from tensormt.trees.batch import TreeBatch

        source = self.source if source is None else source
        if self.form == "conllu":
            texts = [(line or "").strip("\n") for line in lines]
            counts = [text.count("\n\n") + 1 if text else 0 for text in texts]
            return TreeBatch.from_conllu("\n\n".join(texts), source, counts)
        return TreeBatch.from_brackets(lines, source, first)


class PreparsedTrees:
    """Trees beside the text: one batch for every stream, taken by position.

    Args:
        trees: For the outputs of every system, then for every reference stream: bracketings or a
            TreeBatch.
        segments: The segments to which they belong.
    """

    fingerprint = GIVEN

    def __init__(self, trees: Sequence[Any], segments: Segments) -> None:
        from tensormt.trees.batch import TreeBatch

        self.batches = [
            each
            if isinstance(each, TreeBatch)
            else TreeBatch.from_brackets(as_lines(each, "trees"))
            for each in trees
        ]
        if [len(batch) for batch in self.batches] != [len(lines) for lines in segments.streams]:
            raise TensorMTError("trees must have the form of the text: one tree for each segment")
        kinds = {batch.kind for batch in self.batches if batch.size}
        self.kind = kinds.pop() if len(kinds) == 1 else "constituency"

    def rows(self, numbers: Sequence[int]) -> list[TreeBatch]:
        """Return the trees of some segments, a batch for each stream."""
        index: Any = list(numbers)
        if isinstance(numbers, range) and numbers.step == 1:
            index = slice(numbers.start, numbers.stop)
        return [batch[index] for batch in self.batches]


def sentences(trees: TreeBatch) -> list[str]:
    """The words of every tree with spaces between them, brackets as themselves."""
    nodes = trees.nodes
    names = [_BRACKETS.get(word, word) for word in trees.words.strings]
    words = [names[i] if i >= 0 else "" for i in nodes.word.tolist()]
    offsets = nodes.offsets.tolist()
    return [" ".join(filter(None, words[a:b])) for a, b in pairwise(offsets)]


def write_lines(trees: TreeBatch) -> list[str]:
    """One line a tree, to be kept: a bracketing, or words and heads as JSON; "" for no tree.

    Where the arcs have names these are the third list.
    """
    if trees.kind == "constituency":
        return trees.to_brackets()
    lists = [*trees.to_heads(), *filter(None, [trees.to_relations()])]
    return [
        json.dumps(row, ensure_ascii=False) if row[0] else "" for row in zip(*lists, strict=True)
    ]


def read_lines(lines: Sequence[str]) -> TreeBatch:
    """The trees of lines that `write_lines` wrote, all of one kind."""
    from tensormt.trees.batch import TreeBatch

    if not any(line.startswith("[") for line in lines):
        return TreeBatch.from_brackets(lines)
    try:
        rows = [json.loads(line) if line else None for line in lines]
        known = min(len(row) for row in rows if row is not None)
        columns = ([[] if row is None else row[k] for row in rows] for k in range(min(known, 3)))
        return TreeBatch.from_heads(*columns)
    except (ValueError, TypeError) as error:
        raise TensorMTError(f"a kept tree cannot be read: {error}") from None
