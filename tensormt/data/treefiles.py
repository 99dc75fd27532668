"""Files of trees cut into items, one a segment: `.mrg` (brackets over several lines) and CoNLL-U.

Every other file of trees has one bracketing a line and is read like text.
"""

from __future__ import annotations

from collections.abc import Iterator

from tensormt.data import files
from tensormt.errors import TensorMTError

__all__ = ["CONLLU", "cut", "form"]

CONLLU = (".conllu", ".conll")


def form(path: str) -> str:
    """What a file of trees holds: `conllu`, `mrg`, or `brackets`, one a line."""
    kind = files.kind(path)
    return "conllu" if kind in CONLLU else "mrg" if kind == ".mrg" else "brackets"


def cut(path: str) -> list[str]:
    """The trees of a `.mrg` or CoNLL-U file as they stand, each in one string."""
    return list(_sentences(path) if form(path) == "conllu" else _brackets(path))


def _sentences(path: str) -> Iterator[str]:
    """Blocks of lines with an empty line between them."""
    block: list[str] = []
    for line in files.lines(path):
        if line.strip():
            block.append(line)
        elif block:
            yield "\n".join(block)
            block = []
    if block:
        yield "\n".join(block)


def _brackets(path: str) -> Iterator[str]:
    """Lines up to the one in which the first bracket is closed."""
    block: list[str] = []
    depth = begin = 0
    for number, line in enumerate(files.lines(path), 1):
        if not line.strip() and not depth:
            continue
        begin = begin if block else number
        block.append(line.strip())
        depth += line.count("(") - line.count(")")
        if depth < 0:
            raise TensorMTError(
                f"{files.shown(path)}, line {number}: a bracket is closed that was never opened"
            )
        if not depth:
            yield " ".join(block)
            block = []
    if block:
        raise TensorMTError(f"{files.shown(path)}, line {begin}: a bracket is never closed")
