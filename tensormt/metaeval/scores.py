"""What a metric says of a test set: segment, document and system scores from one set of statistics.

    segments = score(s)      documents = score(Σ_{segments of d} s)      systems = score(Σ s)

A score file of another tool has no statistics: its documents are means of segments, and so are its
systems, unless system scores were published with them.
At level "mean" systems are means of segment scores with every metric, as WMT averages them.
A document is scored on the segments of it that people judged, for each system; a system on all its
segments, since systems are compared with each other and people may have judged other segments of
each.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor

from tensormt.evaluator import Evaluator
from tensormt.kernels.kendall import round_for_ties
from tensormt.metaeval.grouping import agreement, document_means, system_agreement
from tensormt.segments import Segments
from tensormt.statistics import Statistics

LEVELS = ("segment", "document", "system", "mean")


@dataclass(frozen=True)
class Scores:
    """The scores of S systems on N segments by one metric."""

    name: str
    signature: str
    segments: Tensor  # float64 [S,N]; NaN: no output, no score
    statistics: Tensor | None = None  # [S,N,K]; zero where there is no output
    score: Callable[[Tensor], Tensor] | None = None  # [...,K] -> [...], of sums of segments
    published: Tensor | None = None  # float64 [S]: system scores that came with a score file

    def where(self, judged: Tensor) -> "Scores":
        """Keep the outputs that people judged, bool [S,N]."""
        statistics = self.statistics
        if statistics is not None:
            statistics = statistics.masked_fill(~judged[..., None], 0)
        return replace(
            self, segments=self.segments.masked_fill(~judged, torch.nan), statistics=statistics
        )

    def documents(self, numbers: Tensor, count: int) -> Tensor:
        """Return document scores, float64 [S,D]; numbers int64 [N] is each segment's document."""
        if self.statistics is None or self.score is None:
            return document_means(self.segments, numbers, count)
        systems, _, width = self.statistics.shape
        sums = self.statistics.new_zeros((systems, count, width))
        sums = sums.index_add(1, numbers, self.statistics)
        present = document_means(self.segments, numbers, count)
        return self.score(sums).masked_fill(present.isnan(), torch.nan)

    def systems(self, times: Tensor | None = None) -> Tensor:
        """Return system scores, float64 [S], or [R,S] with segments counting int64 [R,N] times."""
        if self.published is not None and times is None:
            return self.published
        if self.statistics is None or self.score is None:
            return self.means(times)
        if times is None:
            return self.score(self.statistics.sum(dim=1))
        weights = times.to(torch.float64)
        return self.score(torch.einsum("rn,snk->rsk", weights, self.statistics.to(torch.float64)))

    def means(self, times: Tensor | None = None) -> Tensor:
        """Return the means of the systems' segment scores, float64 [S], or [R,S] as `systems`."""
        return means(self.segments, times)


def means(table: Tensor, times: Tensor | None = None) -> Tensor:
    """Return the mean score of each system, float64 [S], or [R,S]; table [S,N], NaN: no score."""
    if times is None:
        return round_for_ties(table.nanmean(dim=-1))
    weights = times.to(torch.float64)
    real = (~table.isnan()).to(torch.float64)
    return round_for_ties(weights @ table.nan_to_num().T / (weights @ real.T))


def evaluate_metrics(evaluator: Evaluator, segments: Segments) -> list[Scores]:
    """Score all systems of a test set with all metrics of an evaluator.

    Args:
        evaluator: Metrics with their source of trees.
        segments: The test set; outputs that are None are left out.
    """
    evaluator = evaluator.fit(segments)
    found = Statistics.concat([statistics for _, statistics in evaluator.run(segments)])
    signatures = evaluator.signatures(segments.reference_count)
    return [
        Scores(
            name,
            signatures[name],
            found.segments(name),
            found.tables[name],
            partial(metric.score, segment=False),
        )
        for name, metric in evaluator.metrics.items()
    ]


def agreement_at(
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
    official: Tensor | None = None,
) -> Tensor:
    """Return the agreement of people and a metric at one level, float64 [...].

    human float64 [S,N]; documents: the number of each segment's document, int64 [N], and D.
    A resample is systems int64 [R,S] and segments [R,N] (at document level documents [R,D]), how
    often each counts. official: human scores of systems [S], for level "system".
    """
    if level in ("system", "mean"):
        metric = scores.means(segments) if level == "mean" else scores.systems(segments)
        people = means(human, segments)
        if official is not None and level == "system" and segments is None:
            people = official
        return system_agreement(people, metric, statistic, least_gap=least_gap, systems=systems)
    tables = tables_at(level, human, scores, documents)
    return agreement(
        *tables, statistic, grouping, least_gap=least_gap, systems=systems, segments=segments
    )


def tables_at(
    level: str,
    human: Tensor,
    scores: Scores,
    documents: tuple[Tensor, int],
    official: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the scores of people and metric that a level compares, float64 both.

    [S,N] of segments, [S,D] of documents, [S,1] of systems.
    """
    if level == "segment":
        return human, round_for_ties(scores.segments)
    if level == "document":
        judged = scores.where(~human.isnan())
        return document_means(human, *documents), judged.documents(*documents)
    metric = scores.means() if level == "mean" else round_for_ties(scores.systems())
    people = means(human) if official is None or level == "mean" else round_for_ties(official)
    return people[:, None], metric[:, None]
