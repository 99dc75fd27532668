"""`tm.explain`: the items of each segment that a metric matched, with their positions.

`Metric.explain` returns tensors (`tensormt.explanation`), which are converted here to lists with
texts for each segment. The number of counted matches of an order equals the metric's statistics,
the shares of node pairs sum to the tree kernel, and what the matches add
(`tensormt.reporting.contributions`) sums to the score minus the score without any match.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from tensormt.data.coercion import as_lines, as_streams
from tensormt.errors import TensorMTError
from tensormt.evaluator import Evaluator
from tensormt.explanation import Edit, Explanation
from tensormt.inputs import is_batch
from tensormt.metric import Metric, check_aligned
from tensormt.options import describe
from tensormt.registry import make
from tensormt.reporting.contributions import order_values
from tensormt.segments import Segments

CHUNK = 1024  # segments at a time: item keys of more segments would not fit into 64 bits


class Match(NamedTuple):
    """An item of the hypothesis: an n-gram, subtree or headword chain.

    Attributes:
        order: Its length or depth.
        place: Its first token or its node; see `tensormt.explanation`.
        text: The item as text.
        counted: Whether the clipped count includes it.
        reference: Number of the reference that gave the count, from 0; None if no reference
            contains the item.
        places: For each reference the places of equal items.
        adds: What it adds to the score of the segment; None if that is not known.

    >>> Match(1, 0, "cat", True, 0, [[1]]).text
    'cat'
    """

    order: int
    place: int
    text: str
    counted: bool
    reference: int | None
    places: list[list[int]]
    adds: float | None = None


class Pair(NamedTuple):
    """A node of the hypothesis and a node of a reference with equal productions.

    Attributes:
        reference: Number of the reference, from 0.
        place: Node of the hypothesis.
        other: Node of the reference.
        text: The production as text.
        log: log C(x, y), where C is the number of common subtrees rooted at both nodes.
        adds: What it adds to the score of the segment: nothing if another reference is the best.

    >>> Pair(0, 1, 1, "(NP DT NN)", 0.0).share
    1.0
    """

    reference: int
    place: int
    other: int
    text: str
    log: float
    adds: float | None = None

    @property
    def share(self) -> float:
        """C(x, y), the contribution of the pair to the kernel K(h, r)."""
        return math.exp(self.log)


@dataclass
class Explained:
    """What a metric matched in one segment.

    Args:
        kind: Kind of the items; see `tensormt.explanation`.
        matches: Items, sorted by order and place.
        pairs: Pairs of nodes, for tree kernels.
        names: Names of the items of each order, such as "subtrees of depth 2".
        members: Explanations of the members of a mean.
        base: Score without any match; None if it is not known, and for means.
        edits: Edits, for error rates.
        reference: Number of the reference that gave the score, from 0; None if all are used.

    >>> Explained("n-gram", [Match(1, 0, "cat", True, 0, [[1]])]).counts
    {1: 1}
    """

    kind: str
    matches: list[Match] = field(default_factory=list)
    pairs: list[Pair] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    members: list[Member] = field(default_factory=list)
    base: float | None = None
    edits: list[Edit] = field(default_factory=list)
    reference: int | None = None

    @property
    def counts(self) -> dict[int, int]:
        """Number of counted items of each order."""
        return dict(sorted(Counter(m.order for m in self.matches if m.counted).items()))

    def kernel(self, reference: int) -> float:
        """Return the kernel K(h, r) with one reference, the sum over its pairs."""
        return math.fsum(pair.share for pair in self.pairs if pair.reference == reference)


class Member(NamedTuple):
    """A member of a mean.

    Attributes:
        name: Name of the member.
        weight: Weight of its score in the mean.
        found: What it matched.

    >>> Member("stm", 0.5, Explained("subtree")).weight
    0.5
    """

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
    """Explain a score: return the items of each segment that a metric matched.

    Args:
        metric: A metric, or its name as on the command line.
        hyp: A batch of B segments, or B lines of text.
        refs: R batches of B segments, or R streams of B lines of text.
        parser: Parser of text, or its name, for metrics that read trees.
        device: Device of the computation; None: the default device.

    Returns:
        What was matched in each of the B segments.

    Raises:
        NoExplanation: If the metric cannot say what it matched.
        TensorMTError: If hypothesis and references do not align or are not what the metric reads.

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
    if metric.needs_fit:
        metric = copy(metric).fit(refs)
    explained: list[Explained] = []
    for start in range(0, len(hyp), CHUNK):
        rows = slice(start, start + CHUNK)
        sides = hyp[rows], [ref[rows] for ref in refs]
        explained += by_segment(metric.explain(*sides), metric, metric.statistics(*sides))
    return explained


