"""chrF and chrF++ (Popović 2015, 2017), with the numbers of sacrebleu.

    chrF = 100 · (1 + β²) P R / (β² P + R)        P, R: means over orders of matched / n-grams

Orders are character n-grams 1…6 and word n-grams 1…word_order (2 in chrF++); one in which
hypothesis or reference has no n-gram is left out. White space is taken out unless `whitespace`;
words are cut at white space, punctuation off their end or start. With `eps_smoothing` the F of each
order is averaged instead, 10⁻¹⁶ where there is nothing (as chrF++.py, Moses and nltk do). Of
several references the one with the best segment score gives the segment its counts; sums of
segments are scored likewise.

Text is read as characters, or with chrF++ as words, whose characters are found on the dictionary
alone (any tokens will do); matches of all orders come from one sort (kernels/ngram_overlap.py).
Token ids are characters.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import partial
from typing import ClassVar

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.explanation import Explanation
from tensormt.kernels.backend import argsort, ranges, take
from tensormt.kernels.matches import Occurrences, items
from tensormt.kernels.ngram_overlap import Sequences, shared_ngrams
from tensormt.ngram.base import NgramMetric, occurrences
from tensormt.ngram.frequencies import Frequencies
from tensormt.ngram.match_table import Comparison
from tensormt.ngram.references import References
from tensormt.options import Boolean, Integer, Number
from tensormt.text.dictionary import Dictionary, Pieces
from tensormt.text.tokenizer import CHARACTERS, WITH_SPACE
from tensormt.text.tokens import TokenBatch, dictionaries

__all__ = ["ChrF"]

_EPS = 1e-16
_SYMBOLS = 112_000  # compared at a time: few enough for a CPU cache, enough to outweigh the calls


class ChrF(NgramMetric):
    """chrF; statistics [B, 1+3N] int64: segments, then n-grams of hypothesis and reference and
    matches of each order, characters before words."""

    name: ClassVar[str] = "chrF"
    digits: ClassVar[int] = 2
    scale: ClassVar[float | None] = 100.0
    dtype: ClassVar[torch.dtype] = torch.int64
    counts_tokens: ClassVar[bool] = False

    def __init__(
        self,
        char_order: int = 6,
        word_order: int = 0,
        beta: float = 2,
        lowercase: bool = False,
        whitespace: bool = False,
        eps_smoothing: bool = False,
    ) -> None:
        Integer("char_order", 6, "", 1, 100).check(char_order)
        self.word_order: int = Integer("word_order", 0, "", 0, 100).check(word_order)
        self.beta: float = Number("beta", 2, "", 0, 1000, True).check(beta)
        self.whitespace: bool = Boolean("whitespace", False, "").check(whitespace)
        self.eps_smoothing: bool = Boolean("eps_smoothing", False, "").check(eps_smoothing)
        # characters alone need no words
        without, with_space = ("none", "spaced") if word_order else CHARACTERS
        super().__init__(char_order, with_space if whitespace else without, lowercase)

    def options(self) -> dict[str, object]:
        """Orders, β, white space, case and smoothing."""
        return {
            "chars": self.max_order,
            "words": self.word_order,
            "beta": f"{self.beta:g}",
            "space": self.whitespace,
            "case": "lc" if (self._seen or self.reads).lowercase else "mixed",
            "eps": self.eps_smoothing,
        }

    @property
    def width(self) -> int:
        """One, and three for each order."""
        return 1 + 3 * (self.max_order + self.word_order)

    def statistics(self, hyp: TokenBatch, refs: Sequence[TokenBatch]) -> Tensor:
        """Int64 [B,K]."""
        hyp, ready = self.read(hyp, refs)
        return self._rows([hyp, *ready.streams])

    def read(self, hyp: TokenBatch, refs: Sequence[TokenBatch]) -> tuple[TokenBatch, References]:
        """Hypothesis and references in the case that the metric wants, cut as it needs them."""
        for batch in (hyp, *refs):
            if self.word_order and (batch.dictionary is None or batch.tokenize in CHARACTERS):
                raise TensorMTError(
                    f"chrF++ counts words, and the batch holds single "
                    f"{'ids' if batch.dictionary is None else 'characters'}: "
                    f"use TokenBatch.from_text(lines, {self.tokenize!r}), or word_order=0"
                )
            spaced = batch.tokenize in WITH_SPACE
            if batch.dictionary is not None and spaced != self.whitespace:
                raise TensorMTError(
                    f"the batch was read {'with' if spaced else 'without'} white space, the metric "
                    f"has whitespace={self.whitespace}: "
                    f"use TokenBatch.from_text(lines, {self.tokenize!r})"
                )
        return super().read(hyp, refs)

    def _rows(self, batches: Sequence[TokenBatch]) -> Tensor:
        """Statistics of the first batch against the others."""
        blocks = []
        for what, orders in (("characters", self.max_order), ("words", self.word_order)):
            if not orders:
                continue
            sides, kinds = _sequences(batches, what)
            lengths = torch.stack([side.lengths for side in sides])
            matched = lengths.new_empty(len(sides) - 1, lengths.shape[1], orders)
            for rows in _parts(lengths):
                one, *others = (side.of(rows) for side in sides)
                matched[:, rows] = shared_ngrams(one, others, kinds, orders)
            blocks.append(_triples(lengths[:1].expand_as(lengths[1:]), lengths[1:], matched))
        present = torch.stack([batch.lengths > 0 for batch in batches[1:]])
        return self._best(torch.cat(blocks, -1), present)

    def _best(self, triples: Tensor, present: Tensor) -> Tensor:
        """Of the counts [R,...,3N] those of the present reference that scores best, [...,1+3N]."""
        ones = triples.new_ones(*triples.shape[:-1], 1)
        rows = torch.cat([ones, triples], -1)
        if rows.shape[0] == 1:
            return rows[0]
        score = torch.where(present, self.score(rows, segment=True), -1.0)
        best = score.argmax(0)  # the first of equal ones
        return rows.gather(0, best[None, ..., None].expand(1, *rows.shape[1:]))[0]

    def explain(self, hyp: TokenBatch, refs: Sequence[TokenBatch]) -> Explanation:
        """The n-grams of characters that were counted, then those of words."""
        hyp, ready = self.read(hyp, refs)
        batches = [hyp, *ready.streams]
        own, others = batches[0], batches[1:]
        scores = [
            torch.where(ref.lengths > 0, self.score(self._rows([own, ref]), segment=True), -1.0)
            for ref in others
        ]
        best = torch.stack(scores).argmax(0)
        letters = [_as_tokens(batch, "characters") for batch in batches]
        sides = [occurrences(batch, self.max_order) for batch in letters]
        words: list[TokenBatch] = []
        if self.word_order:
            words = [_as_tokens(batch, "words") for batch in batches]
            longer = [occurrences(batch, self.word_order) for batch in words]
            sides = [
                Occurrences(*map(torch.cat, zip(side, _behind(more, self.max_order), strict=True)))
                for side, more in zip(sides, longer, strict=True)
            ]
        return Explanation(
            "character",
            letters[0],
            letters[1:],
            items(sides[0], sides[1:], best),
            columns=[[3 * order] for order in range(1, self.max_order + self.word_order + 1)],
            best=best,
            words=words,
            characters=self.max_order,
        )

    def count(self, part: Comparison, table: Frequencies | None) -> Tensor:
        """The same statistics from a comparison of token ids, which are characters."""
        if self.word_order:
            raise TensorMTError("chrF++ counts words, token ids have none: use word_order=0 here")
        refs = torch.stack([part.along(lengths) for lengths in part.refs.lengths])
        numbers = range(refs.shape[0])
        matched = torch.stack(
            [
                part.along_text([o.rank < o.counts[number] for o in part.orders])
                for number in numbers
            ]
        )
        return self._best(_triples(part.lengths.expand_as(refs), refs, matched), refs > 0)

    def score(self, statistics: Tensor, *, segment: bool | None = None) -> Tensor:
        """Float64 [...]."""
        hyp, ref, matched = (statistics[..., k::3].double() for k in (1, 2, 3))
        factor = float(self.beta) ** 2
        real = (hyp > 0) & (ref > 0)
        precision = torch.where(hyp > 0, matched / hyp.clamp_min(1), _EPS)
        recall = torch.where(ref > 0, matched / ref.clamp_min(1), _EPS)
        if self.eps_smoothing:
            return 100 * _f(precision, recall, factor, _EPS).mean(-1)
        number = real.sum(-1).clamp_min(1)
        means = [torch.where(real, side, 0.0).sum(-1) / number for side in (precision, recall)]
        return 100 * _f(means[0], means[1], factor, 0.0)


def _f(precision: Tensor, recall: Tensor, factor: float, nothing: float) -> Tensor:
    """The F of precision and recall; `nothing` where both are 0."""
    whole = factor * precision + recall
    share = (1 + factor) * precision * recall / torch.where(whole > 0, whole, 1.0)
    return torch.where(whole > 0, share, nothing)


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
    return [_cut(batch, own) for batch, own in zip(batches, pieces, strict=True)], number


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
    ids = pieces.ids.to(batch.device)
    if pieces.single:
        return Sequences(take(ids, batch.tokens), batch.starts, batch.lengths)
    sizes = take(pieces.lengths.to(batch.device), batch.tokens)
    upto = torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])
    place = ranges(take(pieces.starts.to(batch.device), batch.tokens), sizes)
    starts = take(upto, batch.starts)
    return Sequences(take(ids, place), starts, take(upto, batch.starts + batch.lengths) - starts)


def _as_tokens(batch: TokenBatch, what: str) -> TokenBatch:
    """The characters or words of a batch as its tokens."""
    if batch.dictionary is None:
        return batch
    pieces: Pieces = getattr(batch.dictionary, what)
    cut = _cut(batch, pieces)
    names = Dictionary(pieces.names)
    return TokenBatch(cut.symbols.to(torch.int64) - 1, cut.lengths, names, "none", batch.lowercase)


def _behind(words: Occurrences, orders: int) -> Occurrences:
    """N-grams of words, whose orders are numbered behind those of characters."""
    return words._replace(order=words.order + orders)


def _parts(lengths: Tensor) -> Iterator[Tensor]:
    """Numbers of segments of similar length, given the lengths [S,B] of all sides.

    The table of a part, which is padded to its longest side, has a bounded number of cells.
    """
    longest = lengths.amax(0)
    order = argsort(longest)
    sizes = longest[order].tolist()
    low = 0
    while low < len(sizes):
        cells = partial(_cells, low, lengths.shape[0], sizes)
        high = low + max(bisect_right(range(low + 1, len(sizes) + 1), _SYMBOLS, key=cells), 1)
        yield order[low:high]
        low = high


def _cells(low: int, sides: int, sizes: list[int], high: int) -> int:
    """Cells of the segments low…high-1, whose sizes rise."""
    return (high - low) * sides * sizes[high - 1]
