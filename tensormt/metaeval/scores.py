"""What a metric says of a test set: segment, document and system scores from one set of statistics.

    segments = score(s)      documents = score(Σ_{segments of d} s)      systems = score(Σ s)

A score file of another tool has no statistics: its documents and systems are means of segments.
A document is scored on the segments of it that people judged, for each system; a system on all its
segments, since systems are compared with each other and people may have judged other segments of
each.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from tensormt.data.judged import TestSet
from tensormt.metaeval.levels import agreement, document_means, system_agreement
from tensormt.metaeval.resample import DrawStatistic, draw_tables
from tensormt.metric import Metric
from tensormt.texts import Texts, signature
from tensormt.trees.sources import TreeSource

LEVELS = ("segment", "document", "system")


@dataclass(frozen=True)
class Scores:
    """The scores of S systems on N segments by one metric."""

    name: str
    signature: str
    segments: Tensor  # float64 [S,N]; NaN: no output, no score
    statistics: Tensor | None = None  # [S,N,K]; zero where there is no output
    score: Callable[[Tensor], Tensor] | None = None  # [...,K] -> [...], of sums of segments

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

    def systems(self, segments: Tensor | None = None) -> Tensor:
        """Return system scores, float64 [S], or [R,S] on drawn segments int64 [R,N]."""
        if self.statistics is None or self.score is None:
            table = self.segments
            drawn = table if segments is None else table[:, segments].transpose(0, 1)
            return drawn.nanmean(dim=-1)
        if segments is None:
            return self.score(self.statistics.sum(dim=1))
        count = self.segments.shape[1]
        times = torch.zeros((len(segments), count), dtype=torch.float64, device=segments.device)
        times.scatter_add_(1, segments, torch.ones_like(segments, dtype=torch.float64))
        sums = torch.einsum("rn,snk->rsk", times, self.statistics.to(torch.float64))
        return self.score(sums)


def score_metric(metric: Metric[Any], name: str, test: TestSet, texts: Texts) -> Scores:
    """Score all systems of a test set with its texts, as `collect_texts` gives them."""
    hyps, refs = texts.sides(metric.reads, len(test.systems))
    statistics = torch.stack([metric.statistics(hyp, refs) for hyp in hyps]).cpu()
    present = torch.tensor([[text is not None for text in outputs] for outputs in test.outputs])
    segments = metric.score(statistics, segment=True).masked_fill(~present, torch.nan)
    return Scores(
        name,
        signature(metric, len(refs), texts.trees),  # type: ignore[arg-type]
        segments,
        statistics.masked_fill(~present[..., None], 0),
        lambda sums: metric.score(sums, segment=False),
    )


def collect_texts(
    test: TestSet, trees: TreeSource | None = None, device: str | torch.device | None = None
) -> Texts:
    """Gather every text of a test set: a stream for each system, then for each reference."""
    most = max(len(refs) for refs in test.references)
    references = [
        [refs[k] if k < len(refs) else None for refs in test.references] for k in range(most)
    ]
    return Texts([*test.outputs, *references], trees, device)


def agreement_at(
    level: str,
    human: Tensor,
    scores: Scores,
    statistic: str,
    grouping: str,
    documents: tuple[Tensor, int],
) -> Tensor:
    """Return the agreement of people and a metric at one level, float64 [].

    human float64 [S,N]; documents: the number of each segment's document, int64 [N], and D.
    """
    if level == "system":
        return system_agreement(human.nanmean(dim=1), scores.systems(), statistic)
    return agreement(*tables_at(level, human, scores, documents), statistic, grouping)


def draws_at(
    level: str,
    human: Tensor,
    scores: Scores,
    statistic: str,
    grouping: str,
    documents: tuple[Tensor, int],
) -> tuple[DrawStatistic, int]:
    """Return the same agreement as a function of draws, and the number of units drawn from.

    Documents are the units at document level, segments at the others.
    """
    if level == "system":

        def systems(rows: Tensor, columns: Tensor) -> Tensor:
            chosen = columns[:, 0]
            people = human[:, chosen].nanmean(dim=-1).transpose(0, 1)
            metric = scores.systems(chosen)
            index = rows[..., 0].expand(people.shape)
            return system_agreement(people.gather(1, index), metric.gather(1, index), statistic)

        return systems, human.shape[1]
    human, table = tables_at(level, human, scores, documents)
    return (
        draw_tables(human, table, lambda h, m: agreement(h, m, statistic, grouping)),
        human.shape[1],
    )


def tables_at(
    level: str, human: Tensor, scores: Scores, documents: tuple[Tensor, int]
) -> tuple[Tensor, Tensor]:
    """Return human and metric scores of documents, float64 [S,D], else of segments, [S,N]."""
    if level != "document":
        return human, scores.segments
    judged = scores.where(~human.isnan())
    return document_means(human, *documents), judged.documents(*documents)
