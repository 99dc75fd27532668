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
from tensormt.ngram.base import NgramMetric
from tensormt.scoring import GIVEN
from tensormt.text.tokens import TokenBatch
from tensormt.trees.batch import TreeBatch

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
        self.parse = parse
        self._tokens: dict[str, TokenBatch] = {}
        self._trees: TreeBatch | None = None

    def index(self, texts: Sequence[str | None]) -> Tensor:
        """Return the place of each text in the prepared batches, int64 [B]; 0 where empty."""
        return torch.tensor([self._numbers[_key(text)] for text in texts], dtype=torch.int64)

    def batch(self, metric: Metric[Any]) -> Any:
        """Return all texts as the metric reads them: a TokenBatch, or a TreeBatch."""
        strings = list(self._numbers)
        if isinstance(metric, NgramMetric):
            if metric.tokenize not in self._tokens:
                made = TokenBatch.from_text(strings, tokenize=metric.tokenize)
                self._tokens[metric.tokenize] = made
            return self._tokens[metric.tokenize]
        if self._trees is None:
            if self.parse is None:
                raise TensorMTError(f"{metric.name} compares trees: give a parser")
            self._trees = self.parse(strings)
        return self._trees

    def signature(self, metric: Metric[Any], references: int) -> str:
        """Return what reproduces a score: metric, options, references, parser, version."""
        facts: dict[str, object] = {"refs": references}
        if not isinstance(metric, NgramMetric):
            facts["parser"] = getattr(self.parse, "fingerprint", GIVEN)
        return metric.signed(facts)
