"""Tensor engine of the error rates: all segments with all their references as pairs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import torch
from torch import Tensor

from tensormt.explanation import Edit, Explanation
from tensormt.kernels.backend import nonzero, repeat, take
from tensormt.kernels.edit_distance import INSERTION, MATCH, Alignment, align, distances
from tensormt.kernels.matches import Items, items
from tensormt.kernels.ngram_overlap import Sequences
from tensormt.ngram.keys import occurrences
from tensormt.ngram.matching import matches
from tensormt.ngram.references import References
from tensormt.text.tokens import TokenBatch

_ABSENT = torch.iinfo(torch.int64).max


def pairs(hyp: TokenBatch, refs: References) -> tuple[Sequences, Sequences]:
    """Return hypotheses and references as R·B pairs of sequences, reference by reference."""
    tokens = torch.cat([stream.tokens for stream in refs.streams])
    sizes = [0, *accumulate(len(stream.tokens) for stream in refs.streams[:-1])]
    streams = zip(refs.streams, sizes, strict=True)
    starts = torch.stack([stream.starts + before for stream, before in streams])
    own = refs.align(hyp)
    one = Sequences(own, hyp.starts.repeat(len(refs)), hyp.lengths.repeat(len(refs)))
    return one, Sequences(tokens.to(own.dtype), starts.reshape(-1), refs.lengths.reshape(-1))


def edit_distances(hyp: TokenBatch, refs: References) -> Tensor:
    """Compute the edit distance of each segment to each reference, int64 [R,B]."""
    return distances(*pairs(hyp, refs)).view_as(refs.lengths)


def bag_distances(hyp: TokenBatch, refs: References) -> Tensor:
    """Compute max(H, N) - words in common for each segment and reference, int64 [R,B]."""
    common = torch.empty_like(refs.lengths)
    for rows, table in matches(hyp, refs, 1):
        order = table.orders[0]
        common[:, rows] = (order.rank < order.counts).sum(1)
    return torch.maximum(hyp.lengths, refs.lengths) - common


def best(edits: Tensor, lengths: Tensor) -> Tensor:
    """Return the reference with the smallest rate, of equal ones the shortest, int64 [B].

    edits, lengths int64 [R,B]; a length of 0 is an absent reference.
    """
    rate = torch.where(lengths > 0, edits.double() / lengths.clamp_min(1), torch.inf)
    return torch.where(rate == rate.amin(0), lengths, _ABSENT).argmin(0)


def best_rows(edits: Tensor, lengths: Tensor) -> Tensor:
    """Return the statistics of the best reference: segments, edits, length, int64 [B,3]."""
    if edits.shape[0] > 1:
        chosen = best(edits, lengths)[None]
        edits, lengths = edits.gather(0, chosen), lengths.gather(0, chosen)
    return torch.stack([torch.ones_like(edits[0]), edits[0], lengths[0]], 1)


def explain(hyp: TokenBatch, refs: References, chosen: Tensor) -> Explanation:
    """Return the aligned words and the edits of each segment with its best reference [B]."""
    one, two = pairs(hyp, refs)
    rows = chosen * len(hyp) + torch.arange(len(hyp), device=chosen.device)
    found = align(one.of(rows), two.of(rows))
    return aligned(hyp, refs, chosen, found.errors, edits_of(hyp, refs, chosen, found))


def aligned(
    hyp: TokenBatch,
    refs: References,
    chosen: Tensor,
    errors: Tensor,
    edits: Sequence[Sequence[Edit]] = (),
    columns: Sequence[int] = (),
) -> Explanation:
    """Return an explanation by aligned words.

    Args:
        hyp: The hypotheses.
        refs: The references.
        chosen: The reference of each segment, int64 [B].
        errors: Which words of the hypothesis are not matched, bool [B,T].
        edits: The edits of each segment.
        columns: Columns of the statistics that count the matched words.
    """
    found = _items(hyp, refs, chosen)
    segment, place = repeat(hyp.lengths)
    counted = ~errors[segment, place]
    found = found._replace(
        counted=counted, reference=torch.where(counted, take(chosen, segment), -1)
    )
    return Explanation("word", hyp, refs, found, columns=[list(columns)], best=chosen, edits=edits)


def explain_bags(hyp: TokenBatch, refs: References, chosen: Tensor) -> Explanation:
    """Return the words that each segment has in common with its best reference [B]."""
    return Explanation("n-gram", hyp, refs, _items(hyp, refs, chosen), columns=[[]], best=chosen)


def _items(hyp: TokenBatch, refs: References, chosen: Tensor) -> Items:
    """The words of the hypotheses, matched as bags with the chosen reference."""
    own, *others = [occurrences(batch, 1) for batch in (hyp, *refs)]
    return items(own, others, chosen)


def edits_of(
    hyp: TokenBatch, refs: References, chosen: Tensor, found: Alignment
) -> list[list[Edit]]:
    """Return the substitutions, insertions and deletions of each segment, in the text's order."""
    words = hyp.to_tokens()
    others = [stream.to_tokens() for stream in refs]
    edits: list[list[tuple[tuple[int, int, int], Edit]]] = [[] for _ in words]
    width = max(found.edits.shape[1], 1)
    for cell in nonzero(found.edits != MATCH).tolist():
        segment, place = divmod(cell, width)
        word = others[int(chosen[segment])][segment][place]
        at = int(found.place[segment, place])
        if found.edits[segment, place] == INSERTION:  # the reference's word is missing
            edit = Edit("deletion", at + 1, "", word)
            edits[segment].append(((at, 1, place), edit))
        else:
            edits[segment].append(((at, 0, 0), Edit("substitution", at, words[segment][at], word)))
    known = [{edit.place for _, edit in own if edit.kind == "substitution"} for own in edits]
    height = max(found.errors.shape[1], 1)
    for cell in nonzero(found.errors).tolist():
        segment, at = divmod(cell, height)
        if at not in known[segment]:
            edits[segment].append(((at, 0, 0), Edit("insertion", at, words[segment][at])))
    return [[edit for _, edit in sorted(own)] for own in edits]
