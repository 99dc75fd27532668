"""Sources of trees: what turns segments into a TreeBatch, and says how in a signature.

A source is called with segments and gives their trees; its `fingerprint` stands in signatures, and
its `kind`, where it has one, says whether they are trees of constituents or of dependencies.
`tensormt.parser.cache.CachedParser` parses text. The two here bring trees that exist already:
`TreesAsText`, where the segments themselves are trees (brackets or CoNLL-U), and `PreparsedTrees`,
where trees lie beside the text, by place.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Protocol

from tensormt.errors import TensorMTError
from tensormt.trees.batch import TreeBatch

__all__ = [
    "GIVEN",
    "PreparsedTrees",
    "TreeSource",
    "TreesAsText",
    "read_lines",
    "sentences",
    "write_lines",
]

GIVEN = "given"  # in signatures: the trees came with the text, no parser made them

_BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}


class TreeSource(Protocol):
    """Text to trees."""

    @property
    def fingerprint(self) -> str:
        """What makes the trees, in short: it stands in signatures and names a cache."""

    def __call__(self, lines: Sequence[str | None]) -> TreeBatch:
        """The trees of segments; an empty one has an empty tree."""


class TreesAsText:
    """The segments are trees as they stand: one bracketing each, or CoNLL-U sentences.

    Several sentences of a segment have an empty line between them and become one tree.
    """

    fingerprint = GIVEN

    def __init__(self, form: str = "brackets", place: str = "in a file of trees, ") -> None:
        self.form, self.place = form, place
        self.kind = "dependency" if form == "conllu" else "constituency"

    def __call__(self, lines: Sequence[str | None], first: int = 1) -> TreeBatch:
        """Read the trees; an error names the line (or tree), the first one being `first`."""
        if self.form == "conllu":
            texts = [(line or "").strip("\n") for line in lines]
            counts = [text.count("\n\n") + 1 if text else 0 for text in texts]
            return TreeBatch.from_conllu("\n\n".join(texts), self.place, counts)
        return TreeBatch.from_brackets(lines, self.place, first)

    def streams(
        self, streams: Sequence[Sequence[str | None]], first: int = 1
    ) -> Sequence[TreeBatch]:
        """The trees of several streams, a batch each."""
        return [self(stream, first) for stream in streams]


class PreparsedTrees:
    """Trees beside the text: of every stream (hypotheses, then references) one batch, by place."""

    fingerprint = GIVEN

    def __init__(self, batches: Sequence[TreeBatch], sizes: Sequence[int]) -> None:
        if [len(batch) for batch in batches] != list(sizes):
            raise TensorMTError("trees must have the form of the text: one tree for each segment")
        self.batches = list(batches)
        kinds = {batch.kind for batch in self.batches if len(batch.nodes)}
        self.kind = kinds.pop() if len(kinds) == 1 else "constituency"

    def rows(self, start: int, count: int) -> list[TreeBatch]:
        """The trees of some segments, a batch a stream."""
        return [batch[start : start + count] for batch in self.batches]


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
    if not any(line.startswith("[") for line in lines):
        return TreeBatch.from_brackets(lines)
    try:
        rows = [json.loads(line) if line else None for line in lines]
        known = min(len(row) for row in rows if row is not None)
        columns = ([[] if row is None else row[k] for row in rows] for k in range(min(known, 3)))
        return TreeBatch.from_heads(*columns)
    except (ValueError, TypeError) as error:
        raise TensorMTError(f"a kept tree cannot be read: {error}") from None
