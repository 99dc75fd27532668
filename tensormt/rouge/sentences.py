"""ROUGE-Lsum: the union of the common subsequences of sentences (Lin 2004, section 3.2).

    M = Σ over words w of min( u(w), h(w) )

u(w): occurrences of w in the reference that stand in the common subsequence of their sentence with
any sentence of the hypothesis; h(w): occurrences in the hypothesis. The ends of sentences are
tokens of their own; a segment without one is a single sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pyarrow.compute as pc
import torch
from torch import Tensor

from tensormt.kernels.backend import nonzero, owners, repeat, take
from tensormt.kernels.counts import Keys, clipped
from tensormt.kernels.ngram_overlap import Sequences
from tensormt.kernels.subsequence import common_places
from tensormt.ngram.references import References
from tensormt.text.tokens import TokenBatch, unify

_PAIRS = 1 << 16  # pairs of sentences at a time


class Sentences(NamedTuple):
    """The sentences of B segments: sequences of words, and of each segment the number and first.

    words: which tokens are words, bool [n]; segment int64 [n]: of each token; number, first int64
    [B]; sizes int64 [B]: words of each segment.
    """

    sequences: Sequences
    words: Tensor
    segment: Tensor
    number: Tensor
    first: Tensor
    sizes: Tensor


def sentences(batches: Sequence[TokenBatch], end: str) -> list[Sentences]:
    """Find the sentences of batches of one dictionary, which end at a token or with the segment."""
    symbols = torch.cat([batch.tokens for batch in batches])
    if batches[0].dictionary is None:  # ids may be any integers
        symbols = torch.unique(symbols, return_inverse=True)[1]
    parts = symbols.split_with_sizes([len(batch.tokens) for batch in batches])
    return [_of_batch(batch, own, end) for batch, own in zip(batches, parts, strict=True)]


def _of_batch(batch: TokenBatch, symbols: Tensor, end: str) -> Sentences:
    segment, place = repeat(batch.lengths)
    words = torch.ones_like(batch.tokens, dtype=torch.bool)
    if batch.dictionary is not None:
        words = batch.tokens != pc.index(batch.dictionary.array, end).as_py()
    after = torch.ones_like(words)
    after[1:] = ~words[:-1]
    opens = words & (after | (place == 0))
    starts = nonzero(opens)
    numbers = opens.cumsum(0) - 1
    sizes = torch.zeros_like(starts).index_add_(0, numbers[words], torch.ones_like(numbers[words]))
    zeros = torch.zeros_like(batch.lengths)
    of_segment = zeros.index_add(0, segment, words.to(torch.int64))
    count = zeros.index_add(0, take(segment, starts), torch.ones_like(starts))
    first = count.cumsum(0) - count
    return Sentences(
        Sequences(symbols.to(torch.int32), starts, sizes), words, segment, count, first, of_segment
    )


def union_places(hyp: Sentences, ref: Sentences, pairs: int = _PAIRS) -> Tensor:
    """Say which tokens of the references are in the union, bool [n]."""
    union = torch.zeros_like(ref.words)
    number = hyp.number * ref.number
    pair_segment = owners(number)
    within = torch.arange(len(pair_segment), device=number.device)
    within -= take(number.cumsum(0) - number, pair_segment)
    size = take(hyp.number, pair_segment)
    own = take(hyp.first, pair_segment) + within % size.clamp_min(1)
    other = take(ref.first, pair_segment) + within // size.clamp_min(1)
    for low in range(0, len(pair_segment), pairs):
        part = slice(low, low + pairs)
        patterns = ref.sequences.of(other[part])
        found = common_places(hyp.sequences.of(own[part]), patterns)
        cells = nonzero(found)
        width = max(found.shape[1], 1)
        union[take(patterns.starts, cells // width) + cells % width] = True
    return union


def union_matches(hyp: TokenBatch, refs: References, end: str) -> tuple[Tensor, Tensor, Tensor]:
    """Return the matches [R,B], the words of the hypotheses [B] and of the references [R,B]."""
    own, *streams = unify([hyp, *refs.streams])
    one, *others = sentences([own, *streams], end)
    keys = Keys(one.segment[one.words], own.hashes[one.words])
    matched, sizes = [], []
    for stream, other in zip(streams, others, strict=True):
        union = union_places(one, other)
        held = Keys(other.segment[union], stream.hashes[union])
        matched.append(clipped(held, [keys], len(hyp)))
        sizes.append(other.sizes)
    return torch.stack(matched), one.sizes, torch.stack(sizes)
