"""CoNLL-U text to words and heads: the FORM and HEAD columns of the syntactic words.

Comments, multi-word tokens (`3-4`) and empty nodes (`5.1`) are passed over; a blank line ends a
sentence.
"""

from __future__ import annotations

from tensormt.errors import TensorMTError

__all__ = ["read"]


def read(text: str, source: str = "") -> tuple[list[list[str]], list[list[int]]]:
    """The words of every sentence and their heads (1-based, 0 the root)."""
    words: list[list[str]] = []
    heads: list[list[int]] = []
    fresh = True
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        line = line.rstrip("\r")
        if not line.strip():
            fresh = True
            continue
        if line[0] == "#":
            continue
        fields = line.split("\t")
        if len(fields) < 8:
            raise TensorMTError(
                f"{source}line {number}: expected 10 columns separated by tabs, found {len(fields)}"
            )
        if "-" in fields[0] or "." in fields[0]:
            continue
        if fresh:
            words.append([])
            heads.append([])
            fresh = False
        if fields[0] != str(len(words[-1]) + 1):
            raise TensorMTError(
                f"{source}line {number}: word number {fields[0]!r}, expected {len(words[-1]) + 1}"
            )
        if not fields[6].isdecimal():
            raise TensorMTError(
                f"{source}line {number}: the head (column 7) is {fields[6]!r}, expected a number"
            )
        words[-1].append(fields[1])
        heads[-1].append(int(fields[6]))
    return words, heads
