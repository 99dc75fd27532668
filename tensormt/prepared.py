"""Texts prepared for metrics: every different text is tokenised, parsed and encoded once.

    texts = PreparedTexts(segments, trees=source)
    hyps, refs = texts.sides(metric.reads)          # a batch for each system; prepared references

Outputs of systems often equal each other or a reference, so texts are numbered; tokens or trees are
made of the different ones, and the batch of a stream is gathered by number. Trees that were given
(as text, or beside the text) are taken by position instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain, count, zip_longest
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tensormt.data.coercion import lone_surrogate
from tensormt.devices import resolve_device
from tensormt.errors import SegmentError, TensorMTError
from tensormt.inputs import Contextual, Input
from tensormt.options import describe
from tensormt.plain import torch_imported
from tensormt.segments import Segments, Stream
from tensormt.text.tokens import TokenBatch
from tensormt.trees.sources import PreparsedTrees, TreesAsText, TreeSource, sentences

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from tensormt.trees.batch import TreeBatch
    from tensormt.vectors.batch import VectorBatch

T = TypeVar("T")
_CASE_MATTERS = re.compile(r"Σ|(?i:&(?:quot|amp|lt|gt);|<skipped>)")


class PreparedTexts:
    """The texts of some segments: a stream for each system, then for each reference.

    Args:
        segments: The segments.
        trees: Source of trees; None where no metric reads them.
        device: Device of the batches: None for the CPU, "auto", "cuda", …; tokens of small jobs
            are strings, of no device, as long as torch is not imported.
    """

    def __init__(
        self,
        segments: Segments,
        trees: TreeSource | PreparsedTrees | None = None,
        device: torch.device | str | None = None,
    ) -> None:
        self.segments, self.trees = segments, trees
        self._device = device
        self._numbers: dict[str, int] = {"": 0}
        self._index: list[np.ndarray] = []
        self._made: dict[Any, Any] = {}
        self._read: dict[Any, TokenBatch] = {}  # on the CPU, until they are sent

    @cached_property
    def device(self) -> torch.device:
        """The device of the batches."""
        return resolve_device(self._device)

    def sides(self, reads: Input) -> tuple[list[Any], Any]:
        """Return a batch for each system, and the references, prepared once for all systems."""
        return reads.sides(self, len(self.segments.outputs))

    def lines(self, stream: int) -> list[str]:
        """Return the text of a stream, "" where there is none; of given trees, their words."""
        index, names = self._number()[stream], list(self._numbers)
        return [names[i] for i in index.tolist()]

    @property
    def index(self) -> list[Tensor]:
        """The number of each text among the different ones, int64 [B] a stream; -1: blank."""
        import torch

        index = self._number()
        blank = np.array([not text.strip() for text in self._numbers])
        return [torch.from_numpy(np.where(blank[numbers], -1, numbers)) for numbers in index]

    # --- what inputs ask for (tensormt.inputs) ----------------------------------------------------

    @cached_property
    def case_matters_to_13a(self) -> bool:
        """Whether tokens in lower case may differ from the tokens of the text in lower case.

        Entities are read in lower case only, and a Σ looks beyond its token for the end of a word.
        """
        return any(map(_CASE_MATTERS.search, self._different()))

    def token_batches(self, tokenize: str, lowercase: bool) -> list[TokenBatch]:
        """Return the tokens of every stream."""
        return self._once(
            (tokenize, lowercase), lambda: self._gathered(self.unique_tokens(tokenize, lowercase))
        )

    def read_tokens(self, tokenize: str, lowercase: bool) -> None:
        """Tokenise all different texts, without the device."""
        key = tokenize, lowercase
        if key not in self._read:
            self._read[key] = TokenBatch.from_text(self._different(), tokenize, lowercase)

    def unique_tokens(self, tokenize: str, lowercase: bool) -> TokenBatch:
        """Return the tokens of all different texts; the first is the empty text."""
        self.read_tokens(tokenize, lowercase)
        batch = self._read.pop((tokenize, lowercase))
        return batch.to(self.device) if torch_imported() else batch

    def token_references(self, tokenize: str, lowercase: bool, hyps: int) -> Sequence[TokenBatch]:
        """Return the tokens of the references; many are prepared for n-gram matching."""
        streams = self.token_batches(tokenize, lowercase)[hyps:]
        if all(stream.is_plain for stream in streams):
            return streams
        from tensormt.ngram.references import References

        return self._once(("references", tokenize, lowercase, hyps), lambda: References(streams))

    def read_sources(self, tokenize: str, lowercase: bool) -> None:
        """Tokenise the source text of each segment, without the device."""
        key = "sources", tokenize, lowercase
        if key not in self._read:
            lines = [text or "" for text in self.segments.sources or [""] * len(self.segments)]
            if lone_surrogate("".join(lines)):
                self._refuse([lines])
            self._read[key] = TokenBatch.from_text(lines, tokenize, lowercase)

    def source_tokens(self, tokenize: str, lowercase: bool) -> TokenBatch:
        """Return the tokens of the source text of each segment, none where it is missing."""
        key = "sources", tokenize, lowercase

        def send() -> TokenBatch:
            self.read_sources(tokenize, lowercase)
            return self._read.pop(key).to(self.device)

        return self._once(key, send)

    def read_trees(self) -> None:
        """Do what trees need before the device: read those that are text, number the texts."""
        if isinstance(self.trees, TreesAsText):
            self._read_given_trees()
        elif self._parses:
            self._number()

    def tree_batches(self) -> list[TreeBatch]:
        """Return the trees of every stream."""
        if not self._parses:
            return self._given_trees()
        return self._once("trees", lambda: self._tree_streams(self.unique_trees()))

    def unique_trees(self) -> TreeBatch:
        """Return the trees of all different texts; the first is the empty tree."""
        return self._once("different trees", self._unique_trees)

    def _unique_trees(self) -> TreeBatch:
        lines = self._different()
        if not self._parses:
            return self._first_trees(len(lines))
        assert callable(self.trees)
        check = getattr(self.trees, "check_language", None)
        if check is not None:
            check([text for stream in self.segments.references for text in stream])
        from tensormt.trees.batch import TreeBatch

        found = self.trees(lines)
        if not isinstance(found, TreeBatch) or len(found) != len(lines):
            raise TensorMTError(
                f"the source of trees gave {describe(found)} for {len(lines)} segments: expected a"
                " TreeBatch of as many trees"
            )
        return found.to(self.device)

    def vector_batches(self, reads: Contextual) -> list[VectorBatch]:
        """Return the contextual vectors of every stream; all streams share one tensor."""
        return self._once(reads, lambda: self._gathered(self.unique_vectors(reads)))

    def unique_vectors(self, reads: Contextual) -> VectorBatch:
        """Return the contextual vectors of all different texts; the first is the empty text."""
        if not reads.uses_trees:
            key = ("vectors", reads)
            return self._once(key, lambda: reads.encode(self._different(), self.device))
        found = self.unique_vectors(replace(reads, uses_trees=False))
        return found.with_trees(self.unique_trees())

    # --- how they are made ------------------------------------------------------------------------

    def _once(self, key: Any, make: Callable[[], T]) -> T:
        if key not in self._made:
            self._made[key] = make()
        value: T = self._made[key]
        return value

    @property
    def _parses(self) -> bool:
        """Whether trees are made from text, by a parser."""
        return callable(self.trees) and not isinstance(self.trees, TreesAsText)

    def _different(self) -> list[str]:
        self._number()
        return list(self._numbers)

    def _gathered(self, batch: Any) -> list[Any]:
        """The batch of each stream, from the batch of all different texts."""
        return [batch[_as_slice(index)] for index in self._number()]

    def _tree_streams(self, batch: TreeBatch) -> list[TreeBatch]:
        """The same of trees; on a device the streams are parts of one batch."""
        import torch

        if batch.device == torch.device("cpu"):
            return self._gathered(batch)
        index = self._number()
        rows = batch[torch.from_numpy(np.concatenate(index))]
        return rows.split([len(numbers) for numbers in index])

    def _number(self) -> list[np.ndarray]:
        """The number of every text, int64 [B] for each stream; 0 for no text."""
        if not self._index:
            streams: Sequence[Stream] = self.segments.streams
            if isinstance(self.trees, TreesAsText):
                streams = [sentences(batch) for batch in self._read_given_trees()]
            texts = dict.fromkeys(chain([""], *streams))
            different = [text for text in texts if text is not None]
            if lone_surrogate("".join(different)):
                self._refuse(streams)
            self._numbers = {text: number for number, text in enumerate(different)}
            numbers: dict[str | None, int] = dict(zip(different, count(), strict=False))
            numbers[None] = 0
            for stream in streams:
                found = np.fromiter(map(numbers.__getitem__, stream), np.int64, len(stream))
                self._index.append(found)
        return self._index

    def _refuse(self, streams: Sequence[Stream]) -> None:
        """Name the first segment of this batch that contains a lone surrogate."""
        for place, texts in enumerate(zip_longest(*streams)):
            found = next(filter(None, (lone_surrogate(text or "") for text in texts)), None)
            if found:
                advice = f"holds {found!r}, which has no UTF-8 form: read the text as UTF-8"
                raise SegmentError(place + 1, advice)

    def _first_trees(self, number: int) -> TreeBatch:
        """Of given trees, for each different text the first one with its words."""
        from tensormt.trees.batch import TreeBatch

        whole = TreeBatch.concat(self._given_trees())
        numbers = np.concatenate(self._number())
        first = np.full(number, max(len(numbers) - 1, 0))
        np.minimum.at(first, numbers, np.arange(len(numbers)))
        return whole[first.tolist()]

    def _given_trees(self) -> list[TreeBatch]:
        """The trees that were given, a batch for each stream."""
        from tensormt.trees.batch import TreeBatch

        return self._once("given", lambda: TreeBatch.send(self._read_given_trees(), self.device))

    def _read_given_trees(self) -> list[TreeBatch]:
        """The same where they were given; those that are text are read on the CPU, once."""
        if isinstance(self.trees, TreesAsText):
            first = self.segments.number(0) + 1 if len(self.segments) else 1
            source, streams = self.trees, self.segments.streams
            return self._once("read", lambda: source.streams(streams, first))
        if isinstance(self.trees, PreparsedTrees):
            assert self.segments.numbers is not None
            # where hypotheses were left out, the references are the last streams
            return self.trees.rows(self.segments.numbers)[-len(self.segments.streams) :]
        raise TensorMTError("no parser: metrics on trees need one, or trees at hand")


def _as_slice(numbers: np.ndarray) -> slice | np.ndarray:
    """Numbers that rise one by one as a slice, which copies nothing."""
    if len(numbers) and np.array_equal(numbers, np.arange(numbers[0], numbers[0] + len(numbers))):
        return slice(int(numbers[0]), int(numbers[0]) + len(numbers))
    return numbers
