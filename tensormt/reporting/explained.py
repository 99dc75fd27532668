"""`tm.explain`: for each segment, the items that a metric counted, where they stand, and in what.

The metric says it in tensors (`Metric.explain`); here it is told segment by segment, in words. The
counted matches of an order are as many as the metric's statistics say, and the shares of the pairs
of nodes sum to the tree kernel.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch

from tensormt.data.coercion import as_lines, as_streams
from tensormt.errors import TensorMTError
from tensormt.evaluator import Evaluator
from tensormt.explanation import Explanation
from tensormt.inputs import is_batch
from tensormt.metric import Metric, check_aligned
from tensormt.options import describe
from tensormt.registry import make
from tensormt.segments import Segments

CHUNK = 1024  # segments at a time: keys of many segments would lose bits


class Match(NamedTuple):
    """An item of the hypothesis.

    `order` is its depth or length, `place` its node or first token. `counted`: the clipped count
    has it; `reference`: the one that gave the count, from 0, None where none holds the item;
    `places`: for each reference where equal items stand.
    """

    order: int
    place: int
    text: str
    counted: bool
    reference: int | None
    places: list[list[int]]


class Pair(NamedTuple):
    """A node of the hypothesis and one of a reference with equal productions; log of their C."""

    reference: int
    place: int
    other: int
    text: str
    log: float

    @property
    def share(self) -> float:
        """C(x, y), its share of K(h, r)."""
        return math.exp(self.log)


@dataclass
class Explained:
    """What was matched in one segment: items in the order of `order`, then place, or pairs.

    `names` says what the items of each order are ("subtrees of depth 2"); a mean has the
    explanations of its members in `members`.
    """

    kind: str
    matches: list[Match] = field(default_factory=list)
    pairs: list[Pair] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    members: list[Member] = field(default_factory=list)

    @property
    def counts(self) -> dict[int, int]:
        """How many items of each order were counted."""
        return dict(sorted(Counter(m.order for m in self.matches if m.counted).items()))

    def kernel(self, reference: int) -> float:
        """K(h, r) of one reference, the sum of the shares."""
        return math.fsum(pair.share for pair in self.pairs if pair.reference == reference)


class Member(NamedTuple):
    """A member of a mean: its score counts `weight` times in that of the mean."""

    name: str
    weight: float
    found: Explained


def explain(
    metric: Metric[Any] | str,
    hyp: Any,
    refs: Any,
    parser: Any = "default",
    device: str | torch.device | None = None,
) -> list[Explained]:
    """What a metric matched: for each of B segments the items, their places and references.

    hyp is a batch of B segments, refs a list of R batches, as for the metric itself; or text, B
    lines and R streams of B lines, parsed by `parser` where the metric reads trees.

    >>> from tensormt import STM, TreeBatch
    >>> hyp = TreeBatch.from_brackets(["(S (NP (PRP I)) (VP (VBP run)))"])
    >>> ref = TreeBatch.from_brackets(["(S (NP (PRP I)) (VP (VBD ran)))"])
    >>> [found] = explain(STM(max_depth=2), hyp, [ref])
    >>> [(match.order, match.text) for match in found.matches if match.counted]
    [(1, 'S'), (1, 'NP'), (1, 'PRP'), (1, 'VP'), (2, '(S NP VP)'), (2, '(NP PRP)')]
    """
    metric = metric if isinstance(metric, Metric) else make(metric)
    if not is_batch(hyp):
        segments = Segments({"": as_lines(hyp, "hyp")}, as_streams(refs))
        texts = Evaluator({metric.name: metric}, parser, device).prepare(segments)
        (hyp,), refs = texts.sides(metric.reads)
    if isinstance(refs, str | bytes) or is_batch(refs) or not isinstance(refs, Iterable):
        raise TensorMTError(f"refs is {describe(refs)}, expected a list of R batches: pass [refs]")
    refs = list(refs)
    check_aligned(hyp, refs)
    explained: list[Explained] = []
    for start in range(0, len(hyp), CHUNK):
        rows = slice(start, start + CHUNK)
        explained += by_segment(metric.explain(hyp[rows], [ref[rows] for ref in refs]))
    return explained


def by_segment(found: Explanation) -> list[Explained]:
    """An explanation segment by segment."""
    names = [found.name(order) for order in range(1, len(found.columns) + 1)]
    segments = [Explained(found.kind, names=names) for _ in range(len(found.hyp))]
    for part in found.parts:
        for segment, own in zip(segments, by_segment(part.found), strict=True):
            segment.members.append(Member(part.name, part.weight, own))
    if found.parts:
        return segments
    words = [found.text(number) for number in range(len(found.hyp))]
    if found.items is not None:
        items = found.items
        columns = [part.tolist() for part in (*items.hyp[:3], items.counted, items.reference)]
        places: list[list[list[int]]] = [[[] for _ in items.refs] for _ in columns[0]]
        for number, ref in enumerate(items.refs):
            owners, others = items.equal(number)
            for own, place in zip(owners.tolist(), ref.place[others].tolist(), strict=True):
                places[own][number].append(place)
        for at, (segment, order, place, counted, ref) in enumerate(zip(*columns, strict=True)):
            text = words[segment](order, place)
            match = Match(order, place, text, counted, None if ref < 0 else ref, places[at])
            segments[segment].matches.append(match)
    for number, ref_pairs in enumerate(found.pairs):
        for segment, x, y, log in zip(*(part.tolist() for part in ref_pairs), strict=True):
            segments[segment].pairs.append(Pair(number, x, y, words[segment](2, x), log))
    return segments
