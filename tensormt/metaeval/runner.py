"""A whole meta-evaluation: every metric against every human score, at every level asked for.

One `Row` per metric, human score, level and statistic, with an interval if wanted; one
`PairwiseTest` per pair of metrics, with its p. The test is of the numbers in the table: at system
level corpus scores are exchanged between metrics for whole systems, since no segment of a corpus
score can be exchanged; at level "mean", segment scores.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import torch
from torch import Tensor

from tensormt.errors import TensorMTError
from tensormt.metaeval.analytic_tests import Theory, theory, williams
from tensormt.metaeval.calibration import calibrated_accuracy
from tensormt.metaeval.config import NONE, SPA, PairwiseTest, Plan, Row, check
from tensormt.metaeval.grouping import group, system_agreement
from tensormt.metaeval.permutation_test import Exchange, exchange, exchange_tables
from tensormt.metaeval.resample import bootstrap
from tensormt.metaeval.scores import Scores, agreement_at, tables_at
from tensormt.metaeval.spa import soft_pairwise_accuracy, spa_of_draws
from tensormt.metaeval.spa_permutation import exchange_spa
from tensormt.significance import corrected


@dataclass(frozen=True)
class Case:
    """One human score at one level by one statistic: what every metric is asked."""

    name: str
    human: Tensor  # float64 [S,N]
    level: str
    statistic: str
    plan: Plan
    documents: tuple[Tensor, int]
    official: Tensor | None = None  # float64 [S]: system scores that people published

    def value(
        self, scores: Scores, systems: Tensor | None = None, segments: Tensor | None = None
    ) -> Tensor:
        """Return the agreement, float64 [], or that of draws (see `scores.agreement_at`), [R]."""
        if self.statistic == SPA:
            tables, signs = (self.human, scores.segments), self.plan.spa_permutations
            if systems is None and segments is None:
                return soft_pairwise_accuracy(*tables, permutations=signs)
            return spa_of_draws(*tables, systems, segments, permutations=signs)
        return agreement_at(
            self.level,
            self.human,
            scores,
            self.statistic,
            self.plan.grouping,
            self.documents,
            least_gap=self.plan.least_gap,
            systems=systems,
            segments=segments,
            official=self.official,
        )

    def row(self, scores: Scores) -> Row:
        """Return the agreement of one metric with what was asked for besides."""
        found = Row(
            scores.name,
            scores.signature,
            self.name,
            self.level,
            self.statistic,
            float(self.value(scores)),
            epsilon=self.epsilon(scores),
        )
        if self.plan.fisher:
            found = replace(found, **self.theory(scores)._asdict())
        if not self.plan.resamples or self._fixed(scores):
            return found
        interval = bootstrap(
            lambda systems, segments: self.value(scores, systems, segments),
            len(self.human),
            self.documents[1] if self.level == "document" else self.human.shape[1],
            resamples=self.plan.resamples,
            level=self.plan.confidence,
            draw=self.plan.draw,
            cells=self._cells(),
            seed=self.plan.seed,
        )
        return replace(found, low=interval.low, high=interval.high)

    def _fixed(self, scores: Scores) -> bool:
        """Whether the scores are of whole systems while segments are to be drawn."""
        published = self.official is not None or scores.published is not None
        whole = self.level == "system" and self.statistic != SPA
        return whole and published and "segments" in self.plan.draw

    def epsilon(self, scores: Scores) -> float | None:
        """Return the threshold of tie calibration, where the statistic has one."""
        if self.statistic != "accuracy_ties":
            return None
        sides = self._tables(scores)
        grouping = "none" if self.level in ("system", "mean") else self.plan.grouping
        human, metric = (group(side, grouping) for side in sides)
        mask = ~(human.isnan() | metric.isnan())
        return float(calibrated_accuracy(human, metric, mask, pooled=grouping == "pooled")[1])

    def theory(self, scores: Scores) -> Theory:
        """Return p and interval from theory, where items are compared all together."""
        if self.level not in ("system", "mean") and self.plan.grouping != "none":
            return Theory(None, None, None)
        human, metric = self._tables(scores)
        return theory(self.statistic, human.flatten(), metric.flatten(), self.plan.confidence)

    def _tables(self, scores: Scores) -> tuple[Tensor, Tensor]:
        """Return what the level compares, of people and of a metric."""
        return tables_at(self.level, self.human, scores, self.documents, self.official)

    def _cells(self) -> int:
        """Numbers that the statistic of one draw holds: all pairs where ties are calibrated."""
        systems, segments = self.human.shape
        if self.statistic != "accuracy_ties" or self.level in ("system", "mean"):
            return systems * segments
        groups, items = group(self.human, self.plan.grouping).shape
        return groups * items * (items - 1) // 2

    def exchange(self, metrics: Sequence[Scores]) -> Exchange:
        """Exchange what the level compares between all pairs of metrics that have scores there."""
        whole = self.statistic == SPA or self.level == "mean"
        tables = [own.segments if whole else self._tables(own)[1] for own in metrics]
        kept = [k for k, table in enumerate(tables) if not bool(table.isnan().all())]
        if len(kept) == len(metrics):
            return self._exchange(metrics)
        found = self._exchange([metrics[k] for k in kept]) if kept else Exchange.none()
        return found.among(kept, len(metrics))

    def _exchange(self, metrics: Sequence[Scores]) -> Exchange:
        draws = {"resamples": self.plan.permutations, "seed": self.plan.seed}
        units = self.plan.units
        if self.statistic == SPA:
            tables = torch.stack([scores.segments for scores in metrics])
            return exchange_spa(
                self.human, tables, units or "both", self.plan.spa_permutations, **draws
            )
        if self.level == "mean" and units not in (None, "systems"):
            tables = torch.stack([scores.segments for scores in metrics])

            def of_means(one: Tensor, other: Tensor) -> Tensor:
                sides = one.nanmean(dim=-1), other.nanmean(dim=-1)
                return system_agreement(*sides, self.statistic, least_gap=self.plan.least_gap)

            return exchange_tables(self.human, tables, of_means, units or "both", **draws)
        if self.level in ("system", "mean"):
            if units not in (None, "systems"):
                raise TensorMTError(
                    f"units {units!r}: a corpus score is of a whole system; use units 'systems',"
                    " or level 'mean' for means of segment scores"
                )
            grouping, units = "none", "systems"
        else:
            grouping = self.plan.grouping
        sides = [self._tables(scores) for scores in metrics]
        return exchange(
            sides[0][0],
            torch.stack([own for _, own in sides]),
            self.statistic,
            grouping,
            units,
            least_gap=self.plan.least_gap,
            **draws,
        )

    def pairwise_tests(self, metrics: Sequence[Scores]) -> list[PairwiseTest]:
        """Test every pair of metrics."""
        pairs = list(combinations(range(len(metrics)), 2))
        if self.plan.test == "williams":
            found = [self._williams(metrics[a], metrics[b]) for a, b in pairs]
        else:
            result = self.exchange(metrics)
            gaps, p = result.differences(), result.p(self.plan.two_sided)
            found = [(float(gaps[pair]), float(p[pair])) for pair in pairs]
        right = corrected([p for _, p in found], self.plan.correction)
        return [
            PairwiseTest(
                metrics[a].name, metrics[b].name, self.name, self.level, self.statistic, *both
            )
            for (a, b), both in zip(
                pairs, [(gap, p, q) for (gap, p), q in zip(found, right, strict=True)], strict=True
            )
        ]

    def _williams(self, first: Scores, second: Scores) -> tuple[float, float]:
        flat = self.level in ("system", "mean") or self.plan.grouping == "none"
        if self.statistic != "pearson" or not flat:
            raise TensorMTError(
                "Williams' test is of Pearson correlations of all items together: use the statistic"
                " pearson and the grouping none, or the permutation test",
                options="statistic grouping",
            )
        human, one = self._tables(first)
        _, other = self._tables(second)
        if bool(one.isnan().all() or other.isnan().all()):
            return math.nan, math.nan
        sides = human.flatten(), one.flatten(), other.flatten()
        return williams(*sides, two_sided=self.plan.two_sided)


def cases(
    human: Mapping[str, Tensor],
    plan: Plan,
    documents: tuple[Tensor, int],
    official: Mapping[str, Tensor | None],
) -> Iterator[Case]:
    """What a plan asks of every metric, checked before anything is computed."""
    check(plan, human)
    for name, table in human.items():
        for level in plan.levels:
            for statistic in plan.statistics:
                if statistic != SPA or level in ("system", "mean"):
                    yield Case(name, table, level, statistic, plan, documents, official.get(name))


def measure(
    human: Mapping[str, Tensor],
    metrics: Sequence[Scores],
    plan: Plan,
    documents: tuple[Tensor, int],
    official: Mapping[str, Tensor | None] = NONE,
) -> list[Row]:
    """Compare each metric with each table of human scores, float64 [S,N].

    official: system scores that were published with them, float64 [S].
    """
    asked = cases(human, plan, documents, official)
    return [case.row(scores) for case in asked for scores in metrics]


def pairwise_tests(
    human: Mapping[str, Tensor],
    metrics: Sequence[Scores],
    plan: Plan,
    documents: tuple[Tensor, int],
    official: Mapping[str, Tensor | None] = NONE,
) -> list[PairwiseTest]:
    """Test every pair of metrics on what `measure` shows of them."""
    asked = cases(human, plan, documents, official)
    return [contest for case in asked for contest in case.pairwise_tests(metrics)]
