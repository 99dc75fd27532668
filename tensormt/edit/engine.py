"""Tensor engine of the error rates: all segments with all their references as pairs."""

from __future__ import annotations

from itertools import accumulate

import torch
from torch import Tensor

from tensormt.kernels.edit_distance import distances
from tensormt.kernels.ngram_overlap import Sequences
from tensormt.kernels.shifts import translation_edits
from tensormt.ngram.matching import matches
from tensormt.ngram.references import References
from tensormt.text.tokens import TokenBatch

_ABSENT = torch.iinfo(torch.int64).max


def word_counts(batch: TokenBatch) -> Tensor:
    """Return the lengths of segments, int64 [B]; 0 for text without a token (NO_TOKEN)."""
    number = -1 if batch.dictionary is None else batch.dictionary.no_token
    if number < 0 or not len(batch.tokens):
        return batch.lengths
    first = batch.starts.clamp(max=len(batch.tokens) - 1)
    alone = (batch.lengths == 1) & (batch.tokens.index_select(0, first) == number)
    return torch.where(alone, 0, batch.lengths)


def reference_word_counts(refs: References) -> Tensor:
    """Return the lengths of references, int64 [R,B]; 0 for text without a token, too."""
    return torch.stack([word_counts(stream) for stream in refs.streams])


def pairs(hyp: TokenBatch, refs: References) -> tuple[Sequences, Sequences]:
    """Return hypotheses and references as R·B pairs of sequences, reference by reference."""
    tokens = torch.cat([stream.tokens for stream in refs.streams])
    sizes = [0, *accumulate(len(stream.tokens) for stream in refs.streams[:-1])]
    streams = zip(refs.streams, sizes, strict=True)
    starts = torch.stack([stream.starts + before for stream, before in streams])
    own = refs.align(hyp)
    tokens = tokens.to(own.dtype)
    if hyp.dictionary is None and len(own) and len(tokens):  # ids may be below 0, symbols may not
        least = torch.minimum(own.min(), tokens.min())
        own, tokens = own - least, tokens - least
    lengths = reference_word_counts(refs).reshape(-1)
    one = Sequences(own, hyp.starts.repeat(len(refs)), word_counts(hyp).repeat(len(refs)))
    return one, Sequences(tokens, starts.reshape(-1), lengths)


def edit_distances(hyp: TokenBatch, refs: References) -> Tensor:
    """Compute the edit distance of each segment to each reference, int64 [R,B]."""
    return distances(*pairs(hyp, refs)).view_as(refs.lengths)


def bag_distances(hyp: TokenBatch, refs: References) -> Tensor:
    """Compute max(H, N) - words in common for each segment and reference, int64 [R,B]."""
    common = torch.empty_like(refs.lengths)
    for rows, table in matches(hyp, refs, 1):
        order = table.orders[0]
        common[:, rows] = (order.rank < order.counts).sum(1)
    own, other = word_counts(hyp), reference_word_counts(refs)
    return torch.maximum(own, other) - common.masked_fill_((own == 0) | (other == 0), 0)


def shifted_distances(hyp: TokenBatch, refs: References) -> Tensor:
    """Compute shifts and edits of each segment with each reference, int64 [R,B]."""
    unshared = bag_distances(hyp, refs).reshape(-1)
    return translation_edits(*pairs(hyp, refs), unshared).view_as(refs.lengths)


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


def fewest(edits: Tensor, refs: References) -> Tensor:
    """Return the reference with the fewest edits [R,B], the first of equal ones, int64 [B]."""
    return torch.where(refs.lengths > 0, edits, _ABSENT).argmin(0)


def mean_length_rows(edits: Tensor, refs: References) -> Tensor:
    """Return segments, fewest edits and mean reference length, float64 [B,3]."""
    least = torch.where(refs.lengths > 0, edits, _ABSENT).amin(0).double()
    length = reference_word_counts(refs).sum(0).double() / refs.number
    return torch.stack([torch.ones_like(least), least, length], 1)
