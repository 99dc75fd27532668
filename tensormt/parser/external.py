"""What parsers of other libraries share: segments in, the trees of those with text out.

A library gives the words, heads and relations of sentences; those of a segment become one tree, the
roots of later sentences hanging on that of the first. Segments go to the library in slices, so that
a progress bar moves; blank ones have an empty tree and never get there.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from tensormt.trees.batch import TreeBatch
from tensormt.trees.conllu import Sentences, join

Segment = str | Sequence[str]

_SLICE = 256  # segments between two steps of a progress bar


class ForeignParser(ABC):
    """A parser of another library: a subclass gives `fingerprint` and `analyse`."""

    kind = "dependency"

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """Library, model and version."""

    @abstractmethod
    def analyse(self, segments: list[Segment]) -> list[Any]:
        """What the library makes of segments that hold text: `Sentences` each, or a bracketing."""

    def parse(
        self,
        segments: Sequence[str | Sequence[str] | None],
        progress: Callable[[int], object] | None = None,
    ) -> TreeBatch:
        """Trees of segments, each raw text, a list of tokens, or None."""
        found: list[Any] = []
        for start in range(0, len(segments), _SLICE):
            part = segments[start : start + _SLICE]
            texts: list[Segment] = [s for s in part if _holds_text(s)]  # type: ignore[misc]
            made = iter(self.analyse(texts))
            found += [next(made) if _holds_text(s) else None for s in part]
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


def _holds_text(segment: str | Sequence[str] | None) -> bool:
    tokens = [segment] if isinstance(segment, str) else segment or ()
    return any(token and not token.isspace() for token in tokens)
