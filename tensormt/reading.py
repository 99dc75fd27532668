"""What a metric reads of a text: tokens of a tokeniser, or trees of a kind.

A metric declares it (`metric.reads`); whoever has texts asks for it and prepares the batches
(`tensormt.texts`), so that nobody needs to know a metric's class.

    Tokens("13a", lowercase=False)      a TokenBatch; the metric lowers the case itself
    Trees("constituency")               a TreeBatch of bracketed trees
    Trees("dependency")                 a TreeBatch of either kind: head rules turn brackets
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tensormt.errors import TensorMTError
from tensormt.text.tokens import TokenBatch
from tensormt.trees.batch import TreeBatch

__all__ = ["Reading", "Tokens", "Trees"]


@dataclass(frozen=True)
class Tokens:
    """Tokens: how text is cut, and whether the metric looks at them in lower case."""

    tokenize: str = "13a"
    lowercase: bool = False

    def check(self, metric: str, batch: Any) -> None:
        """Raise unless the batch holds tokens; a batch brings its own tokenisation."""
        if not isinstance(batch, TokenBatch):
            raise TensorMTError(
                f"{metric} compares tokens but got {_what(batch)}: make a batch with "
                "TokenBatch.from_text(lines)"
            )

    def of(self, batch: TokenBatch) -> Tokens:
        """The reading that a batch of tokens really gives to this metric."""
        return Tokens(batch.tokenize, self.lowercase or batch.lowercase)


@dataclass(frozen=True)
class Trees:
    """Trees: of constituents, or of dependencies (made by head rules where there are brackets)."""

    kind: str = "constituency"

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


Reading = Tokens | Trees


def _what(batch: Any) -> str:
    names = {TokenBatch: "a batch of tokens", TreeBatch: "a batch of trees"}
    return names.get(type(batch), f"{type(batch).__name__}")
