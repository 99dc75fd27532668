"""Trees as plain Python lists: for a few trees.

A tree holds its nodes in preorder (constituents) or sentence order (dependencies), in lists: label,
word and parent of each node. The readers here take valid input only; whatever else there is, they
give None, and the full reader reads it or raises. This module imports neither torch nor pyarrow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from tensormt.data.coercion import lone_surrogate
from tensormt.trees.bracket_text import EMPTY, OUTER, cut_label, words_of

_BLANK = " \t\n\r\v\f"


class PlainTree:
    """One tree, immutable.

    Args:
        labels: Label of each node; None for a bare word, which stands beside other children. Nodes
            of dependency trees are labelled with their words.
        words: Word of each node; None where it has none.
        parents: Place of each node's parent, -1 at a root.
        relations: Names of the arcs of dependency trees, where they are known.
    """

    __slots__ = ("_children", "labels", "parents", "relations", "words")

    def __init__(
        self,
        labels: Sequence[str | None],
        words: Sequence[str | None],
        parents: Sequence[int],
        relations: Sequence[str] | None = None,
    ) -> None:
        self.labels, self.words, self.parents = labels, words, parents
        self.relations = relations
        self._children: list[list[int]] | None = None

    def __len__(self) -> int:
        return len(self.parents)

    @property
    def children(self) -> list[list[int]]:
        """The places of each node's children, in order."""
        if self._children is None:
            self._children = [[] for _ in self.parents]
            for node, parent in enumerate(self.parents):
                if parent >= 0:
                    self._children[parent].append(node)
        return self._children

    @property
    def tokens(self) -> int:
        """The number of words."""
        return len(self.words) - self.words.count(None)

    def skeleton(self) -> PlainTree:
        """Return the tree without bare words: leaves are part-of-speech tags."""
        if None not in self.labels:
            return self
        kept = [node for node, label in enumerate(self.labels) if label is not None]
        place = {node: number for number, node in enumerate(kept)}
        place[-1] = -1
        return PlainTree(
            [self.labels[node] for node in kept],
            [self.words[node] for node in kept],
            [place[self.parents[node]] for node in kept],
        )

    def lexicalized(self) -> PlainTree:
        """Return the tree with every word as a leaf of its own, labelled with the word."""
        labels: list[str | None] = []
        parents: list[int] = []
        place = {-1: -1}
        for node, label in enumerate(self.labels):
            word = self.words[node]
            place[node] = len(labels)
            labels.append(word if label is None else label)
            parents.append(place[self.parents[node]])
            if label is not None and word is not None:
                labels.append(word)
                parents.append(place[node])
        return PlainTree(labels, [None] * len(labels), parents)

    def with_relations(self) -> PlainTree:
        """Return a dependency tree labelled with words and the names of their arcs."""
        assert self.relations is not None
        pairs = zip(self.words, self.relations, strict=True)
        # a tab stands in no word of CoNLL-U and in no token, so that no pair looks like a word
        labels = [f"{word}\t{relation}" for word, relation in pairs]
        return PlainTree(labels, self.words, self.parents, self.relations)


class _Piece(NamedTuple):
    """The text from an opening bracket to the next one, taken apart."""

    label: str
    word: str | None
    bare: tuple[tuple[str, int], ...]  # words beside other children, and how far below the node
    closes: int


@lru_cache(maxsize=1 << 14)
def _piece(text: str) -> _Piece | None:
    """Take apart the text behind an opening bracket.

    None where the node closes without a child, or is an empty element.
    """
    label, words = words_of("(" + text)
    if (not words and ")" in text) or cut_label(label) == EMPTY:
        return None
    word = words.pop(0)[0] if words and words[0][1] is None else None
    bare = tuple((name, rise) for name, rise in words if rise is not None)
    return _Piece(cut_label(label), word, bare, text.count(")"))


