"""Whole meta-evaluations: rows and contests are the single calls, tables show them."""

import math

import pytest
import torch

from tensormt import metaeval
from tensormt.errors import TensorMTError
from tensormt.metaeval import layout, study
from tensormt.metaeval.scores import Scores

TRUTH = torch.randn(5, 12, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
NOISE = torch.randn(5, 12, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
HUMAN = {"fluency": TRUTH + NOISE / 2}
METRICS = [Scores("STM-1", "s1", TRUTH), Scores("STM-2", "s2", NOISE), Scores("TKM", "t", -TRUTH)]
DOCUMENTS = torch.arange(12) // 3, 4


def test_rows_are_the_single_agreements():
    plan = study.Plan(levels=("segment", "document", "system"), statistics=("pearson", "tau_b"))
    rows = study.measure(HUMAN, METRICS, plan, DOCUMENTS)
    assert len(rows) == 3 * 3 * 2
    for row in rows:
        table = METRICS[[m.name for m in METRICS].index(row.metric)].segments
        human = HUMAN["fluency"]
        if row.level == "system":
            expected = metaeval.system_agreement(human.mean(1), table.mean(1), row.statistic)
        elif row.level == "document":
            sides = (metaeval.document_means(x, *DOCUMENTS) for x in (human, table))
            expected = metaeval.agreement(*sides, row.statistic)
        else:
            expected = metaeval.agreement(human, table, row.statistic)
        assert row.value == pytest.approx(expected.item())
        assert row.low is None


def test_intervals_and_contests():
    plan = study.Plan(statistics=("pearson",), resamples=100)
    rows = study.measure(HUMAN, METRICS, plan, DOCUMENTS)
    assert all(row.low <= row.value <= row.high for row in rows if row.level == "segment")
    found = study.contests(HUMAN, METRICS, plan, DOCUMENTS)
    assert [(c.first, c.second) for c in found if c.level == "system"] == [
        ("STM-1", "STM-2"),
        ("STM-1", "TKM"),
        ("STM-2", "TKM"),
    ]
    best = next(c for c in found if (c.first, c.second, c.level) == ("STM-1", "TKM", "segment"))
    assert best.difference == pytest.approx(2 * rows[0].value)
    assert best.p < 0.05


def test_wrong_plans():
    with pytest.raises(TensorMTError, match="level 'word' is unknown"):
        study.measure(HUMAN, METRICS, study.Plan(levels=("word",)), DOCUMENTS)
    with pytest.raises(TensorMTError, match="human score 'x' has no value at all"):
        study.measure({"x": TRUTH * math.nan}, METRICS, study.Plan(), DOCUMENTS)


def test_tables():
    rows = [
        study.Row("BLEU-1", "", "fluency", "segment", "pearson", 0.1261),
        study.Row("BLEU-2", "", "fluency", "segment", "pearson", 0.132, 0.1, 0.2),
        study.Row("STM-2", "", "fluency", "segment", "pearson", math.nan),
        study.Row("TKM", "", "fluency", "segment", "pearson", 0.065),
    ]
    assert layout.by_order(rows).split("\n") == [
        "fluency, segment level, pearson                  BLEU  STM    TKM",
        "1                                               0.126",
        "2                                0.132 [0.100, 0.200]    –",
        "no order                                                    0.065",
    ]
    assert layout.by_metric(rows).split("\n")[:2] == [
        "fluency, segment level               pearson",
        "BLEU-1                                 0.126",
    ]
    contest = study.Contest("A", "B", "fluency", "segment", "pearson", 0.25, 0.001)
    assert layout.of_contests([contest]).split("\n")[1].split() == [
        "A", "-", "B", "fluency", "segment", "pearson", "+0.250", "0.0010",
    ]  # fmt: skip
