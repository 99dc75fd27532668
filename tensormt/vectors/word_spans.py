"""Where the words of a tree stand in its text, so that they can have the vectors of its pieces.

Words are looked for one after the other. A tree may spell a word otherwise than the text does
(`-LRB-` for a bracket, `zu dem` for the German `zum`): brackets are read as themselves, and other
words that are not found share the characters between their neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["word_spans"]

_ESCAPED = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}
_AHEAD = 40  # characters within which a word must begin if one before it was not found


def word_spans(text: str, words: Sequence[str]) -> list[tuple[int, int]]:
    """Return the first character of each word, and the one behind its last.

    >>> word_spans("wir gehen zum Haus (heim)", "wir gehen zu dem Haus -LRB- heim -RRB-".split())
    [(0, 3), (4, 9), (10, 12), (12, 14), (14, 18), (19, 20), (20, 24), (24, 25)]
    """
    found: list[tuple[int, int]] = []
    end = waiting = 0
    for word in words:
        for name, mark in _ESCAPED.items() if "-" in word else ():
            word = word.replace(name, mark)
        start = _begins(text, word, end)
        if start < 0 and waiting:
            start = text.find(word, end, end + _AHEAD + len(word))
        if start < 0:
            waiting += 1
            continue
        found += [(end, start)] * waiting
        waiting, end = 0, start + len(word)
        found.append((start, end))
    return found + [(end, len(text))] * waiting


def _begins(text: str, word: str, place: int) -> int:
    """Where a word stands behind white space only, -1: it does not."""
    if text.startswith(word, place):
        return place
    while place < len(text) and text[place].isspace():
        place += 1
    return place if text.startswith(word, place) else -1
