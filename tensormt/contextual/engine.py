"""Tensor engine of BERTScore: every segment is matched with every reference, in batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from tensormt.contextual.idf import ReferenceCounts, no_counts
from tensormt.contextual.padded import PaddedUnits, cut
from tensormt.errors import SegmentError
from tensormt.formulas import ratio
from tensormt.kernels.backend import argsort, at_a_time, take
from tensormt.kernels.soft_matching import (
    Matching,
    cosines,
    greedy,
    leave_out,
    one_to_one,
    with_heads,
)
from tensormt.vectors.batch import VectorBatch

if TYPE_CHECKING:
    from tensormt.contextual.bertscore import BERTScore

_CELLS = 1 << 19  # numbers in the padded vectors of a part: what fits the cache


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
        pairs = Pairs(metric, hyp, ref, counts)
        precision, recall = pairs.shares()
        both = ratio(2 * precision * recall, precision + recall)
        found[number][:, pairs.segments] = torch.stack([precision, recall, both])
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


class Pairs:
    """Hypotheses with one reference each, sorted by length and cut into parts.

    Segments without a unit on either side are left out. One host synchronisation for the lengths.

    Args:
        metric: Units and matching.
        hyp: B hypotheses.
        ref: B references.
        counts: Counts of the references, by which units are weighted; None: all weights are 1.
        cells: Numbers in the padded vectors of a part.

    Attributes: `segments`, int64 [n], those that are matched; `parts`, start and stop of each part
    among them; `hyp` and `ref`, their units.
    """

    def __init__(
        self,
        metric: BERTScore,
        hyp: VectorBatch,
        ref: VectorBatch,
        counts: ReferenceCounts | None,
        cells: int = _CELLS,
    ) -> None:
        self._once, self._threshold = metric.matching == "one_to_one", metric.threshold
        units = [batch.source.units(metric.units) for batch in (hyp, ref)]
        sizes = torch.stack(
            [take(own.lengths, batch.rows) for own, batch in zip(units, (hyp, ref), strict=True)]
        )
        order = argsort(sizes.sum(0))
        self.segments = order[(sizes[:, order] > 0).all(0)]
        own, other = lengths = sizes[:, self.segments].tolist()
        cells = at_a_time(sizes, cells, 4)
        self.parts = list(cut(own, other, cells // max(units[0].vectors.shape[1], 1)))
        self.hyp, self.ref = (
            PaddedUnits(
                unit,
                take(batch.rows, self.segments),
                [(high - low, max(size[low:high])) for low, high in self.parts],
                counts,
            )
            for unit, batch, size in zip(units, (hyp, ref), lengths, strict=True)
        )

    def _table(self, part: int) -> Tensor:
        """The similarities of the units of a part, [b,T,U]."""
        hyp, ref = self.hyp, self.ref
        vectors = hyp.vectors(part), ref.vectors(part)
        table = cosines(*vectors, hyp.scale[part], ref.scale[part])
        if self._once:  # special symbols would take part in pairs
            table = leave_out(table, hyp.counted[part], ref.counted[part])
        if hyp.head is not None and ref.head is not None:
            table = with_heads(table, hyp.head[part], ref.head[part])
        return table

    def matched(self) -> Iterator[tuple[int, Matching]]:
        """Yield the number of each part and what its units match."""
        matching = one_to_one if self._once else greedy
        for part in range(len(self.parts)):
            yield part, matching(self._table(part), self._threshold)

    def shares(self) -> tuple[Tensor, Tensor]:
        """Return precision and recall of the segments, float64 [n] each."""
        hyp, ref = self.hyp, self.ref
        for part in range(len(self.parts)):
            table = self._table(part)
            if self._once:
                found = one_to_one(table, self._threshold)
                hyp.value[part].copy_(found.hyp)
                ref.value[part].copy_(found.ref)
            else:  # the partners are not needed
                torch.amax(table, 2, out=hyp.value[part])
                torch.amax(table, 1, out=ref.value[part])
        return hyp.means(self._threshold), ref.means(self._threshold)
