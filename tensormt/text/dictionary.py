"""Dictionary: the different strings of one batch, each with an id and a content hash.

Every batch has its own dictionary, like the categoricals of Arrow and pandas; there is no global
vocabulary. Batches are compared by the content hashes, which depend on the string alone, or after
`merge`.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import Tensor

from tensormt.kernels import hashing
from tensormt.text.plain_tokens import NO_TOKEN


class Pieces(NamedTuple):
    """Strings split into pieces.

    ids: the pieces of all strings, one after the other, numbered from 1, int16 or int32 [n];
    starts, lengths: where the pieces of each string start and how many there are, int64;
    names: the pieces in the order of their ids; single: every string is one piece.
    """

    ids: Tensor
    starts: Tensor
    lengths: Tensor
    names: list[str]
    single: bool

    @property
    def kinds(self) -> int:
        """Number of different pieces."""
        return len(self.names)

    @classmethod
    def of(cls, ids: np.ndarray, lengths: Sequence[int] | np.ndarray, names: list[str]) -> Pieces:
        """Make them from ids [n] and the number of pieces of each string."""
        sizes = torch.from_numpy(np.array(lengths, np.int64))
        short = np.int16 if len(names) < (1 << 15) - 1 else np.int32
        numbers = torch.from_numpy(ids.astype(short).reshape(-1))
        single = numbers.shape == sizes.shape and bool((sizes == 1).all())
        return cls(numbers, sizes.cumsum(0) - sizes, sizes, names, single)

    def renamed(self, numbers: Tensor, names: list[str]) -> Pieces:
        """Return the same pieces with ids among other names; numbers[k]: where name k is there."""
        return Pieces.of(numbers.numpy()[self.ids.numpy() - 1] + 1, self.lengths.numpy(), names)

    def to(self, device: torch.device) -> Pieces:
        """Return the tensors on a device; those that single pieces do not need stay."""
        if self.single:
            return self._replace(ids=self.ids.to(device))
        ids, starts, lengths = (part.to(device) for part in self[:3])
        return self._replace(ids=ids, starts=starts, lengths=lengths)


def _chrf_words(word: str) -> list[str]:
    """Split a word without white space as sacrebleu's chrF++ does."""
    if len(word) > 1 and word[-1] in string.punctuation:
        return [word[:-1], word[-1]]
    if len(word) > 1 and word[0] in string.punctuation:
        return [word[0], word[1:]]
    return [] if word.isspace() else [word]


