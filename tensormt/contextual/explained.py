"""What BERTScore matched: each unit of the hypothesis with its partner and their cosine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from tensormt.contextual import engine
from tensormt.explanation import Explanation
from tensormt.kernels.backend import repeat
from tensormt.kernels.matches import Items, Occurrences
from tensormt.text.tokens import TokenBatch

if TYPE_CHECKING:
    from tensormt.contextual.bertscore import BERTScore
    from tensormt.vectors.batch import VectorBatch


def explain(metric: BERTScore, hyp: VectorBatch, refs: Sequence[VectorBatch]) -> Explanation:
    """Return what the units of each segment match in the reference of the best score.

    An item has a key of its own, which its partners in the reference share. The score is divided
    among the items by weight times cosine.
    """
    from tensormt.contextual.bertscore import BALANCES

    present = engine.check_present(refs)
    scores = engine.scores(metric, hyp, refs)[:, BALANCES.index(metric.balance)]
    best = scores.masked_fill(~present, -1.0).argmax(0)
    counts = engine.reference_counts(metric, refs)
    words, others = [batch.strings(metric.units) for batch in (hyp, *refs)], []
    units = hyp.source.units(metric.units)
    lengths = units.lengths[hyp.rows].cpu()
    segment, place = repeat(lengths)
    number = torch.arange(len(segment))
    starts = lengths.cumsum(0) - lengths
    cosine = torch.zeros(len(segment), dtype=torch.float64)
    weight = torch.zeros(len(segment), dtype=torch.float64)
    partner = torch.full((len(segment),), -1)
    for index, ref in enumerate(refs):
        rows, own, to, values, weights = _pairs(metric, hyp, ref, counts)
        item = starts[rows] + own
        others.append(Occurrences(rows, torch.ones_like(rows), to, number[item]))
        used = best.cpu()[rows] == index
        item = item[used]
        cosine[item], weight[item], partner[item] = values[used], weights[used], to[used]
    counted = (partner >= 0) & (weight > 0)
    found = Items(
        Occurrences(segment, torch.ones_like(segment), place, number),
        others,
        counted,
        torch.stack([torch.bincount(side.key, minlength=len(number)) for side in others]),
        torch.where(counted, best.cpu()[segment], -1),
    )
    share = cosine * weight
    total = torch.zeros(len(hyp), dtype=torch.float64).index_add_(0, segment, share)
    chosen = scores.gather(0, best[None])[0].cpu()
    adds = share / total[segment].clamp_min(1e-300) * chosen[segment]
    return Explanation(
        "word",
        _tokens(words[0]),
        [_tokens(own) for own in words[1:]],
        found,
        columns=[[3]],
        best=best.cpu(),
        adds=adds,
        partners=_partners(lengths.tolist(), partner, cosine),
    )


def _pairs(
    metric: BERTScore, hyp: VectorBatch, ref: VectorBatch, counts: object
) -> tuple[Tensor, ...]:
    """Segment, unit, partner, cosine and weight of all matches with one reference, [m] each."""
    found: list[list[Tensor]] = [[], [], [], [], []]
    pairs = engine.Pairs(metric, hyp, ref, counts)  # type: ignore[arg-type]
    for part, match in pairs.matched():
        weight = pairs.hyp.weight[part]
        row, own = ((match.hyp_to >= 0) & (weight > 0)).nonzero(as_tuple=True)
        segments = pairs.segments[slice(*pairs.parts[part])]
        values = match.hyp_to, match.hyp.double(), weight
        columns = (segments[row], own, *(value[row, own] for value in values))
        for column, value in zip(found, columns, strict=True):
            column.append(value.cpu())
    kinds = [torch.int64] * 3 + [torch.float64] * 2
    return tuple(
        torch.cat([torch.zeros(0, dtype=kind), *column])
        for kind, column in zip(kinds, found, strict=True)
    )


def _tokens(rows: list[list[str]]) -> TokenBatch:
    """The units as tokens; special symbols, which have no text, as «·»."""
    flat = [[unit or "·" for unit in row] for row in rows]
    return TokenBatch._from(None, [tuple(row) for row in flat], "none", False)


def _partners(
    lengths: list[int], partner: Tensor, cosine: Tensor
) -> list[list[tuple[int, float] | None]]:
    """The partner of each unit and their cosine, by segment; None where there is none."""
    pairs = zip(partner.tolist(), cosine.tolist(), strict=True)
    rows = [None if place < 0 else (place, value) for place, value in pairs]
    found, start = [], 0
    for size in lengths:
        found.append(rows[start : start + size])
        start += size
    return found
