"""Scores: segment scores that another tool computed, as a metric beside the others.

    tm.score(hyps, refs, ["bleu", tm.Scores.from_file("comet.txt", "COMET")])

Statistics are the number of segments, of those with a score, and the sum of the scores, so that
documents, corpora, intervals and tests work as for any metric: a corpus has the mean of its
segments' scores, whatever the tool itself prints for a corpus.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tensormt.data.coercion import as_list
from tensormt.data.score_columns import read_column
from tensormt.errors import SegmentError, TensorMTError
from tensormt.formulas import as_float64, column, namespace
from tensormt.inputs import Input
from tensormt.metric import Metric
from tensormt.validation import boolean, string

if TYPE_CHECKING:
    from torch import Tensor

    from tensormt.prepared import PreparedTexts

__all__ = ["Scores", "StoredInput"]


class Places(NamedTuple):
    """The segments of a system: its name ("" for references), and their numbers in the corpus."""

    system: str
    numbers: Sequence[int]

    def __len__(self) -> int:
        return len(self.numbers)


class StoredInput(Input):
    """What `Scores` reads: which segments of which system they are, not their text."""

    def check(self, metric: str, batch: Any) -> None:
        """Raise unless the batch has places of segments."""
        if not isinstance(batch, Places):
            raise TensorMTError(
                f"{metric} has stored scores: it can be used by tm.score, tm.compare and the "
                "commands, where the segments are known, but not on batches"
            )

    def empty(self) -> Places:
        """Return places of no segment."""
        return Places("", [])

    def batches(self, texts: PreparedTexts) -> list[Places]:
        """Return the places of each stream."""
        segments = texts.segments
        numbers = [segments.number(place) for place in range(len(segments))]
        names = [*segments.systems, *([""] * segments.reference_count)]
        return [Places(name, numbers) for name in names]

    def unique(self, texts: PreparedTexts) -> Any:
        """Raise: scores of segments do not belong to texts."""
        raise TensorMTError("stored scores compare outputs with references, not any two texts")

    def sides(self, texts: PreparedTexts, hyps: int) -> tuple[list[Any], Any]:
        """Return the places of the outputs and of the references."""
        streams = self.batches(texts)
        return streams[:hyps], streams[hyps:]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StoredInput)

    def __hash__(self) -> int:
        return hash(StoredInput)


class Scores(Metric[Any]):
    """Segment scores of another tool.

    Args:
        name: Name in tables and signatures.
        scores: Scores of the only system, N numbers, or {system: N numbers}; None or NaN: no score.
        higher_is_better: False for error rates.

    Raises:
        TensorMTError: If a score is not a number.

    >>> import tensormt as tm
    >>> comet = Scores("COMET", [0.9, 0.7])
    >>> tm.score(["a dog", "a cat"], [["a dog", "the cat"]], [comet]).corpus
    {'COMET': 0.8}
    """

    summary = "segment scores of another tool"
    scale = None

    def __init__(
        self,
        name: str,
        scores: Iterable[float | None] | Mapping[str, Iterable[float | None]],
        higher_is_better: bool = True,
    ) -> None:
        self.name = string(name, "name")
        if not self.name:
            raise TensorMTError("name is empty: give the scores a name, such as 'COMET'")
        self.higher_is_better = boolean(higher_is_better, "higher_is_better")
        given = scores if isinstance(scores, Mapping) else {"": scores}
        self.scores = {str(key): _column(values, self.name) for key, values in given.items()}

    @classmethod
    def from_file(
        cls,
        path: str | PathLike[str],
        name: str,
        systems: str | Sequence[str] = ("",),
        *,
        size: int | None = None,
        higher_is_better: bool = True,
    ) -> Scores:
        """Read scores from a file: one number a line, or a table (`tensormt.data.score_columns`).

        Args:
            path: The file.
            name: Name of the metric, and of the column in a table.
            systems: Systems whose scores are read; by default those of the only system.
            size: Number of segments; None: as many as the file has.
            higher_is_better: False for error rates.

        Raises:
            TensorMTError: If the file cannot be read, or lacks scores.
        """
        known = {name: [name] for name in ([systems] if isinstance(systems, str) else systems)}
        found = read_column([str(path)], name, known, size)
        return cls(name, found, higher_is_better)

    @property
    def label(self) -> str:
        """The name as it was given."""
        return self.name

    @property
    def reads(self) -> StoredInput:
        """Nothing but the places of segments."""
        return StoredInput()

    def settings(self) -> dict[str, object]:
        """Return where the scores come from."""
        return {"scores": "stored", "corpus": "mean"}

    def check_size(self, segments: int) -> None:
        """Raise unless every system has as many scores as there are segments."""
        for system, table in self.scores.items():
            if len(table) != segments:
                of = f" of {system!r}" if system else ""
                raise TensorMTError(
                    f"{self.name} has {len(table):,} scores{of}, there are {segments:,} segments: "
                    "give a number for each, None where there is none"
                )

    def _statistics(self, hyp: Places, refs: Sequence[Places]) -> Tensor:
        import torch

        if not len(hyp):
            return torch.zeros((0, 3), dtype=torch.float64, device="cpu")
        if hyp.system not in self.scores:
            raise TensorMTError(
                f"{self.name} has no scores of the system {hyp.system!r}: it has those of "
                f"{', '.join(map(repr, self.scores))}"
            )
        table, last = self.scores[hyp.system], max(hyp.numbers)
        if last >= len(table):
            raise SegmentError(last + 1, f"has no score: {self.name} has {len(table)} scores")
        own = torch.from_numpy(table[list(hyp.numbers)])
        known = ~own.isnan()
        return torch.stack([torch.ones_like(own), known.double(), own.nan_to_num()], 1)

    def _score(self, rows: Any, segment: bool | None) -> Any:
        known, total = as_float64(column(rows, 1)), as_float64(column(rows, 2))
        xp = namespace(rows)
        return xp.where(known > 0, total, xp.nan) / xp.clip(known, 1, None)


def _column(values: Any, name: str) -> np.ndarray:
    """Scores as float64 [N]; NaN: no score."""
    found = as_list(values, f"scores of {name}")
    try:
        table = np.array([np.nan if value is None else float(value) for value in found])
    except (TypeError, ValueError):
        raise TensorMTError(f"scores of {name} are numbers, or None where there is none") from None
    if np.isinf(table).any():
        raise TensorMTError(f"scores of {name} must be finite")
    return table
