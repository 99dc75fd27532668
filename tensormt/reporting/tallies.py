"""What one system matches and another does not: items by the difference of their counts.

Of each metric and order the items with the largest differences between any two systems are kept,
with the counts of all systems and the segments in which they were matched.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from tensormt.explanation import item_text
from tensormt.reporting.gather import Gathered

__all__ = ["Item", "items_of"]

_PAIRS = 15  # pairs of systems whose largest differences are looked for, beside the widest range
_KEPT = 40  # items a pair and order


class Item(NamedTuple):
    """An item with its counted matches by system, and the segments that hold one."""

    metric: str
    kind: str
    order: int
    text: str
    counts: list[int]
    segments: np.ndarray


def items_of(gathered: Gathered) -> list[Item]:
    """The items worth a look, by metric and order."""
    found: list[tuple[str, str, int, list[int], np.ndarray, tuple[int, int, int]]] = []
    for metric, tally in gathered.tallies.items():
        key, order, segment, system, place = tally.arrays()
        for number in np.unique(order).tolist():
            rows = np.nonzero(order == number)[0]
            _, first, inverse = np.unique(key[rows], return_index=True, return_inverse=True)
            size = len(gathered.systems)
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
                entry = (counts[item].tolist(), np.unique(places), where)
                found.append((metric, tally.kind, int(number), *entry))
    texts = _texts(
        gathered, [(metric, kind, order, *at) for metric, kind, order, _, _, at in found]
    )
    return [
        Item(metric, kind, order, text, counts, segments)
        for (metric, kind, order, counts, segments, _), text in zip(found, texts, strict=True)
    ]


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


def _texts(gathered: Gathered, places: list[tuple[str, str, int, int, int, int]]) -> list[str]:
    """The text of items given metric, kind, order, segment, system and place."""
    segments = sorted({segment for _, _, _, segment, _, _ in places})
    at = {segment: number for number, segment in enumerate(segments)}
    _, explained = gathered.explained(segments) if segments else (None, {})
    made: dict[tuple[str, int, int], Any] = {}
    texts = []
    for metric, kind, order, segment, system, place in places:
        cell = (metric, segment, system)
        if cell not in made:
            batch = explained[metric][system].hyp
            made[cell] = item_text(batch, kind, at[segment])
        texts.append(made[cell](order, place))
    return texts