class Dictionary:
    """An immutable list of different strings; the id of a string is its index."""

    def __init__(self, strings: Iterable[str] | pa.Array) -> None:
        if not isinstance(strings, pa.Array):
            strings = pa.array(list(strings), pa.string())
        self.array: pa.Array = strings

    @classmethod
    def encode(
        cls, strings: Sequence[str] | pa.Array | pa.ChunkedArray, dtype: type = np.int64
    ) -> tuple[Tensor, Dictionary]:
        """Return the ids [n] of n strings in a new dictionary of the different ones."""
        if not isinstance(strings, pa.Array | pa.ChunkedArray):
            strings = pa.array(strings, pa.string())
        encoded = strings.dictionary_encode()
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.combine_chunks()
            encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
        return torch.from_numpy(np.array(encoded.indices, dtype)), cls(encoded.dictionary)

    @staticmethod
    def merge(parts: Sequence[Dictionary]) -> tuple[Dictionary, list[Tensor]]:
        """Return one dictionary for several, and for each of them the new ids of its strings.

        The strings of the first dictionary keep their ids.
        """
        ids, merged = Dictionary.encode(pa.concat_arrays([part.array for part in parts]))
        return merged, list(ids.split_with_sizes([len(part) for part in parts]))

    def among(self, others: Dictionary) -> Tensor:
        """Return the id of every string in another dictionary, int64 [n]; its size if absent."""
        found = pc.index_in(self.array, value_set=others.array).fill_null(len(others))
        return torch.from_numpy(np.array(found, np.int64))

    @cached_property
    def no_token(self) -> int:
        """The id of NO_TOKEN, which stands for text without a token; -1 if there is none."""
        found: int = pc.index(self.array, NO_TOKEN).as_py()
        return found

    @cached_property
    def strings(self) -> list[str]:
        """The strings in the order of their ids."""
        strings: list[str] = self.array.to_pylist()
        return strings

    @cached_property
    def hashes(self) -> Tensor:
        """Content hashes, int64 [n]: equal strings have equal hashes in all dictionaries."""
        return hashing.of_strings(*string_buffers(self.array))

    def hashes_on(self, device: torch.device) -> Tensor:
        """Return `hashes` on a device, to which they are copied once."""
        return self._on(device, "hashes", lambda: self.hashes)

    def lowered_on(self, device: torch.device) -> tuple[Tensor, Dictionary]:
        """Return `lowered` with the ids, int32 [n], on a device, to which they are copied once."""
        new, lower = self.lowered
        return self._on(device, "lowered", lambda: new.to(torch.int32)), lower

    def _on(self, device: torch.device, name: str, make: Callable[[], Tensor]) -> Tensor:
        if (device, name) not in self._copies:
            self._copies[device, name] = make().to(device)
        return self._copies[device, name]

    @cached_property
    def _copies(self) -> dict[tuple[torch.device, str], Tensor]:
        return {}

    @cached_property
    def lowered(self) -> tuple[Tensor, Dictionary]:
        """The new id of every string, int64 [n], and the dictionary in lower case (`str.lower`)."""
        data, bounds = string_buffers(self.array)
        if not len(self) or data[bounds[0] : bounds[-1]].max(initial=0) < 0x80:
            return Dictionary.encode(pc.ascii_lower(self.array))
        return Dictionary.encode([word.lower() for word in self.strings])

    @cached_property
    def characters(self) -> Pieces:
        """The strings split into characters."""
        data, bounds = string_buffers(self.array)
        ids, names = number_characters(code_points(data[bounds[0] : bounds[-1]].tobytes()))
        return Pieces.of(ids + 1, pc.utf8_length(self.array).to_numpy(), names)

    @cached_property
    def words(self) -> Pieces:
        """The strings split as chrF++ splits words: punctuation at the end, else at the start."""
        parts = [_chrf_words(word) for word in self.strings]
        ids, names = Dictionary.encode([part for word in parts for part in word])
        return Pieces.of(ids.numpy() + 1, [len(word) for word in parts], names.strings)

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, index: int) -> str:
        return self.strings[index]

    def __getstate__(self) -> dict[str, object]:
        return {"array": self.array}

    def __repr__(self) -> str:
        return f"Dictionary({len(self)} strings)"


def code_points(text: bytes) -> np.ndarray:
    """Return the code points of UTF-8 text, uint8 if it is ASCII, else uint32."""
    if text.isascii():
        return np.frombuffer(text, np.uint8)
    return np.frombuffer(text.decode().encode("utf-32-le"), np.uint32)


def number_characters(codes: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Return the ids, int32 [n], of n code points among the different ones, and these."""
    seen = np.bincount(codes) > 0
    ids = np.take(np.cumsum(seen, dtype=np.int32) - 1, codes) if len(codes) else codes
    return ids.astype(np.int32, copy=False), [chr(k) for k in np.flatnonzero(seen)]


def string_buffers(array: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Return the bytes (uint8) and offsets (int32 [n+1]) of an Arrow string array without nulls."""
    _, offsets, data = array.buffers()
    if not len(array):
        return np.zeros(0, np.uint8), np.zeros(1, np.int32)
    bounds = np.frombuffer(offsets, np.int32)[array.offset : array.offset + len(array) + 1]
    return np.frombuffer(data if data is not None else b"", np.uint8), bounds
