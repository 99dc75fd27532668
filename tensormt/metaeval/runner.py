"""Meta-evaluation of several metrics with several human scores, at several levels.

The result is one `Row` per metric, human score, level and statistic, and one `PairwiseTest` per
pair of metrics. A test is about the numbers in the table: at level "system" corpus scores are
swapped between metrics for each system, because a corpus score has no segments that could be
swapped; at level "mean" segment scores can be swapped.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import torch
from torch import Tensor

from tensormt.corrections import correct_p_values
from tensormt.metaeval.analytic_tests import correlation_test, williams
from tensormt.metaeval.calibration import calibrated_accuracy
from tensormt.metaeval.config import SPA, Config, PairwiseTest, Row, check_config, check_test
from tensormt.metaeval.grouping import correlate_systems, group
from tensormt.metaeval.judged_sets import JudgedSet
from tensormt.metaeval.permutation_test import (
    PairwisePermutation,
    pairwise_permutation,
    pairwise_permutation_tables,
)
from tensormt.metaeval.resample import bootstrap
from tensormt.metaeval.scores import Scores, correlate_at, tables_at
from tensormt.metaeval.spa import soft_pairwise_accuracy, spa_resampled
from tensormt.metaeval.spa_permutation import pairwise_permutation_spa


@dataclass(frozen=True)
class MetaEvaluation:
    """The meta-evaluation with one human score at one level by one statistic.

    Args:
        judged: Human scores and metric scores of a test set.
        level: One of `tensormt.metaeval.scores.LEVELS`.
        statistic: One of `tensormt.metaeval.config.ALL_STATISTICS`.
        config: All other settings; its levels and statistics are not used.

    >>> human = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> scores = Scores("bleu", "BLEU", human / 10)
    >>> judged = JudgedSet("set", "mqm", human, [scores], (torch.arange(2), 2), ["a", "b"])
    >>> round(MetaEvaluation(judged, "segment", "pearson", Config()).row(scores).value, 4)
    1.0
    """

    judged: JudgedSet
    level: str
    statistic: str
    config: Config

    @property
    def _grouping(self) -> str:
        """The grouping at this level; all systems are compared with each other."""
        return self.config.grouping_at(self.level) or "none"

    def value(
        self, scores: Scores, systems: Tensor | None = None, segments: Tensor | None = None
    ) -> Tensor:
        """Compute the statistic of a metric.

        Args:
            scores: Scores of the metric.
            systems: Bootstrap weights of systems, int64 [R,S].
            segments: Bootstrap weights of segments, int64 [R,N]; at level "document" of documents.

        Returns:
            float64 [], or [R] with weights.
        """
        judged = self.judged
        if self.statistic == SPA:
            tables, permutations = (judged.human, scores.segments), self.config.spa_permutations
            if len(judged.human) < 2:
                drawn = systems if systems is not None else segments
                shape = () if drawn is None else drawn.shape[:1]
                return judged.human.new_full(shape, torch.nan, dtype=torch.float64)
            if systems is None and segments is None:
                return soft_pairwise_accuracy(*tables, permutations=permutations)
            return spa_resampled(*tables, systems, segments, permutations=permutations)
        return correlate_at(
            self.level,
            judged.human,
            scores,
            self.statistic,
            self.config.grouping,
            judged.documents,
            least_gap=self.config.least_gap,
            systems=systems,
            segments=segments,
            human_systems=judged.human_systems,
        )

    def row(self, scores: Scores) -> Row:
        """Compute the statistic of a metric, with its interval and p-value if configured."""
        judged, config = self.judged, self.config
        row = Row(
            scores.name,
            scores.signature,
            judged.human_name,
            self.level,
            self.statistic,
            float(self.value(scores)),
            epsilon=self._epsilon(scores),
            grouping=self.config.grouping_at(self.level),
        )
        if config.fisher and self._grouping == "none":
            human, metric = (side.flatten() for side in self._tables(scores))
            test = correlation_test(self.statistic, human, metric, config.confidence)
            row = replace(row, **test._asdict())
        if not config.resamples or self._cannot_resample(scores):
            return row
        interval = bootstrap(
            lambda systems, segments: self.value(scores, systems, segments),
            len(judged.human),
            judged.documents[1] if self.level == "document" else judged.human.shape[1],
            resamples=config.resamples,
            level=config.confidence,
            draw=config.draw,
            cells=self._cells(),
            seed=config.seed,
        )
        return replace(row, low=interval.low, high=interval.high)

    def _cannot_resample(self, scores: Scores) -> bool:
        """Whether segments should be resampled, but only published system scores exist."""
        published = self.judged.human_systems is not None or scores.published is not None
        by_system = self.level == "system" and self.statistic != SPA
        return by_system and published and "segments" in self.config.draw

    def _epsilon(self, scores: Scores) -> float | None:
        """Return the threshold of tie calibration, if the statistic has one."""
        if self.statistic != "accuracy_ties":
            return None
        human, metric = (group(side, self._grouping) for side in self._tables(scores))
        mask = ~(human.isnan() | metric.isnan())
        pooled = self._grouping == "pooled"
        epsilon = float(calibrated_accuracy(human, metric, mask, pooled=pooled)[1])
        return None if math.isnan(epsilon) else epsilon

    def _tables(self, scores: Scores) -> tuple[Tensor, Tensor]:
        """Return the human and metric scores that the level compares."""
        judged = self.judged
        return tables_at(self.level, judged.human, scores, judged.documents, judged.human_systems)

    def _cells(self) -> int:
        """Return the number of cells of one resample: all pairs if ties are calibrated."""
        human = self.judged.human
        if self.statistic != "accuracy_ties" or self.level in ("system", "mean"):
            return human.numel()
        groups, items = group(human, self.config.grouping).shape
        return max(1, groups * items * (items - 1) // 2)

    def pairwise_permutation(
        self, metrics: Sequence[Scores], first: int = 0, wanted: Tensor | None = None
    ) -> PairwisePermutation:
        """Test all pairs of metrics by permutation; metrics without scores at the level are NaN.

        Args:
            metrics: Scores of X metrics.
            first: For SPA, number of permutations that are left out, because they are known.
            wanted: For SPA, which pairs are tested, bool [X,X]; None: all.
        """
        by_segment = self.statistic == SPA or self.level == "mean"
        tables = [own.segments if by_segment else self._tables(own)[1] for own in metrics]
        kept = [k for k, table in enumerate(tables) if not bool(table.isnan().all())]
        if not kept or (self.statistic == SPA and len(self.judged.human) < 2):
            return PairwisePermutation.empty().expand([], len(metrics))
        part = None if wanted is None else wanted[kept][:, kept]
        found = self._permutation([metrics[k] for k in kept], first, part)
        return found if len(kept) == len(metrics) else found.expand(kept, len(metrics))

    def _permutation(
        self, metrics: Sequence[Scores], first: int, wanted: Tensor | None
    ) -> PairwisePermutation:
        """Test all pairs of metrics, all of which have scores at the level."""
        config, human = self.config, self.judged.human
        resampling = {"resamples": config.permutations, "seed": config.seed}
        units = config.units
        by_system = self.level in ("system", "mean")
        if self.statistic == SPA:
            tables = torch.stack([scores.segments for scores in metrics])
            return pairwise_permutation_spa(
                human,
                tables,
                units or "both",
                config.spa_permutations,
                first=first,
                wanted=wanted,
                **resampling,
            )
        if self.level == "mean" and units not in (None, "systems"):
            tables = torch.stack([scores.segments for scores in metrics])

            def of_means(one: Tensor, other: Tensor) -> Tensor:
                sides = one.nanmean(dim=-1), other.nanmean(dim=-1)
                return correlate_systems(*sides, self.statistic, least_gap=config.least_gap)

            return pairwise_permutation_tables(
                human,
                tables,
                of_means,
                units or "both",
                resamples=config.permutations,
                seed=config.seed,
            )
        sides = [self._tables(scores) for scores in metrics]
        return pairwise_permutation(
            sides[0][0],
            torch.stack([own for _, own in sides]),
            self.statistic,
            self._grouping,
            "systems" if by_system else units,
            least_gap=config.least_gap,
            **resampling,
        )

    def pairwise_tests(self, metrics: Sequence[Scores]) -> list[PairwiseTest]:
        """Test every pair of metrics by the configured test."""
        pairs = list(combinations(range(len(metrics)), 2))
        if self.config.test == "williams":
            found = [self._williams(metrics[a], metrics[b]) for a, b in pairs]
        else:
            result = self.pairwise_permutation(metrics)
            differences, p_values = result.differences(), result.p(self.config.two_sided)
            found = [(float(differences[pair]), float(p_values[pair])) for pair in pairs]
        corrected = correct_p_values([p for _, p in found], self.config.correction)
        return [
            PairwiseTest(
                metrics[a].name,
                metrics[b].name,
                self.judged.human_name,
                self.level,
                self.statistic,
                *result,
                p_corrected,
                self.config.grouping_at(self.level),
            )
            for (a, b), result, p_corrected in zip(pairs, found, corrected, strict=True)
        ]

    def _williams(self, first: Scores, second: Scores) -> tuple[float, float]:
        human, one = self._tables(first)
        _, other = self._tables(second)
        if bool(one.isnan().all() or other.isnan().all()):
            return math.nan, math.nan
        sides = human.flatten(), one.flatten(), other.flatten()
        return williams(*sides, two_sided=self.config.two_sided)


def meta_evaluations(sets: Sequence[JudgedSet], config: Config) -> Iterator[MetaEvaluation]:
    """Iterate over human scores, levels and statistics, after the configuration was checked.

    Args:
        sets: Test sets, one for each human score.
        config: What is computed.

    Raises:
        TensorMTError: If the configuration is not valid or a human score has no values.
    """
    check_config(config, sets)
    for judged in sets:
        for level in config.levels:
            for statistic in config.statistics:
                if statistic != SPA or level in ("system", "mean"):
                    yield MetaEvaluation(judged, level, statistic, config)


def meta_evaluate(sets: Sequence[JudgedSet], config: Config) -> list[Row]:
    """Compute the correlation of every metric with every human score.

    Args:
        sets: Test sets with metric scores, one for each human score.
        config: What is computed.

    Returns:
        One row per human score, level, statistic and metric.

    Raises:
        TensorMTError: If the configuration is not valid or a human score has no values.

    >>> human = torch.tensor([[1.0, 2.0], [3.0, 5.0]])
    >>> scores = Scores("bleu", "BLEU", torch.tensor([[0.1, 0.3], [0.2, 0.4]]))
    >>> judged = JudgedSet("set", "mqm", human, [scores], (torch.arange(2), 2), ["a", "b"])
    >>> config = Config(levels=("segment",), statistics=("tau_b",), grouping="none")
    >>> [row] = meta_evaluate([judged], config)
    >>> row.metric, round(row.value, 4)
    ('bleu', 0.6667)
    """
    return [
        evaluation.row(scores)
        for evaluation in meta_evaluations(sets, config)
        for scores in evaluation.judged.metrics
    ]


def pairwise_tests(sets: Sequence[JudgedSet], config: Config) -> list[PairwiseTest]:
    """Test every pair of metrics for a difference of what `meta_evaluate` returns.

    Args:
        sets: Test sets with metric scores, one for each human score.
        config: What is computed.

    Returns:
        One test per human score, level, statistic and pair of metrics.

    Raises:
        TensorMTError: If the configuration is not valid, a human score has no values, or the test
            is not for the statistics and levels.
    """
    check_test(config)
    return [
        test
        for evaluation in meta_evaluations(sets, config)
        for test in evaluation.pairwise_tests(evaluation.judged.metrics)
    ]
