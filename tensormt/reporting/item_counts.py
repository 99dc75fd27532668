"""Items that one system matches and another does not, by difference and ratio of their counts.

For each metric and order the items with the largest differences and ratios between two systems are
kept, with the counts of all systems and the segments in which they were matched.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from tensormt.reporting.collect import Collected

_PAIRS = 15  # pairs of systems whose largest differences are searched, in addition to the range
_KEPT = 40  # items per pair and order


class Item(NamedTuple):
    """An item and how often it was matched.

    Attributes:
        metric: Name of the metric, or of the member of a mean.
        name: Name of such items, such as "subtrees of depth 2".
        kind: Kind of the item (`tensormt.explanation`).
        order: Its length or depth.
        text: The item as text.
        counts: Number of matches of each system [S].
        segments: Numbers of the segments with a match, int [n].
    """

    metric: str
    name: str
    kind: str
    order: int
    text: str
    counts: list[int]
    segments: np.ndarray


def items_by_difference(collected: Collected) -> list[Item]:
    """Return the items with the largest differences between systems, by metric and order.

    Args:
        collected: The data of a report.
    """
    found: list[tuple[str, int, list[int], np.ndarray, tuple[int, int, int]]] = []
    for metric, item_counts in collected.item_counts.items():
        key, order, segment, system, place = item_counts.arrays()
        for number in np.unique(order).tolist():
            rows = np.nonzero(order == number)[0]
            _, first, inverse = np.unique(key[rows], return_index=True, return_inverse=True)
            size = len(collected.systems)
            counts = np.bincount(inverse * size + system[rows], minlength=len(first) * size)
            counts = counts.reshape(len(first), size)
            chosen = _most_different(counts)
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
                found.append((metric, int(number), counts[item].tolist(), np.unique(places), where))
    texts = _texts(collected, [(metric, order, *at) for metric, order, _, _, at in found])
    items = []
    for (metric, depth, counted, segments, _), text in zip(found, texts, strict=True):
        item_counts = collected.item_counts[metric]
        name = item_counts.names[depth - 1]
        items.append(Item(metric, name, item_counts.kind, depth, text, counted, segments))
    return items


def _most_different(counts: np.ndarray) -> np.ndarray:
    """Return the rows of counts [n,S] with the largest differences and ratios, and sums.

    Ratios are smoothed: one is added to both counts. Equal ratios are ordered by difference.
    """
    rows: set[int] = set()

    def keep(gain: np.ndarray, *first: np.ndarray) -> None:
        """Keep the rows with the largest gains above 0; `first` is compared before the gain."""
        best = np.lexsort((-gain, *(-values for values in first)))[:_KEPT]
        rows.update(best[gain[best] > 0].tolist())

    keep(counts.max(1) - counts.min(1))
    keep(counts.sum(1))
    for a, b in list(combinations(range(counts.shape[1]), 2))[:_PAIRS]:
        for one, two in ((counts[:, a], counts[:, b]), (counts[:, b], counts[:, a])):
            keep(one - two)
            keep(one - two, (one + 1) / (two + 1))
    return np.array(sorted(rows), np.int64)


def _texts(collected: Collected, places: list[tuple[str, int, int, int, int]]) -> list[str]:
    """Return the text of items, given metric, order, segment, system and place."""
    segments = sorted({segment for _, _, segment, _, _ in places})
    at = {segment: number for number, segment in enumerate(segments)}
    explained = collected.explain(segments) if segments else {}
    made: dict[tuple[str, int, int], Any] = {}
    texts = []
    for metric, order, segment, system, place in places:
        cell = (metric, segment, system)
        if cell not in made:
            made[cell] = explained[metric][system].explanation.text(at[segment])
        texts.append(made[cell](order, place))
    return texts
