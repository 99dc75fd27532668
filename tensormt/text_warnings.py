"""Warnings about text that may make scores misleading, counted over the chunks of a corpus.

- Outputs that are empty or much shorter than their references, where a metric does not see that.
- Text that seems to be tokenised already: most lines end in a period with a space before it, as
  sacrebleu looks for it.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tensormt.metric import Metric
    from tensormt.segments import Segments

__all__ = ["TextWarnings"]

_MANY = 100  # lines that end in a tokenised period, whatever the size of the corpus: sacrebleu's
_FEW = 3  # lines below which nothing is said


class TextWarnings:
    """Counts what is suspicious in segments; `warn` says it once for all of them.

    Args:
        metrics: Metrics by name.
    """

    def __init__(self, metrics: Mapping[str, Metric[Any]]) -> None:
        self._unpenalized = [
            name for name, metric in metrics.items() if not metric.penalizes_short_output
        ]
        self._tokenizes = any(getattr(m, "tokenize", None) != "none" for m in metrics.values())
        self._outputs = self._short = self._tokenized = 0

    def add(self, segments: Segments) -> None:
        """Look at the outputs of some more segments."""
        lines = [text for texts in segments.outputs.values() for text in texts if text is not None]
        self._outputs += len(lines)
        if self._tokenizes:
            self._tokenized += sum(text.endswith(" .") for text in lines)
        if self._unpenalized:
            self._short += segments.short_outputs()

    def warn(self) -> None:
        """Warn of what was found."""
        if self._short:
            warnings.warn(
                f"{self._short:,} of {self._outputs:,} outputs are empty or less than half as long "
                f"as their references, which {', '.join(self._unpenalized)} cannot see: use "
                "balance=f1 or balance=brevity, or a metric such as BLEU beside it",
                stacklevel=3,
            )
        if self._tokenized >= _MANY or self._tokenized >= max(_FEW, self._outputs / 2):
            warnings.warn(
                f"{self._tokenized:,} of {self._outputs:,} outputs end in a period with a space "
                "before it: the text seems to be tokenised, which changes scores; detokenise it "
                "first, or set tokenize=none",
                stacklevel=3,
            )
