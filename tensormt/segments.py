"""Segments: aligned text in memory, and the only place where rows become streams of references.

    outputs      {system: N texts}; None where a system has no output
    references   R streams of N texts; None or blank where a segment has no such reference
    documents, ids, sources, human scores: where they are known

A chunk of a file, a test set with human scores, a batch of rewards and a page of the report are all
`Segments`. Importing this module imports numpy only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tensormt.errors import SegmentError, TensorMTError

__all__ = ["Segments", "reference_streams"]

Stream = Sequence[str | None]

# letters of scripts without blanks between words: Thai, Lao, Tibetan, Myanmar, Khmer, kana, Chinese
_UNSPACED = re.compile("[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")


def reference_streams(rows: Sequence[Sequence[str | None]]) -> list[list[str | None]]:
    """Turn references by segment, rows[n][r], into R streams [r][n] of equal length.

    Segments with fewer references have None at the end; there is at least one stream.

    >>> reference_streams([["a", "b"], ["c"]])
    [['a', 'c'], ['b', None]]
    """
    most = max((len(row) for row in rows), default=1)
    return [[row[k] if k < len(row) else None for row in rows] for k in range(max(most, 1))]


def _words(text: str) -> int:
    """The number of words, and of letters of scripts that put no blanks between words."""
    return len(text.split()) + (0 if text.isascii() else len(_UNSPACED.findall(text)))


def check_sizes(sizes: Mapping[str, int], unit: str = "segments") -> None:
    """Raise unless all named columns have the same number of segments."""
    (first, count), *rest = sizes.items()
    for name, other in rest:
        if other != count:
            raise TensorMTError(
                f"{name} has {other} {unit}, {first} has {count}: they must align one to one"
            )


@dataclass(frozen=True)
class Segments:
    """N aligned segments.

    Args:
        outputs: Texts of every system, [N] each; None: the system has no output there.
        references: R streams of N texts; None or blank: no such reference.
        documents: Document id of every segment.
        ids: Id of every segment.
        sources: Source text of every segment.
        human: Human scores by name, float64 [S,N]; NaN: no score.
        numbers: Positions of the segments in the corpus from which they were taken, from 0.

    >>> segments = Segments({"a": ["x", "y"]}, [["x", "z"]])
    >>> len(segments), segments[1:].references
    (2, [['z']])
    """

    outputs: dict[str, list[str | None]]
    references: list[list[str | None]]
    documents: list[str] | None = None
    ids: list[Any] | None = None
    sources: list[str | None] | None = None
    human: dict[str, np.ndarray] = field(default_factory=dict)
    numbers: Sequence[int] | None = None

    def __post_init__(self) -> None:
        if not self.references:
            raise TensorMTError("no reference given: refs is a list of at least one stream")
        sizes = {f"hypothesis {name!r}": len(lines) for name, lines in self.outputs.items()}
        sizes |= {f"reference {k}": len(lines) for k, lines in enumerate(self.references, 1)}
        if self.documents is not None:
            sizes["the list of documents"] = len(self.documents)
        if self.sources is not None:
            sizes["the list of sources"] = len(self.sources)
        check_sizes(sizes)
        if self.numbers is None:
            object.__setattr__(self, "numbers", range(len(self)))

    @classmethod
    def from_rows(
        cls,
        outputs: Mapping[str, Sequence[str | None]],
        references: Sequence[Sequence[str | None]],
        **more: Any,
    ) -> Segments:
        """Make segments whose references are given by segment.

        Args:
            outputs: Texts of every system, [N] each.
            references: The references of each of N segments, R of them; R may differ.
            more: Further columns of `Segments`.
        """
        own = {name: list(lines) for name, lines in outputs.items()}
        return cls(own, reference_streams(references), **more)

    @classmethod
    def concat(cls, parts: Sequence[Segments]) -> Segments:
        """Join consecutive chunks of one corpus, which have the same columns."""
        first = parts[0]

        def join(columns: Sequence[Sequence[Any] | None]) -> list[Any] | None:
            return None if columns[0] is None else [x for column in columns for x in column or ()]

        return cls(
            {name: join([part.outputs[name] for part in parts]) or [] for name in first.outputs},
            [
                join([part.references[k] for part in parts]) or []
                for k in range(len(first.references))
            ],
            join([part.documents for part in parts]),
            join([part.ids for part in parts]),
            join([part.sources for part in parts]),
            {name: np.concatenate([part.human[name] for part in parts], 1) for name in first.human},
            join([part.numbers for part in parts]),
        )

    def __len__(self) -> int:
        return len(self.references[0])

    @property
    def systems(self) -> list[str]:
        """Names of the systems."""
        return list(self.outputs)

    @property
    def reference_count(self) -> int:
        """The number R of reference streams."""
        return len(self.references)

    def chunks(self, size: int, start: int = 0, hyps: bool = True) -> Iterator[Segments]:
        """Iterate over parts of at most `size` segments, as `Corpus.chunks` does for files.

        Raises:
            TensorMTError: If a segment has no reference.
        """
        whole = self if hyps else replace(self, outputs={}, human={})
        for first in range(start, len(self), size):
            part = whole[first : first + size]
            part.check_references()
            yield part

    @property
    def streams(self) -> list[Stream]:
        """The outputs of all systems, then all references."""
        return [*self.outputs.values(), *self.references]

    @property
    def present(self) -> np.ndarray:
        """Where systems have an output, bool [S,N]."""
        rows = [[text is not None for text in lines] for lines in self.outputs.values()]
        return np.array(rows, bool).reshape(len(self.outputs), len(self))

    def reference_rows(self) -> list[list[str]]:
        """Return the references of each segment that are not blank."""
        rows = zip(*self.references, strict=True)
        return [[text for text in row if text and not text.isspace()] for row in rows]

    def texts_by_segment(self) -> list[list[str | None]]:
        """Return the texts of each segment: outputs of all systems, then references.

        None stands for a missing output and for an absent reference.
        """
        references = [
            [text if text and not text.isspace() else None for text in stream]
            for stream in self.references
        ]
        return [list(row) for row in zip(*self.outputs.values(), *references, strict=True)]

    def number(self, place: int) -> int:
        """Return the position in the corpus of the segment at a place, from 0."""
        assert self.numbers is not None
        return self.numbers[place]

    def __getitem__(self, index: slice | Sequence[int]) -> Segments:
        """Return some of the segments: a slice, or a list of places."""
        places = range(len(self))[index] if isinstance(index, slice) else list(index)
        assert self.numbers is not None

        def take(column: Sequence[Any]) -> list[Any]:
            if isinstance(index, slice):
                return list(column[index])
            return [column[place] for place in places]

        return replace(
            self,
            outputs={name: take(lines) for name, lines in self.outputs.items()},
            references=[take(lines) for lines in self.references],
            documents=None if self.documents is None else take(self.documents),
            ids=None if self.ids is None else take(self.ids),
            sources=None if self.sources is None else take(self.sources),
            human={name: table[:, list(places)] for name, table in self.human.items()},
            numbers=self.numbers[index] if isinstance(index, slice) else take(self.numbers),
        )

    def select(
        self,
        *,
        min_references: int = 1,
        max_references: int | None = None,
        without: Sequence[str] = (),
    ) -> Segments:
        """Keep segments with enough references, of each the first few, and not every system.

        Args:
            min_references: Leave out segments with fewer references.
            max_references: Use only the first references of a segment.
            without: Systems to leave out.

        Raises:
            TensorMTError: If a system is unknown, a number is below 1, or nothing is left.
        """
        for least, what in ((min_references, "least"), (max_references, "most")):
            if least is not None and least < 1:
                raise TensorMTError(f"at {what} {least} references: expected 1 or more")
        for name in without:
            if name not in self.outputs:
                raise TensorMTError(
                    f"there is no system {name!r} to leave out: {', '.join(self.outputs)}"
                )
        rows = self.reference_rows()
        chosen = [i for i, refs in enumerate(rows) if len(refs) >= min_references]
        kept = [k for k, name in enumerate(self.outputs) if name not in without]
        if not chosen or not kept:
            raise TensorMTError(
                f"nothing is left with at least {min_references} references and without"
                f" {list(without)}: ask for less"
            )
        some = self if len(chosen) == len(self) else self[chosen]
        return replace(
            some,
            outputs={name: some.outputs[name] for name in some.outputs if name not in without},
            references=reference_streams([rows[i][:max_references] for i in chosen]),
            human={name: table[kept] for name, table in some.human.items()},
        )

    def short_outputs(self) -> int:
        """Count outputs that are blank or have less than half the words of every reference."""
        shortest = [min(map(_words, row), default=0) for row in self.reference_rows()]
        return sum(
            2 * _words(text) < least
            for lines in self.outputs.values()
            for text, least in zip(lines, shortest, strict=True)
            if text is not None
        )

    def check_references(self) -> None:
        """Raise unless every segment has a reference that is not blank."""
        first, *others = self.references
        lines = [line for line in first if line]
        if len(lines) == len(first) and not any(map(str.isspace, lines)):  # nearly always
            return
        for place, texts in enumerate(zip(first, *others, strict=True)):
            if not any(text and not text.isspace() for text in texts):
                raise SegmentError(
                    self.number(place) + 1,
                    "has no reference: every segment needs at least one line that is not empty",
                )

    def human_scores(self, name: str) -> np.ndarray:
        """Return the human scores of that name, float64 [S,N].

        Raises:
            TensorMTError: If there are none; the message lists those that exist.
        """
        if name not in self.human:
            known = ", ".join(self.human) or "none at all"
            raise TensorMTError(f"there is no human score {name!r}: the test set has {known}")
        return self.human[name]

    def document_numbers(self) -> tuple[np.ndarray, list[str]]:
        """Return the number of each segment's document, int64 [N], and the documents' names [D].

        Without documents every segment is one.
        """
        names = [str(k) for k in range(len(self))] if self.documents is None else self.documents
        numbers: dict[str, int] = {}
        index = [numbers.setdefault(name, len(numbers)) for name in names]
        return np.array(index, np.int64), list(numbers)
