"""Tensor engine of STM, HWCM and DSTM: keys of trees, clipped counts, and what was matched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from tensormt.errors import SegmentError
from tensormt.explanation import Explanation
from tensormt.kernels.backend import at_a_time, join, nonzero, take
from tensormt.kernels.counts import Sides
from tensormt.kernels.lengths import closest
from tensormt.kernels.matches import Occurrences, items
from tensormt.kernels.nodes import reached
from tensormt.trees.batch import TreeBatch

if TYPE_CHECKING:
    from tensormt.syntax.clipped_precision import ClippedPrecisionMetric

MAX_KEYS = 1 << 25  # keys at a time, about 50 bytes each
# segments at a time, whose arrays stay in a CPU's cache, and bytes of one elsewhere
_CHUNK, _BYTES = 2048, 32_768


def chunk_size(batch: TreeBatch) -> int:
    """Return how many segments are processed at a time."""
    return at_a_time(batch.lengths, _CHUNK, _BYTES)


def check_references(refs: Sequence[TreeBatch]) -> None:
    """Raise unless every segment has a reference tree."""
    longest = torch.stack([ref.lengths for ref in refs]).amax(0)
    if not bool(longest.all()):
        number = int((longest == 0).nonzero()[0]) + 1
        raise SegmentError(number, "has no reference: every segment needs at least one tree")


def statistics(metric: ClippedPrecisionMetric, hyp: TreeBatch, refs: Sequence[TreeBatch]) -> Tensor:
    """Return the statistics of aligned batches, int64 [B,K]."""
    check_references(refs)
    batches = [metric.trees(batch) for batch in (hyp, *refs)]
    size = _affordable(metric, batches)
    parts = zip(*(batch.chunks(size) for batch in batches), strict=True)
    rows = join([_rows(metric, part[1:], _sides(metric, part)) for part in parts])
    if metric.balance == "brevity":
        near = closest(hyp.tokens, torch.stack([ref.tokens for ref in refs], 1))
        rows = torch.cat([rows, hyp.tokens[:, None], near[:, None]], 1)
    return rows


def _affordable(metric: ClippedPrecisionMetric, batches: Sequence[TreeBatch]) -> int:
    """The number of segments at a time, so that memory for their keys suffices.

    Raises:
        SegmentError: If a single segment has too many keys.
    """
    widths = [batch.width for batch in batches]
    most = min(metric.orders, max(widths)) * sum(widths)  # keys of a segment, at most
    if most > MAX_KEYS:
        sizes = torch.stack([batch.lengths for batch in batches]).sum(0)
        depth = max(reached(batch.nodes, metric.orders) for batch in batches)
        most = depth * int(sizes.max())
        if most > MAX_KEYS:
            number = int(sizes.argmax()) + 1
            raise SegmentError(
                number,
                f"has trees of {int(sizes.max()):,} nodes, with up to {most:,} items for "
                f"{metric.name}, which takes {MAX_KEYS:,}: choose fewer orders than "
                f"{metric.orders}",
            )
    return max(1, min(chunk_size(batches[0]), MAX_KEYS // max(most, 1)))


def _sides(metric: ClippedPrecisionMetric, batches: Sequence[TreeBatch]) -> Sides:
    """The keys of aligned batches of the trees that are compared."""
    groups = len(batches[0]) * metric.orders
    whole = TreeBatch.whole(batches)
    if whole is not None:
        return Sides.of_joint(metric.keys(whole), len(batches), groups)
    return Sides.of([metric.keys(batch) for batch in batches], groups)


def _rows(metric: ClippedPrecisionMetric, refs: Sequence[TreeBatch], sides: Sides) -> Tensor:
    """The statistics, given the keys of the hypothesis and the references."""
    if not metric.one_reference:
        return _row(metric, [sides.clipped(), sides.totals(1)[0]])
    return _best(metric, refs, sides)[0]


def _best(
    metric: ClippedPrecisionMetric, refs: Sequence[TreeBatch], sides: Sides
) -> tuple[Tensor, Tensor]:
    """The statistics against the best reference alone, [B,K], and its number, int64 [B]."""
    own, *others = sides.totals(sides.number)
    clipped = sides.clipped_each()
    rows = [_row(metric, [both, own, other]) for both, other in zip(clipped, others, strict=True)]
    present = [ref.lengths > 0 for ref in refs]
    return best_rows(torch.stack(rows), metric.score(torch.stack(rows), segment=True), present)


def best_rows(
    rows: Tensor, scores: Tensor, present: Sequence[Tensor] | Tensor
) -> tuple[Tensor, Tensor]:
    """Choose the reference with the highest score; of equal ones that with the largest counts.

    Counts are compared from the first to the last: the order of the references is irrelevant.

    Args:
        rows: Statistics against each of R references, [R,B,K].
        scores: Segment scores of the rows, float64 [R,B].
        present: Whether a segment has the reference, bool [R,B].

    Returns:
        The statistics of the best reference, [B,K] (zeros if there is none), and its number,
        int64 [B].
    """
    size = rows.shape[1]
    best = scores.new_full((size,), -1)
    row = torch.zeros_like(rows[0])
    number = torch.zeros(size, dtype=torch.int64, device=rows.device)
    for place, (candidate, own, there) in enumerate(zip(rows, scores, present, strict=True)):
        score = torch.where(there, own, -1)
        first = (candidate != row).int().argmax(1, keepdim=True)  # the first count that differs
        larger = candidate.gather(1, first)[:, 0] > row.gather(1, first)[:, 0]
        better = (score > best) | (there & (score == best) & larger)
        row = torch.where(better[:, None], candidate, row)
        number = torch.where(better, place, number)
        best = torch.maximum(score, best)
    return row, number


def _row(metric: ClippedPrecisionMetric, counts: Sequence[Tensor]) -> Tensor:
    """Counts [D·B] of several kinds as rows of B segments, the number of segments before them."""
    columns = [count.view(metric.orders, -1).T for count in counts]
    return torch.cat([torch.ones_like(columns[0][:, :1]), *columns], 1)


def explain(
    metric: ClippedPrecisionMetric, hyp: TreeBatch, refs: Sequence[TreeBatch]
) -> Explanation:
    """Return the subtrees or chains that were counted."""
    check_references(refs)
    trees, *others = (metric.trees(batch) for batch in (hyp, *refs))
    only = None
    if metric.one_reference:
        only = _best(metric, others, _sides(metric, [trees, *others]))[1]
    sides = [_occurrences(metric, batch) for batch in (trees, *others)]
    columns = [[1 + order] for order in range(metric.orders)]
    found = items(sides[0], sides[1:], only)
    return Explanation(metric.item, trees, others, found, columns=columns, best=only)


def _occurrences(metric: ClippedPrecisionMetric, batch: TreeBatch) -> Occurrences:
    nodes, group, key = batch.nodes, *metric.keys(batch)[:2]
    # keys come order by order, each by rising nodes
    highest = metric.highest(nodes)
    node = torch.cat([nonzero(highest >= order) for order in range(1, metric.orders + 1)])
    segment = group % max(len(batch), 1)
    order = group // max(len(batch), 1) + 1
    return Occurrences(segment, order, node - take(nodes.offsets, segment), key)
