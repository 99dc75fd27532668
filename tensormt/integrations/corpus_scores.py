"""Corpus scores of rows of texts and references, with their standard error and interval.

    statistics [N,K] → score of the sum; weights [n,N] @ statistics → n resampled scores

Texts are counted once: the bootstrap is one matrix product of the statistics (resampling.py),
where evaluation libraries compute the metric again for every resampled list of texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from tensormt.evaluator import CHUNK, Evaluator
from tensormt.metric import Metric
from tensormt.resampling import bootstrap_scores, percentile_interval
from tensormt.scoring import read_segments
from tensormt.statistics import Statistics

Rows = Sequence[tuple[str, Sequence[str]]]


class CorpusScores:
    """A metric of whole test sets.

    Args:
        metric: Name with options, such as "stm:balance=f1", or a Metric.
        parser: Source of trees, as for `tm.score`.
        lang: Language of the text.

    Raises:
        TensorMTError: If the metric or the parser is not valid.

    >>> scores = CorpusScores("chrf")
    >>> rows = [("a cat", ["a cat", "one cat"]), ("the dog", ["a dog"])]
    >>> round(scores.corpus(rows), 2), scores.standard_error(rows) > 0
    (68.16, True)
    """

    def __init__(
        self, metric: str | Metric[Any], parser: Any = "default", lang: str | None = None
    ) -> None:
        self.evaluator = Evaluator([metric], parser, lang=lang)
        (self.name,) = self.evaluator.metrics
        # corpus score, standard error and interval ask for the same statistics one after another
        self._computed = lru_cache(maxsize=2)(self._statistics)

    @property
    def metric(self) -> Metric[Any]:
        """The metric."""
        return self.evaluator.metrics[self.name]

    def statistics(self, rows: Rows) -> Statistics:
        """Compute the statistics of rows (text, references)."""
        return self._computed(tuple((text, tuple(refs)) for text, refs in rows))

    def _statistics(self, rows: tuple[tuple[str, tuple[str, ...]], ...]) -> Statistics:
        segments = read_segments([text for text, _ in rows], [own for _, own in rows], rows=True)
        evaluator = self.evaluator.fit(segments)
        return Statistics.concat([found for _, found in evaluator.run(segments, CHUNK)])

    def corpus(self, rows: Rows) -> float:
        """Compute the corpus score of rows (text, references)."""
        return float(self.statistics(rows).corpus(self.name)[0])

    def standard_error(self, rows: Rows) -> float:
        """Compute the bootstrap standard error of the corpus score."""
        return float(bootstrap_scores(self.statistics(rows))[self.name][0].std(ddof=1))

    def interval(self, rows: Rows) -> tuple[float, float]:
        """Compute the 95% bootstrap interval of the corpus score."""
        return percentile_interval(bootstrap_scores(self.statistics(rows))[self.name][0])
