"""The tensors of token batches: made from text or ids, selected, put in lower case, joined.

`tensormt.text.tokens.TokenBatch` holds them and is imported without torch; this module imports
torch and Arrow, when a batch is first asked for its tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.kernels.backend import move, nonzero, ranges, repeat, take
from tensormt.text.dictionary import Dictionary, code_points, number_characters
from tensormt.text.plain_tokens import CHARACTERS, Row
from tensormt.text.tokenizer import characters
from tensormt.text.tokenizer import tokenize as cut

if TYPE_CHECKING:
    from tensormt.text.tokens import TokenBatch


class TokenArrays(NamedTuple):
    """The tensors of a batch.

    Attributes:
        tokens: Ids of the tokens of all segments, one after the other, int32 or int64 [n].
        lengths: Number of tokens of each segment, int64 [B].
        dictionary: What the ids stand for; None: the ids are the tokens.
    """

    tokens: Tensor
    lengths: Tensor
    dictionary: Dictionary | None

    @property
    def starts(self) -> Tensor:
        """Where each segment starts in `tokens`, int64 [B]."""
        return self.lengths.cumsum(0) - self.lengths

    def select(self, places: slice | Tensor, starts: Tensor) -> TokenArrays:
        """Return some of the segments, given where segments start."""
        if isinstance(places, slice):
            lengths = self.lengths[places]
            begin = int(starts[places.start]) if lengths.shape[0] else 0
            tokens = self.tokens[begin : begin + int(lengths.sum())]
        else:
            chosen = places.to(self.tokens.device)
            lengths = self.lengths[chosen]
            tokens = take(self.tokens, ranges(starts[chosen], lengths))
        return TokenArrays(tokens, lengths, self.dictionary)

    def lower(self) -> TokenArrays:
        """Return the same segments with every type in lower case."""
        assert self.dictionary is not None
        new, lowered = self.dictionary.lowered_on(self.tokens.device)
        return TokenArrays(new.index_select(0, self.tokens), self.lengths, lowered)

    def renamed(self, numbers: Tensor, dictionary: Dictionary) -> TokenArrays:
        """Return the same tokens with ids of another dictionary; numbers[k]: what id k becomes."""
        new = numbers.to(torch.int32).to(self.tokens.device)
        return TokenArrays(new.index_select(0, self.tokens), self.lengths, dictionary)

    def to(self, device: str | torch.device) -> TokenArrays:
        """Return the same tensors on a device; the dictionary stays where it is."""
        return TokenArrays(self.tokens.to(device), self.lengths.to(device), self.dictionary)

    def padded(self) -> Tensor:
        """Return the padded ids, int64 [B,T]; padding is -1."""
        segment, place = repeat(self.lengths)
        shape = len(self.lengths), self._width
        ids = torch.full(shape, -1, dtype=torch.int64, device=self.tokens.device)
        ids[segment, place] = self.tokens.to(torch.int64)
        return ids

    @property
    def _width(self) -> int:
        return int(self.lengths.max()) if len(self.lengths) else 0

    @property
    def real(self) -> Tensor:
        """Which of the padded ids are real, bool [B,T]."""
        return torch.arange(self._width, device=self.tokens.device) < self.lengths[:, None]


def from_text(
    texts: list[list[str | bytes | None]], tokenize: str, lowercase: bool
) -> list[TokenArrays]:
    """Tokenise several streams of lines into arrays that share one dictionary."""
    if tokenize in CHARACTERS:
        codes = [characters(lines, tokenize, lowercase) for lines in texts]
        ids, names = number_characters(
            np.concatenate([np.zeros(0, np.uint8), *(c for c, _ in codes)])
        )
        sizes = [len(own) for own, _ in codes]
        return _split(torch.from_numpy(ids), sizes, [own for _, own in codes], Dictionary(names))
    parts = [cut(lines, tokenize, lowercase) for lines in texts]
    chunks = [chunk for strings, _ in parts for chunk in strings.chunks]
    tokens, dictionary = Dictionary.encode(pa.chunked_array(chunks, pa.string()), np.int32)
    sizes = [len(strings) for strings, _ in parts]
    return _split(tokens, sizes, [own for _, own in parts], dictionary)


def from_rows(streams: Sequence[Sequence[Row]], tokenize: str) -> list[TokenArrays]:
    """Make the tensors of plain tokens, a list of rows for each stream, with one dictionary."""
    rows = [row for stream in streams for row in stream]
    if tokenize in CHARACTERS and all(isinstance(row, str) for row in rows):
        ids, names = number_characters(code_points("".join(map(str, rows)).encode()))
        tokens, dictionary = torch.from_numpy(ids.copy()), Dictionary(names)
    else:
        flat = [token for row in rows for token in row]
        tokens, dictionary = Dictionary.encode(flat, np.int32)
    lengths = [np.array([len(row) for row in stream], np.int64) for stream in streams]
    return _split(tokens, [int(own.sum()) for own in lengths], lengths, dictionary)


def _split(
    tokens: Tensor, sizes: list[int], lengths: list[np.ndarray], dictionary: Dictionary
) -> list[TokenArrays]:
    """Arrays of each stream from the tokens of all of them."""
    return [
        TokenArrays(part, torch.from_numpy(own), dictionary)
        for part, own in zip(tokens.split_with_sizes(sizes), lengths, strict=True)
    ]


def from_ids(ids: Tensor, lengths: Tensor) -> TokenArrays:
    """Take token ids [B,T] of which the first lengths [B] of each row are real."""
    if lengths.shape != ids.shape[:1]:
        raise TensorMTError(
            f"ids of shape {list(ids.shape)} with lengths of shape {list(lengths.shape)}: "
            "expected [B,T] and [B]"
        )
    lengths = lengths.to(ids.device, torch.int64)
    real = torch.arange(ids.shape[1], device=ids.device) < lengths[:, None]
    if bool(((lengths < 0) | (lengths > ids.shape[1])).any()):
        raise TensorMTError(f"lengths must lie between 0 and the {ids.shape[1]} ids of a row")
    return TokenArrays(ids.reshape(-1)[nonzero(real)].to(torch.int64), lengths, None)


def send(parts: Sequence[TokenArrays], device: str | torch.device) -> list[TokenArrays]:
    """Send arrays to a device in one copy, with ids of one dictionary.

    Those of which some are there already, and all that go to a CPU, are sent one by one.
    """
    target = torch.device(device)
    places = {part.tokens.device for part in parts}
    if target == torch.device("cpu") or target in places:
        return [part if part.tokens.device == target else part.to(target) for part in parts]
    parts = unify(parts)
    there = iter(move([own for part in parts for own in part[:2]], target))
    return [TokenArrays(next(there), next(there), part.dictionary) for part in parts]


def concat(parts: Sequence[TokenArrays]) -> TokenArrays:
    """Join the segments of several arrays of one dictionary."""
    return TokenArrays(
        torch.cat([part.tokens for part in parts]),
        torch.cat([part.lengths for part in parts]),
        parts[0].dictionary,
    )


def unify(parts: Sequence[TokenArrays]) -> list[TokenArrays]:
    """Return the same arrays with ids of one common dictionary; ids without one stay.

    Raises:
        TensorMTError: If some have a dictionary and some do not.
    """
    known = dictionaries(parts)
    if all(dictionary is known[0] for dictionary in known):
        return list(parts)
    merged, maps = Dictionary.merge(known)
    return [part.renamed(new, merged) for part, new in zip(parts, maps, strict=True)]


def dictionaries(parts: Sequence[TokenArrays | TokenBatch]) -> list[Dictionary]:
    """Return the dictionaries of arrays or batches made from text; none of those of ids."""
    known = [part.dictionary for part in parts if part.dictionary is not None]
    if known and len(known) != len(parts):
        raise TensorMTError(
            "a batch made from text meets one made from ids: make both from text or both from ids"
        )
    return known
