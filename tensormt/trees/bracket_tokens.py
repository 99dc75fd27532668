"""The pieces of a bracketing: the text from one opening bracket to the next, taken apart.

    (NP            label; a child follows
    (DT the)       label and word; the node closes, and perhaps some above it
    (VP had        label and a bare word, one level below the node
    (NN dog)) .    label, word, and a bare word, one level up from the node

A bare word is one that is not its node's only child. Pieces are interned: each different one is
looked at once, so whatever its text holds costs nothing per node.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tensormt.text.dictionary import Dictionary
from tensormt.trees.bracket_text import words_of

Array = NDArray[Any]


class Pieces(NamedTuple):
    """T pieces, and the W bare words in them, piece after piece.

    label and word [T] are ids (-1: no word of its own); bare [T] counts the bare words of a piece,
    which have the ids bare_word [W] and stand bare_rise [W] levels below the piece's node.
    """

    labels: Dictionary
    words: Dictionary
    label: Array
    word: Array
    bare: Array
    bare_word: Array
    bare_rise: Array


def take_apart(texts: pa.Array) -> Pieces | None:
    """The pieces of T texts; None where a node closes before its first child.

    Those of the usual two forms are taken apart together, the others one by one.
    """
    # pieces that differ only in what they close have one inner text
    encoded = pc.ascii_trim(texts, characters="() \t\n\r\v\f").dictionary_encode()
    inner, kind = encoded.dictionary, encoded.indices.to_numpy()
    parts = pc.ascii_split_whitespace(inner)
    edges = parts.offsets.to_numpy()
    first, size = edges[:-1], np.diff(edges)
    closes, closes_within = (
        pc.match_substring(column, ")").to_numpy(zero_copy_only=False) for column in (texts, inner)
    )
    two = (size == 2) & ~closes_within
    with_word = two[kind] & closes
    own: list[tuple[int, str]] = []
    bare: list[tuple[int, str, int]] = []
    for place in np.flatnonzero(~with_word & ((size > 1)[kind] | closes)).tolist():
        _, words = words_of(texts[place].as_py())
        if not words:
            return None
        if words[0][1] is None:
            own.append((place, words.pop(0)[0]))
        bare += [(place, word, rise) for word, rise in words if rise is not None]
    label, labels = Dictionary.encode(parts.values.take(pa.array(first)))
    usual = parts.values.take(pa.array(first[two] + 1))
    others = [word for _, word in own] + [word for _, word, _ in bare]
    ids, names = Dictionary.encode(pa.concat_arrays([usual, pa.array(others, pa.string())]))
    of_inner = np.full(len(size), -1)
    of_inner[two] = ids[: len(usual)].numpy()
    of_others = ids[len(usual) :].numpy()
    word = np.where(with_word, of_inner[kind], -1)
    word[[place for place, _ in own]] = of_others[: len(own)]
    counts = np.bincount(np.array([place for place, _, _ in bare], np.int64), minlength=len(word))
    rise = np.array([rise for _, _, rise in bare], np.int32)
    return Pieces(labels, names, label.numpy()[kind], word, counts, of_others[len(own) :], rise)
