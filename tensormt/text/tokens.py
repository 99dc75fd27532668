"""TokenBatch: B segments as tokens, with their dictionary.

A few lines are held as plain Python strings, and the tensors are made when something asks for them:
metrics compare a few segments in plain Python (`tensormt.plain`). Otherwise the tokens of all
segments stand one after the other in one tensor (as in Arrow's lists), so that a line of 20,000
tokens costs what it holds; `ids` is the padded form [B,T]. A batch made from text carries the
dictionary of its strings; one made from ids has none: its ids are its tokens. A batch made from
text cannot be compared with one made from ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from tensormt.data.coercion import as_lines, as_list
from tensormt.errors import TensorMTError
from tensormt.kernels.backend import mix, nonzero, on_cpu, ranges, repeat, take
from tensormt.plain import MAX_CHARACTERS, MAX_SEGMENTS, MAX_TEXT, MAX_TOKENS
from tensormt.text import plain_tokens
from tensormt.text.dictionary import Dictionary, code_points, number_characters
from tensormt.text.plain_tokens import CHARACTERS, Row, check_name
from tensormt.text.tokenizer import characters
from tensormt.text.tokenizer import tokenize as cut
from tensormt.validation import boolean, list_of, on_device, resolve_index, tensor_of, validate


class _Arrays(NamedTuple):
    """The tensors of a batch: ids of all segments end to end [n], tokens of each segment [B]."""

    tokens: Tensor
    lengths: Tensor
    dictionary: Dictionary | None


class TokenBatch:
    """B segments of tokens, immutable; an empty segment, as a reference, is an absent reference.

    Args:
        tokens: Ids of all segments, one after the other, int32 or int64 [n].
        lengths: Number of tokens of each segment, int64 [B].
        dictionary: What the ids stand for; None: the ids are the tokens.
        tokenize: Name of the tokeniser.
        lowercase: Whether the tokens are in lower case.
    """

    def __init__(
        self,
        tokens: Tensor,
        lengths: Tensor,
        dictionary: Dictionary | None,
        tokenize: str = "none",
        lowercase: bool = False,
    ) -> None:
        self._set(_Arrays(tokens, lengths, dictionary), None, tokenize, lowercase)

    def _set(
        self, arrays: _Arrays | None, rows: list[Row] | None, tokenize: str, lowercase: bool
    ) -> None:
        self._arrays = arrays  # None: made from the rows on first use
        self._rows = rows  # None: made from the arrays on first use, if few
        self.tokenize, self.lowercase = tokenize, lowercase
        # batches, this one included, that are to have one dictionary; none: this one alone
        self._sharing: Sequence[TokenBatch] = ()

    @classmethod
    def _from(
        cls, arrays: _Arrays | None, rows: list[Row] | None, tokenize: str, lowercase: bool
    ) -> TokenBatch:
        """From one form of the tokens, or both."""
        batch = cls.__new__(cls)
        batch._set(arrays, rows, tokenize, lowercase)
        return batch

    @classmethod
    @validate(lowercase=boolean)
    def from_text(
        cls,
        lines: Iterable[str | bytes | None],
        tokenize: str = "13a",
        lowercase: bool = False,
    ) -> TokenBatch:
        """Tokenise B lines; None is an absent line. `tokenize`: 13a, none, char, or sacrebleu's."""
        check_name(tokenize)
        return cls._read([as_lines(lines, binary=True)], tokenize, lowercase)[0]

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
        return cls._read(texts, tokenize, lowercase)

    @classmethod
    def _read(
        cls, texts: list[list[str | bytes | None]], tokenize: str, lowercase: bool
    ) -> list[TokenBatch]:
        if _few(texts):
            rows = [plain_tokens.tokenize(lines, tokenize, lowercase) for lines in texts]
            batches = [cls._from(None, own, tokenize, lowercase) for own in rows if own is not None]
            if len(batches) == len(texts):
                if len(batches) > 1:
                    for batch in batches:
                        batch._sharing = batches
                return batches
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

    # --- the two forms ----------------------------------------------------------------------------

    def _made(self) -> _Arrays:
        """The tensors, made on first use."""
        if self._arrays is None:
            _encode(self._sharing or (self,))
        assert self._arrays is not None
        return self._arrays

    def plain_rows(self) -> list[Row] | None:
        """Return the tokens of each segment as Python strings, if there are few of them.

        None for a batch of many segments, on another device than the CPU, or made from ids.
        """
        if self._rows is None:
            assert self._arrays is not None
            tokens, lengths, dictionary = self._arrays
            most = max(MAX_TOKENS, MAX_CHARACTERS)
            few = len(lengths) <= MAX_SEGMENTS and len(tokens) <= most
            if dictionary is None or not few or not on_cpu(tokens):
                return None
            self._rows = list(self.to_tokens())
        return self._rows

    @property
    def tokens(self) -> Tensor:
        """Ids of the tokens of all segments, one after the other, int32 or int64 [n]."""
        return self._made().tokens

    @property
    def lengths(self) -> Tensor:
        """Number of tokens of each segment, int64 [B]."""
        return self._made().lengths

    @property
    def dictionary(self) -> Dictionary | None:
        """What the ids stand for; None: the ids are the tokens."""
        return self._made().dictionary

    @property
    def from_strings(self) -> bool:
        """Whether the tokens are strings, not ids without a dictionary."""
        return self._arrays is None or self._arrays.dictionary is not None

    @property
    def device(self) -> torch.device:
        """Where the tensors are."""
        return torch.device("cpu") if self._arrays is None else self._arrays.tokens.device

    def __len__(self) -> int:
        return self._made().lengths.shape[0] if self._rows is None else len(self._rows)

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
        if all(batch._arrays is None for batch in batches):
            rows = [row for batch in batches for row in batch._rows or ()]
            if len(rows) <= MAX_SEGMENTS:
                return TokenBatch._from(None, rows, first.tokenize, first.lowercase)
        batches = unify(batches)
        return TokenBatch(
            torch.cat([batch.tokens for batch in batches]),
            torch.cat([batch.lengths for batch in batches]),
            batches[0].dictionary,
            first.tokenize,
            first.lowercase,
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

    @property
    def lowered(self) -> TokenBatch:
        """The same segments with every type in lower case (`str.lower`, type by type)."""
        return self if self.lowercase or not self.from_strings else self._lowered

    @cached_property
    def _lowered(self) -> TokenBatch:
        if self._arrays is None:
            rows = [plain_tokens.lower(row) for row in self._rows or ()]
            return TokenBatch._from(None, rows, self.tokenize, True)
        tokens, lengths, dictionary = self._arrays
        assert dictionary is not None
        new, lower = dictionary.lowered
        tokens = new.to(torch.int32).to(self.device).index_select(0, tokens)
        return TokenBatch(tokens, lengths, lower, self.tokenize, True)

    def __getitem__(self, index: int | slice | Sequence[int] | Tensor) -> TokenBatch:
        """The chosen segments as a batch with the same dictionary; an int chooses one."""
        places = resolve_index(index, len(self), "a batch")
        rows = self._rows
        if rows is not None:
            rows = rows[places] if isinstance(places, slice) else [rows[k] for k in places.tolist()]
            if self._arrays is None:
                return TokenBatch._from(None, rows, self.tokenize, self.lowercase)
        if isinstance(places, slice):
            lengths = self.lengths[places]
            begin = int(self.starts[places.start]) if lengths.shape[0] else 0
            tokens = self.tokens[begin : begin + int(lengths.sum())]
        else:
            chosen = places.to(self.device)
            lengths = self.lengths[chosen]
            tokens = take(self.tokens, ranges(self.starts[chosen], lengths))
        arrays = _Arrays(tokens, lengths, self.dictionary)
        return TokenBatch._from(arrays, rows, self.tokenize, self.lowercase)

    @validate(device=on_device)
    def to(self, device: str | torch.device) -> TokenBatch:
        """The same batch on a device; the dictionary stays where it is."""
        if self.device == torch.device(device):
            return self
        tokens, lengths, dictionary = self._made()
        return TokenBatch(
            tokens.to(device), lengths.to(device), dictionary, self.tokenize, self.lowercase
        )

    def to_tokens(self) -> list[list[str]]:
        """The tokens of every segment as strings; ids without strings as figures."""
        if self._rows is not None:
            return [list(row) for row in self._rows]
        flat = self.tokens.tolist()
        names = (
            map(str, flat) if self.dictionary is None else map(self.dictionary.__getitem__, flat)
        )
        words = iter(names)
        return [[next(words) for _ in range(count)] for count in self.lengths.tolist()]

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickling: without what can be made again."""
        arrays = self._arrays
        if arrays is not None:
            # a slice would otherwise carry the storage of the batch it was cut from
            arrays = _Arrays(arrays.tokens.clone(), arrays.lengths.clone(), arrays.dictionary)
        return TokenBatch._from, (arrays, self._rows, self.tokenize, self.lowercase)

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
    found = []
    for batch, new in zip(batches, maps, strict=True):
        tokens = new.to(torch.int32).to(batch.device).index_select(0, batch.tokens)
        arrays = _Arrays(tokens, batch.lengths, merged)
        found.append(TokenBatch._from(arrays, batch._rows, batch.tokenize, batch.lowercase))
    return found


def _few(texts: Sequence[Sequence[str | bytes | None]]) -> bool:
    """Whether streams of lines are few enough to be read in plain Python."""
    size = 0
    for lines in texts:
        if len(lines) > MAX_SEGMENTS:
            return False
        for line in lines:
            size += len(line or "")
    return size <= MAX_TEXT


def _encode(batches: Sequence[TokenBatch]) -> None:
    """Make the tensors of batches of plain tokens, with one dictionary."""
    rows = [row for batch in batches for row in batch._rows or ()]
    if batches[0].tokenize in CHARACTERS and all(isinstance(row, str) for row in rows):
        ids, names = number_characters(code_points("".join(map(str, rows)).encode()))
        tokens, dictionary = torch.from_numpy(ids.copy()), Dictionary(names)
    else:
        flat = [token for row in rows for token in row]
        tokens, dictionary = Dictionary.encode(flat, np.int32)
    sizes = [[len(row) for row in batch._rows or ()] for batch in batches]
    parts = tokens.split_with_sizes([sum(own) for own in sizes])
    for batch, own, part in zip(batches, sizes, parts, strict=True):
        batch._arrays = _Arrays(part, torch.from_numpy(np.array(own, np.int64)), dictionary)
        batch._sharing = ()
