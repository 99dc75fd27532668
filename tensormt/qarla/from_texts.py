"""From the texts of a test set to a test bed: references are the models, systems the peers.

Metrics are named. The paper's own measures are

    rouge1, rouge1-stem, rouge1-content, rouge1-content-stem   (stems, stop words left out)
    sentence-precision, sentence-recall, vector, vector-8      (any number: TruncatedVectModel_n)

and every metric of the package is one by its own name. DocSim and NICOS need annotations that
texts do not carry: `bag_of_words.term_counts` and `similarity` serve them where they exist.
"""

from collections.abc import Callable, Sequence
from copy import copy
from functools import cached_property

import torch
from torch import Tensor

from tensormt.combined.similarity import similarities
from tensormt.errors import TensorMTError
from tensormt.evaluator import Evaluator
from tensormt.qarla import bag_of_words, similarity
from tensormt.qarla.similarity_tensors import Bed
from tensormt.segments import Segments

PAPERS_OWN = (
    "rouge1",
    "rouge1-stem",
    "rouge1-content",
    "rouge1-content-stem",
    "sentence-precision",
    "sentence-recall",
    "vector",
    "vector-N",
)


def is_papers_own(name: str) -> bool:
    """Is this one of the paper's measures, and not a metric of the package?"""
    return name in PAPERS_OWN or name.startswith("vector-")


class Cases:
    """The texts of every case, peers first; None where there is no such text."""

    def __init__(self, segments: Segments) -> None:
        self.peers = len(segments.outputs)
        self.texts = segments.texts_by_segment()

    @cached_property
    def present(self) -> Tensor:
        """Which texts there are, bool [T,N]; an empty output is there."""
        return torch.tensor([[text is not None for text in case] for case in self.texts])

    @cached_property
    def words(self) -> Tensor:
        """Counts of all words."""
        return bag_of_words.word_counts(self.texts)

    @cached_property
    def content(self) -> Tensor:
        """Counts of the words that are not stop words."""
        return bag_of_words.word_counts(self.texts, stop_words=False)

    @cached_property
    def sentences(self) -> Tensor:
        """Counts of whole sentences."""
        return bag_of_words.sentence_counts(self.texts)

    def own(self, name: str) -> Tensor:
        """Return the paper's measure of that name, float64 [T,N,N]."""
        measures: dict[str, Callable[[], Tensor]] = {
            "rouge1": lambda: similarity.rouge1(self.words),
            "rouge1-stem": lambda: similarity.rouge1(
                bag_of_words.word_counts(self.texts, stems=True)
            ),
            "rouge1-content": lambda: similarity.rouge1(self.content),
            "rouge1-content-stem": lambda: similarity.rouge1(
                bag_of_words.word_counts(self.texts, stop_words=False, stems=True)
            ),
            "sentence-precision": lambda: similarity.shared_per_reference(self.sentences),
            "sentence-recall": lambda: similarity.shared_per_candidate(self.sentences),
            "vector": lambda: similarity.vector_model(self.content),
        }
        if name in measures:
            return measures[name]()
        terms = name.removeprefix("vector-")
        if not terms.isdigit() or int(terms) < 1:
            raise TensorMTError(f"{name!r}: expected a number of terms, as in vector-8")
        return similarity.truncated_vector_model(self.content, int(terms))


def bed_from_segments(
    segments: Segments, names: Sequence[str], evaluator: Evaluator | None = None
) -> Bed:
    """Compare all texts of every segment with the named measures.

    Args:
        segments: Outputs are the peers, references the models.
        names: The paper's own measures (`PAPERS_OWN`), or metrics of the evaluator.
        evaluator: The metrics, with a source of trees where one reads them.
    """
    cases = Cases(segments)
    tables: dict[str, Tensor] = {}
    found = {} if evaluator is None else _similarities(segments, evaluator)
    for name in names:
        tables[name] = found[name] if name in found else cases.own(name)
    return Bed.from_tables(tables, cases.present, cases.peers)


def _similarities(segments: Segments, evaluator: Evaluator) -> dict[str, Tensor]:
    """x(candidate i, reference j) by metric, float64 [T,N,N]."""
    texts = evaluator.prepare(segments)
    # streams are systems, then references: so are the texts of a case
    index = torch.stack(texts.index, 1)
    found = {}
    for name, metric in evaluator.metrics.items():
        batch = metric.reads.unique(texts)
        if metric.needs_fit:
            # every text is a reference of another one, so all of them are the test set
            metric = copy(metric).fit([batch])
        found[name] = similarities(metric, batch, index)
    return found
