"""From constituency to dependency trees in plain Python: the head rules as they are written.

The head child of a node is found by the searches of its label, one after the other (head_rules.py).
Its head word is that of its head child; a child that is not the head hangs its head word below its
parent's. `heads.py` does the same for whole batches. This module imports neither torch nor pyarrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from tensormt.trees.head_rules import HeadRules, rules_named
from tensormt.trees.plain_trees import PlainTree


class _Rules:
    """A rule set with its searches looked up once for each pair of labels."""

    def __init__(self, rules: HeadRules) -> None:
        self.rows = rules.rows()
        self.punctuation = frozenset(rules.punctuation.split())
        self.coordination = frozenset(rules.coordination.split())
        self._known: dict[tuple[str | None, str | None], tuple[int, int, int | None]] = {}

    def search(self, parent: str | None, child: str | None) -> tuple[int, int, int | None]:
        """Return the first search of the parent's row that fits the child, and its direction.

        Returns:
            Number of the search, 1 from the left or -1 from the right, and the number of the first
            search at the last child only that fits (None: no such search).
        """
        found = self._known.get((parent, child))
        if found is None:
            found = self._known[parent, child] = self._search(parent, child)
        return found

    def _search(self, parent: str | None, child: str | None) -> tuple[int, int, int | None]:
        searches = self.rows.get(parent or "", self.rows["*"])
        fitting = [
            (number, direction)
            for number, (direction, labels) in enumerate(searches)
            if not labels or child in labels
        ]
        anywhere = [(number, direction) for number, direction in fitting if direction != "e"]
        at_end = [number for number, direction in fitting if direction == "e"]
        number, direction = anywhere[0] if anywhere else (0, "l")
        return number, 1 if direction == "l" else -1, at_end[0] if at_end else None


_rules = lru_cache(maxsize=32)(_Rules)


def to_dependencies(tree: PlainTree, rules: str) -> PlainTree:
    """Return the dependency tree of a constituency tree: one node a word, in sentence order.

    Args:
        tree: Nodes in preorder.
        rules: Name of the head rules.
    """
    found = _rules(rules_named(rules))
    labels, children = tree.labels, tree.children
    words: list[str] = []
    head: list[int] = []  # head word of each node: a place in `words`, -1 for none
    for word in tree.words:
        head.append(-1 if word is None else len(words))
        if word is not None:
            words.append(word)
    parents = [-1] * len(words)
    for node in range(len(tree) - 1, -1, -1):  # children before their parents
        below = children[node]
        if below:
            head[node] = head[_head_child(found, labels, children, node)]
    for node, parent in enumerate(tree.parents):
        above = head[parent] if parent >= 0 else -1
        if head[node] != above and head[node] >= 0:
            parents[head[node]] = above
    return PlainTree(words, words, parents)


def _head_child(
    rules: _Rules, labels: Sequence[str | None], children: list[list[int]], node: int
) -> int:
    """The child of a node that is its head."""
    below = children[node]
    if len(below) == 1:
        return below[0]
    # punctuation is seen only where there is nothing else; a node with children is none
    marks = rules.punctuation
    seen = [child for child in below if children[child] or labels[child] not in marks] or below
    label, last = labels[node], len(seen) - 1
    best, chosen = None, 0
    for place, child in enumerate(seen):
        number, direction, at_end = rules.search(label, labels[child])
        rank = (number, direction * place)
        if place == last and at_end is not None:
            rank = min(rank, (at_end, 0))
        if best is None or rank <= best:
            best, chosen = rank, place
    if chosen > 1 and labels[seen[chosen - 1]] in rules.coordination:
        chosen -= 2  # from Y to X in X CC Y
    return seen[chosen]