def by_segment(found: Explanation, metric: Metric[Any], statistics: Tensor) -> list[Explained]:
    """Convert the explanation of a batch to one `Explained` per segment.

    Args:
        found: What the metric matched.
        metric: The metric.
        statistics: Its statistics [B,K].
    """
    segments = [Explained(found.kind, names=found.names()) for _ in range(len(found.hyp))]
    for part in found.parts:
        owns = by_segment(part.found, part.metric, statistics[:, list(part.columns)])
        for segment, own in zip(segments, owns, strict=True):
            segment.members.append(Member(part.name, part.weight, own))
    if found.parts:
        return segments
    for segment, edits in zip(segments, found.edits, strict=False):
        segment.edits.extend(edits)
    if found.best is not None:
        best = found.best.tolist()
        segments = [replace(own, reference=k) for own, k in zip(segments, best, strict=True)]
    words = [found.text(number) for number in range(len(found.hyp))]
    if found.items is not None:
        values = None if found.adds is not None else order_values(metric, statistics, found)
        added = None if values is None else values.tolist()
        if added is not None:
            segments = [
                replace(segment, base=own[0]) for segment, own in zip(segments, added, strict=True)
            ]
        _add_matches(segments, found, words, added)
    elif found.pairs:
        scores = metric.score(statistics, segment=True).tolist()
        segments = [replace(segment, base=0.0) for segment in segments]
        _add_pairs(segments, found, words, scores)
    return segments


# The texts of a segment's items: (order, place) → text.
_Texts = list[Callable[[int, int], str]]


def _add_matches(
    segments: list[Explained], found: Explanation, words: _Texts, added: list[list[float]] | None
) -> None:
    """Add the items, with what the counted ones of each order add, by segment [B][1+D]."""
    items = found.items
    assert items is not None
    columns = [part.tolist() for part in (*items.hyp[:3], items.counted, items.reference)]
    places: list[list[list[int]]] = [[[] for _ in items.refs] for _ in columns[0]]
    for number, ref in enumerate(items.refs):
        owners, others = items.equal(number)
        for own, place in zip(owners.tolist(), ref.place[others].tolist(), strict=True):
            places[own][number].append(place)
    rows = list(zip(*columns, strict=True))
    sizes = Counter((segment, order) for segment, order, _, counted, _ in rows if counted)
    for at, (segment, order, place, counted, ref) in enumerate(rows):
        adds = None if found.adds is None else float(found.adds[at])
        if adds is None and added is not None:
            adds = added[segment][order] / sizes[segment, order] if counted else 0.0
        text, reference = words[segment](order, place), None if ref < 0 else ref
        match = Match(order, place, text, counted, reference, places[at], adds)
        segments[segment].matches.append(match)


def _add_pairs(
    segments: list[Explained], found: Explanation, words: _Texts, scores: list[float]
) -> None:
    """Add the pairs of nodes, with their parts of the segment scores."""
    for number, ref_pairs in enumerate(found.pairs):
        for segment, x, y, log in zip(*(part.tolist() for part in ref_pairs), strict=True):
            segments[segment].pairs.append(Pair(number, x, y, words[segment](2, x), log))
    for number, segment in enumerate(segments):
        best = -1 if found.best is None else int(found.best[number])
        logs = [pair.log for pair in segment.pairs if pair.reference == best]
        top = max(logs, default=0.0)
        total = top + math.log(math.fsum(math.exp(log - top) for log in logs)) if logs else 0.0
        segment.pairs[:] = [
            pair._replace(
                adds=math.exp(pair.log - total) * scores[number] if pair.reference == best else 0.0
            )
            for pair in segment.pairs
        ]
