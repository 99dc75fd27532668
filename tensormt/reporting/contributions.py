"""What each match adds to a segment's score, and the items of a segment ranked by it.

The contribution of the matches of an order is their Shapley value: the mean, over all permutations
of the orders, of the change of the score when the matches of the order are added. Contributions sum
to the score minus the score without any match; the matches of an order share its contribution
evenly. A pair of nodes of a tree kernel contributes its share of the kernel with the best
reference. Members of a mean contribute in proportion to their weight.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from tensormt.metric import Metric

if TYPE_CHECKING:
    from tensormt.explanation import Explanation
    from tensormt.reporting.explained import Explained, Match, Pair

_MAX_ORDERS = 8  # 2⁸ scores per segment


class Contribution(NamedTuple):
    """Equal items of a segment, and what they add to its score together.

    Attributes:
        adds: What the counted ones add to the score; None if it is not known.
        text: The item as text.
        kind: Name of such items, such as "2-grams".
        member: Member of a mean that counts them; "" for other metrics.
        counted: How many are counted as matched.
        total: How many the hypothesis has.
        references: Numbers of the references that contain the item, from 0.
    """

    adds: float | None
    text: str
    kind: str
    member: str
    counted: int
    total: int
    references: list[int]


def contributions(found: Explained, member: str = "", weight: float = 1.0) -> list[Contribution]:
    """Return the items of a segment, those that change its score most first.

    Equal items are put together. Unmatched items come last, in the order of the segment.

    Args:
        found: What a metric matched in the segment.
        member: Name of the metric as a member of a mean.
        weight: Weight of its score in the mean.

    >>> from tensormt import BLEU, TokenBatch, explain
    >>> hyp, ref = (TokenBatch.from_text([text]) for text in ("the cat sat", "the cat ran"))
    >>> [found] = explain(BLEU(max_order=2), hyp, [ref])
    >>> for item in contributions(found)[:3]:
    ...     print(f"{item.adds:.2f} {item.text}, {item.kind}: {item.counted} of {item.total}")
    24.64 the, 1-grams: 1 of 1
    24.64 cat, 1-grams: 1 of 1
    8.46 the cat, 2-grams: 1 of 1
    """
    items = list(_items(found, member, weight))
    for part in found.members:
        name = f"{member}: {part.name}" if member else part.name
        items += contributions(part.found, name, weight * part.weight)
    return sorted(items, key=lambda item: (item.counted == 0, -abs(item.adds or 0.0)))


def base_score(found: Explained) -> float | None:
    """Return the score of a segment without any match; None if it is not known."""
    if not found.members:
        return found.base
    bases = [(part.weight, base_score(part.found)) for part in found.members]
    return _sum(None if base is None else weight * base for weight, base in bases)


def _items(found: Explained, member: str, weight: float) -> Iterator[Contribution]:
    matches: dict[tuple[int, str], list[Match]] = {}
    for match in found.matches:
        matches.setdefault((match.order, match.text), []).append(match)
    for (order, text), same in matches.items():
        counted = [match for match in same if match.counted]
        references = [k for k, places in enumerate(same[0].places) if places]
        adds, kind = _sum((match.adds for match in counted), weight), found.names[order - 1]
        yield Contribution(adds, text, kind, member, len(counted), len(same), references)
    pairs: dict[str, list[Pair]] = {}
    for pair in found.pairs:
        pairs.setdefault(pair.text, []).append(pair)
    for text, equal in pairs.items():
        references = sorted({pair.reference for pair in equal})
        nodes = len({pair.place for pair in equal})
        adds = _sum((pair.adds for pair in equal), weight)
        yield Contribution(adds, text, "productions", member, nodes, nodes, references)


def _sum(values: Iterable[float | None], weight: float = 1.0) -> float | None:
    found = list(values)
    return None if None in found else weight * math.fsum(value or 0.0 for value in found)


def order_values(metric: Metric[Any], statistics: Tensor, found: Explanation) -> Tensor | None:
    """Compute what the matches of each order add to segment scores.

    Orders that the statistics count together share their contribution by their numbers of matches,
    and so do all orders where every match of a segment adds the same (`Explanation.evenly`).

    Args:
        metric: The metric.
        statistics: Statistics of single segments [n,K].
        found: What the metric matched in these segments.

    Returns:
        The score without any match and the contribution of each of D orders, float64 [n,1+D]; None
        if it is not known: an error rate, statistics that do not count matches, or more than 8
        orders.
    """
    items = found.items
    if items is None or found.edits:
        return None
    size = 1 + len(found.columns)
    rows = (items.hyp.segment * size + items.hyp.order)[items.counted].to(statistics.device)
    counts = torch.bincount(rows, minlength=len(statistics) * size).view(-1, size).double()
    if found.evenly:
        score = metric.score(statistics, segment=True)
        return counts * (score / counts.sum(1).clamp(min=1))[:, None]
    groups = list(dict.fromkeys(tuple(columns) for columns in found.columns if columns))
    values = shapley_values(metric, statistics, groups)
    if values is None:
        return None
    parts = torch.zeros_like(counts)
    parts[:, 0] = values[:, 0]
    for number, group in enumerate(groups, 1):
        orders = [k for k, columns in enumerate(found.columns, 1) if tuple(columns) == group]
        own = counts[:, orders]
        parts[:, orders] = values[:, number, None] * own / own.sum(1, keepdim=True).clamp(min=1)
    return parts


def shapley_values(
    metric: Metric[Any], statistics: Tensor, columns: Sequence[Sequence[int]]
) -> Tensor | None:
    """Compute the contribution of the matches of each order to segment scores.

    Args:
        metric: The metric.
        statistics: Statistics of single segments [n,K].
        columns: For each of D orders the columns of the statistics that count its matches.

    Returns:
        The score without any match and the Shapley value of each order, float64 [n,1+D]; None if
        there are no orders or more than 8.

    >>> from tensormt import BLEU, TokenBatch
    >>> metric, batch = BLEU(max_order=1), TokenBatch.from_text(["a cat sat"])
    >>> found = metric.explain(batch, [batch])
    >>> shapley_values(metric, metric.statistics(batch, [batch]), found.columns).sum()
    tensor(100., dtype=torch.float64)
    """
    size = len(columns)
    if not 0 < size <= _MAX_ORDERS:
        return None
    scores = {}
    for count in range(size + 1):
        for chosen in combinations(range(size), count):
            rows = statistics.clone()
            for order in set(range(size)) - set(chosen):
                rows[:, list(columns[order])] = 0
            value = metric.score(rows, segment=True)
            scores[frozenset(chosen)] = torch.nan_to_num(value)
    parts = [scores[frozenset()]]
    for order in range(size):
        total = torch.zeros_like(parts[0])
        for without, score in scores.items():
            if order not in without:
                weight = 1 / (size * math.comb(size - 1, len(without)))
                total += weight * (scores[without | {order}] - score)
        parts.append(total)
    return torch.stack(parts, 1)
