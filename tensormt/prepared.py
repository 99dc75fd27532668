"""Texts as metrics read them: every different text is tokenised and parsed once.

    texts = Texts([hypotheses, references 1, references 2], trees=source)
    hyp, *refs = texts.read(metric.reads)               # a batch a stream, made once

Systems often say the same as others or as a reference, so texts are numbered; a reading (tokens of
a tokeniser, trees) is made of the different ones and the batch of a stream is gathered by number.
Where trees are given (written instead of text, or beside it) they go by place, not by text.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, count, zip_longest
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tensormt.data.coercion import lone_surrogate
from tensormt.errors import SegmentError, TensorMTError
from tensormt.inputs import CompositeBatch, CompositeInput, CompositeReferences, Input, Tokens
from tensormt.metric import Metric
from tensormt.ngram.references import References
from tensormt.options import describe
from tensormt.text.tokens import TokenBatch
from tensormt.trees.batch import TreeBatch
from tensormt.trees.sources import GIVEN, TreesAsText, TreeSource, sentences

__all__ = ["Texts", "signature"]

Stream = Sequence[str | None]


class Texts:
    """Streams of segments, None or blank where there is no text."""

    def __init__(
        self,
        streams: Sequence[Stream],
        trees: TreeSource | Sequence[TreeBatch] | None = None,
        device: torch.device | str | None = None,
        first: int = 1,
    ) -> None:
        """`trees`: a source, or a batch a stream; `first` numbers the first segment in errors."""
        self.streams, self.trees, self.first = streams, trees, first
        self.device = torch.device("cpu" if device is None else device)
        self._numbers: dict[str, int] = {"": 0}
        self._index: list[Tensor] = []
        self._made: dict[Any, Any] = {}

    def _number(self) -> list[Tensor]:
        """The number of every text, int64 [B] a stream; 0 for none."""
        if not self._index:
            streams: Sequence[Stream] = self.streams
            if isinstance(self.trees, TreesAsText):
                streams = [sentences(batch) for batch in self._all_trees()]
            texts = dict.fromkeys(chain([""], *streams))
            different = [text for text in texts if text is not None]
            if lone_surrogate("".join(different)):
                self._refuse(streams)
            self._numbers = {text: number for number, text in enumerate(different)}
            numbers: dict[str | None, int] = dict(zip(different, count(), strict=False))
            numbers[None] = 0
            for stream in streams:
                found = np.fromiter(map(numbers.__getitem__, stream), np.int64, len(stream))
                self._index.append(torch.from_numpy(found))
        return self._index

    def _refuse(self, streams: Sequence[Stream]) -> None:
        """Name the first segment that holds half a character."""
        for number, texts in enumerate(zip_longest(*streams), self.first):
            found = next(filter(None, (lone_surrogate(text or "") for text in texts)), None)
            if found:
                raise SegmentError(
                    number, f"holds {found!r}, which has no UTF-8 form: read the text as UTF-8"
                )

    @property
    def index(self) -> list[Tensor]:
        """The number of each text among the different ones, int64 [B] a stream; -1 for a blank."""
        index = self._number()
        blank = torch.tensor([not text.strip() for text in self._numbers], device="cpu")
        return [numbers.masked_fill(blank[numbers], -1) for numbers in index]

    def lines(self, number: int) -> list[str]:
        """The text of a stream, "" where there is none; of written trees, their words."""
        index, names = self._number()[number], list(self._numbers)
        return [names[i] for i in index.tolist()]

    def read(self, reading: Input) -> list[Any]:
        """The streams in a reading, a batch each."""
        if isinstance(reading, CompositeInput):
            parts = [self.read(part) for part in reading.parts]
            return [CompositeBatch(stream) for stream in zip(*parts, strict=True)]
        if not isinstance(reading, Tokens) and not self._parses:
            return self._all_trees()
        key = reading.cut if isinstance(reading, Tokens) else "trees"
        if key not in self._made:
            batch = self.different(reading)
            self._made[key] = [batch[_slice(index)] for index in self._number()]
        made: list[Any] = self._made[key]
        return made

    @property
    def _parses(self) -> bool:
        """Whether trees are made of text, by a parser."""
        return callable(self.trees) and not isinstance(self.trees, TreesAsText)

    def different(self, reading: Input) -> Any:
        """All different texts in a reading, one batch; the first is the blank one."""
        if isinstance(reading, CompositeInput):
            return CompositeBatch(self.different(part) for part in reading.parts)
        self._number()
        lines = list(self._numbers)
        if isinstance(reading, Tokens):
            return TokenBatch.from_text(lines, *reading.cut).to(self.device)
        if not self._parses:
            return self._first_trees(len(lines))
        assert callable(self.trees)
        found = self.trees(lines)
        if not isinstance(found, TreeBatch) or len(found) != len(lines):
            raise TensorMTError(
                f"the source of trees gave {describe(found)} for {len(lines)} segments: expected a"
                " TreeBatch of as many trees"
            )
        return found.to(self.device)

    def _first_trees(self, number: int) -> TreeBatch:
        """Of trees that were given, for each different text the first one with its words."""
        whole = TreeBatch.concat(self._all_trees())
        numbers = torch.cat(self._number())
        rows = torch.arange(len(numbers))
        first = torch.full((number,), len(numbers)).scatter_reduce(0, numbers, rows, "amin")
        return whole[first.clamp(max=max(len(numbers) - 1, 0)).to(self.device)]

    def _all_trees(self) -> list[TreeBatch]:
        """The trees that were given, a batch a stream."""
        if "given" not in self._made:
            if isinstance(self.trees, TreesAsText):
                given = list(self.trees.streams(self.streams, self.first))
            elif self.trees is None or callable(self.trees):
                raise TensorMTError(_NO_TREES)
            else:
                given = list(self.trees)
            self._made["given"] = [batch.to(self.device) for batch in given]
        trees: list[TreeBatch] = self._made["given"]
        return trees

    def sides(self, reading: Input, hyps: int = 1) -> tuple[list[Any], Any]:
        """The first streams as hypotheses, the others as references, prepared once."""
        if isinstance(reading, CompositeInput):
            sides = [self.sides(part, hyps) for part in reading.parts]
            own = [
                CompositeBatch(stream) for stream in zip(*(hyp for hyp, _ in sides), strict=True)
            ]
            return own, CompositeReferences(refs for _, refs in sides)
        streams = self.read(reading)
        if not isinstance(reading, Tokens):
            return streams[:hyps], streams[hyps:]
        key = ("references", reading.cut, hyps)
        if key not in self._made:
            self._made[key] = References(streams[hyps:])
        return streams[:hyps], self._made[key]


_NO_TREES = "no parser: metrics on trees need one, or trees at hand"


def _slice(index: Tensor) -> slice | Tensor:
    """Numbers that rise one by one as a slice, which copies nothing."""
    numbers = index.numpy()
    if len(numbers) and np.array_equal(numbers, np.arange(numbers[0], numbers[0] + len(numbers))):
        return slice(int(numbers[0]), int(numbers[0]) + len(numbers))
    return index


def signature(metric: Metric[Any], references: int, trees: TreeSource | None) -> str:
    """What reproduces a score: metric, options, number of references, parser, version."""
    facts: dict[str, object] = {"refs": references}
    if metric.reads_trees:
        facts["parser"] = getattr(trees, "fingerprint", GIVEN)
        if getattr(trees, "kind", None) == "dependency":
            facts["rules"] = None  # head rules make dependencies of constituents
    return metric.signed(facts)
