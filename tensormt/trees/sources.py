"""Sources of trees: what turns segments into a TreeBatch, and says how in a signature.

A source is called with segments and gives their trees; its `fingerprint` stands in signatures.
`tensormt.parser.cache.CachedParser` parses text. The two here bring trees that exist already:
`Written`, where the segments themselves are trees (brackets or CoNLL-U), and `Aligned`, where
trees lie beside the text, by place.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Protocol

from tensormt.errors import TensorMTError
from tensormt.trees.batch import TreeBatch

__all__ = ["GIVEN", "Aligned", "TreeSource", "Written", "read_lines", "sentences", "write_lines"]

GIVEN = "given"  # in signatures: the trees came with the text, no parser made them

_HANDFUL = 32  # trees that are read at once, whichever stream they are in
_BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}


class TreeSource(Protocol):
    """Text to trees."""

    @property
    def fingerprint(self) -> str:
        """What makes the trees, in short: it stands in signatures and names a cache."""

    def __call__(self, lines: Sequence[str | None]) -> TreeBatch:
        """The trees of segments; an empty one has an empty tree."""


class Written:
    """The segments are trees as they stand: one bracketing each, or CoNLL-U sentences."""

    fingerprint = GIVEN

    def __init__(self, form: str = "brackets", place: str = "in a file of trees, ") -> None:
        self.form, self.place = form, place

    def __call__(self, lines: Sequence[str | None], first: int = 1) -> TreeBatch:
        """Read the trees; an error names the line (or tree), the first one being `first`."""
        if self.form == "conllu":
            found = TreeBatch.from_conllu("\n\n".join(line or "" for line in lines), self.place)
            if len(found) != len(lines):
                raise TensorMTError(
                    f"{self.place}{len(lines)} sentences hold {len(found)} trees: "
                    "expected one tree a sentence"
                )
            return found
        return TreeBatch.from_brackets(lines, self.place, first)

    def streams(
        self, streams: Sequence[Sequence[str | None]], first: int = 1
    ) -> Sequence[TreeBatch]:
        """The trees of several streams, a batch each; a handful of trees is read at once."""
        sizes = [len(stream) for stream in streams]
        if self.form == "brackets" and sum(sizes) <= _HANDFUL:
            try:
                whole = TreeBatch.from_brackets([line for stream in streams for line in stream])
            except TensorMTError:
                pass  # read one by one, a stream names its own line
            else:
                return whole.split(sizes)
        return [self(stream, first) for stream in streams]


class Aligned:
    """Trees beside the text: of every stream (hypotheses, then references) one batch, by place."""

    fingerprint = GIVEN

    def __init__(self, batches: Sequence[TreeBatch], sizes: Sequence[int]) -> None:
        if [len(batch) for batch in batches] != list(sizes):
            raise TensorMTError("trees must have the form of the text: one tree for each segment")
        self.batches = list(batches)

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
    """One line a tree, to be kept: a bracketing, or words and heads as JSON; "" for no tree."""
    if trees.kind == "constituency":
        return trees.to_brackets()
    pairs = zip(*trees.to_heads(), strict=True)
    return [
        json.dumps([words, heads], ensure_ascii=False) if words else "" for words, heads in pairs
    ]


def read_lines(lines: Sequence[str]) -> TreeBatch:
    """The trees of lines that `write_lines` wrote, all of one kind."""
    if not any(line.startswith("[") for line in lines):
        return TreeBatch.from_brackets(lines)
    try:
        pairs = [json.loads(line) if line else ([], []) for line in lines]
        return TreeBatch.from_heads([words for words, _ in pairs], [heads for _, heads in pairs])
    except (ValueError, TypeError) as error:
        raise TensorMTError(f"a kept tree cannot be read: {error}") from None
