"""chrF and chrF++ (Popović 2015, 2017), with the numbers of sacrebleu.

    chrF = 100 · (1 + β²) P R / (β² P + R)        P, R: means over orders of matched / n-grams

Orders are character n-grams 1…6 and word n-grams 1…word_order (2 in chrF++); one in which
hypothesis or reference has no n-gram is left out. White space is taken out unless `whitespace`;
words are cut at white space, punctuation off their end or start. With `eps_smoothing` the F of each
order is averaged instead, 10⁻¹⁶ where there is nothing (as chrF++.py, Moses and nltk do). Of
several references the one with the best segment score gives the segment its counts; sums of
segments are scored likewise.

Text is read as words (the characters of a segment are those of its words, found on the dictionary
alone); matches of all orders come from one sort (kernels/prefixes.py). Token ids are characters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.explanation import Explanation
from tensormt.kernels.arrays import argsort, repeat, take
from tensormt.kernels.matches import Occurrences, items
from tensormt.kernels.prefixes import Sequences, shared_ngrams
from tensormt.ngram.base import NgramMetric, occurrences
from tensormt.ngram.comparison import Comparison
from tensormt.ngram.frequencies import Frequencies
from tensormt.reading import Tokens
from tensormt.text.dictionary import Dictionary, Pieces
from tensormt.text.tokens import TokenBatch, unify
from tensormt.typed import Number, Whole, YesNo

__all__ = ["ChrF"]

_EPS = 1e-16
_SYMBOLS = 24_000  # compared at a time: their arrays stay in a CPU's cache


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
        Whole("char_order", 6, "", 1, 100).check(char_order)
        self.word_order: int = Whole("word_order", 0, "", 0, 100).check(word_order)
        self.beta: float = Number("beta", 2, "", 0, 1000, True).check(beta)
        self.whitespace: bool = YesNo("whitespace", False, "").check(whitespace)
        self.eps_smoothing: bool = YesNo("eps_smoothing", False, "").check(eps_smoothing)
        super().__init__(char_order, "spaced" if whitespace else "none", lowercase)

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
    def reads(self) -> Tokens:
        """Words as they stand between white space, or with it."""
        return Tokens(self.tokenize, self.lowercase)

    @property
    def width(self) -> int:
        """One, and three for each order."""
        return 1 + 3 * (self.max_order + self.word_order)

    def statistics(self, hyp: TokenBatch, refs: Sequence[TokenBatch]) -> Tensor:
        """Int64 [B,K]."""
        hyp, ready = self.read(hyp, refs)
        hyp, *streams = unify([hyp, *ready.streams])
        best: tuple[Tensor, Tensor] | None = None
        for stream in streams:
            best = self._better(best, self._against(hyp, stream), stream.lengths > 0)
        assert best is not None
        return best[1]

    def _against(self, hyp: TokenBatch, ref: TokenBatch) -> Tensor:
        """Statistics with one reference a segment, in parts."""
        rows = torch.empty(len(hyp), self.width, dtype=self.dtype, device=hyp.device)
        for some in _parts(hyp, ref):
            rows[some] = self._rows(hyp[some], ref[some])
        return rows

    def _rows(self, hyp: TokenBatch, ref: TokenBatch) -> Tensor:
        """Statistics of segments with one reference each."""
        sides = [
            (self.max_order, [_sequences(batch, "characters") for batch in (hyp, ref)]),
            (self.word_order, [_sequences(batch, "words") for batch in (hyp, ref)])
            if self.word_order
            else (0, []),
        ]
        blocks = []
        for orders, pair in sides:
            if orders:
                (one, kinds), (two, others) = pair
                matched = shared_ngrams(one, two, max(kinds, others), orders)
                blocks.append(_triples(one.lengths, two.lengths, matched))
        ones = torch.ones(len(hyp), 1, dtype=torch.int64, device=hyp.device)
        return torch.cat([ones, *blocks], 1)

    def _better(
        self, best: tuple[Tensor, Tensor] | None, rows: Tensor, present: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The best score of each segment so far, and the statistics that gave it."""
        score = torch.where(present, self.score(rows, segment=True), -1.0)
        if best is None:
            return score, rows
        chosen = score > best[0]
        return torch.where(chosen, score, best[0]), torch.where(chosen[..., None], rows, best[1])

    def explain(self, hyp: TokenBatch, refs: Sequence[TokenBatch]) -> Explanation:
        """The n-grams of characters that were counted, then those of words."""
        hyp, ready = self.read(hyp, refs)
        batches = unify([hyp, *ready.streams])
        own, others = batches[0], batches[1:]
        scores = [
            torch.where(ref.lengths > 0, self.score(self._against(own, ref), segment=True), -1.0)
            for ref in others
        ]
        best = torch.stack(scores).argmax(0)
        letters = [_cut(batch, "characters") for batch in batches]
        sides = [occurrences(batch, self.max_order) for batch in letters]
        words: list[TokenBatch] = []
        if self.word_order:
            words = [_cut(batch, "words") for batch in batches]
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
        best: tuple[Tensor, Tensor] | None = None
        for number, lengths in enumerate(part.refs.lengths):
            refs = part.along(lengths)
            matched = part.along_text([order.rank < order.counts[number] for order in part.orders])
            triples = _triples(part.lengths, refs, matched)
            rows = torch.cat([torch.ones_like(part.lengths)[..., None], triples], -1)
            best = self._better(best, rows, refs > 0)
        assert best is not None
        return best[1]

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


def _sequences(batch: TokenBatch, what: str) -> tuple[Sequences, int]:
    """The characters or words of a batch, and how many kinds of them there are at most."""
    if batch.dictionary is None:
        return Sequences(batch.tokens.to(torch.int64) + 1, batch.lengths), _largest(batch) + 1
    pieces: Pieces = getattr(batch.dictionary, what)
    tokens = batch.tokens.to(torch.int64)
    sizes = take(pieces.lengths.to(batch.device), tokens)
    starts = take(pieces.starts.to(batch.device), tokens)
    owner, place = repeat(sizes)
    symbols = take(pieces.ids.to(batch.device), take(starts, owner) + place)
    segment, _ = repeat(batch.lengths)
    lengths = torch.zeros_like(batch.lengths).index_add_(0, segment, sizes)
    return Sequences(symbols, lengths), pieces.kinds


def _cut(batch: TokenBatch, what: str) -> TokenBatch:
    """The characters or words of a batch as its tokens."""
    symbols, _ = _sequences(batch, what)
    if batch.dictionary is None:
        return batch
    names = Dictionary(getattr(batch.dictionary, what).names)
    return TokenBatch(symbols.symbols - 1, symbols.lengths, names, "none", batch.lowercase)


def _behind(words: Occurrences, orders: int) -> Occurrences:
    """N-grams of words, whose orders are numbered behind those of characters."""
    return words._replace(order=words.order + orders)


def _largest(batch: TokenBatch) -> int:
    return int(batch.tokens.max()) if batch.tokens.shape[0] else 0


def _parts(hyp: TokenBatch, ref: TokenBatch) -> Iterator[Tensor]:
    """Numbers of segments of similar length, in parts of a bounded number of symbols."""
    lengths = hyp.lengths + ref.lengths
    order = argsort(lengths)
    per_token = 6 if hyp.dictionary is not None else 1  # characters of a word, about
    sizes = (lengths[order] * per_token).cumsum(0).tolist()
    start, done = 0, 0
    for place, size in enumerate(sizes, 1):
        if size - done >= _SYMBOLS or place == len(sizes):
            yield order[start:place]
            start, done = place, size
