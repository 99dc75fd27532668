"""VectorBatch: texts as contextual vectors of their pieces.

An encoder gives a vector for every piece of a text (`TextVectors`), of which the units that metrics
compare are made (`tensormt.vectors.units`). A batch is a choice of texts by number: streams of
outputs and references share the vectors of all different texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.trees.batch import TreeBatch
from tensormt.validation import resolve_index
from tensormt.vectors.units import Units, units_of

__all__ = ["TextVectors", "VectorBatch"]


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
        self.trees: TreeBatch | None = None
        self._units: dict[str, Units] = {}

    def with_vectors(self, vectors: Tensor) -> TextVectors:
        """Return the same texts with other vectors of their pieces, float32 [n,D]."""
        return TextVectors(self.texts, vectors, self.lengths, self.ids, self.words, self.spans)

    def with_trees(self, trees: TreeBatch) -> TextVectors:
        """Return the same vectors with the trees of the texts, of which pairs are made.

        Args:
            trees: A tree for each of the U texts, of constituents or dependencies.

        Raises:
            TensorMTError: If there are more or fewer trees than texts.
        """
        if len(trees) != len(self.texts):
            raise TensorMTError(
                f"{len(trees)} trees for {len(self.texts)} texts: give one tree for each text"
            )
        new = copy(self)
        new.trees, new._units = trees, dict(self._units)
        return new

    def units(self, kind: str) -> Units:
        """Return the units of a kind, pieces, words or pairs; they are made once."""
        if kind not in self._units:
            self._units[kind] = units_of(self, kind)
        return self._units[kind]


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

    def with_trees(self, trees: TreeBatch) -> VectorBatch:
        """Return the same segments with the trees of all texts of `source`."""
        return VectorBatch(self.source.with_trees(trees), self.rows)

    def strings(self, kind: str) -> list[list[str]]:
        """Return the text of the units of each segment; of special symbols "".

        A pair is written with its head behind an arrow, "dog ← ran".
        """
        units, texts = self.source.units(kind), self.source.texts
        starts, lengths = units.starts.tolist(), units.lengths.tolist()
        spans, found = units.span.tolist(), []
        heads = None if units.head is None else units.head.tolist()
        for row in self.rows.tolist():
            own = slice(starts[row], starts[row] + lengths[row])
            words = [texts[row][low:high] for low, high in spans[own]]
            if heads is not None:
                words = [
                    word if head == place else f"{word} ← {words[head]}"
                    for place, (word, head) in enumerate(zip(words, heads[own], strict=True))
                ]
            found.append(words)
        return found

    def __repr__(self) -> str:
        size = self.source.vectors.shape[1]
        return f"VectorBatch({len(self)} segments, vectors of {size}, device={self.device})"
