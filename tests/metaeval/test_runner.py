"""Meta-evaluations: rows and pairwise tests are those of the single functions."""

import math

import pytest
import torch

from tensormt import metaeval
from tensormt.metaeval import runner
from tensormt.metaeval.config import Config
from tensormt.metaeval.judged_sets import JudgedSet
from tensormt.metaeval.runner import meta_evaluate, pairwise_tests
from tensormt.metaeval.scores import Scores

TRUTH = torch.randn(5, 12, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
NOISE = torch.randn(5, 12, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
HUMAN = {"fluency": TRUTH + NOISE / 2}
METRICS = [Scores("STM-1", "s1", TRUTH), Scores("STM-2", "s2", NOISE), Scores("TKM", "t", -TRUTH)]
DOCUMENTS = torch.arange(12) // 3, 4


def sets(human, metrics, documents=DOCUMENTS, human_systems=None):
    """A judged set for each human score by name."""
    return [
        JudgedSet("set", name, table, metrics, documents, [], human_systems)
        for name, table in human.items()
    ]


@pytest.mark.parametrize("grouping", ["segment", "none"])
def test_rows_are_the_single_agreements(grouping):
    config = runner.Config(
        levels=("segment", "document", "system"), statistics=("pearson", "tau_b"), grouping=grouping
    )
    rows = runner.meta_evaluate(sets(HUMAN, METRICS), config)
    assert len(rows) == 3 * 3 * 2
    assert {row.grouping for row in rows if row.level != "system"} == {grouping}
    assert {row.grouping for row in rows if row.level == "system"} == {None}
    for row in rows:
        table = METRICS[[m.name for m in METRICS].index(row.metric)].segments
        human = HUMAN["fluency"]
        if row.level == "system":
            expected = metaeval.correlate_systems(human.mean(1), table.mean(1), row.statistic)
        elif row.level == "document":
            sides = (metaeval.document_means(x, *DOCUMENTS) for x in (human, table))
            expected = metaeval.correlate(*sides, row.statistic, grouping)
        else:
            expected = metaeval.correlate(human, table, row.statistic, grouping)
        assert row.value == pytest.approx(expected.item())
        assert row.low is None


def test_intervals_and_pairwise_tests():
    config = runner.Config(statistics=("pearson",), resamples=100)
    rows = runner.meta_evaluate(sets(HUMAN, METRICS), config)
    assert all(row.low <= row.value <= row.high for row in rows if row.level == "segment")
    found = runner.pairwise_tests(sets(HUMAN, METRICS), config)
    assert [(c.first, c.second) for c in found if c.level == "system"] == [
        ("STM-1", "STM-2"),
        ("STM-1", "TKM"),
        ("STM-2", "TKM"),
    ]
    best = next(c for c in found if (c.first, c.second, c.level) == ("STM-1", "TKM", "segment"))
    assert best.difference == pytest.approx(2 * rows[0].value)
    assert best.p < 0.05


@pytest.mark.parametrize("test", ["permutation", "williams"])
def test_a_metric_without_scores_changes_nothing_for_the_others(test):
    """Its differences do not exist, so they have no p; nobody else loses a segment to it."""
    random = torch.Generator().manual_seed(3)
    human = torch.randn(5, 12, generator=random, dtype=torch.float64)
    first, second = human + torch.randn(2, 5, 12, generator=random, dtype=torch.float64)
    nothing = torch.full_like(human, torch.nan)
    own, other = Scores("a", "a", first), Scores("b", "b", second)
    empty = Scores("c", "c", nothing, published=torch.arange(5, dtype=torch.float64))
    config = Config(
        levels=("segment", "system"),
        statistics=("pearson",),
        grouping="none",
        test=test,
        permutations=40,
    )
    documents = torch.arange(12), 12
    alone = pairwise_tests(sets({"h": human}, [own, other], documents), config)
    found = pairwise_tests(sets({"h": human}, [own, other, empty], documents), config)
    by_pair = {(c.first, c.second, c.level): c for c in found}
    for test_of_pair in alone:
        assert by_pair["a", "b", test_of_pair.level] == test_of_pair
    for name in "ab":
        assert math.isnan(by_pair[name, "c", "segment"].difference)
        assert math.isnan(by_pair[name, "c", "segment"].p)
        assert 0 < by_pair[name, "c", "system"].p <= 1


def test_published_human_scores_at_system_level():
    random = torch.Generator().manual_seed(4)
    human = torch.randn(5, 8, generator=random, dtype=torch.float64)
    own = Scores("a", "a", human + 1)
    human_systems = torch.tensor([3.0, 1.0, 2.0, 5.0, 4.0], dtype=torch.float64)
    config = Config(levels=("system", "mean"), statistics=("pearson",))
    judged = sets({"h": human}, [own], (torch.arange(8), 8), human_systems)
    system, mean = meta_evaluate(judged, config)
    assert mean.value == pytest.approx(1)
    expected = float(torch.corrcoef(torch.stack([human_systems, human.mean(1)]))[0, 1])
    assert system.value == pytest.approx(expected, abs=1e-10)  # means are rounded to 40 bits


@pytest.mark.parametrize(("systems", "segments"), [(1, 1), (1, 4), (3, 1)])
def test_too_few_scores_have_no_value(systems, segments):
    """No group has a pair: no statistic exists, no threshold, no p; nothing fails."""
    human = torch.rand(systems, segments, dtype=torch.float64)
    metrics = [Scores("a", "a", human * 2), Scores("b", "b", -human)]
    documents = torch.zeros(segments, dtype=torch.int64), 1
    config = Config(
        levels=("segment", "document", "system", "mean"),
        statistics=(*metaeval.STATISTICS, "spa"),
        resamples=5,
        permutations=5,
    )
    judged = sets({"h": human}, metrics, documents)
    for row in meta_evaluate(judged, config):
        if systems == 1:
            assert math.isnan(row.value)
            assert row.epsilon is None
    for test in pairwise_tests(judged, config):
        assert math.isnan(test.p) == math.isnan(test.difference)
        assert systems > 1 or math.isnan(test.p)
