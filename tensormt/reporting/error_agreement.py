"""How often errors that people marked meet words that a metric did not match.

A word of an output is in an error if it shares a character with a marked span, and it is matched if
the metric counted it by itself: as a unigram, as an aligned word, or as a chain of one headword.
Over all words of rated outputs,

    recall     of the words in errors, the share that is not matched
    precision  of the words that are not matched, the share in errors
    by chance  the share of all words that is in errors: what the precision of no use would be

A span is met if it has a word that is not matched.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensormt.data.error_spans import ErrorSpan
from tensormt.explanation import Explanation

_KINDS = ("n-gram", "word", "chain", "skip-bigram")  # of which items of order 1 are words
_SEVERITIES = ("critical", "major", "minor")


def word_places(text: str, words: Sequence[str]) -> list[tuple[int, int] | None]:
    """Find the words that a metric compared in the text of the output.

    Args:
        text: The output.
        words: Its words in order, which may be in lower case.

    Returns:
        First character of each word and the first behind it; None: it is not in the text as it is.

    >>> word_places("The cat.", ["the", "cat", "."])
    [(0, 3), (4, 7), (7, 8)]
    """
    lower = text.lower()
    haystack = lower if len(lower) == len(text) else text
    found: list[tuple[int, int] | None] = []
    at = 0
    for word in words:
        own = word.lower() if haystack is lower else word
        place = haystack.find(own, at) if own else -1
        if place < 0 or place - at > 40:  # not here: a longer way would lose the words between
            found.append(None)
            continue
        at = place + len(own)
        found.append((place, at))
    return found


class ErrorAgreement:
    """Counts of words and spans by metric, over the rated outputs of all systems.

    Args:
        spans: For each system in turn, the errors of N segments; None: not rated.
    """

    def __init__(self, spans: Sequence[Sequence[Sequence[ErrorSpan] | None]]) -> None:
        self._spans = spans
        self._counts: dict[str, dict[str, int]] = {}

    def add(
        self, name: str, found: Explanation, system: int, texts: Sequence[str], start: int
    ) -> None:
        """Add the outputs of a system in a chunk.

        Args:
            name: Name of the metric, or of the member of a mean.
            found: What it matched.
            system: Number of the system.
            texts: The outputs of the chunk.
            start: Number of its first segment.
        """
        items = found.items
        if items is None or found.kind not in _KINDS:
            return
        matched: list[set[int]] = [set() for _ in texts]
        wanted = items.counted & (items.hyp.order == 1)
        pairs = (items.hyp.segment[wanted].tolist(), items.hyp.place[wanted].tolist())
        for segment, place in zip(*pairs, strict=True):
            matched[segment].add(place)
        counts = self._counts.setdefault(name, {})
        for number, text in enumerate(texts):
            spans = self._spans[system][start + number]
            if spans is not None:
                words = _words(found, number)
                _count(counts, spans, word_places(text, words), matched[number])

    def rows(self) -> list[dict[str, Any]]:
        """Return for each metric the numbers of words and spans, for the page."""
        return [{"metric": name, **counts} for name, counts in self._counts.items() if counts]


def _words(found: Explanation, segment: int) -> list[str]:
    """The words of an output as the metric compared them; of chains, the nodes are words."""
    if found.kind != "chain":
        words: list[str] = found.hyp[segment].to_tokens()[0]
        return words
    batch = found.hyp[segment]
    names = batch.labels.strings
    return [names[i] if i >= 0 else "" for i in batch.nodes.label.tolist()]


def _count(
    counts: dict[str, int],
    spans: Sequence[ErrorSpan],
    places: Sequence[tuple[int, int] | None],
    matched: set[int],
) -> None:
    """Add the words and spans of one output."""
    inside = [span for span in spans if 0 <= span.start < span.end]
    met: set[int] = set()
    for key in ("words", "errors", "unmatched", "both", "omissions"):
        counts.setdefault(key, 0)
    for word, place in enumerate(places):
        if place is None:
            continue
        own = [k for k, span in enumerate(inside) if span.start < place[1] and place[0] < span.end]
        lacks = word not in matched
        counts["words"] += 1
        counts["errors"] += bool(own)
        counts["unmatched"] += lacks
        counts["both"] += bool(own) and lacks
        met |= set(own) if lacks else set()
    counts["omissions"] += len(spans) - len(inside)
    for k, span in enumerate(inside):
        severity = span.severity if span.severity in _SEVERITIES else "other"
        for key, one in ((f"spans_{severity}", 1), (f"met_{severity}", int(k in met))):
            counts[key] = counts.get(key, 0) + one
