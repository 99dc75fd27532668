"""What is compared of texts that have contextual vectors:

    pieces    every piece; the special symbols around a text can be matched, but have no weight
    words     the sum of the vectors of the pieces of each word, without special symbols
    pairs     every word of a dependency tree with its head; a root is its own head. A pair has the
              key of its word, so that idf weighs words

Vectors stay as the encoder gives them; with `scale`, one over the length of each, the product of
two is a cosine.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.kernels.backend import mix, nonzero, owners, ranges, repeat, search, take
from tensormt.vectors.word_spans import word_spans

if TYPE_CHECKING:
    from tensormt.vectors.batch import TextVectors

__all__ = ["KINDS", "Units", "units_of"]

KINDS = ("pieces", "words", "pairs")
_FAR = 1 << 32  # more characters than a text has


class Units(NamedTuple):
    """The n units of U texts, one after the other.

    vectors float32 [n,D]; scale float32 [n]: one over their lengths; starts, lengths int64 [U]: of
    each text; key int64 [n]: equal for equal units; real bool [n]: False for special symbols, and
    for words without a vector; span int64 [n,2]: first character of the text, and the one behind
    the last; head int64 [n]: of pairs, the place of the head within the text, else None.
    """

    vectors: Tensor
    scale: Tensor
    starts: Tensor
    lengths: Tensor
    key: Tensor
    real: Tensor
    span: Tensor
    head: Tensor | None = None


def units_of(source: TextVectors, kind: str) -> Units:
    """Return the units of a kind of all texts."""
    return {"pieces": _pieces, "words": _words, "pairs": _pairs}[kind](source)


def _scaled(vectors: Tensor) -> tuple[Tensor, Tensor]:
    """Vectors [n,D] and one over their lengths [n]; cosines of a vector of zeros are 0."""
    return vectors, torch.linalg.vector_norm(vectors, dim=1).clamp_min_(1e-12).reciprocal_()


def _pieces(source: TextVectors) -> Units:
    starts = source.lengths.cumsum(0) - source.lengths
    real = source.words >= 0
    return Units(*_scaled(source.vectors), starts, source.lengths, source.ids, real, source.spans)


def _words(source: TextVectors) -> Units:
    piece = nonzero(source.words >= 0)
    text, word = take(owners(source.lengths), piece), take(source.words, piece)
    ids, spans = take(source.ids, piece), take(source.spans, piece)
    new = torch.ones_like(word, dtype=torch.bool)
    new[1:] = (word[1:] != word[:-1]) | (text[1:] != text[:-1])
    first, others = nonzero(new), nonzero(~new)
    number = new.cumsum(0) - 1
    size = torch.bincount(number, minlength=len(first))
    last = first + size - 1
    total = take(source.vectors, piece[first])
    total.index_add_(0, number[others], take(source.vectors, piece[others]))
    span = torch.stack([spans[first, 0], spans[last, 1]], 1)
    lengths = torch.bincount(text[first], minlength=len(source.lengths))
    starts = lengths.cumsum(0) - lengths
    every = torch.ones_like(first, dtype=torch.bool)
    # the sum has the direction of the mean
    return Units(*_scaled(total), starts, lengths, _keys(ids, size), every, span)


def _keys(ids: Tensor, sizes: Tensor) -> Tensor:
    """Keys of words, int64 [w], of the ids of their pieces in order and how many each word has."""
    number, within = repeat(sizes)
    return torch.zeros_like(sizes).index_add_(0, number, mix(ids + (within << 32)))


def _pairs(source: TextVectors) -> Units:
    """One unit for each word of the trees, with the vectors of all pieces that it touches."""
    if source.trees is None:
        raise TensorMTError(
            "pairs of words and heads need trees: score text with tm.score, or make batches with "
            "metric.reads.encode(lines, trees=parser.parse(lines))"
        )
    trees = source.trees.dependencies()
    nodes, starts, device = trees.nodes, trees.nodes.offsets[:-1], source.vectors.device
    span = _tree_spans(source, device)
    text = owners(nodes.lengths, len(nodes))
    # characters of all texts one after the other, so that one search finds the pieces of all words
    own = span + text[:, None] * _FAR
    real = source.words >= 0
    edges = source.spans[real] + owners(source.lengths)[real][:, None] * _FAR
    first = search(edges[:, 1].contiguous(), own[:, 0].contiguous(), right=True)
    size = (search(edges[:, 0].contiguous(), own[:, 1].contiguous()) - first).clamp_min(0)
    pieces = ranges(first, size)
    total = source.vectors.new_zeros(len(nodes), source.vectors.shape[1])
    total.index_add_(0, owners(size), take(source.vectors, nonzero(real)[pieces]))
    above = torch.where(nodes.parent < 0, torch.arange(len(nodes), device=device), nodes.parent)
    key, head = _keys(source.ids[real][pieces], size), above - starts[text]
    return Units(*_scaled(total), starts, nodes.lengths, key, size > 0, span, head)


def _tree_spans(source: TextVectors, device: torch.device) -> Tensor:
    """Where the words of the trees stand in their texts, int64 [n,2]."""
    assert source.trees is not None
    trees = source.trees.dependencies()
    names = trees.words.strings
    words = [names[number] for number in trees.nodes.word.tolist()]
    bounds = pairwise(trees.nodes.offsets.tolist())
    spans = [
        span
        for text, (low, high) in zip(source.texts, bounds, strict=True)
        for span in word_spans(text, words[low:high])
    ]
    return torch.tensor(spans, dtype=torch.int64, device=device).view(-1, 2)
