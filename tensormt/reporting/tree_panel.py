"""Data of the tree panel: trees and tokens of single segments, with their matches.

Equal items of the same segment and order have the same number in the hypotheses and in the
references; the page colours items that have a number and highlights equal ones. Counted items have
the reference that gave the count. What matches add to a score: `tensormt.reporting.contributions`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tensormt.explanation import Explanation
from tensormt.kernels.matches import Occurrences
from tensormt.metric import Metric
from tensormt.reporting.collect import Collected
from tensormt.reporting.contributions import order_values
from tensormt.trees.batch import TreeBatch

_PAIRS = 80  # pairs of nodes that are shown: those with the largest contributions


def segment_cards(collected: Collected, segments: Sequence[int]) -> list[dict[str, Any]]:
    """Return the trees, tokens and matches of some segments.

    Args:
        collected: The data of a report.
        segments: Numbers of segments.

    Returns:
        One object per segment, for JSON.
    """
    explained = collected.explain(segments)
    cards: list[dict[str, Any]] = [{"i": i, "views": [], "m": {}} for i in segments]
    views: dict[int, int] = {}
    rows = torch.tensor(list(segments), dtype=torch.int64, device="cpu")
    for name, by_system in explained.items():
        matches, found = by_system[0], [each.explanation for each in by_system]
        first = found[0]
        key = id(first.hyp)
        if key not in views and not first.characters:
            views[key] = len(views)
            streams = [*first.refs, *(each.hyp for each in found)]
            _add_view(cards, streams)
        tables = [matches.select(table[rows]) for table in collected.statistics[matches.metric]]
        if first.items is None:
            parts = _pairs(found, matches.own, tables, matches.weight)
        elif first.characters:
            parts = _characters(found, tables)
        elif first.partners:
            parts = [{"a": [_links(each.partners[k]) for each in found]} for k in range(len(cards))]
        else:
            parts = _items(found, len(cards))
        values = [
            order_values(matches.own, table, each) if each.adds is None else None
            for table, each in zip(tables, found, strict=True)
        ]
        scores = [matches.own.score(table, segment=True) for table in tables]
        added = [_by_place(each, matches.weight) for each in found]
        for number, (card, part) in enumerate(zip(cards, parts, strict=True)):
            part |= {"v": views.get(key, -1), "kind": first.kind}
            if first.best is not None:
                part["b"] = [int(each.best[number]) for each in found if each.best is not None]
            if first.items is not None and values[0] is not None:
                shares = [matches.weight * v[number] for v in values if v is not None]
                part["gain"] = [_rounded(share.tolist()) for share in shares]
            elif first.adds is not None:
                part["adds"] = [rows[number] for rows in added]
            elif first.items is not None:  # what a match adds is not known: the score as a whole
                part["score"] = _rounded([matches.weight * float(own[number]) for own in scores])
            card["m"][name] = part
    _add_dependencies(cards, collected, segments)
    return cards


def _by_place(found: Explanation, weight: float) -> list[list[float]]:
    """Return by segment [place, what the item adds, …], where the metric itself says it."""
    rows: list[list[float]] = [[] for _ in range(len(found.hyp))]
    if found.adds is not None and found.items is not None:
        side = found.items.hyp
        columns = (side.segment.tolist(), side.place.tolist(), found.adds.tolist())
        for segment, place, adds in zip(*columns, strict=True):
            rows[segment] += [place, *_rounded([weight * adds])]
    return rows


def _links(partners: Sequence[tuple[int, float] | None]) -> list[float]:
    """Return [unit, its partner in the best reference, their cosine, …] of a segment."""
    rows = [(k, *own) for k, own in enumerate(partners) if own is not None]
    return [value for k, other, cosine in rows for value in (k, other, *_rounded([cosine]))]


def _add_dependencies(
    cards: list[dict[str, Any]], collected: Collected, segments: Sequence[int]
) -> None:
    """Add the dependencies of constituency trees, where no metric compares dependency trees."""
    kinds = {view["kind"] for view in cards[0]["views"]} if cards else set()
    if "constituency" not in kinds or "dependency" in kinds:
        return
    trees = collected.trees(segments)
    systems = len(collected.systems)
    _add_view(cards, [batch.dependencies() for batch in (*trees[systems:], *trees[:systems])])


def _rounded(values: list[float]) -> list[float]:
    return [float(f"{value:.6g}") for value in values]


def _add_view(cards: list[dict[str, Any]], streams: Sequence[Any]) -> None:
    """Add the trees or tokens of all streams to every card, references first."""
    columns = [_trees(s) if isinstance(s, TreeBatch) else _tokens(s) for s in streams]
    trees = isinstance(streams[0], TreeBatch)
    for number, card in enumerate(cards):
        kind = streams[0].kind if trees else "tokens"
        card["views"].append({"kind": kind, "s": [column[number] for column in columns]})


def _tokens(batch: Any) -> list[dict[str, Any]]:
    return [{"w": words} for words in batch.to_tokens()]


def _trees(batch: TreeBatch) -> list[dict[str, Any]]:
    labels, words = batch.labels.strings, batch.words.strings
    nodes = batch.nodes
    found: list[dict[str, Any]] = []
    offsets, arcs = nodes.offsets.tolist(), batch.to_relations()
    of_label, of_word, parents = (part.tolist() for part in (nodes.label, nodes.word, nodes.parent))
    for low, high in pairwise(offsets):
        tree: dict[str, Any] = {
            "l": [labels[i] if i >= 0 else "" for i in of_label[low:high]],
            "p": [p - low if p >= 0 else -1 for p in parents[low:high]],
        }
        if batch.kind == "constituency" and any(i >= 0 for i in of_word[low:high]):
            tree["w"] = [words[i] if i >= 0 else "" for i in of_word[low:high]]
        if arcs is not None:
            tree["r"] = arcs[len(found)]
        found.append(tree)
    return found


def _items(found: Sequence[Explanation], size: int) -> list[dict[str, Any]]:
    """Return for each segment the numbers of equal items, and the counted items.

    `c`: [stream][order] → [place, number, …] of items that also occur on the other side;
    `k`: [system][order] → [place, reference, …] of counted items.
    """
    items = [each.items for each in found if each.items is not None]
    orders = len(found[0].columns)
    held: list[set[tuple[int, int]]] = [set() for _ in range(size)]
    shared: list[set[tuple[int, int]]] = [set() for _ in range(size)]
    refs = [_rows(ref) for ref in items[0].refs]
    hyps = [_rows(each.hyp) for each in items]
    for rows in refs:
        for segment, order, _, key in rows:
            held[segment].add((order, key))
    for rows in hyps:
        for segment, order, _, key in rows:
            if (order, key) in held[segment]:
                shared[segment].add((order, key))
    numbers: list[dict[tuple[int, int], int]] = [{} for _ in range(size)]
    streams = [*refs, *hyps]
    cards: list[dict[str, Any]] = [
        {
            "c": [[[] for _ in range(orders)] for _ in streams],
            "k": [[[] for _ in range(orders)] for _ in hyps],
        }
        for _ in range(size)
    ]
    for number, rows in enumerate(streams):
        for segment, order, place, key in rows:
            if (order, key) in shared[segment]:
                known = numbers[segment].setdefault((order, key), len(numbers[segment]) + 1)
                cards[segment]["c"][number][order - 1] += [place, known]
    for number, each in enumerate(items):
        marks = zip(
            each.hyp.segment.tolist(),
            each.hyp.order.tolist(),
            each.hyp.place.tolist(),
            each.reference.tolist(),
            each.counted.tolist(),
            strict=True,
        )
        for segment, order, place, reference, counted in marks:
            if counted:
                cards[segment]["k"][number][order - 1] += [place, reference]
    return cards


def _characters(found: Sequence[Explanation], tables: Sequence[Tensor]) -> list[dict[str, Any]]:
    """Return for each segment the length of the longest counted n-gram around each character.

    `h`: [system] → one digit per character (0: none); `r`: [reference][system] → the same for the
    reference that gave the counts, "" for others; `n`: [system] → number of matches by order.
    """
    size, cards = len(found[0].hyp), list[dict[str, Any]]()
    own, others = [], []
    for each in found:
        items = each.items
        assert items is not None
        own.append(_longest_matches(each.hyp, items.hyp, items.counted, each.characters))
        rows = []
        for number, ref in enumerate(each.refs):
            mine, theirs = items.equal(number)
            given = items.counted[mine] & (items.reference[mine] == number)
            marked = torch.zeros_like(items.refs[number].place, dtype=torch.bool)
            marked[theirs[given]] = True
            rows.append(_longest_matches(ref, items.refs[number], marked, each.characters))
        others.append(rows)
    columns = [column for columns in found[0].columns for column in columns]
    counts = [table[:, columns].tolist() for table in tables]
    for segment in range(size):
        cards.append(
            {
                "h": [rows[segment] for rows in own],
                "r": [
                    [rows[number][segment].strip("0") and rows[number][segment] for rows in others]
                    for number in range(len(found[0].refs))
                ],
                "n": [[int(value) for value in rows[segment]] for rows in counts],
            }
        )
    return cards


def _longest_matches(batch: Any, side: Occurrences, chosen: Tensor, orders: int) -> list[str]:
    """Return one digit per character: the length of its longest chosen n-gram, at most 9."""
    level = np.full(int(batch.lengths.sum()), 48, np.uint8)  # the digit 0
    starts = batch.starts.cpu().numpy()
    for order in range(1, orders + 1):
        rows = (chosen & (side.order == order)).cpu().numpy()
        first = starts[side.segment.cpu().numpy()[rows]] + side.place.cpu().numpy()[rows]
        for step in range(order):
            level[first + step] = 48 + min(order, 9)
    text = level.tobytes().decode("ascii")
    cuts = [*starts.tolist(), len(text)]
    return [text[low:high] for low, high in pairwise(cuts)]


def _rows(side: Occurrences) -> list[tuple[int, int, int, int]]:
    """Return segment, order, place and key of every item."""
    columns = (side.segment, side.order, side.place, side.key)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def _pairs(
    found: Sequence[Explanation], metric: Metric[Any], tables: Sequence[Tensor], weight: float
) -> list[dict[str, Any]]:
    """Return for each segment and system the pairs of nodes with the largest contributions.

    `p`: [system] → [reference, node, other node, contribution], …. The contributions of the pairs
    of one reference sum to the segment's score times the weight of the metric.
    """
    size = len(found[0].hyp)
    cards: list[dict[str, Any]] = [{"p": [[] for _ in found]} for _ in range(size)]
    for number, (each, table) in enumerate(zip(found, tables, strict=True)):
        scores = (weight * metric.score(table, segment=True)).tolist()
        rows: list[dict[int, list[tuple[float, int, int]]]] = [{} for _ in range(size)]
        for reference, pairs in enumerate(each.pairs):
            for segment, x, y, log in zip(*(part.tolist() for part in pairs), strict=True):
                rows[segment].setdefault(reference, []).append((log, x, y))
        for segment, by_reference in enumerate(rows):
            for reference, listed in by_reference.items():
                top = max(log for log, _, _ in listed)
                total = top + math.log(math.fsum(math.exp(log - top) for log, _, _ in listed))
                listed.sort(reverse=True)
                for log, x, y in listed[:_PAIRS]:
                    part = float(f"{math.exp(log - total) * scores[segment]:.4g}")
                    cards[segment]["p"][number].append([reference, x, y, part])
    return cards
