"""TokenBatch: B segments as tokens, with their dictionary.

A few lines are held as plain Python strings, and the tensors (`tensormt.text.token_arrays`) are
made when something asks for them: metrics compare a few segments in plain Python
(`tensormt.plain`), and as long as nothing asks, torch is not imported. Otherwise the tokens of all
segments stand one after the other in one tensor (as in Arrow's lists), so that a line of 20,000
tokens costs what it holds; `ids` is the padded form [B,T]. A batch made from text carries the
dictionary of its strings; one made from ids has none: its ids are its tokens. A batch made from
text cannot be compared with one made from ids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tensormt import plain
from tensormt.data.coercion import as_lines, as_list
from tensormt.errors import TensorMTError
from tensormt.text import plain_tokens
from tensormt.text.plain_tokens import Row, check_name
from tensormt.validation import (
    boolean,
    list_of,
    on_device,
    resolve_index,
    resolve_places,
    tensor_of,
    validate,
)

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from tensormt.text.dictionary import Dictionary
    from tensormt.text.token_arrays import TokenArrays


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
        from tensormt.text.token_arrays import TokenArrays

        self._set(TokenArrays(tokens, lengths, dictionary), None, tokenize, lowercase)

    def _set(
        self, arrays: TokenArrays | None, rows: list[Row] | None, tokenize: str, lowercase: bool
    ) -> None:
        self._arrays = arrays  # None: made from the rows on first use
        self._rows = rows  # None: made from the arrays on first use, if few
        self.tokenize, self.lowercase = tokenize, lowercase
        # batches, this one included, that are to have one dictionary; none: this one alone
        self._sharing: Sequence[TokenBatch] = ()

    @classmethod
    def _from(
        cls, arrays: TokenArrays | None, rows: list[Row] | None, tokenize: str, lowercase: bool
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
        from tensormt.text import token_arrays

        made = token_arrays.from_text(texts, tokenize, lowercase)
        return [cls._from(arrays, None, tokenize, lowercase) for arrays in made]

    # --- the two forms ----------------------------------------------------------------------------

    def _made(self) -> TokenArrays:
        """The tensors, made on first use."""
        if self._arrays is None:
            from tensormt.text import token_arrays

            batches = self._sharing or (self,)
            rows = [batch._rows or () for batch in batches]
            for batch, made in zip(
                batches, token_arrays.from_rows(rows, self.tokenize), strict=True
            ):
                batch._arrays, batch._sharing = made, ()
        assert self._arrays is not None
        return self._arrays

    @property
    def is_plain(self) -> bool:
        """Whether the tokens are held as Python strings alone, without tensors."""
        return self._arrays is None

    def plain_rows(self) -> list[Row] | None:
        """Return the tokens of each segment as Python strings, if there are few of them.

        None for a batch of many segments, on another device than the CPU, or made from ids.
        """
        if self._rows is None:
            from tensormt.kernels.backend import on_cpu

            assert self._arrays is not None
            tokens, lengths, dictionary = self._arrays
            most = max(plain.MAX_TOKENS, plain.MAX_CHARACTERS)
            few = len(lengths) <= plain.MAX_SEGMENTS and len(tokens) <= most
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
        import torch

        return torch.device("cpu") if self._arrays is None else self._arrays.tokens.device

    def __len__(self) -> int:
        return self._made().lengths.shape[0] if self._rows is None else len(self._rows)

    @classmethod
    @validate(
        ids=tensor_of("B", "T", kind="whole numbers"), lengths=tensor_of("B", kind="whole numbers")
    )
    def from_ids(cls, ids: Tensor, lengths: Tensor) -> TokenBatch:
        """Take token ids [B,T] (integers) of which the first lengths [B] of each row are real."""
        from tensormt.text import token_arrays

        return cls._from(token_arrays.from_ids(ids, lengths), None, "ids", False)

    @staticmethod
    def concat(batches: Sequence[TokenBatch]) -> TokenBatch:
        """The segments of several batches in one, in order."""
        batches = _BATCHES(batches, "batches")
        first = batches[0]
        if any((b.tokenize, b.lowercase) != (first.tokenize, first.lowercase) for b in batches):
            raise TensorMTError("batches of different tokenisation or case cannot be joined")
        if all(batch._arrays is None for batch in batches):
            rows = [row for batch in batches for row in batch._rows or ()]
            if len(rows) <= plain.limit(plain.MAX_SEGMENTS):
                return TokenBatch._from(None, rows, first.tokenize, first.lowercase)
        from tensormt.text import token_arrays

        joined = token_arrays.concat([batch._made() for batch in unify(batches)])
        return TokenBatch._from(joined, None, first.tokenize, first.lowercase)

    @cached_property
    def starts(self) -> Tensor:
        """Where each segment starts in `tokens`, int64 [B]."""
        return self._made().starts

    @cached_property
    def ids(self) -> Tensor:
        """The padded ids, int64 [B,T]; padding is -1."""
        return self._made().padded()

    @property
    def mask(self) -> Tensor:
        """Which of the padded ids are real, bool [B,T]."""
        return self._made().real

    @cached_property
    def hashes(self) -> Tensor:
        """The content hash of every token, int64 [n]: equal tokens of any two batches agree."""
        if self.dictionary is None:
            from tensormt.kernels.backend import mix

            return mix(self.tokens)
        return self.dictionary.hashes_on(self.device).index_select(0, self.tokens)

    @property
    def lowered(self) -> TokenBatch:
        """The same segments with every type in lower case (`str.lower`, type by type)."""
        return self if self.lowercase or not self.from_strings else self._lowered

    @cached_property
    def _lowered(self) -> TokenBatch:
        if self._arrays is None:
            rows = [plain_tokens.lower(row) for row in self._rows or ()]
            return TokenBatch._from(None, rows, self.tokenize, True)
        return TokenBatch._from(self._arrays.lower(), None, self.tokenize, True)

    def cut_again(self, tokenize: str, lowercase: bool) -> TokenBatch:
        """Return the segments with every token cut once more, if they were cut in this way."""
        if (self.tokenize, self.lowercase) != (tokenize, lowercase) or not self.from_strings:
            return self
        cut = plain_tokens.line_tokenizer(tokenize)
        few = self.plain_rows()  # a batch of a few segments may share a large dictionary
        types: Iterable[str] = {token for row in few or () for token in row}
        if few is None and (dictionary := self.dictionary) is not None:
            types = dictionary.strings
        parts = {token: own for token in types if [*(own := cut(token))] != [token]}
        if not parts:
            return self
        rows: list[Row] = [
            [part for token in row for part in parts.get(token, (token,))]
            for row in self.to_tokens()
        ]
        return TokenBatch._from(None, rows, self.tokenize, self.lowercase).to(self.device)

    def __getitem__(self, index: int | slice | Sequence[int] | Tensor) -> TokenBatch:
        """The chosen segments as a batch with the same dictionary; an int chooses one."""
        rows = self._rows
        if rows is not None:
            rows = [rows[k] for k in resolve_places(index, len(rows), "a batch")]
            if self._arrays is None:
                return TokenBatch._from(None, rows, self.tokenize, self.lowercase)
        places = resolve_index(index, len(self), "a batch")
        arrays = self._made().select(places, self.starts)
        return TokenBatch._from(arrays, rows, self.tokenize, self.lowercase)

    @validate(device=on_device)
    def to(self, device: str | torch.device) -> TokenBatch:
        """The same batch on a device; the dictionary stays where it is."""
        if self.device == device:
            return self
        return TokenBatch._from(self._made().to(device), None, self.tokenize, self.lowercase)

    @classmethod
    def send(cls, batches: Sequence[TokenBatch], device: str | torch.device) -> list[TokenBatch]:
        """Send batches to a device in one copy; batches of text then have one dictionary."""
        from tensormt.text import token_arrays

        made = [batch._made() for batch in batches]
        return [
            batch if new is old else cls._from(new, None, batch.tokenize, batch.lowercase)
            for batch, old, new in zip(batches, made, token_arrays.send(made, device), strict=True)
        ]

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
            arrays = arrays._replace(tokens=arrays.tokens.clone(), lengths=arrays.lengths.clone())
        return TokenBatch._from, (arrays, self._rows, self.tokenize, self.lowercase)

    def __repr__(self) -> str:
        return (
            f"TokenBatch({len(self)} segments, {self.tokens.shape[0]} tokens, "
            f"tokenize={self.tokenize}, lowercase={self.lowercase}, device={self.device})"
        )


_BATCHES = list_of(TokenBatch, "a batch of TokenBatch.from_text or from_ids")


def unify(batches: Sequence[TokenBatch]) -> list[TokenBatch]:
    """The same batches with ids of one common dictionary; batches of ids stay as they are."""
    from tensormt.text import token_arrays

    made = [batch._made() for batch in batches]
    return [
        batch if new is old else TokenBatch._from(new, batch._rows, batch.tokenize, batch.lowercase)
        for batch, old, new in zip(batches, made, token_arrays.unify(made), strict=True)
    ]


def _few(texts: Sequence[Sequence[str | bytes | None]]) -> bool:
    """Whether streams of lines are few enough to be read in plain Python."""
    size = 0
    for lines in texts:
        if len(lines) > plain.limit(plain.MAX_SEGMENTS):
            return False
        for line in lines:
            size += len(line or "")
    return size <= plain.limit(plain.MAX_TEXT)


def count_tokens(rows: Sequence[Row]) -> int:
    """Count the tokens of lines."""
    return sum(map(len, rows))


def plain_rows(
    hyp: TokenBatch,
    refs: Sequence[TokenBatch],
    lowercase: bool,
    most: int,
    size: Callable[[Sequence[Row]], int] = count_tokens,
) -> list[tuple[Row, list[Row]]] | None:
    """Return the tokens of each segment and of its references, for a metric's plain path.

    Args:
        hyp: The hypotheses.
        refs: The references; empty ones are left out.
        lowercase: Whether tokens are compared in lower case.
        most: Largest size of all sides (`tensormt.plain`).
        size: The number of tokens of some lines, or of what else takes the time.

    Returns:
        None where there are too many for the plain path, or where the engine is to raise an error.
    """
    if not 0 < len(hyp) <= plain.limit(plain.MAX_SEGMENTS):
        return None
    sides, total = [], 0
    for batch in (hyp, *refs):
        rows = (batch.lowered if lowercase else batch).plain_rows()
        if rows is None:
            return None
        sides.append(rows)
        total += size(rows)
    if total > plain.limit(most):
        return None
    segments = [(row, [ref for ref in found if ref]) for row, *found in zip(*sides, strict=True)]
    return segments if all(found for _, found in segments) else None
