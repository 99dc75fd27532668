"""What a metric reads of a text: tokens of a tokeniser, or trees of a kind.

A metric declares it (`metric.reads`); whoever has texts asks for it and prepares the batches
(`tensormt.prepared`), so that nobody needs to know a metric's class.

    Tokens("13a", lowercase=False)      a TokenBatch; the metric lowers the case of words itself
    Trees("constituency")               a TreeBatch of bracketed trees
    Trees("dependency")                 a TreeBatch of either kind: head rules turn brackets
    Several((…, …))                     Views: the same segments in each of these readings
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.text.tokenizer import CHARACTERS
from tensormt.text.tokens import TokenBatch
from tensormt.trees.batch import TreeBatch

__all__ = [
    "BATCHES",
    "CompositeBatch",
    "CompositeInput",
    "CompositeReferences",
    "Input",
    "Tokens",
    "Trees",
    "reads_trees",
    "view",
    "views",
]


@dataclass(frozen=True)
class Tokens:
    """Tokens: how text is cut, and whether the metric looks at them in lower case."""

    tokenize: str = "13a"
    lowercase: bool = False

    @property
    def cut(self) -> tuple[str, bool]:
        """How text is cut, and whether in lower case: Σ alone cannot know that it ends a word."""
        return self.tokenize, self.lowercase and self.tokenize in CHARACTERS

    def check(self, metric: str, batch: Any) -> None:
        """Raise unless the batch holds tokens; a batch brings its own tokenisation."""
        if not isinstance(batch, TokenBatch):
            raise TensorMTError(
                f"{metric} compares tokens but got {_what(batch)}: make a batch with "
                "TokenBatch.from_text(lines)"
            )

    def none(self) -> TokenBatch:
        """A batch without segments."""
        return TokenBatch.from_text([], *self.cut)

    def of(self, batch: TokenBatch) -> Tokens:
        """The reading that a batch of tokens really gives to this metric."""
        return Tokens(batch.tokenize, self.lowercase or batch.lowercase)


@dataclass(frozen=True)
class Trees:
    """Trees: of constituents, or of dependencies (made by head rules where there are brackets)."""

    kind: str = "constituency"

    def none(self) -> TreeBatch:
        """A batch without segments."""
        return TreeBatch.from_brackets([])

    def check(self, metric: str, batch: Any) -> None:
        """Raise unless the batch holds trees that fit."""
        if not isinstance(batch, TreeBatch):
            raise TensorMTError(
                f"{metric} compares trees but got {_what(batch)}: make a batch with "
                "Parser.load().parse(lines) or TreeBatch.from_brackets(lines)"
            )
        if self.kind == "constituency" and batch.kind == "dependency":
            raise TensorMTError(
                f"{metric} compares constituency trees but the batch holds dependency trees: "
                "use HWCM, DSTM or DTKM, or give bracketings"
            )


@dataclass(frozen=True)
class CompositeInput:
    """Several readings side by side, one for each member of a combined metric."""

    parts: tuple[Input, ...]

    def none(self) -> CompositeBatch:
        """A batch without segments."""
        return CompositeBatch(part.none() for part in self.parts)

    def check(self, metric: str, batch: Any) -> None:
        """Raise unless the batch has the readings, or is one that fits all of them."""
        for number, part in enumerate(self.parts):
            part.check(metric, view(batch, number))


Input = Tokens | Trees | CompositeInput


def reads_trees(reading: Input) -> bool:
    """Whether trees are part of a reading."""
    if isinstance(reading, CompositeInput):
        return any(map(reads_trees, reading.parts))
    return isinstance(reading, Trees)


class CompositeBatch:
    """The same segments in several readings: `parts`, a batch each."""

    def __init__(self, parts: Iterable[Any]) -> None:
        self.parts = tuple(parts)

    def __len__(self) -> int:
        return len(self.parts[0])

    def __getitem__(self, index: Any) -> CompositeBatch:
        return CompositeBatch(part[index] for part in self.parts)

    @property
    def device(self) -> torch.device:
        """Where the tensors are."""
        device: torch.device = self.parts[0].device
        return device

    @property
    def lengths(self) -> Tensor:
        """Lengths of the segments in the first reading, int64 [B]; 0: there is no text."""
        lengths: Tensor = self.parts[0].lengths
        return lengths


BATCHES = (TokenBatch, TreeBatch, CompositeBatch)


class CompositeReferences(Sequence[CompositeBatch]):
    """References in several readings: `parts`, a list of R streams each, prepared once."""

    def __init__(self, parts: Iterable[Sequence[Any]]) -> None:
        self.parts = tuple(parts)

    def __len__(self) -> int:
        return len(self.parts[0])

    def __getitem__(self, index: Any) -> Any:
        return CompositeBatch(part[index] for part in self.parts)


def view(batch: Any, number: int) -> Any:
    """What member `number` of a combined metric reads of a batch, which may serve them all."""
    return batch.parts[number] if isinstance(batch, CompositeBatch | CompositeReferences) else batch


def views(batches: Sequence[Any], number: int) -> Sequence[Any]:
    """The same of several batches (references)."""
    if isinstance(batches, CompositeReferences):
        part: Sequence[Any] = batches.parts[number]
        return part
    return [view(batch, number) for batch in batches]


def _what(batch: Any) -> str:
    names = {
        TokenBatch: "a batch of tokens",
        TreeBatch: "a batch of trees",
        CompositeBatch: "views",
    }
    return names.get(type(batch), f"{type(batch).__name__}")
