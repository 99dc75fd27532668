"""Similarity tensors of a test set: its references are the models, its outputs the peers.

Measures are given by name. Those of the paper are

    rouge1, rouge1-stem, rouge1-content, rouge1-content-stem   (recall by the metric `rouge`,
                                                               of stems; without stop words)
    sentence-precision, sentence-recall, vector, vector-8      (any number: TruncatedVectModel_n)

and every metric of the package can be used by its own name. DocSim and NICOS need annotations,
which can be compared with `bag_of_words.term_counts` and `similarity`.
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
from tensormt.qarla.similarity_tensors import SimilarityTensors
from tensormt.registry import make
from tensormt.segments import Segments

# ROUGESim of the paper and its variants, as metrics of the package.
ROUGE_MEASURES = {
    "rouge1": "rouge:variant=1,balance=recall",
    "rouge1-stem": "rouge:variant=1,balance=recall,stem=yes",
    "rouge1-content": "rouge:variant=1,balance=recall,stop_words=no",
    "rouge1-content-stem": "rouge:variant=1,balance=recall,stem=yes,stop_words=no",
}

# Measures of the paper; N is a number of terms.
PAPER_MEASURES = (
    *ROUGE_MEASURES,
    "sentence-precision",
    "sentence-recall",
    "vector",
    "vector-N",
)


def is_paper_measure(name: str) -> bool:
    """Return whether a name is a measure of the paper, not a metric of the package.

    >>> is_paper_measure("vector-8"), is_paper_measure("bleu")
    (True, False)
    """
    return name in PAPER_MEASURES or name.startswith("vector-")


def check_measures(names: Sequence[str]) -> None:
    """Raise a TensorMTError if the name of a measure of the paper is not complete.

    Args:
        names: Measures of the paper or metrics of the package.
    """
    for name in names:
        terms = name.removeprefix("vector-")
        if terms != name and (not terms.isdigit() or int(terms) < 1):
            raise TensorMTError(f"{name!r}: expected a number of terms, as in vector-8")


class _CaseTexts:
    """The texts of every case, peers first; None where a text is absent."""

    def __init__(self, segments: Segments) -> None:
        self.peers = len(segments.outputs)
        self.texts = segments.texts_by_segment()

    @cached_property
    def present(self) -> Tensor:
        """Which texts exist, bool [T,N]; an empty output exists."""
        return torch.tensor([[text is not None for text in case] for case in self.texts])

    @cached_property
    def content(self) -> Tensor:
        """Counts of the words that are not stop words, int64 [T,N,V]."""
        return bag_of_words.content_counts(self.texts)

    @cached_property
    def sentences(self) -> Tensor:
        """Counts of sentences, int64 [T,N,V]."""
        return bag_of_words.sentence_counts(self.texts)

    def similarities(self, name: str) -> Tensor:
        """Compute a measure of the paper other than ROUGE, float64 [T,N,N]."""
        measures: dict[str, Callable[[], Tensor]] = {
            "sentence-precision": lambda: similarity.shared_per_reference(self.sentences),
            "sentence-recall": lambda: similarity.shared_per_candidate(self.sentences),
            "vector": lambda: similarity.vector_model(self.content),
        }
        if name in measures:
            return measures[name]()
        return similarity.truncated_vector_model(self.content, int(name.removeprefix("vector-")))


def similarity_tensors_from_segments(
    segments: Segments, names: Sequence[str], evaluator: Evaluator | None = None
) -> SimilarityTensors:
    """Compare all texts of every segment with each other.

    Args:
        segments: The test set; its outputs are the peers, its references the models.
        names: Measures of the paper (`PAPER_MEASURES`), or metrics of the evaluator.
        evaluator: Metrics with their source of trees; None if only measures of the paper are used.

    Returns:
        The similarities by all named measures.

    Raises:
        TensorMTError: If no measure is named or a name is not valid.

    >>> segments = Segments({"a": ["a cat"]}, [["a cat sat"], ["the cat sat"]])
    >>> tensors = similarity_tensors_from_segments(segments, ["rouge1"])
    >>> [round(value, 4) for value in tensors.am.flatten().tolist()]  # with both references
    [0.6667, 0.3333]
    """
    check_measures(names)
    cases = _CaseTexts(segments)
    found = {} if evaluator is None else _metric_similarities(segments, evaluator)
    rouge = {name: make(ROUGE_MEASURES[name]) for name in names if name in ROUGE_MEASURES}
    if rouge:
        trees = None if evaluator is None else evaluator.trees
        device = None if evaluator is None else evaluator.device
        found |= _metric_similarities(segments, Evaluator(rouge, trees, device))
    tables = {name: found[name] if name in found else cases.similarities(name) for name in names}
    return SimilarityTensors.from_tables(tables, cases.present, cases.peers)


def _metric_similarities(segments: Segments, evaluator: Evaluator) -> dict[str, Tensor]:
    """Compute x(candidate i, reference j) by metric, float64 [T,N,N]."""
    for name, metric in evaluator.metrics.items():
        if metric.reads.uses_sources:
            raise TensorMTError(
                f"{name} compares outputs with their source, but QARLA compares any two texts of a "
                "segment, also references: leave it out"
            )
    texts = evaluator.prepare(segments)
    # Streams are systems and then references, as the texts of a case are.
    index = torch.stack(texts.index, 1)
    found = {}
    for name, metric in evaluator.metrics.items():
        batch = metric.reads.unique(texts)
        if metric.needs_fit:
            # Every text serves as a reference, so the metric is fitted to all of them.
            metric = copy(metric).fit([batch])
        found[name] = similarities(metric, batch, index)
    return found