def read_brackets(lines: Sequence[str | None]) -> list[PlainTree] | None:
    """Read one bracketing a line, without outer nodes.

    Args:
        lines: The bracketings; an empty line or None is an empty tree.

    Returns:
        The trees; None where a line is invalid or holds an empty element: the full reader raises,
        or takes them out.
    """
    trees = []
    for line in lines:
        tree = _read_line(line or "")
        if tree is None:
            return None
        trees.append(tree)
    return trees


def _read_line(line: str) -> PlainTree | None:
    if type(line) is not str or (not line.isascii() and lone_surrogate(line)):
        return None
    start, *texts = line.split("(")
    if start.strip(_BLANK):
        return None
    labels: list[str | None] = []
    words: list[str | None] = []
    parents: list[int] = []
    path = [-1]  # from above the root to the node that is open
    for text in texts:
        piece = _piece(text)
        if piece is None:
            return None
        label, word, bare, closes = piece
        parents.append(path[-1])
        path.append(len(labels))
        labels.append(label)
        words.append(word)
        for name, rise in bare:
            above = len(path) + rise - 2
            if above < 1:
                return None  # a word outside its tree
            labels.append(None)
            words.append(name)
            parents.append(path[above])
        if closes:
            if closes >= len(path):
                return None
            del path[-closes:]
    # one root, which alone may lack a label
    if len(path) > 1 or parents.count(-1) > 1 or "" in labels[1:]:
        return None
    outer = _outer(labels, parents)
    if outer:
        parents = [max(parent - outer, -1) for parent in parents[outer:]]
    return PlainTree(labels[outer:], words[outer:], parents)


def _outer(labels: Sequence[str | None], parents: Sequence[int]) -> int:
    """The number of nodes above the first one that is not outer or has several children."""
    count = 0
    if labels and labels[0] in OUTER:
        children = Counter(parents)
        while labels[count] in OUTER and children[count] == 1 and labels[count + 1] is not None:
            count += 1
    return count


def read_heads(
    words: Sequence[Sequence[str]],
    heads: Sequence[Sequence[int]],
    relations: Sequence[Sequence[str]] | None = None,
) -> list[PlainTree] | None:
    """Read dependency trees from the words of each segment and their heads (1-based, 0 the root).

    Args:
        words: The words of each segment.
        heads: The head of each word.
        relations: The names of the arcs, where they are known.

    Returns:
        The trees; None where the lists are not of strings and whole numbers, or do not make trees:
        the full reader reads other types, or raises.
    """
    if type(words) is not list or type(heads) is not list or len(words) != len(heads):
        return None
    if relations is not None and (type(relations) is not list or len(relations) != len(words)):
        return None
    trees = []
    for number, (row, above) in enumerate(zip(words, heads, strict=True)):
        arcs = None if relations is None else relations[number]
        if not _are_strings(row) or type(above) is not list or len(above) != len(row):
            return None
        if arcs is not None and (not _are_strings(arcs) or len(arcs) != len(row)):
            return None
        if not _is_tree(above):
            return None
        own = list(row)
        trees.append(PlainTree(own, own, [head - 1 for head in above], arcs and list(arcs)))
    return trees


def _are_strings(row: Sequence[str]) -> bool:
    """Whether this is a list of strings without a lone surrogate."""
    if type(row) is not list or not set(map(type, row)) <= {str}:
        return False
    text = "".join(row)
    return text.isascii() or not lone_surrogate(text)


def _is_tree(heads: Sequence[int]) -> bool:
    """Whether 1-based heads are whole numbers in range, with one root to which all words lead."""
    if not heads:
        return True
    if set(map(type, heads)) != {int} or heads.count(0) != 1:
        return False
    if min(heads) < 0 or max(heads) > len(heads):
        return False
    above = [0, *heads]
    # after k rounds a word is 2ᵏ steps further up: one that does not lead to the root never is 0
    for _ in range(len(heads).bit_length()):
        above = list(map(above.__getitem__, above))
        if not any(above):
            return True
    return False
