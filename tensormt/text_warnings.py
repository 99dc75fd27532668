"""Warnings about text that may make scores misleading, counted over the chunks of a corpus.

- Outputs that are empty or much shorter than their references, where a metric does not see that.
- Outputs and references in different Unicode normal forms (é as one character or as two), which do
  not match.
- Segments without a source text, where a metric reads it.
- References in a script without blanks between words, where a metric cuts words at blanks, or in
  a script of which ROUGE's own tokeniser reads nothing.
- Text that seems to be tokenised already: most lines end in a period with a space before it, as
  sacrebleu looks for it.
"""

from __future__ import annotations

import unicodedata
import warnings
from collections import Counter
from collections.abc import Collection, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from tensormt.errors import TensorMTWarning
from tensormt.text.scripts import script_counts

if TYPE_CHECKING:
    from tensormt.metric import Metric
    from tensormt.segments import Segments

__all__ = ["TextWarnings"]

_MANY = 100  # lines that end in a tokenised period, whatever the size of the corpus: sacrebleu's
_FORMS = 0.05  # difference between the shares of texts that are not in NFC
_FEW = 3  # lines below which nothing is said
_LOOKED_AT = 200  # references whose script is looked at
_WITHOUT_BLANKS = frozenset({"CJK", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN"})
_AT_BLANKS = frozenset({"13a", "intl", "blanks"})  # tokenisers that cut words at blanks
_ASCII = frozenset({"rouge"})  # tokenisers that read a-z and digits alone


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
        self._at_blanks, self._ascii = (
            [
                name
                for name, metric in metrics.items()
                if any(getattr(m, "tokenize", None) in kinds for m in _members(metric))
            ]
            for kinds in (_AT_BLANKS, _ASCII)
        )
        self._scripts: Counter[str] = Counter()  # of references, the one of most of their letters
        self._sourced = [name for name, m in metrics.items() if m.reads.uses_sources]
        self._segments = self._no_source = 0
        self._outputs = self._short = self._tokenized = 0
        self._references = self._decomposed = self._decomposed_references = 0

    def add(self, segments: Segments) -> None:
        """Look at the outputs of some more segments."""
        lines = [text for texts in segments.outputs.values() for text in texts if text is not None]
        self._outputs += len(lines)
        if self._tokenizes:
            self._tokenized += sum(text.endswith(" .") for text in lines)
        references = [text for stream in segments.references for text in stream if text]
        self._references += len(references)
        self._decomposed += _decomposed(lines)
        self._decomposed_references += _decomposed(references)
        if self._at_blanks or self._ascii:
            looked = islice(references, max(_LOOKED_AT - self._scripts.total(), 0))
            self._scripts.update(map(_script, looked))
        if self._unpenalized:
            self._short += segments.short_outputs()
        if self._sourced:
            self._segments += len(segments)
            self._no_source += sum(not (text or "").strip() for text in segments.sources or ())

    def _mostly(self, scripts: Collection[str]) -> str:
        """The scripts among these of references, if most references are in them."""
        found = [name for name in scripts if self._scripts[name]]
        most = 2 * sum(self._scripts[name] for name in found) > self._scripts.total()
        return ", ".join(sorted(found)) if most else ""

    def warn(self) -> None:
        """Warn of what was found."""
        if self._short:
            warnings.warn(
                f"{self._short:,} of {self._outputs:,} outputs are empty or less than half as long "
                f"as their references, which {', '.join(self._unpenalized)} cannot see: put "
                "a metric such as BLEU beside it (STM, HWCM and DSTM also have balance=f1)",
                stacklevel=3,
            )
        if self._at_blanks and (found := self._mostly(_WITHOUT_BLANKS)):
            warnings.warn(
                TensorMTWarning(
                    f"references are in a script without blanks between words ({found}), but "
                    f"{', '.join(self._at_blanks)} cut words at blanks, so that a sentence is one "
                    "word: set the language (zh, ja), or tokenize=char, or take chrf",
                    options="lang",
                ),
                stacklevel=3,
            )
        if self._ascii and (found := self._mostly(self._scripts.keys() - {"LATIN", ""})):
            warnings.warn(
                f"references are in a script ({found}) of which {', '.join(self._ascii)} reads "
                "nothing: the tokeniser of rouge-score keeps a-z and digits; set tokenize=13a",
                stacklevel=3,
            )
        if self._no_source:
            warnings.warn(
                f"{self._no_source:,} of {self._segments:,} segments have no source text: nothing "
                f"in them counts as copied for {', '.join(self._sourced)}",
                stacklevel=3,
            )
        ours = self._decomposed / max(self._outputs, 1)
        theirs = self._decomposed_references / max(self._references, 1)
        if abs(ours - theirs) > _FORMS:
            which = "outputs" if ours > theirs else "references"
            warnings.warn(
                f"{max(ours, theirs):.0%} of the {which} are not in Unicode's normal form NFC, "
                f"but {min(ours, theirs):.0%} of the others: letters with accents do not match; "
                "normalise both",
                stacklevel=3,
            )
        if self._tokenized >= _MANY or self._tokenized >= max(_FEW, self._outputs / 2):
            warnings.warn(
                f"{self._tokenized:,} of {self._outputs:,} outputs end in a period with a space "
                "before it: the text seems to be tokenised, which changes scores; detokenise it "
                "first, or set tokenize=none",
                stacklevel=3,
            )


def _members(metric: Metric[Any]) -> list[Any]:
    """The members of a mean or another combined metric, else the metric itself."""
    return [own for part in getattr(metric, "metrics", []) for own in _members(part)] or [metric]


def _decomposed(texts: list[str]) -> int:
    """How many texts are not in Unicode's normal form NFC."""
    return sum(not (t.isascii() or unicodedata.is_normalized("NFC", t)) for t in texts)


def _script(text: str) -> str:
    """The script of most letters of a text; "" if it has none."""
    if text.isascii():
        return "LATIN"
    most = script_counts(text).most_common(1)
    return most[0][0] if most else ""
