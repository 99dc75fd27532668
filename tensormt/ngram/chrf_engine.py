"""Tensor engine of chrF: shared character and word n-grams of batches.

Text is read as characters, or with chrF++ as words, whose characters are found on the dictionary
alone (any tokens will do); matches of all orders come from one sort (`kernels/ngram_overlap.py`).
Token ids are characters.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from tensormt.explanation import Explanation
from tensormt.kernels.backend import argsort, at_a_time, ranges, take
from tensormt.kernels.matches import Occurrences, items
from tensormt.kernels.ngram_overlap import Sequences, shared_ngrams
from tensormt.ngram.keys import occurrences
from tensormt.ngram.match_table import MatchTable
from tensormt.text.dictionary import Dictionary, Pieces
from tensormt.text.token_arrays import dictionaries
from tensormt.text.tokens import TokenBatch

if TYPE_CHECKING:
    from tensormt.ngram.chrf import ChrF

# symbols compared at a time: few enough for a CPU cache, enough to outweigh per-call overhead; and
# bytes of a symbol on other devices
_SYMBOLS, _BYTES = 112_000, 256
# references compared at a time: with more of them, so many symbols are those of few segments
_REFERENCES = 8


def statistics(metric: ChrF, batches: Sequence[TokenBatch]) -> Tensor:
    """Return the statistics of the first batch against the others, int64 [B,K]."""
    blocks = []
    for what, orders in (("characters", metric.max_order), ("words", metric.word_order)):
        if not orders:
            continue
        sides, kinds = _sequences(batches, what)
        lengths = torch.stack([side.lengths for side in sides])
        matched = lengths.new_empty(len(sides) - 1, lengths.shape[1], orders)
        for first in range(1, len(sides), _REFERENCES):
            some = slice(first, first + _REFERENCES)
            for rows, longest in _parts(torch.cat([lengths[:1], lengths[some]])):
                one, *others = (side.of(rows) for side in (sides[0], *sides[some]))
                matched[first - 1 :][: len(others), rows] = shared_ngrams(
                    one, others, kinds, orders, longest
                )
        blocks.append(_triples(lengths[:1].expand_as(lengths[1:]), lengths[1:], matched))
    present = torch.stack([batch.lengths > 0 for batch in batches[1:]])
    return _best(metric, torch.cat(blocks, -1), present)


def statistics_of_ids(metric: ChrF, table: MatchTable) -> Tensor:
    """Return the same statistics from a table of matches of token ids, which are characters."""
    refs = torch.stack([table.along(lengths) for lengths in table.refs.lengths])
    matched = torch.stack(
        [
            table.along_text([order.rank < order.counts[number] for order in table.orders])
            for number in range(refs.shape[0])
        ]
    )
    return _best(metric, _triples(table.lengths.expand_as(refs), refs, matched), refs > 0)


def _best(metric: ChrF, triples: Tensor, present: Tensor) -> Tensor:
    """Of counts [R,...,3N] those of the present reference with the best score, [...,1+3N]."""
    ones = triples.new_ones(*triples.shape[:-1], 1)
    rows = torch.cat([ones, triples], -1)
    if rows.shape[0] == 1:
        return rows[0]
    score = torch.where(present, metric.score(rows, segment=True), -1.0)
    best = score.argmax(0)  # the first of equal ones
    return rows.gather(0, best[None, ..., None].expand(1, *rows.shape[1:]))[0]


def explain(metric: ChrF, batches: Sequence[TokenBatch]) -> Explanation:
    """Return the n-grams of characters that were counted, then those of words."""
    own, others = batches[0], batches[1:]
    scores = [
        torch.where(
            ref.lengths > 0, metric.score(statistics(metric, [own, ref]), segment=True), -1.0
        )
        for ref in others
    ]
    best = torch.stack(scores).argmax(0)
    letters = [_as_tokens(batch, "characters") for batch in batches]
    sides = [occurrences(batch, metric.max_order) for batch in letters]
    words: list[TokenBatch] = []
    if metric.word_order:
        words = [_as_tokens(batch, "words") for batch in batches]
        longer = [occurrences(batch, metric.word_order) for batch in words]
        sides = [
            Occurrences(*map(torch.cat, zip(side, _behind(more, metric.max_order), strict=True)))
            for side, more in zip(sides, longer, strict=True)
        ]
    return Explanation(
        "character",
        letters[0],
        letters[1:],
        items(sides[0], sides[1:], best),
        columns=[[3 * order] for order in range(1, metric.max_order + metric.word_order + 1)],
        best=best,
        words=words,
        characters=metric.max_order,
    )


def _triples(hyp: Tensor, ref: Tensor, matched: Tensor) -> Tensor:
    """N-grams of sequences of lengths [...] and matches [...,N], order by order, [...,3N].

    As in sacrebleu, the hypothesis's n-grams of an order that the reference lacks do not count.
    """
    orders = torch.arange(matched.shape[-1], device=matched.device)
    own, other = ((side[..., None] - orders).clamp_min(0) for side in (hyp, ref))
    return torch.stack([torch.where(other > 0, own, 0), other, matched], -1).flatten(-2)


def _sequences(batches: Sequence[TokenBatch], what: str) -> tuple[list[Sequences], int]:
    """The characters or words of batches, numbered in common, and how many kinds there are."""
    known = dictionaries(batches)
    if not known:  # ids are characters
        tokens = torch.cat([batch.tokens for batch in batches])
        kinds, symbols = torch.unique(tokens, return_inverse=True)
        sizes = [batch.tokens.shape[0] for batch in batches]
        sides = zip(batches, torch.split(symbols + 1, sizes), strict=True)
        return [Sequences(own, batch.starts, batch.lengths) for batch, own in sides], len(kinds)
    pieces, number = _in_common([getattr(dictionary, what) for dictionary in known])
    different = {id(own): own for own in pieces}
    there = {key: own.to(batches[0].device) for key, own in different.items()}
    return [_cut(batch, there[id(own)]) for batch, own in zip(batches, pieces, strict=True)], number


def _in_common(pieces: list[Pieces]) -> tuple[list[Pieces], int]:
    """Pieces of several dictionaries with one numbering of their kinds, and how many these are."""
    different = {id(own): own for own in pieces}
    if len(different) == 1:
        return pieces, pieces[0].kinds
    merged, numbers = Dictionary.merge([Dictionary(own.names) for own in different.values()])
    common = {
        key: own.renamed(new, merged.strings)
        for (key, own), new in zip(different.items(), numbers, strict=True)
    }
    return [common[id(own)] for own in pieces], len(merged)


def _cut(batch: TokenBatch, pieces: Pieces) -> Sequences:
    """The pieces of each segment's tokens, end to end."""
    if pieces.single:
        return Sequences(take(pieces.ids, batch.tokens), batch.starts, batch.lengths)
    sizes = take(pieces.lengths, batch.tokens)
    upto = torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])
    place = ranges(take(pieces.starts, batch.tokens), sizes)
    starts = take(upto, batch.starts)
    return Sequences(
        take(pieces.ids, place), starts, take(upto, batch.starts + batch.lengths) - starts
    )


