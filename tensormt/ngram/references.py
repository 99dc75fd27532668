"""References prepared once for many systems: one dictionary, checked, their n-grams counted.

`References` is a sequence of R streams (a list of TokenBatch serves as well wherever metrics take
references: it is prepared on the spot). Counts that only some measures need are made on first use
and kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import overload

import torch
from torch import Tensor

from tensormt.errors import SegmentError, TensorMTError
from tensormt.kernels.counts import Keys, spread
from tensormt.kernels.length_buckets import column_type, columns, parts, tailed
from tensormt.kernels.ngrams import LONGEST, different, share
from tensormt.metric import check_aligned
from tensormt.ngram.frequencies import Frequencies
from tensormt.ngram.keys import ngrams
from tensormt.text.tokens import TokenBatch, unify
from tensormt.validation import integer, list_of, on_device, resolve_index, validate

# references: more of them are sorted, as comparing each with all others takes the square
_COMPARED = 6
# segments a chunk: keeps the groups of the counter few, so that keys keep their bits
_CHUNK = 1024
_ORDER = validate(max_order=integer(1, 100))


class References(Sequence[TokenBatch]):
    """R streams of B references with one dictionary; an empty segment is an absent reference."""

    @validate(streams=list_of(TokenBatch, "a batch of references by TokenBatch.from_text(lines)"))
    def __init__(self, streams: Sequence[TokenBatch]) -> None:
        check_aligned(streams[0], streams)
        self.streams = unify(streams)
        self.dictionary = self.streams[0].dictionary
        self.lengths = torch.stack([stream.lengths for stream in self.streams])
        self.number = (self.lengths > 0).sum(0)
        missing = (self.number == 0).tolist()
        if any(missing):
            advice = "has no reference: give at least one that is not empty for every segment"
            raise SegmentError(missing.index(True) + 1, advice)
        self._cut_again: dict[tuple[str, bool], References] = {}
        self._spread: dict[int, Tensor] = {}
        self._distinct: dict[int, Tensor] = {}
        self._frequencies: dict[int, Frequencies] = {}

    @classmethod
    def from_text(
        cls,
        streams: Sequence[Sequence[str | bytes | None]],
        tokenize: str = "13a",
        lowercase: bool = False,
    ) -> References:
        """Tokenise R streams of B lines (streams[k][i] is reference k of segment i)."""
        return cls(TokenBatch.from_texts(streams, tokenize, lowercase))

    @property
    def segments(self) -> int:
        """The number of segments B."""
        return self.lengths.shape[1]

    @property
    def device(self) -> torch.device:
        """Where the tensors are."""
        return self.lengths.device

    @cached_property
    def lowered(self) -> References:
        """The same references in lower case."""
        return self._changed([stream.lowered for stream in self.streams])

    def cut_again(self, tokenize: str, lowercase: bool) -> References:
        """Return the references with every token cut once more, if they were cut in this way."""
        way = tokenize, lowercase
        if way not in self._cut_again:
            streams = [stream.cut_again(*way) for stream in self.streams]
            self._cut_again[way] = self._changed(streams)
        return self._cut_again[way]

    def _changed(self, streams: Sequence[TokenBatch]) -> References:
        """The references with other streams; themselves if no stream is another one."""
        same = all(new is old for new, old in zip(streams, self.streams, strict=True))
        return self if same else References(streams)

    @_ORDER
    def totals(self, max_order: int) -> Tensor:
        """The number of n-grams in each segment's references, int64 [B,N]."""
        orders = torch.arange(max_order, device=self.device)
        return (self.lengths[:, :, None] - orders).clamp_min(0).sum(0)

    @_ORDER
    def spread(self, max_order: int) -> Tensor:
        """Different n-grams that stand in exactly 1…R references, int64 [B,N,R]."""
        if max_order not in self._spread:
            parts = []
            for first in range(0, max(self.segments, 1), _CHUNK):
                rows = slice(first, first + _CHUNK)
                keys = [ngrams(stream[rows], max_order) for stream in self.streams]
                size = min(_CHUNK, self.segments - first)
                parts.append(spread(keys, size * max_order).view(size, max_order, len(self)))
            self._spread[max_order] = torch.cat(parts)
        return self._spread[max_order]

    @_ORDER
    def distinct(self, max_order: int) -> Tensor:
        """The number of different n-grams in each segment's references, int64 [B,N]."""
        if max_order not in self._distinct:
            found = self.lengths.new_empty(self.segments, max_order)
            for rows, size in parts(self.lengths.amax(0), len(self)):
                if size > LONGEST or len(self) > _COMPARED:
                    found[rows] = self._sorted(rows, max_order)
                else:
                    own = self.columns(rows, size)
                    found[rows] = different(own, self.lengths[:, rows], max_order)
            self._distinct[max_order] = found
        return self._distinct[max_order]

    @cached_property
    def _all(self) -> TokenBatch:
        """All streams, one after the other."""
        return TokenBatch.concat(self.streams)

    def _sorted(self, rows: slice | Tensor, max_order: int) -> Tensor:
        """`distinct` of some segments by sorting all n-grams of all their references."""
        places = torch.arange(len(self) * self.segments, device=self.device)
        places = places.view(len(self), self.segments)[:, rows]
        size = places.shape[1]
        keys = ngrams(self._all[places.reshape(-1)], max_order)
        # the groups count through stream after stream: modulo one stream they are the segment's
        groups = size * max_order
        return spread([Keys(keys.group % groups, keys.key)], groups).view(size, max_order)

    @_ORDER
    def diversity(self, max_order: int) -> Tensor:
        """Different n-grams over all n-grams of the references (Eq. 4), float64 [B,N]; 0/0 is 1."""
        return share(self.distinct(max_order), self.totals(max_order))

    @_ORDER
    def frequencies(self, max_order: int) -> Frequencies:
        """The n-gram counts of these references as a whole test set."""
        if max_order not in self._frequencies:
            counts = Frequencies.of_references(self.streams, max_order)
            self._frequencies[max_order] = counts
        return self._frequencies[max_order]

    @property
    def _column_type(self) -> torch.dtype:
        if self.dictionary is None:
            return self.streams[0].tokens.dtype
        return column_type(len(self.dictionary))

    @cached_property
    def _flat(self) -> tuple[Tensor, Tensor]:
        """The tokens of all streams in the type of columns, and where segments start [R,B]."""
        tokens = torch.cat([stream.tokens for stream in self.streams])
        ends = self.lengths.view(-1).cumsum(0).view_as(self.lengths)
        return tailed(tokens.to(self._column_type)), ends - self.lengths

    def columns(self, rows: slice | Tensor, longest: int | None = None) -> Tensor:
        """The references of the segments rows [b] as columns [R,T+1,b], the last row padding.

        `longest`: no reference is longer, as for `kernels.length_buckets.columns`.
        """
        tokens, starts = self._flat
        return columns(tokens, starts[:, rows], self.lengths[:, rows], 1, 1, longest)

    def align(self, hyp: TokenBatch) -> Tensor:
        """The tokens of a hypothesis in the ids of the references, in the type of their columns.

        What no reference holds becomes one common id: it can match nothing.
        """
        check_aligned(hyp, self.streams)
        if (hyp.dictionary is None) != (self.dictionary is None):
            raise TensorMTError(
                "hypothesis and references are not of one kind: make both from text or from ids"
            )
        if hyp.device != self.device:
            raise TensorMTError(
                f"hypothesis on {hyp.device}, references on {self.device}: move one with .to()"
            )
        dtype = self._column_type
        if hyp.dictionary is self.dictionary or hyp.dictionary is None or self.dictionary is None:
            return hyp.tokens.to(dtype)
        new = hyp.dictionary.among(self.dictionary)
        return new.to(hyp.device, dtype).index_select(0, hyp.tokens)

    def rows(self, index: slice) -> References:
        """The references of some of the segments."""
        return References([stream[index] for stream in self.streams])

    @validate(device=on_device)
    def to(self, device: str | torch.device) -> References:
        """The same references on a device."""
        return References([stream.to(device) for stream in self.streams])

    @overload
    def __getitem__(self, index: int) -> TokenBatch: ...
    @overload
    def __getitem__(self, index: slice) -> list[TokenBatch]: ...
    def __getitem__(self, index: int | slice) -> TokenBatch | list[TokenBatch]:
        places = resolve_index(index, len(self), "references")
        if isinstance(places, slice):
            found = self.streams[places]
        else:
            found = [self.streams[k] for k in places.tolist()]
        return found[0] if isinstance(index, int) else found

    def __len__(self) -> int:
        return len(self.streams)

    def __iter__(self) -> Iterator[TokenBatch]:
        return iter(self.streams)

    def __repr__(self) -> str:
        return f"References({len(self)} streams of {self.segments} segments)"
