"""TokenBatch: B segments as token ids with their dictionary.

The tokens of all segments stand one after the other in one tensor (as in Arrow's lists), so that a
line of 20,000 tokens costs what it holds; `ids` is the padded form [B,T]. A batch made from text
carries the dictionary of its strings; one made from ids has none: its ids are its tokens. Batches
meet only with batches of their own kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from tensormt.data.coercion import as_lines, as_list
from tensormt.errors import TensorMTError
from tensormt.kernels.backend import mix, nonzero, ranges, repeat, take
from tensormt.text.dictionary import Dictionary, number_characters
from tensormt.text.tokenizer import CHARACTERS, characters, check_name
from tensormt.text.tokenizer import tokenize as cut
from tensormt.validation import boolean, list_of, on_device, resolve_index, tensor_of, validate


@dataclass(frozen=True, eq=False)
class TokenBatch:
    """B segments of tokens; an empty segment, as a reference, is an absent reference."""

    tokens: Tensor  # int32 or int64 [n]: ids of all segments, one after the other
    lengths: Tensor  # int64 [B]: tokens of each segment
    dictionary: Dictionary | None  # None: the ids are the tokens
    tokenize: str = "none"
    lowercase: bool = False

    @classmethod
    def from_text(
        cls,
        lines: Iterable[str | bytes | None],
        tokenize: str = "13a",
        lowercase: bool = False,
    ) -> TokenBatch:
        """Tokenise B lines; None is an absent line. `tokenize`: 13a, none, char, or sacrebleu's."""
        return cls.from_texts([lines], tokenize, lowercase)[0]

    @classmethod
    @validate(lowercase=boolean)
    def from_texts(
        cls,
        streams: Iterable[Iterable[str | bytes | None]],
        tokenize: str = "13a",
        lowercase: bool = False,
    ) -> list[TokenBatch]:
        """Tokenise several streams of lines into batches that share one dictionary."""
        check_name(tokenize)
        texts = [as_lines(lines, binary=True) for lines in as_list(streams, "streams")]
        if tokenize in CHARACTERS:
            codes = [characters(lines, tokenize, lowercase) for lines in texts]
            return cls._of_characters(codes, tokenize, lowercase)
        parts = [cut(lines, tokenize, lowercase) for lines in texts]
        chunks = [chunk for strings, _ in parts for chunk in strings.chunks]
        ids, dictionary = Dictionary.encode(pa.chunked_array(chunks, pa.string()), np.int32)
        sizes = [len(strings) for strings, _ in parts]
        return [
            cls(part, torch.from_numpy(lengths), dictionary, tokenize, lowercase)
            for part, (_, lengths) in zip(ids.split_with_sizes(sizes), parts, strict=True)
        ]

    @classmethod
    def _of_characters(
        cls, parts: Sequence[tuple[np.ndarray, np.ndarray]], tokenize: str, lowercase: bool
    ) -> list[TokenBatch]:
        """Batches of one dictionary from the code points and lengths of each."""
        ids, names = number_characters(
            np.concatenate([np.zeros(0, np.uint8), *(c for c, _ in parts)])
        )
        tokens = torch.from_numpy(ids).split_with_sizes([len(codes) for codes, _ in parts])
        dictionary = Dictionary(names)
        return [
            cls(part, torch.from_numpy(lengths), dictionary, tokenize, lowercase)
            for part, (_, lengths) in zip(tokens, parts, strict=True)
        ]

    @classmethod
    @validate(
        ids=tensor_of("B", "T", kind="whole numbers"), lengths=tensor_of("B", kind="whole numbers")
    )
    def from_ids(cls, ids: Tensor, lengths: Tensor) -> TokenBatch:
        """Take token ids [B,T] (integers) of which the first lengths [B] of each row are real."""
        if lengths.shape != ids.shape[:1]:
            raise TensorMTError(
                f"ids of shape {list(ids.shape)} with lengths of shape {list(lengths.shape)}: "
                "expected [B,T] and [B]"
            )
        lengths = lengths.to(ids.device, torch.int64)
        real = torch.arange(ids.shape[1], device=ids.device) < lengths[:, None]
        if bool(((lengths < 0) | (lengths > ids.shape[1])).any()):
            raise TensorMTError(f"lengths must lie between 0 and the {ids.shape[1]} ids of a row")
        tokens = ids.reshape(-1)[nonzero(real)].to(torch.int64)
        return cls(tokens, lengths, None, "ids", False)

    @staticmethod
    def concat(batches: Sequence[TokenBatch]) -> TokenBatch:
        """The segments of several batches in one, in order."""
        batches = _BATCHES(batches, "batches")
        first = batches[0]
        if any((b.tokenize, b.lowercase) != (first.tokenize, first.lowercase) for b in batches):
            raise TensorMTError("batches of different tokenisation or case cannot be joined")
        batches = unify(batches)
        return replace(
            batches[0],
            tokens=torch.cat([batch.tokens for batch in batches]),
            lengths=torch.cat([batch.lengths for batch in batches]),
        )

    @cached_property
    def starts(self) -> Tensor:
        """Where each segment starts in `tokens`, int64 [B]."""
        return self.lengths.cumsum(0) - self.lengths

    @cached_property
    def ids(self) -> Tensor:
        """The padded ids, int64 [B,T]; padding is -1."""
        segment, place = repeat(self.lengths)
        width = int(self.lengths.max()) if len(self) else 0
        padded = torch.full((len(self), width), -1, dtype=torch.int64, device=self.device)
        padded[segment, place] = self.tokens.to(torch.int64)
        return padded

    @property
    def mask(self) -> Tensor:
        """Which of the padded ids are real, bool [B,T]."""
        return torch.arange(self.ids.shape[1], device=self.device) < self.lengths[:, None]

    @cached_property
    def hashes(self) -> Tensor:
        """The content hash of every token, int64 [n]: equal tokens of any two batches agree."""
        if self.dictionary is None:
            return mix(self.tokens)
        return self.dictionary.hashes.to(self.device).index_select(0, self.tokens)

    @cached_property
    def lowered(self) -> TokenBatch:
        """The same segments with every type in lower case (`str.lower`, type by type)."""
        if self.lowercase or self.dictionary is None:
            return self
        new, dictionary = self.dictionary.lowered
        tokens = new.to(torch.int32).to(self.device).index_select(0, self.tokens)
        return replace(self, tokens=tokens, dictionary=dictionary, lowercase=True)

    @property
    def device(self) -> torch.device:
        """Where the tensors are."""
        return self.tokens.device

    def __len__(self) -> int:
        return self.lengths.shape[0]

    def __getitem__(self, index: int | slice | Sequence[int] | Tensor) -> TokenBatch:
        """The chosen segments as a batch with the same dictionary; an int chooses one."""
        places = resolve_index(index, len(self), "a batch")
        if isinstance(places, slice):
            lengths = self.lengths[places]
            begin = int(self.starts[places.start]) if lengths.shape[0] else 0
            tokens = self.tokens[begin : begin + int(lengths.sum())]
            return replace(self, tokens=tokens, lengths=lengths)
        rows = places.to(self.device)
        lengths = self.lengths[rows]
        tokens = take(self.tokens, ranges(self.starts[rows], lengths))
        return replace(self, tokens=tokens, lengths=lengths)

    @validate(device=on_device)
    def to(self, device: str | torch.device) -> TokenBatch:
        """The same batch on a device; the dictionary stays where it is."""
        return replace(self, tokens=self.tokens.to(device), lengths=self.lengths.to(device))

    def to_tokens(self) -> list[list[str]]:
        """The tokens of every segment as strings; ids without strings as figures."""
        flat = self.tokens.tolist()
        names = (
            map(str, flat) if self.dictionary is None else map(self.dictionary.__getitem__, flat)
        )
        words = iter(names)
        return [[next(words) for _ in range(count)] for count in self.lengths.tolist()]

    def __getstate__(self) -> dict[str, object]:
        fields = ("tokens", "lengths", "dictionary", "tokenize", "lowercase")
        # a slice would otherwise carry the storage of the batch it was cut from
        return {
            key: value.clone() if isinstance(value := getattr(self, key), Tensor) else value
            for key in fields
        }

    def __repr__(self) -> str:
        return (
            f"TokenBatch({len(self)} segments, {self.tokens.shape[0]} tokens, "
            f"tokenize={self.tokenize}, lowercase={self.lowercase}, device={self.device})"
        )


_BATCHES = list_of(TokenBatch, "a batch of TokenBatch.from_text or from_ids")


def dictionaries(batches: Sequence[TokenBatch]) -> list[Dictionary]:
    """The dictionaries of batches made from text; none of batches of ids."""
    known = [batch.dictionary for batch in batches if batch.dictionary is not None]
    if known and len(known) != len(batches):
        raise TensorMTError(
            "a batch made from text meets one made from ids: make both from text or both from ids"
        )
    return known


def unify(batches: Sequence[TokenBatch]) -> list[TokenBatch]:
    """The same batches with ids of one common dictionary; batches of ids stay as they are."""
    known = dictionaries(batches)
    if all(dictionary is known[0] for dictionary in known):
        return list(batches)
    merged, maps = Dictionary.merge(known)
    return [
        replace(
            batch,
            tokens=new.to(torch.int32).to(batch.device).index_select(0, batch.tokens),
            dictionary=merged,
        )
        for batch, new in zip(batches, maps, strict=True)
    ]
