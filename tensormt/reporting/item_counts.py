"""What one system matches and another does not: items by the difference of their counts.

Of each metric and order the items with the largest differences between any two systems are kept,
with the counts of all systems and the segments in which they were matched.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from tensormt.reporting.collect import Collected

_PAIRS = 15  # pairs of systems whose largest differences are looked for, beside the widest range
_KEPT = 40  # items a pair and order


class Item(NamedTuple):
    """An item with its counted matches by system, and the segments that hold one."""

    leaf: str
    name: str  # of such items: "subtrees of depth 2"
    kind: str
    order: int
    text: str
    counts: list[int]
    segments: np.ndarray


def tallied(collected: Collected) -> list[Item]:
    """The items worth a look, by metric and order."""
    found: list[tuple[str, int, list[int], np.ndarray, tuple[int, int, int]]] = []
    for leaf, tally in collected.item_counts.items():
        key, order, segment, system, place = tally.arrays()
        for number in np.unique(order).tolist():
            rows = np.nonzero(order == number)[0]
            _, first, inverse = np.unique(key[rows], return_index=True, return_inverse=True)
            size = len(collected.systems)
            counts = np.bincount(inverse * size + system[rows], minlength=len(first) * size)
            counts = counts.reshape(len(first), size)
            chosen = _largest(counts)
            slot = np.full(len(first), -1)
            slot[chosen] = np.arange(len(chosen))
            mine = slot[inverse]
            held = rows[mine >= 0]
            owner = mine[mine >= 0]
            by_owner = np.lexsort((segment[held], owner))
            cuts = np.searchsorted(owner[by_owner], np.arange(len(chosen) + 1))
            for at, item in enumerate(chosen.tolist()):
                places = segment[held[by_owner[cuts[at] : cuts[at + 1]]]]
                example = rows[first[item]]
                where = (int(segment[example]), int(system[example]), int(place[example]))
                found.append((leaf, int(number), counts[item].tolist(), np.unique(places), where))
    texts = _texts(collected, [(leaf, order, *at) for leaf, order, _, _, at in found])
    items = []
    for (leaf, depth, counted, segments, _), text in zip(found, texts, strict=True):
        tally = collected.item_counts[leaf]
        named = tally.names[depth - 1]
        items.append(Item(leaf, named, tally.kind, depth, text, counted, segments))
    return items


def _largest(counts: np.ndarray) -> np.ndarray:
    """Rows of counts [n,S] with the largest differences between two systems, or most matches."""
    wanted = [counts.max(1) - counts.min(1), counts.sum(1)]
    for a, b in list(combinations(range(counts.shape[1]), 2))[:_PAIRS]:
        gap = counts[:, a] - counts[:, b]
        wanted += [gap, -gap]
    rows: set[int] = set()
    for values in wanted:
        best = np.argsort(-values, kind="stable")[:_KEPT]
        rows.update(best[values[best] > 0].tolist())
    return np.array(sorted(rows), np.int64)


def _texts(collected: Collected, places: list[tuple[str, int, int, int, int]]) -> list[str]:
    """The text of items given leaf, order, segment, system and place."""
    segments = sorted({segment for _, _, segment, _, _ in places})
    at = {segment: number for number, segment in enumerate(segments)}
    explained = collected.explained(segments) if segments else {}
    made: dict[tuple[str, int, int], Any] = {}
    texts = []
    for leaf, order, segment, system, place in places:
        cell = (leaf, segment, system)
        if cell not in made:
            made[cell] = explained[leaf][system].found.text(at[segment])
        texts.append(made[cell](order, place))
    return texts
