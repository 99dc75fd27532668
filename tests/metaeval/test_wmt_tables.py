"""Clusters, averages over tasks and the tables of WMT years."""

from dataclasses import replace

import pytest
import torch

from tensormt import metaeval
from tensormt.errors import TensorMTError
from tensormt.metaeval import format
from tensormt.metaeval.config import Config
from tensormt.metaeval.permutation_test import PairwisePermutation
from tensormt.metaeval.runner import MetaEvaluation
from tensormt.metaeval.scores import Scores
from tensormt.metaeval.wmt_tables import JudgedSet, Task, WMTTable, clusters, make_table

CONFIG = Config(permutations=60, spa_permutations=50)


def judged(name, systems, seed):
    random = torch.Generator().manual_seed(seed)
    human = torch.randn(systems, 14, generator=random, dtype=torch.float64).mul(2).round()
    metrics = [
        Scores(key, key, human + noise * torch.randn(human.shape, generator=random).double())
        for key, noise in (("good", 0.3), ("bad", 4.0), ("fair", 1.5))
    ]
    documents = torch.arange(14) // 2, 7
    return JudgedSet(name, "mqm", human, metrics, documents, [f"s{k}" for k in range(systems)])


SETS = [judged("zh-en", 5, 1), judged("en-de", 4, 2)]


@pytest.mark.parametrize("kind", ["wmt22", "wmt23", "wmt24"])
def test_values_without_clusters(kind):
    """The values are those of the table with tests, also where a metric lacks an output."""
    scores = SETS[0].metrics[0].segments.clone()
    scores[0, 0] = torch.nan
    first = replace(SETS[0].metrics[0], segments=scores)
    sets = [replace(SETS[0], metrics=[first, *SETS[0].metrics[1:]]), SETS[1]]
    table = make_table(sets, kind, CONFIG, clustered=False)
    full = make_table(sets, kind, CONFIG)
    for own, other in zip([table.average, *table.tasks], [full.average, *full.tasks], strict=True):
        assert torch.equal(own.values, other.values)
    rows = format.wmt_table_rows(table)
    assert rows[1][1:] == [cell.split()[1] for cell in format.wmt_table_rows(full)[1][1:]]
    assert set(format.wmt_table_json(table)["tasks"][0]) == {"name", "weight", "values"}
    assert {"clusters", "p"} < set(format.wmt_table_json(full)["tasks"][0])


def test_clusters_in_steps_are_those_of_all_permutations():
    """Pairs stop early only where that decides nothing; what was drawn is what one run draws."""
    random = torch.Generator().manual_seed(0)
    human = torch.randn(6, 30, generator=random, dtype=torch.float64)
    noises = (0.2, 0.3, 0.8, 0.9, 1.5, 3.0, 9.0)
    metrics = [
        Scores(f"m{noise}", "", human + noise * torch.randn(6, 30, generator=random).double())
        for noise in noises
    ]
    own = JudgedSet("zh-en", "mqm", human, metrics, (torch.arange(30), 30), list("abcdef"))
    config = Config(permutations=400, spa_permutations=50)
    table = make_table([own], "wmt24", config)
    spa = MetaEvaluation(own, "system", "spa", replace(config, grouping="none"))
    full = spa.pairwise_permutation(metrics)
    found = table.tasks[0].found
    drawn = torch.arange(400)[:, None, None] < found.draws
    torch.testing.assert_close(found.null, full.null * drawn, rtol=0, atol=1e-12)
    assert found.draws.unique().tolist() == [100, 300, 400]
    everything = replace(table, tasks=[replace(table.tasks[0], found=full), table.tasks[1]])
    assert everything.average.found.draws is None
    for column, expected in zip(
        (table.average, *table.tasks), (everything.average, *everything.tasks), strict=True
    ):
        assert column.clusters() == expected.clusters()
    assert max(table.average.clusters()) > 2
    assert format.wmt_table_json(table)["tasks"][1]["permutations"] == found.draws.tolist()


def test_metrics_of_some_pairs_are_named():
    extra = replace(SETS[1].metrics[0], name="extra")
    again = [*SETS[1].metrics, extra, extra]
    table = make_table([SETS[0], replace(SETS[1], metrics=again)], "wmt24", CONFIG, clustered=False)
    assert table.metrics == ["good", "bad", "fair"]
    assert table.partial == ["extra"]


