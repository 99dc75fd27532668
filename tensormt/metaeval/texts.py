"""Texts prepared once: each different text of a test set is tokenised and parsed one time.

Systems often say the same, and QARLA compares every text with many others; batches of any
hypotheses and references are then gathered from the prepared ones by index.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.metric import Metric
from tensormt.tokens import TokenBatch
from tensormt.trees import TreeBatch

Parse = Callable[[list[str]], TreeBatch]


def _key(text: str | None) -> str:
    """Return the text, "" for one that is absent or only white space."""
    return text if text and text.strip() else ""


class Texts:
    """The different texts among those given; what is absent or blank is one empty text."""

    def __init__(self, texts: Iterable[str | None], parse: Parse | None = None) -> None:
        self._numbers: dict[str, int] = {"": 0}
        for text in texts:
            self._numbers.setdefault(_key(text), len(self._numbers))
        self._parse = parse
        self._batches: dict[str, Any] = {}

    def index(self, texts: Sequence[str | None]) -> Tensor:
        """Return the place of each text in the prepared batches, int64 [B]; 0 where empty."""
        return torch.tensor([self._numbers[_key(text)] for text in texts], dtype=torch.int64)

    def batch(self, metric: Metric[Any]) -> Any:
        """Return all texts as the metric reads them: a TokenBatch, or a TreeBatch."""
        kind = str(getattr(metric, "tokenize", "trees"))
        if kind not in self._batches:
            strings = list(self._numbers)
            if kind != "trees":
                self._batches[kind] = TokenBatch.from_text(strings, tokenize=kind)
            elif self._parse is None:
                raise TensorMTError(f"{metric.name} compares trees: give a parser")
            else:
                self._batches[kind] = self._parse(strings)
        return self._batches[kind]
