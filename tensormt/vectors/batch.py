"""VectorBatch: texts as contextual vectors of their pieces, and the words and pairs made of them.

An encoder gives a vector for every piece of a text (`TextVectors`). What is compared are units:

    pieces    every piece; the special symbols around a text can be matched, but have no weight
    words     the mean of the vectors of the pieces of each word, without special symbols

Unit vectors have length 1, so that a product is a cosine. A batch is a choice of texts by number:
streams of outputs and references share the vectors of all different texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from tensormt.kernels.backend import mix, owners
from tensormt.validation import resolve_index

__all__ = ["TextVectors", "Units", "VectorBatch"]

UNITS = ("pieces", "words")


class Units(NamedTuple):
    """The n units of U texts, one after the other.

    vectors float32 [n,D], of length 1; starts, lengths int64 [U]: of each text; key int64 [n]:
    equal for equal units; real bool [n]: False for special symbols; span int64 [n,2]: first
    character of the text, and the one behind the last.
    """

    vectors: Tensor
    starts: Tensor
    lengths: Tensor
    key: Tensor
    real: Tensor
    span: Tensor


class TextVectors:
    """The contextual vectors of U different texts.

    Args:
        texts: The texts.
        vectors: Vectors of all pieces, one text after the other, float32 [n,D].
        lengths: Number of pieces of each text, int64 [U]; 0 for a blank text.
        ids: Number of each piece in the vocabulary, int64 [n].
        words: Number of the word of each piece within its text, int64 [n]; -1: a special symbol.
        spans: First and last character of each piece (the latter excluded), int64 [n,2].
    """

    def __init__(
        self,
        texts: Sequence[str],
        vectors: Tensor,
        lengths: Tensor,
        ids: Tensor,
        words: Tensor,
        spans: Tensor,
    ) -> None:
        self.texts, self.vectors, self.lengths = texts, vectors, lengths
        self.ids, self.words, self.spans = ids, words, spans
        self._units: dict[str, Units] = {}

    def units(self, kind: str) -> Units:
        """Return the units of a kind, pieces or words; they are made once."""
        if kind not in self._units:
            self._units[kind] = self._pieces() if kind == "pieces" else self._words()
        return self._units[kind]

    def _pieces(self) -> Units:
        starts = self.lengths.cumsum(0) - self.lengths
        vectors = torch.nn.functional.normalize(self.vectors, dim=-1)
        return Units(vectors, starts, self.lengths, self.ids, self.words >= 0, self.spans)

    def _words(self) -> Units:
        real = self.words >= 0
        text, word = owners(self.lengths)[real], self.words[real]
        ids, spans, vectors = self.ids[real], self.spans[real], self.vectors[real]
        new = torch.ones_like(word, dtype=torch.bool)
        new[1:] = (word[1:] != word[:-1]) | (text[1:] != text[:-1])
        first = new.nonzero()[:, 0]
        number = new.cumsum(0) - 1
        size = torch.bincount(number, minlength=len(first))
        last = first + size - 1
        total = vectors.new_zeros(len(first), vectors.shape[1]).index_add_(0, number, vectors)
        # the mean has the direction of the sum
        unit = torch.nn.functional.normalize(total, dim=-1)
        within = torch.arange(len(word), device=word.device) - first[number]
        key = torch.zeros_like(first).index_add_(0, number, mix(ids + (within << 32)))
        span = torch.stack([spans[first, 0], spans[last, 1]], 1)
        lengths = torch.bincount(text[first], minlength=len(self.lengths))
        starts = lengths.cumsum(0) - lengths
        return Units(unit, starts, lengths, key, torch.ones_like(first, dtype=torch.bool), span)


class VectorBatch:
    """B segments as contextual vectors: texts of a `TextVectors`, by number.

    Args:
        source: The vectors.
        rows: Number of the text of each segment, int64 [B].
    """

    def __init__(self, source: TextVectors, rows: Tensor) -> None:
        self.source, self.rows = source, rows

    def __len__(self) -> int:
        return self.rows.shape[0]

    def __getitem__(self, index: Any) -> VectorBatch:
        places = resolve_index(index, len(self), "a batch")
        chosen = places if isinstance(places, slice) else places.to(self.device)
        return VectorBatch(self.source, self.rows[chosen])

    @property
    def device(self) -> torch.device:
        """Where the vectors are."""
        return self.source.vectors.device

    @property
    def lengths(self) -> Tensor:
        """Number of pieces of each segment, int64 [B]; 0 where there is no text."""
        return self.source.lengths[self.rows]

    def strings(self, kind: str) -> list[list[str]]:
        """Return the text of the units of each segment; of special symbols ""."""
        units, texts = self.source.units(kind), self.source.texts
        starts, lengths = units.starts.tolist(), units.lengths.tolist()
        spans, found = units.span.tolist(), []
        for row in self.rows.tolist():
            own = spans[starts[row] : starts[row] + lengths[row]]
            found.append([texts[row][low:high] for low, high in own])
        return found

    def __repr__(self) -> str:
        size = self.source.vectors.shape[1]
        return f"VectorBatch({len(self)} segments, vectors of {size}, device={self.device})"
