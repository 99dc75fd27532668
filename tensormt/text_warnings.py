"""Warnings about text that may make scores misleading, counted over the chunks of a corpus.

- Outputs that are empty or much shorter than their references, where a metric does not see that;
  many empty outputs anyway.
- Outputs without a score of another tool (`tensormt.stored_scores`), whose mean is over the others.
- Outputs and references in different Unicode normal forms (é as one character or as two), which do
  not match.
- Segments without a source text, where a metric reads it.
- References in a script without blanks between words, where a metric cuts words at blanks, or in
  a script of which ROUGE's own tokeniser reads nothing.
- Text without line breaks, where ROUGE-Lsum takes a line for a sentence.
- Text that seems to be tokenised already: most lines end in a period with a space before it, as
  sacrebleu looks for it.
"""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from tensormt.errors import TensorMTWarning
from tensormt.stored_scores import StoredInput
from tensormt.text.scripts import script_counts

if TYPE_CHECKING:
    from tensormt.metric import Metric
    from tensormt.segments import Segments
    from tensormt.statistics import Statistics

__all__ = ["TextWarnings", "warn_of_texts"]

_MANY = 100  # lines that end in a tokenised period, whatever the size of the corpus: sacrebleu's
_SHARE = 0.05  # of texts that are empty, or not in NFC
_FEW = 3  # lines below which nothing is said
_LOOKED_AT = 200  # references whose script is looked at
_WITHOUT_BLANKS = frozenset({"CJK", "KANA", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN"})
_AT_BLANKS = frozenset({"13a", "intl", "blanks"})  # tokenisers that cut words at blanks
_KANA = re.compile("[\u3040-\u30ff]")
_ASCII = frozenset({"rouge"})  # tokenisers that read a-z and digits alone
_SCRIPT, _UNSCORED = "script ", "unscored "  # prefixes of counts


def warn_of_texts(
    metrics: Mapping[str, Metric[Any]],
    outputs: Sequence[str],
    references: Sequence[str],
    noun: str = "texts",
) -> None:
    """Warn of what may make scores of texts misleading that are not aligned in segments.

    Args:
        metrics: Metrics by name, without stored scores.
        outputs: The texts that are scored.
        references: The texts with which they are compared.
        noun: What the latter are called.
    """
    from tensormt.segments import Segments

    seen = TextWarnings(metrics, noun)
    seen.add(Segments({"": [*outputs]}, [[None] * len(outputs)]))
    seen.add(Segments({}, [[*references]]))
    seen.warn()


class TextWarnings:
    """Counts what is suspicious in segments; `warn` says it once for all of them.

    Args:
        metrics: Metrics by name.
        noun: What references are called.

    Attributes:
        counts: What was counted, by name; the counts of several parts of a corpus add up.
    """

    def __init__(self, metrics: Mapping[str, Metric[Any]], noun: str = "references") -> None:
        self.counts: Counter[str] = Counter()
        self._noun = noun
        self._unpenalized = [
            name for name, metric in metrics.items() if not metric.penalizes_short_output
        ]
        members = {name: _members(metric) for name, metric in metrics.items()}
        self._tokenizes = any(getattr(m, "tokenize", None) != "none" for m in metrics.values())
        self._at_blanks, self._ascii = (
            [
                name
                for name, own in members.items()
                if any(getattr(member, "tokenize", None) in kinds for member in own)
            ]
            for kinds in (_AT_BLANKS, _ASCII)
        )
        self._tercom, self._tercom_asian = (
            [name for name, own in members.items() if any(_cuts_ideographs(m) is k for m in own)]
            for k in (False, True)
        )
        self._lines = [name for name, own in members.items() if any(map(_takes_lines, own))]
        self._sourced = [name for name, m in metrics.items() if m.reads.uses_sources]
        self._stored = [name for name, m in metrics.items() if isinstance(m.reads, StoredInput)]

    def add(self, segments: Segments, statistics: Statistics | None = None) -> None:
        """Look at the outputs of some more segments, and at their statistics if there are any."""
        counts = self.counts
        lines = [text for texts in segments.outputs.values() for text in texts if text is not None]
        counts["outputs"] += len(lines)
        counts["empty"] += sum(not text or text.isspace() for text in lines)
        if self._tokenizes:
            counts["tokenized"] += sum(text.endswith(" .") for text in lines)
        references = [text for stream in segments.references for text in stream if text]
        counts["references"] += len(references)
        counts["decomposed outputs"] += _decomposed(lines)
        counts["decomposed references"] += _decomposed(references)
        if self._at_blanks or self._ascii or self._tercom or self._tercom_asian:
            seen = sum(number for name, number in counts.items() if name.startswith(_SCRIPT))
            looked = islice(references, max(_LOOKED_AT - seen, 0))
            counts.update(_SCRIPT + _script(text) for text in looked)
        if self._lines:
            counts["with lines"] += sum("\n" in text for text in (*lines, *references))
        if self._unpenalized:
            counts["short"] += segments.short_outputs()
        if self._sourced:
            counts["segments"] += len(segments)
            counts["no source"] += sum(not (text or "").strip() for text in segments.sources or ())
        if statistics is None:
            return
        for name in self._stored:
            unscored = np.isnan(statistics.segments(name)) & statistics.present
            counts[_UNSCORED + name] += int(unscored.sum())

    def _mostly(self, scripts: Collection[str]) -> str:
        """The scripts among these of references, if most references are in them."""
        found = self._scripts()
        named = [name for name in scripts if found.get(name)]
        most = 2 * sum(found[name] for name in named) > sum(found.values())
        return ", ".join(sorted(named)) if most else ""

    def _scripts(self) -> dict[str, int]:
        """The number of references by the script of most of their letters."""
        return {
            name.removeprefix(_SCRIPT): number
            for name, number in self.counts.items()
            if name.startswith(_SCRIPT)
        }

    def warn(self) -> None:
        """Warn of what was found."""
        for message, options in self._messages():
            warnings.warn(TensorMTWarning(message, options=options), stacklevel=3)

    def _messages(self) -> Iterator[tuple[str, str]]:
        """What was found, with the options that would help."""
        counts = self.counts
        outputs = max(counts["outputs"], 1)
        if counts["short"]:
            yield (
                f"{counts['short']:,} of {outputs:,} outputs are empty or less than half as long "
                f"as their references, which {', '.join(self._unpenalized)} cannot see: put "
                "a metric such as BLEU beside it (STM, HWCM and DSTM also have balance=f1)",
                "",
            )
        elif counts["empty"] > _SHARE * outputs:
            yield f"{counts['empty']:,} of {outputs:,} outputs are empty", ""
        for name in self._stored:
            if missing := counts[_UNSCORED + name]:
                yield (
                    f"{missing:,} of {outputs:,} outputs have no score of {name}: its corpus "
                    "scores are means over the others, and two systems are compared on the "
                    "segments for which both have one",
                    "",
                )
        if self._at_blanks and (found := self._mostly(_WITHOUT_BLANKS)):
            yield (
                f"{self._noun} are in a script without blanks between words ({found}), but "
                f"{', '.join(self._at_blanks)} cut words at blanks, so that a sentence is one "
                "word: set the language (zh, ja), or tokenize=char, or take chrf",
                "lang",
            )
        for names, scripts, advice in (
            (self._tercom, _WITHOUT_BLANKS, "set normalized=yes,asian_support=yes for Chinese, "),
            (self._tercom_asian, _WITHOUT_BLANKS - {"CJK"}, ""),
        ):
            if names and (found := self._mostly(scripts)):
                yield (
                    f"{self._noun} are in a script without blanks between words ({found}), but "
                    f"{', '.join(names)} cut words at blanks, so that a sentence is one word: "
                    f"{advice}{'or ' if advice else ''}take cer or chrf",
                    "",
                )
        if self._ascii and (found := self._mostly(self._scripts().keys() - {"LATIN", ""})):
            yield (
                f"{self._noun} are in a script ({found}) of which {', '.join(self._ascii)} reads "
                "nothing: the tokeniser of rouge-score keeps a-z and digits; set tokenize=13a",
                "",
            )
        if self._lines and counts["references"] and not counts["with lines"]:
            yield (
                f"no text has a line break, where sentences end for {', '.join(self._lines)}: "
                "each text is one sentence, as in variant=l; set sentences=split",
                "",
            )
        if counts["no source"]:
            yield (
                f"{counts['no source']:,} of {counts['segments']:,} segments have no source text: "
                f"nothing in them counts as copied for {', '.join(self._sourced)}",
                "",
            )
        ours = counts["decomposed outputs"] / outputs
        theirs = counts["decomposed references"] / max(counts["references"], 1)
        if abs(ours - theirs) > _SHARE:
            which = "outputs" if ours > theirs else "references"
            yield (
                f"{max(ours, theirs):.0%} of the {which} are not in Unicode's normal form NFC, "
                f"but {min(ours, theirs):.0%} of the others: letters with accents do not match; "
                "normalise both",
                "",
            )
        if counts["tokenized"] >= _MANY or counts["tokenized"] >= max(_FEW, outputs / 2):
            yield (
                f"{counts['tokenized']:,} of {outputs:,} outputs end in a period with a space "
                "before it: the text seems to be tokenised, which changes scores; detokenise it "
                "first, or set tokenize=none",
                "",
            )


def _cuts_ideographs(metric: Any) -> bool | None:
    """Whether a TER cuts Chinese characters apart, as no TER does with kana; None: no TER."""
    if not hasattr(metric, "asian_support"):
        return None
    return bool(metric.normalized and metric.asian_support)


def _takes_lines(metric: Any) -> bool:
    """Whether a metric is a ROUGE-Lsum whose sentences are lines."""
    return getattr(metric, "variant", "") == "lsum" and metric.sentences == "lines"


def _members(metric: Metric[Any]) -> list[Any]:
    """The members of a mean or another combined metric, else the metric itself."""
    return [own for part in getattr(metric, "metrics", []) for own in _members(part)] or [metric]


def _decomposed(texts: list[str]) -> int:
    """How many texts are not in Unicode's normal form NFC."""
    return sum(not (t.isascii() or unicodedata.is_normalized("NFC", t)) for t in texts)


def _script(text: str) -> str:
    """The script of most letters of a text; "" if it has none, KANA if most of CJK are kana."""
    if text.isascii():
        return "LATIN"
    [(most, number)] = script_counts(text).most_common(1) or [("", 0)]
    return "KANA" if most == "CJK" and 2 * len(_KANA.findall(text)) > number else most
