"""The plain-Python path: when it is taken, and the counting that its definitions share.

For a few segments the per-call overhead of tensor operations is larger than the work, so metrics
define their statistics a second time, for one segment and in plain Python (`_plain_row`). These
definitions are also the ones to read. The tests compare them with the batched engine on random
input: both give the same integers.

This module imports neither torch nor pyarrow.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain

# Limits of the plain path. They lie a little below the sizes at which the batched engine becomes
# faster, measured from text and bracketings of 20 and of 100 words with one reference, on one core:
# BLEU 32 to 64 segments of 20 words and 16 to 32 of 100 words, which are 2,000 to 3,500 tokens of
# both sides; chrF 8 to 16 and 2 to 4 segments, 2,000 to 3,000 characters; STM and TKM 16 to 32 and
# 4 to 5 segments, 1,600 to 2,300 nodes; HWCM from lists of heads 64 and 16 to 32 segments.
MAX_SEGMENTS = 32
MAX_TOKENS = 2000  # of the hypotheses and references of a call, for BLEU
MAX_CHARACTERS = 2000  # of the same, for chrF
MAX_NODES = 1500  # of the same, for metrics on trees
# Pairs of equal words of a hypothesis and its reference, times words of the hypothesis, for TER: 20
# to 30 segments of 25 words of WMT17, fewer where words recur.
MAX_SHIFT_WORK = 20_000
# What a batch holds as strings and lists until tensors are asked for: text of so many characters,
# which is about the text of the largest batches that the limits above let through.
MAX_TEXT = 12_000
# As long as torch is not imported, the engine also costs its import, 1.7 to 2.4 s: about as much as
# the plain path takes for so many times the limits.
_WITHOUT_TORCH = 300
# Subtrees and chains are tuples nested to their order, and Python compares these by recursion.
MAX_ORDERS = 16


def torch_imported() -> bool:
    """Whether torch has been imported, so that the batched engine starts at once."""
    return "torch" in sys.modules


def limit(most: int, without_torch: int = _WITHOUT_TORCH) -> int:
    """Return one of the limits above, so many times larger as long as torch is not imported."""
    return most if torch_imported() else most * without_torch


@cache
def overridden(metric: type, plain: str, *engine: str) -> bool:
    """Whether a class redefines a method of the engine, but not the plain one that belongs to it.

    A subclass that changes what the engine compares must not get the numbers of its base class.

    Args:
        metric: Class of a metric.
        plain: Name of the plain method.
        engine: Names of the methods of the engine for which it stands.
    """

    def place(name: str) -> int:
        return next(place for place, kind in enumerate(metric.__mro__) if name in vars(kind))

    return any(place(name) < place(plain) for name in engine)


def ngrams(tokens: Sequence[Hashable], max_order: int) -> Iterator[Iterable[Hashable]]:
    """Iterate over the n-grams of a line, order by order; those of one order can be read once.

    >>> [list(found) for found in ngrams(["a", "b", "c"], 2)]
    [['a', 'b', 'c'], [('a', 'b'), ('b', 'c')]]
    """
    yield tokens
    shifted = [tokens]
    for order in range(1, max_order):
        shifted.append(tokens[order:])
        yield zip(*shifted)  # noqa: B905  # as long as the shortest


def clipped(hyp: Sequence[Hashable], refs: Sequence[Iterable[Hashable]]) -> int:
    """Count the items of the hypothesis, each at most as often as in any single reference.

    Args:
        hyp: The items of the hypothesis.
        refs: The items of each reference, at least one; each is read once.

    Returns:
        Σ over different items of min(count in the hypothesis, largest count in one reference).

    >>> clipped(["a", "a", "a", "b", "c"], [["a", "b", "b"], ["a", "a"]])
    3
    """
    own = set(hyp)
    if len(own) == len(hyp):  # no item repeats: it counts if any reference has it
        return len(own.intersection(chain.from_iterable(refs)))
    most: dict[Hashable, int] = {}
    for ref in refs:
        here = count(filter(own.__contains__, ref))
        for item, number in most.items():
            here[item] = max(number, here.get(item, 0))
        most = here
    if sum(most.values()) == len(most):  # no reference has one of them twice
        return len(most)
    counts = count(hyp)
    return sum(map(min, most.values(), map(counts.__getitem__, most)))


def count(items: Iterable[Hashable]) -> dict[Hashable, int]:
    """Count items; for a few of them faster than a Counter."""
    found: dict[Hashable, int] = {}
    for item in items:
        found[item] = found.get(item, 0) + 1
    return found


def edit_distance(hyp: Sequence[Hashable], ref: Sequence[Hashable]) -> int:
    """Count the insertions, deletions and substitutions that turn one sequence into the other.

    A column of the table is two integers, whose bits say where the distance rises and falls from
    one row to the next (Myers 1999).

    >>> edit_distance("kitten", "sitting")
    3
    """
    if not hyp:
        return len(ref)
    places: dict[Hashable, int] = {}
    for place, token in enumerate(hyp):
        places[token] = places.get(token, 0) | 1 << place
    last, every = 1 << len(hyp) - 1, (1 << len(hyp)) - 1
    rises, falls, distance = every, 0, len(hyp)
    for token in ref:
        equal = places.get(token, 0)
        steady = ((equal & rises) + rises ^ rises) | equal | falls
        right, left = falls | every & ~(steady | rises), rises & steady
        distance += bool(right & last) - bool(left & last)
        right, left = right << 1 | 1, left << 1
        rises = (left | ~(equal | falls | right)) & every
        falls = right & (equal | falls) & every
    return distance


def common_subsequence(hyp: Sequence[Hashable], ref: Sequence[Hashable]) -> int:
    """Return the length of the longest common subsequence.

    A column of the table is an integer, whose bits say where the length does not rise from one row
    to the next (Hyyrö 2004).

    >>> common_subsequence("kitten", "sitting")
    4
    """
    places: dict[Hashable, int] = {}
    for place, token in enumerate(hyp):
        places[token] = places.get(token, 0) | 1 << place
    every = (1 << len(hyp)) - 1
    level = every
    for token in ref:
        equal = level & places.get(token, 0)
        level = (level + equal | level - equal) & every
    return len(hyp) - level.bit_count()


def closest_length(length: int, lengths: Sequence[int]) -> int:
    """Return the reference length closest to the hypothesis's, the shorter of two equally close."""
    if len(lengths) == 1:
        return lengths[0]
    return min(lengths, key=lambda other: (abs(other - length), other))
