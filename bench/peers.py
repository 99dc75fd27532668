"""Plain-Python peers, as lean as a careful person writes them: no nltk, no strings glued together.

They start from the same strings as we do. Keys are tuples interned in a dictionary, so that a
subtree is compared as one number.
"""

from __future__ import annotations

import ctypes
import math
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

_TOKEN = re.compile(r"\(([^\s()]+)|([^\s()]+)|\)")

Node = tuple[str, list["Node"]]


def read(line: str) -> Node:
    """Label and children of a bracketing, without its words."""
    top: Node = ("", [])
    stack = [top]
    for label, word in _TOKEN.findall(line):
        if label:
            node: Node = (label, [])
            stack[-1][1].append(node)
            stack.append(node)
        elif not word:
            stack.pop()
    return top[1][0]


def subtrees(line: str, depth: int, names: dict[object, int]) -> list[Counter[int]]:
    """The subtrees of every depth, counted; `names` numbers them."""
    counts: list[Counter[int]] = [Counter() for _ in range(depth)]
    intern = names.setdefault

    def walk(node: Node) -> tuple[int, list[int]]:
        label, children = node
        own = [intern(label, len(names))]
        counts[0][own[0]] += 1
        if not children:
            return 1, own * depth
        below = [walk(child) for child in children]
        tall = min(1 + max(height for height, _ in below), depth)
        for level in range(1, depth):
            key = intern((label, *[keys[level - 1] for _, keys in below]), len(names))
            own.append(key)
            if level < tall:
                counts[level][key] += 1
        return tall, own

    walk(read(line))
    return counts


def mean_fraction(hyp: list[Counter[int]], ref: list[Counter[int]], floor: float = 0.0) -> float:
    """Mean over the orders of clipped counts over counts."""
    fractions = []
    for own, other in zip(hyp, ref, strict=True):
        total = sum(own.values())
        if total:
            matched = sum(min(n, other[key]) for key, n in own.items() if key in other)
            fractions.append(matched / total or floor)
    return sum(fractions) / len(fractions)


def stm(hyps: list[str], refs: list[str], depth: int = 4) -> list[float]:
    """STM of bracketings."""
    names: dict[object, int] = {}
    pairs = zip(hyps, refs, strict=True)
    return [mean_fraction(subtrees(h, depth, names), subtrees(r, depth, names)) for h, r in pairs]


def chains(words: list[str], heads: list[int], most: int) -> list[Counter[tuple[str, ...]]]:
    """The headword chains of every length, counted."""
    counts: list[Counter[tuple[str, ...]]] = [Counter((word,) for word in words)]
    level = [((word,), head) for word, head in zip(words, heads, strict=True)]
    for _ in range(1, most):
        level = [((words[up - 1], *chain), heads[up - 1]) for chain, up in level if up]
        counts.append(Counter(chain for chain, _ in level))
    return counts


def hwcm(
    hyps: list[tuple[list[str], list[int]]], refs: list[tuple[list[str], list[int]]], most: int = 4
) -> list[float]:
    """HWCM of lists of words and heads."""
    found = []
    for hyp, ref in zip(hyps, refs, strict=True):
        own, other = chains(*hyp, most), chains(*ref, most)
        found.append(mean_fraction(own, other, 1e-3))  # type: ignore[arg-type]
    return found


def tkm(hyps: list[str], refs: list[str]) -> list[float]:
    """Normalised tree kernels of bracketings, over nodes of equal productions, bottom up."""
    names: dict[object, int] = {}

    def inner(line: str) -> dict[int, list[tuple[int, list[int]]]]:
        """Production → (place, places of the children; -1 for a leaf), children before parents."""
        table: dict[int, list[tuple[int, list[int]]]] = {}
        order: list[tuple[int, int, list[int]]] = []

        def walk(node: Node) -> int:
            label, children = node
            if not children:
                return -1
            below = [walk(child) for child in children]
            key = names.setdefault((label, *[child[0] for child in children]), len(names))
            order.append((key, len(order), below))
            return len(order) - 1

        walk(read(line))
        for key, place, below in order:
            table.setdefault(key, []).append((place, below))
        return table

    def kernel(a: dict, b: dict) -> float:
        pairs = [
            (x, y, left, right)
            for key, own in a.items()
            if key in b
            for x, left in own
            for y, right in b[key]
        ]
        pairs.sort(key=lambda pair: pair[0])
        known: dict[tuple[int, int], float] = {}
        for x, y, left, right in pairs:
            value = 1.0
            for s, t in zip(left, right, strict=True):
                if s >= 0 and t >= 0 and (s, t) in known:
                    value *= 1 + known[s, t]
            known[x, y] = value
        return sum(known.values())

    found = []
    for hyp, ref in zip(hyps, refs, strict=True):
        a, b = inner(hyp), inner(ref)
        both = kernel(a, b)
        found.append(both / math.sqrt(kernel(a, a) * kernel(b, b)) if both else 0.0)
    return found


class FastTreeKernel:
    """bench/treekernel.c, compiled; `present` is False where there is no C compiler."""

    def __init__(self) -> None:
        self._code = None
        compiler = shutil.which("cc")
        if compiler:
            self._folder = tempfile.TemporaryDirectory()
            target = Path(self._folder.name) / "treekernel.so"
            source = Path(__file__).with_name("treekernel.c")
            flags = ["-O3", "-shared", "-fPIC", "-o", str(target), str(source), "-lm"]
            subprocess.run([compiler, *flags], check=True)
            self._code = ctypes.CDLL(str(target))

    @property
    def present(self) -> bool:
        return self._code is not None

    def __call__(
        self, hyps: list[str], refs: list[str], lexical: bool, decay: float = 1.0
    ) -> list[float]:
        """Normalised kernels of pairs of bracketings."""
        assert self._code is not None
        size = len(hyps)
        own, other = (
            (ctypes.c_char_p * size)(*[line.encode() for line in lines]) for lines in (hyps, refs)
        )
        out = (ctypes.c_double * size)()
        self._code.cosines(size, own, other, ctypes.c_double(decay), int(lexical), out)
        return list(out)
