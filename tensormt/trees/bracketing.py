"""Bracketings as text: nodes written as brackets, files cut into trees, faults explained.

A node's text is its opening bracket, label, word and as many closing brackets as the depth falls by
before the next node; all of them are joined in one pass.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tensormt.errors import TensorMTError
from tensormt.kernels.nodes import Nodes
from tensormt.text.dictionary import Dictionary

_TOKEN = re.compile(r"[()]|[^\s()]+", re.ASCII)


def write(nodes: Nodes, labels: Dictionary, words: Dictionary) -> list[str]:
    """One bracketing a tree: the inverse of `read` (after its clean-up)."""
    label, word, depth = nodes.label.numpy(), nodes.word.numpy(), nodes.depth.numpy()
    last = np.zeros(len(nodes), dtype=bool)
    offsets = nodes.offsets.numpy()
    last[offsets[1:][np.diff(offsets) > 0] - 1] = True
    below = np.where(last, 0, np.append(depth[1:], 0))
    bare = label < 0
    closes = depth - below + np.where(bare, 0, 1) - last
    empty = len(words)
    names = pa.concat_arrays([labels.array, pa.array([""])]).take(
        pa.array(np.where(bare, len(labels), label))
    )
    texts = pa.concat_arrays([words.array, pa.array([""])]).take(
        pa.array(np.where(word < 0, empty, word))
    )
    opens = pa.array(["(", ""]).take(pa.array(bare.astype(np.int8)))
    gaps = pa.array(["", " "]).take(pa.array((~bare & (word >= 0)).astype(np.int8)))
    different, kind = np.unique(closes, return_inverse=True)
    ends = pa.array([")" * k for k in different.tolist()], pa.string()).take(pa.array(kind))
    spaces = pa.array(["", " "]).take(pa.array((~last).astype(np.int8)))
    pieces = pc.binary_join_element_wise(opens, names, gaps, texts, ends, spaces, "")
    lists = pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), pieces)
    lines: list[str] = pc.binary_join(lists, "").to_pylist()
    return lines


def split(text: str) -> list[str]:
    """The trees of a file's text: one a line, or over several lines as in Penn `.mrg` files.

    Lines that begin with white space inside a tree, or a first line that does not close its tree,
    show the second kind; there blank lines mean nothing, and an item keeps its line breaks.
    """
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    level, spread, first = 0, False, True
    for line in lines:
        if not line.strip():
            continue
        if level > 0 and line[0].isspace():
            spread = True
            break
        level += line.count("(") - line.count(")")
        if first and level > 0:
            spread = True
            break
        first = False
    return _gather(lines) if spread else lines


def _gather(lines: list[str]) -> list[str]:
    """Join lines until their brackets are balanced; one item a tree."""
    items: list[str] = []
    open_lines: list[str] = []
    level = 0
    for line in lines:
        if not open_lines and not line.strip():
            continue
        open_lines.append(line)
        level += line.count("(") - line.count(")")
        if level <= 0:
            items.append("\n".join(open_lines))
            open_lines, level = [], 0
    if open_lines:
        items.append("\n".join(open_lines))
    return items


def explain(lines: Sequence[str | None], source: str, first: int) -> NoReturn:
    """Raise the error of the first bad line: where it is and what is wrong there."""
    for number, line in enumerate(lines, first):
        problem = _fault(line or "")
        if problem is not None:
            place, message = problem
            raise TensorMTError(f"{source}line {number}, column {place + 1}: {message}")
    raise TensorMTError(f"{source}the bracketings cannot be read")


def _fault(line: str) -> tuple[int, str] | None:
    """Offset and description of the first fault of one bracketing, if there is one."""
    stack: list[list[int]] = []  # place, number of children so far, 1 where a label is expected
    done = False
    for match in _TOKEN.finditer(line):
        place, token = match.start(), match[0]
        if done and token != ")":
            return place, f"text after the tree, {token[:20]!r}: put one tree on each line"
        if token == "(":
            if stack:
                stack[-1][1] += 1
                if stack[-1][2] and len(stack) > 1:
                    return stack[-1][0], "a node without a label: write (LABEL …)"
                stack[-1][2] = 0
            stack.append([place, 0, 1])
        elif token == ")":
            if not stack:
                return place, "a closing bracket without an opening one"
            start, children, nameless = stack.pop()
            if not children:
                what = "an empty pair of brackets" if nameless else "a node without a child"
                return start, f"{what}: write (LABEL word) or (LABEL (…) …)"
            done = not stack
        elif not stack:
            return place, f"expected an opening bracket, found {token[:20]!r}"
        elif stack[-1][2]:
            stack[-1][2] = 0
        else:
            stack[-1][1] += 1
    if stack:
        return stack[-1][0], "an opening bracket that is never closed"
    return None
