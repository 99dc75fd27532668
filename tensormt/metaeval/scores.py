"""Scores of a metric on a test set: segment, document and system scores from one set of statistics.

    segments = score(s)      documents = score(Σ_{segments of d} s)      systems = score(Σ s)

Score files of other tools have no statistics: their documents are means of segments, and so are
their systems unless system scores were published too. At level "mean" the system scores of every
metric are means of segment scores, as WMT averages them. Documents are scored on the segments that
have human scores, separately for each system. Systems are scored on all segments, because systems
are compared with each other and the human scores of different systems may cover different segments.

Higher scores are better, as in human scores and in score files of WMT: scores of error rates
(`higher_is_better` is False) are negated, so that a good error rate correlates positively.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from tensormt.evaluator import Evaluator
from tensormt.formulas import round_for_ties
from tensormt.metaeval.grouping import correlate, correlate_systems, document_means
from tensormt.metric import Metric
from tensormt.segments import Segments
from tensormt.statistics import Statistics

LEVELS = ("segment", "document", "system", "mean")


@dataclass(frozen=True)
class Scores:
    """The scores of S systems on N segments by one metric.

    Args:
        name: Name of the metric.
        signature: Signature of the metric.
        segments: Segment scores, float64 [S,N]; NaN where there is no output or no score.
        statistics: Statistics [S,N,K]; zero where there is no output. None: not known.
        score: Function of sums of statistics [...,K] that returns scores [...].
        published: System scores that came with a score file, float64 [S].
        negated: Whether the scores are those of an error rate with the opposite sign.

    >>> Scores("m", "m", torch.tensor([[1.0, 3.0], [2.0, 5.0]])).systems().tolist()
    [2.0, 3.5]
    """

    name: str
    signature: str
    segments: Tensor
    statistics: Tensor | None = None
    score: Callable[[Tensor], Tensor] | None = None
    published: Tensor | None = None
    negated: bool = False

    def where(self, judged: Tensor) -> "Scores":
        """Return the scores of the outputs that have human scores, bool [S,N]."""
        statistics = self.statistics
        if statistics is not None:
            statistics = statistics.masked_fill(~judged[..., None], 0)
        return replace(
            self, segments=self.segments.masked_fill(~judged, torch.nan), statistics=statistics
        )

    def documents(self, numbers: Tensor, count: int) -> Tensor:
        """Compute document scores.

        Args:
            numbers: Number of each segment's document, int64 [N].
            count: Number of documents D.

        Returns:
            float64 [S,D]; NaN for documents without a score.
        """
        means = document_means(self.segments, numbers, count)
        if self.statistics is None or self.score is None:
            return means
        systems, _, width = self.statistics.shape
        sums = self.statistics.new_zeros((systems, count, width))
        sums = sums.index_add(1, numbers, self.statistics)
        return self.score(sums).masked_fill(means.isnan(), torch.nan)

    def systems(self, times: Tensor | None = None) -> Tensor:
        """Compute system scores.

        Args:
            times: How often each segment counts in R resamples, int64 [R,N]; None: once.

        Returns:
            float64 [S], or [R,S] with resamples.
        """
        if self.published is not None and times is None:
            return self.published
        if self.statistics is None or self.score is None:
            return self.means(times)
        if times is None:
            return self.score(self.statistics.sum(dim=1))
        weights = times.to(torch.float64)
        return self.score(torch.einsum("rn,snk->rsk", weights, self.statistics.to(torch.float64)))

    def means(self, times: Tensor | None = None) -> Tensor:
        """Compute the mean segment score of each system; arguments as `systems`."""
        return system_means(self.segments, times)


def system_means(table: Tensor, times: Tensor | None = None) -> Tensor:
    """Compute the mean segment score of each system.

    Args:
        table: Segment scores [S,N]; NaN where there is no score.
        times: How often each segment counts in R resamples, int64 [R,N]; None: once.

    Returns:
        float64 [S], or [R,S] with resamples; NaN for a system without scores.

    >>> system_means(torch.tensor([[1.0, 3.0], [2.0, torch.nan]])).tolist()
    [2.0, 2.0]
    """
    if times is None:
        return round_for_ties(table.nanmean(dim=-1))
    weights = times.to(torch.float64)
    present = (~table.isnan()).to(torch.float64)
    return round_for_ties(weights @ table.nan_to_num().T / (weights @ present.T))


def stored_scores(
    name: str, segments: Tensor, published: Tensor | None = None, lower_is_better: bool = False
) -> Scores:
    """Return the scores of a score file; those of an error rate are negated.

    Args:
        name: Name of the metric.
        segments: Segment scores, float64 [S,N]; NaN where there is none.
        published: System scores that came with the file, float64 [S].
        lower_is_better: Whether the scores are error rates.

    >>> stored_scores("m", torch.tensor([[1.0, 3.0]]), lower_is_better=True).systems().tolist()
    [-2.0]
    """
    if lower_is_better:
        segments, published = -segments, None if published is None else -published
    return Scores(name, name, segments, published=published, negated=lower_is_better)


def evaluate_metrics(evaluator: Evaluator, segments: Segments) -> list[Scores]:
    """Score all systems of a test set with all metrics of an evaluator.

    Args:
        evaluator: Metrics with their source of trees.
        segments: The test set; outputs that are None are left out.

    Returns:
        The scores of each metric; those of error rates are negated.

    >>> segments = Segments({"a": ["a cat sat"], "b": ["a dog"]}, [["a cat sat"]])
    >>> [bleu] = evaluate_metrics(Evaluator(["bleu:max_order=2"]), segments)
    >>> [round(score, 4) for score in bleu.systems().tolist()]
    [100.0, 30.3265]
    """
    evaluator = evaluator.fit(segments)
    found = Statistics.concat([statistics for _, statistics in evaluator.run(segments)])
    signatures = evaluator.signatures(segments.reference_count)
    return [
        Scores(
            name,
            signatures[name],
            torch.from_numpy(found.segments(name) * (1 if metric.higher_is_better else -1)),
            torch.from_numpy(found.tables[name]),
            partial(_score_sums, metric),
            negated=not metric.higher_is_better,
        )
        for name, metric in evaluator.metrics.items()
    ]


def _score_sums(metric: Metric[Any], sums: Tensor) -> Tensor:
    """Score sums of statistics [...,K] so that higher is better."""
    scores = metric.score(sums, segment=False)
    return scores if metric.higher_is_better else -scores


def correlate_at(
    level: str,
    human: Tensor,
    scores: Scores,
    statistic: str,
    grouping: str,
    documents: tuple[Tensor, int],
    *,
    least_gap: float = 0.0,
    systems: Tensor | None = None,
    segments: Tensor | None = None,
    human_systems: Tensor | None = None,
) -> Tensor:
    """Compute the correlation of a metric with human scores at one level.

    Args:
        level: One of `LEVELS`.
        human: Human scores, float64 [S,N].
        scores: Scores of the metric.
        statistic: One of `STATISTICS`.
        grouping: As in `correlate`, for levels "segment" and "document".
        documents: Number of each segment's document, int64 [N], and the number of documents D.
        least_gap: Pairs whose human scores differ by less are left out.
        systems: Bootstrap weights of systems, int64 [R,S].
        segments: Bootstrap weights of segments, int64 [R,N]; at level "document" of documents,
            int64 [R,D].
        human_systems: Published human scores of systems [S], for level "system".

    Returns:
        float64 [], or [R] with weights.
    """
    if level in ("system", "mean"):
        metric = scores.means(segments) if level == "mean" else scores.systems(segments)
        expected = system_means(human, segments)
        if human_systems is not None and level == "system" and segments is None:
            expected = human_systems
        return correlate_systems(expected, metric, statistic, least_gap=least_gap, systems=systems)
    tables = tables_at(level, human, scores, documents)
    return correlate(
        *tables, statistic, grouping, least_gap=least_gap, systems=systems, segments=segments
    )


def tables_at(
    level: str,
    human: Tensor,
    scores: Scores,
    documents: tuple[Tensor, int],
    human_systems: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the human and metric scores that a level compares; arguments as `correlate_at`.

    Returns:
        float64 [S,N] of segments, [S,D] of documents, or [S,1] of systems.
    """
    if level == "segment":
        return human, round_for_ties(scores.segments)
    if level == "document":
        judged = scores.where(~human.isnan())
        return document_means(human, *documents), judged.documents(*documents)
    metric = scores.means() if level == "mean" else round_for_ties(scores.systems())
    expected = system_means(human)
    if human_systems is not None and level == "system":
        expected = round_for_ties(human_systems)
    return expected[:, None], metric[:, None]
