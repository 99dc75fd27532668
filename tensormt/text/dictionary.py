"""Dictionary: the different strings of one batch, each with an id and a content hash.

Every batch carries its own (as Arrow's and pandas' categoricals do); there is no global vocabulary.
Batches meet through the content hashes, which depend on the string alone, or through `merge`.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import Tensor

from tensormt.kernels import hashing

__all__ = ["Dictionary", "Pieces", "code_points", "number_characters", "string_buffers"]


_FEW = 128  # strings: up to here Python's own tables take less time than calls of Arrow
_ARROW = (pa.Array, pa.ChunkedArray)


class Pieces(NamedTuple):
    """Strings cut into pieces: their ids from 1 end to end [n], where each starts, how many.

    names: what the ids stand for.
    """

    ids: Tensor
    starts: Tensor
    lengths: Tensor
    names: list[str]

    @property
    def kinds(self) -> int:
        """How many different pieces there are."""
        return len(self.names)

    @classmethod
    def of(cls, ids: np.ndarray, lengths: Sequence[int] | np.ndarray, names: list[str]) -> Pieces:
        """From ids [n] and the number of pieces of each string."""
        sizes = torch.from_numpy(np.array(lengths, np.int64))
        short = np.int16 if len(names) < (1 << 15) - 1 else np.int32
        numbers = torch.from_numpy(ids.astype(short).reshape(-1))
        return cls(numbers, sizes.cumsum(0) - sizes, sizes, names)

    def renamed(self, numbers: Tensor, names: list[str]) -> Pieces:
        """The same pieces with other names, given the number among them of every old one."""
        return Pieces.of(numbers.numpy()[self.ids.numpy() - 1] + 1, self.lengths.numpy(), names)

    @property
    def single(self) -> bool:
        """Whether every string is one piece."""
        return self.ids.shape == self.lengths.shape and bool((self.lengths == 1).all())


def _chrf_words(word: str) -> list[str]:
    """A word without white space as sacrebleu's chrF++ cuts it."""
    if len(word) > 1 and word[-1] in string.punctuation:
        return [word[:-1], word[-1]]
    if len(word) > 1 and word[0] in string.punctuation:
        return [word[0], word[1:]]
    return [] if word.isspace() else [word]


class Dictionary:
    """An immutable list of different strings; the id of a string is its place."""

    def __init__(self, strings: Iterable[str] | pa.Array) -> None:
        if isinstance(strings, pa.Array):
            self.__dict__["array"] = strings
            return
        self.__dict__["strings"] = names = list(strings)
        plain = len(names) <= _FEW and set(map(type, names)) <= {str} and "".join(names).isascii()
        if not plain:
            self.__dict__["array"] = pa.array(names, pa.string())

    @cached_property
    def array(self) -> pa.Array:
        """The strings as Arrow has them; a few plain ones only when asked for."""
        return pa.array(self.strings, pa.string())

    @classmethod
    def encode(
        cls, strings: Sequence[str] | pa.Array | pa.ChunkedArray, dtype: type = np.int64
    ) -> tuple[Tensor, Dictionary]:
        """Ids [n] of n strings in a new dictionary of the different ones."""
        if len(strings) <= _FEW:
            known: dict[str, int] = {}
            names = strings.to_pylist() if isinstance(strings, _ARROW) else strings
            places = [known.setdefault(name, len(known)) for name in names]
            return torch.from_numpy(np.array(places, dtype)), cls(known)
        array = strings if isinstance(strings, _ARROW) else pa.array(strings, pa.string())
        encoded = array.dictionary_encode()
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.combine_chunks()
            encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
        return torch.from_numpy(np.array(encoded.indices, dtype)), cls(encoded.dictionary)

    @staticmethod
    def merge(parts: Sequence[Dictionary]) -> tuple[Dictionary, list[Tensor]]:
        """One dictionary for several, and for each of them the new id of every old one.

        It begins with the strings of the first, so their ids stay.
        """
        if sum(map(len, parts)) <= _FEW:
            ids, merged = Dictionary.encode([name for part in parts for name in part.strings])
        else:
            ids, merged = Dictionary.encode(pa.concat_arrays([part.array for part in parts]))
        return merged, list(ids.split_with_sizes([len(part) for part in parts]))

    def among(self, others: Dictionary) -> Tensor:
        """The id among others of every string, int64 [n]; as many as they are for one not there."""
        if len(self) + len(others) <= _FEW:
            known = {name: number for number, name in enumerate(others.strings)}
            places = [known.get(name, len(known)) for name in self.strings]
            return torch.from_numpy(np.array(places, np.int64))
        found = pc.index_in(self.array, value_set=others.array).fill_null(len(others))
        return torch.from_numpy(np.array(found, np.int64))

    @cached_property
    def strings(self) -> list[str]:
        """The strings, in the order of their ids."""
        strings: list[str] = self.array.to_pylist()
        return strings

    @cached_property
    def hashes(self) -> Tensor:
        """Content hash of every string, int64 [n]: equal strings of any two dictionaries agree."""
        if len(self) <= _FEW:
            return hashing.of_few(self.strings)
        return hashing.of_strings(*string_buffers(self.array))

    @cached_property
    def lowered(self) -> tuple[Tensor, Dictionary]:
        """The dictionary in lower case (`str.lower`), and the new id of every old one, [n]."""
        data, bounds = string_buffers(self.array)
        if not len(self) or data[bounds[0] : bounds[-1]].max(initial=0) < 0x80:
            return Dictionary.encode(pc.ascii_lower(self.array))
        return Dictionary.encode([word.lower() for word in self.strings])

    @cached_property
    def characters(self) -> Pieces:
        """The strings cut into characters, numbered from 1."""
        data, bounds = string_buffers(self.array)
        ids, names = number_characters(code_points(data[bounds[0] : bounds[-1]].tobytes()))
        return Pieces.of(ids + 1, pc.utf8_length(self.array).to_numpy(), names)

    @cached_property
    def words(self) -> Pieces:
        """The strings cut as chrF cuts words: punctuation off their end, else off their start."""
        parts = [_chrf_words(word) for word in self.strings]
        ids, names = Dictionary.encode([part for word in parts for part in word])
        return Pieces.of(ids.numpy() + 1, [len(word) for word in parts], names.strings)

    def __len__(self) -> int:
        return len(self.strings if "strings" in self.__dict__ else self.array)

    def __getitem__(self, index: int) -> str:
        return self.strings[index]

    def __getstate__(self) -> dict[str, object]:
        return {"array": self.array}

    def __repr__(self) -> str:
        return f"Dictionary({len(self)} strings)"


def code_points(text: bytes) -> np.ndarray:
    """The code points of UTF-8 text, in the shortest type that is at hand."""
    if text.isascii():
        return np.frombuffer(text, np.uint8)
    return np.frombuffer(text.decode().encode("utf-32-le"), np.uint32)


def number_characters(codes: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Ids (int32 [n]) of n code points among the different ones, and these as strings."""
    seen = np.bincount(codes) > 0
    ids = np.take(np.cumsum(seen, dtype=np.int32) - 1, codes) if len(codes) else codes
    return ids.astype(np.int32, copy=False), [chr(k) for k in np.flatnonzero(seen)]


def string_buffers(array: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """The bytes (uint8) and offsets (int32 [n+1]) of an Arrow string array without nulls."""
    _, offsets, data = array.buffers()
    if not len(array):
        return np.zeros(0, np.uint8), np.zeros(1, np.int32)
    bounds = np.frombuffer(offsets, np.int32)[array.offset : array.offset + len(array) + 1]
    return np.frombuffer(data if data is not None else b"", np.uint8), bounds
