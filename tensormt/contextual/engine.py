"""Tensor engine of BERTScore: every segment is matched with every reference, in batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from tensormt.contextual.idf import ReferenceCounts, no_counts
from tensormt.errors import SegmentError
from tensormt.formulas import ratio
from tensormt.kernels.backend import argsort
from tensormt.kernels.soft_matching import Matching, cosines, match, pad, with_heads
from tensormt.vectors.batch import VectorBatch

if TYPE_CHECKING:
    from tensormt.contextual.bertscore import BERTScore

_CELLS = 1 << 20  # numbers in the padded vectors of a part: what fits the cache


class Part(NamedTuple):
    """Some segments matched with one reference.

    rows int64 [b]: the segments; found: the matching; hyp, ref float64 [b,T], [b,U]: the weights of
    the units, 0 for padding and special symbols.
    """

    rows: Tensor
    found: Matching
    hyp: Tensor
    ref: Tensor


def statistics(metric: BERTScore, hyp: VectorBatch, refs: Sequence[VectorBatch]) -> Tensor:
    """Return segments, precision, recall and F, each the best of any reference, float64 [B,4]."""
    present = check_present(refs)
    found = scores(metric, hyp, refs).masked_fill(~present[:, None], -1.0)
    best = found.amax(0)
    return torch.cat([torch.ones_like(best[:1]), best]).t()


def check_present(refs: Sequence[VectorBatch]) -> Tensor:
    """Say which references are there, bool [R,B]; raise if a segment has none."""
    present = torch.stack([ref.lengths > 0 for ref in refs])
    missing = (~present.any(0)).tolist()
    if any(missing):
        advice = "has no reference: give at least one that is not empty for every segment"
        raise SegmentError(missing.index(True) + 1, advice)
    return present


def scores(metric: BERTScore, hyp: VectorBatch, refs: Sequence[VectorBatch]) -> Tensor:
    """Return precision, recall and F of each segment with each reference, float64 [R,3,B]."""
    found = torch.zeros(len(refs), 3, len(hyp), dtype=torch.float64, device=hyp.device)
    counts = reference_counts(metric, refs)
    for number, ref in enumerate(refs):
        for part in matched(metric, hyp, ref, counts):
            precision = ratio((part.found.hyp * part.hyp).sum(1), part.hyp.sum(1))
            recall = ratio((part.found.ref * part.ref).sum(1), part.ref.sum(1))
            both = ratio(2 * precision * recall, precision + recall)
            found[number][:, part.rows] = torch.stack([precision, recall, both])
    return found


def reference_counts(metric: BERTScore, refs: Sequence[VectorBatch]) -> ReferenceCounts | None:
    """Return the counts of the test set, or of these references; None if all weights are 1."""
    if not metric.idf:
        return None
    if metric.counts is not None:
        return metric.counts
    counts = no_counts()
    for ref in refs:
        counts = counts.add(ref, metric.units)
    return counts


def matched(
    metric: BERTScore,
    hyp: VectorBatch,
    ref: VectorBatch,
    counts: ReferenceCounts | None,
    cells: int = _CELLS,
) -> Iterator[Part]:
    """Match segments with a reference, those of similar length at a time.

    Segments without a unit on either side are left out. One host synchronisation for the lengths.
    """
    sides = [(batch.source.units(metric.units), batch.rows) for batch in (hyp, ref)]
    sizes = torch.stack([units.lengths[rows] for units, rows in sides])
    order = argsort(sizes.sum(0))
    order = order[(sizes[:, order] > 0).all(0)]
    own, other = sizes[:, order].tolist()
    width = sides[0][0].vectors.shape[1]
    for low, high in _cut(own, other, cells // max(width, 1)):
        rows = order[low:high]
        vectors, reals, weights, heads = [], [], [], []
        for (units, numbers), most in zip(
            sides, (max(own[low:high]), max(other[low:high])), strict=True
        ):
            chosen = numbers[rows]
            place, real = pad(units.starts[chosen], units.lengths[chosen], most)
            weighted = real & units.real[place]
            if metric.matching == "one_to_one":
                real = weighted  # special symbols would take part in pairs
            vectors.append(units.vectors[place])
            reals.append(real)
            weight = torch.ones_like(place, dtype=torch.float64)
            if counts is not None:
                weight = counts.weights(units.key[place])
            weights.append(weight.where(weighted, 0.0))
            if units.head is not None:
                heads.append(units.head[place].masked_fill_(~real, 0))
        table = cosines(vectors[0], vectors[1], reals[0], reals[1])
        if heads:
            table = with_heads(table, *heads)
        found = match(table, metric.matching == "one_to_one", metric.threshold)
        yield Part(rows, found, *weights)


def _cut(own: list[int], other: list[int], cells: int) -> Iterator[tuple[int, int]]:
    """Split segments into parts whose padded units are at most so many."""
    low = 0
    while low < len(own):
        high, most = low, [0, 0]
        while high < len(own):
            wide = [max(most[0], own[high]), max(most[1], other[high])]
            if high > low and sum(wide) * (high + 1 - low) > cells:
                break
            most, high = wide, high + 1
        yield low, high
        low = high
