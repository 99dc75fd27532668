"""Base class of external parsers, those of other libraries.

A library returns words, heads and relations of sentences; the sentences of a segment are joined to
one tree, in which the roots of later sentences are children of the first root. Segments are parsed
in batches, to update the progress bar; blank segments have an empty tree and are not parsed.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from tensormt.trees.batch import TreeBatch
from tensormt.trees.conllu import Sentences, join

Segment = str | Sequence[str]

_BATCH = 256  # segments between two updates of the progress bar


class ExternalParser(ABC):
    """A parser of another library; a subclass defines `fingerprint` and `analyze`."""

    kind = "dependency"

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """Library, model and version."""

    @abstractmethod
    def analyze(self, segments: list[Segment]) -> list[Any]:
        """Parse segments that are not blank: `Sentences` of each, or a bracketing."""

    def parse(
        self,
        segments: Sequence[str | Sequence[str] | None],
        progress: Callable[[int], object] | None = None,
    ) -> TreeBatch:
        """Parse segments.

        Args:
            segments: Texts, lists of tokens, or None for an empty tree.
            progress: Called with numbers of parsed segments.

        Returns:
            One tree per segment.
        """
        found: list[Any] = []
        for start in range(0, len(segments), _BATCH):
            part = segments[start : start + _BATCH]
            texts: list[Segment] = [s for s in part if _has_text(s)]  # type: ignore[misc]
            parsed = iter(self.analyze(texts))
            found += [next(parsed) if _has_text(s) else None for s in part]
            if progress is not None:
                progress(len(part))
        return self._batch(found)

    def _batch(self, found: list[Any]) -> TreeBatch:
        if self.kind == "constituency":
            return TreeBatch.from_brackets([tree or "" for tree in found])
        counts = [0 if sentences is None else len(sentences.words) for sentences in found]
        known = [sentences for sentences in found if sentences is not None]
        columns = ([row for sentences in known for row in sentences[k]] for k in range(4))
        words, heads, relations, _ = join(Sentences(*columns), counts)
        return TreeBatch.from_heads(words, heads, relations)


def _has_text(segment: str | Sequence[str] | None) -> bool:
    tokens = [segment] if isinstance(segment, str) else segment or ()
    return any(token and not token.isspace() for token in tokens)