def _as_tokens(batch: TokenBatch, what: str) -> TokenBatch:
    """The characters or words of a batch as its tokens."""
    if batch.dictionary is None:
        return batch
    pieces: Pieces = getattr(batch.dictionary, what)
    cut = _cut(batch, pieces.to(batch.device))
    names = Dictionary(pieces.names)
    return TokenBatch(cut.symbols.to(torch.int64) - 1, cut.lengths, names, "none", batch.lowercase)


def _behind(words: Occurrences, orders: int) -> Occurrences:
    """N-grams of words, whose orders are numbered behind those of characters."""
    return words._replace(order=words.order + orders)


def _parts(lengths: Tensor) -> Iterator[tuple[slice | Tensor, int]]:
    """Segments of similar length, and the largest, given the lengths [S,B] of all sides.

    The table of a part, which is padded to its longest side, has a bounded number of cells.
    """
    if not lengths.shape[1]:
        return
    most = at_a_time(lengths, _SYMBOLS, _BYTES)
    size = int(lengths.max())
    if lengths.numel() * size <= most:
        yield slice(0, lengths.shape[1]), size
        return
    longest = lengths.amax(0)
    order = argsort(longest)
    sizes = longest[order].tolist()
    low = 0
    while low < len(sizes):
        cells = partial(_cells, low, lengths.shape[0], sizes)
        high = low + max(bisect_right(range(low + 1, len(sizes) + 1), most, key=cells), 1)
        yield order[low:high], sizes[high - 1]
        low = high


def _cells(low: int, sides: int, sizes: list[int], high: int) -> int:
    """Cells of the segments low…high-1, whose sizes rise."""
    return (high - low) * sides * sizes[high - 1]
