"""The text of bracketings: labels without function tags, and the words behind an opening bracket.

This module imports neither torch nor pyarrow: both readers of bracketings use it.
"""

from __future__ import annotations

import re
from functools import lru_cache

EMPTY = "-NONE-"  # label of empty elements
OUTER = ("", "ROOT", "TOP")  # labels of outer nodes, which are dropped if they have one child

_LABEL = re.compile(r"\(\s*([^\s()]*)", re.ASCII)
_REST = re.compile(r"\)|[^\s()]+", re.ASCII)
_TAG = re.compile("(?<=.)[-=]")


@lru_cache(maxsize=1 << 12)
def cut_label(label: str) -> str:
    """Return a label without function tags and indices; -LRB-, -NONE- and the like stay."""
    return label if label[:1] == "-" else _TAG.split(label, maxsplit=1)[0]


def words_of(text: str) -> tuple[str, list[tuple[str, int | None]]]:
    """Take apart the text from an opening bracket to the next one.

    Args:
        text: The text, with the bracket.

    Returns:
        The label, and the words with their levels below the node; None for the node's own word. No
        word where the node closes: it has no child.
    """
    start = _LABEL.match(text)
    label = start[1] if start else ""
    rest = _REST.findall(text, start.end() if start else 0)
    if rest[:1] == [")"]:
        return label, []
    words: list[tuple[str, int | None]] = []
    rise = 1
    for token in rest:
        if token == ")":
            rise -= 1
        else:
            words.append((token, rise))
    if rest[1:2] == [")"]:
        words[0] = (rest[0], None)
    return label, words