def assign(order, p, level):
    """mt-metrics-eval's rule in plain Python: metrics in falling order, p[better][worse]."""
    ranks, start, rank = {}, 0, 1
    for place, k in enumerate(order):
        if any(p[other][k] <= level for other in order[start:place]):
            rank, start = rank + 1, place
        ranks[k] = rank
    return ranks


def test_clusters_begin_where_a_metric_is_beaten():
    random = torch.Generator().manual_seed(0)
    for _ in range(30):
        values = torch.rand(6, generator=random)
        p = torch.rand(6, 6, generator=random) * 0.3
        order = values.argsort(descending=True).tolist()
        expected = assign(order, p.tolist(), 0.05)
        assert clusters(values, p) == [expected[k] for k in range(6)]
    values = torch.tensor([0.1, float("nan"), 0.4, float("nan")])
    assert clusters(values, torch.ones(4, 4)) == [1, 2, 1, 2]


def test_averages_are_weighted_and_tested_by_summed_draws():
    values = [torch.tensor([0.5, 0.1]).double(), torch.tensor([0.6, 0.7]).double()]
    null = [torch.zeros(3, 2, 2).double() for _ in range(2)]
    null[0][:, 0, 1] = torch.tensor([0.4, -0.4, 0.2])
    null[1][:, 0, 1] = torch.tensor([0.1, 0.1, 0.3])
    tasks = [
        Task("r", 3.0, -1.0, PairwisePermutation(values[0], null[0])),
        Task("acc", 1.0, 0.0, PairwisePermutation(values[1], null[1])),
    ]
    average = WMTTable(["a", "b"], tasks).average
    assert average.values.tolist() == pytest.approx(
        [0.75 * 0.75 + 0.25 * 0.6, 0.75 * 0.55 + 0.25 * 0.7]
    )
    # differences: seen 0.125; drawn 0.75·0.2 + 0.025, -0.15 + 0.025, 0.075 + 0.075
    assert average.found.p(two_sided=False)[0, 1].item() == pytest.approx((2 + 1) / 4)


def test_the_table_of_wmt24():
    table = make_table(SETS, "wmt24", CONFIG)
    assert table.metrics == ["good", "bad", "fair"]
    assert [task.name for task in table.tasks] == [
        "zh-en, system: SPA",
        "zh-en, segment: acc_eq",
        "en-de, system: SPA",
        "en-de, segment: acc_eq",
    ]
    for place, own in enumerate(SETS):
        for k, scores in enumerate(own.metrics):
            spa = metaeval.soft_pairwise_accuracy(own.human, scores.segments, permutations=50)
            accuracy = metaeval.correlate(own.human, scores.segments, "accuracy_ties", "segment")
            assert table.tasks[2 * place].values[k].item() == pytest.approx(spa.item(), abs=1e-12)
            found = table.tasks[2 * place + 1].values[k].item()
            assert found == pytest.approx(accuracy.item(), abs=1e-12)
    assert table.tasks[1].clusters()[:2] == [1, table.tasks[1].clusters()[1]]
    lines = format.wmt_table_rows(table)
    assert [line[0] for line in lines] == ["metric", "good", "fair", "bad"]
    facts = format.wmt_table_json(table)
    assert facts["tasks"][0]["name"] == "average"
    assert facts["tasks"][0]["clusters"] == table.average.clusters()


def test_the_tables_of_other_years():
    table = make_table(SETS, "wmt23", CONFIG)
    assert [task.weight for task in table.tasks] == [2.0] + [1.0] * 6
    right = total = 0
    for own in SETS:
        human, metric = own.human.mean(dim=1), own.metrics[1].segments.mean(dim=1)
        for i in range(len(human)):
            for j in range(i):
                right += ((human[i] - human[j]).sign() == (metric[i] - metric[j]).sign()).item()
                total += 1
    assert table.tasks[0].values[1].item() == pytest.approx(right / total, abs=1e-12)
    assert len(make_table(SETS, "wmt22", CONFIG).tasks) == 1
    with pytest.raises(TensorMTError, match="table 'wmt99' is unknown"):
        make_table(SETS, "wmt99", CONFIG)
    lone = [judged("a", 3, 1)]
    lone[0].metrics[:] = lone[0].metrics[:1]
    with pytest.raises(TensorMTError, match="1 metrics in common"):
        make_table(lone, "wmt24", CONFIG)
