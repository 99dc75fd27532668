"""Drawings of trees: as indented text, and as SVG for notebooks.

    print(trees.draw(0))

    S
    ├── NP
    │   ├── DT the
    │   └── NN dog
    └── VP
        └── VBD ran

Both are made from parents, labels and words of one tree, so that they work for constituency trees
(labels at nodes, words at leaves) and for dependency trees (a word at every node) alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

__all__ = ["DrawnTree", "as_svg", "as_text"]

_CHAR, _GAP, _ROW, _MARGIN = 7.5, 14.0, 34.0, 12.0  # pixels
_STYLE = (
    "font: 12px sans-serif; background: white; max-width: 100%; height: auto; display: block; "
    "margin-bottom: 8px"
)


@dataclass(frozen=True)
class DrawnTree:
    """One tree.

    Args:
        parents: Place of each node's parent; -1 for a root.
        labels: What is written at each node.
        words: What is written below a leaf; "" for nothing.
    """

    parents: Sequence[int]
    labels: Sequence[str]
    words: Sequence[str]

    def children(self) -> list[list[int]]:
        """Return the places of the children of every node, in order; roots are the last list."""
        found: list[list[int]] = [[] for _ in range(len(self.parents) + 1)]
        for place, parent in enumerate(self.parents):
            found[parent].append(place)
        return found


def as_text(tree: DrawnTree) -> str:
    """Return a tree as lines of text, a node each.

    >>> print(as_text(DrawnTree([-1, 0, 0], ["S", "DT", "NN"], ["", "a", "dog"])))
    S
    ├── DT a
    └── NN dog
    """
    children, lines = tree.children(), []
    # node, what stands before it, and before its children; the first root is the last pushed
    stack = [(root, "", "") for root in reversed(children[-1])]
    while stack:
        place, before, below = stack.pop()
        lines.append(before + " ".join(filter(None, (tree.labels[place], tree.words[place]))))
        own = children[place]
        stack += [
            (child, below + "├── ", below + "│   ")
            if child != own[-1]
            else (child, below + "└── ", below + "    ")
            for child in reversed(own)
        ]
    return "\n".join(lines)


def as_svg(tree: DrawnTree) -> str:
    """Return a tree as an SVG image: a node above the middle of its children.

    >>> as_svg(DrawnTree([-1], ["NN"], ["dog"])).startswith("<svg")
    True
    """
    children = tree.children()
    order, stack = [], [(root, 0) for root in reversed(children[-1])]
    level = [0] * len(tree.parents)
    while stack:  # preorder, without recursion
        place, depth = stack.pop()
        order.append(place)
        level[place] = depth
        stack += [(child, depth + 1) for child in reversed(children[place])]
    x, right = [0.0] * len(order), _MARGIN
    for place in order:  # leaves from left to right
        if not children[place]:
            width = _CHAR * max(len(tree.labels[place]), len(tree.words[place]), 1)
            x[place] = right + width / 2
            right += width + _GAP
    for place in reversed(order):  # then what is above them
        if children[place]:
            x[place] = (x[children[place][0]] + x[children[place][-1]]) / 2
    height = _ROW * (max(level, default=0) + 2)
    width = max([right, *(x[p] + _CHAR * len(tree.labels[p]) / 2 + _MARGIN for p in order)])
    lines, texts = [], []
    for place in order:
        top = _MARGIN + _ROW * level[place] + 4
        texts.append(_text(x[place], top, tree.labels[place], "#1a4f8b"))
        if tree.words[place]:
            texts.append(_text(x[place], top + 16, tree.words[place], "#222"))
        if tree.parents[place] >= 0:
            above = x[tree.parents[place]]
            lines.append(
                f'<line x1="{above:.1f}" y1="{top - _ROW + 5:.1f}" x2="{x[place]:.1f}" '
                f'y2="{top - 12:.1f}" stroke="#999"/>'
            )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" style="{_STYLE}">{"".join(lines + texts)}</svg>'
    )


def _text(x: float, y: float, text: str, colour: str) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle" fill="{colour}">{escape(text)}</text>'
    )
