"""What matches add: Shapley values by their definition, items ranked by them."""

import math
from dataclasses import replace

import oracles
import pytest
import torch

import tensormt as tm
from tensormt.reporting.contributions import (
    base_score,
    contributions,
    order_values,
    shapley_values,
)


def test_additions_sum_to_the_score():
    """Shapley values by their definition: over all sequences of orders."""
    from itertools import permutations

    hyps, refs = oracles.random_case(7, most=12)
    hyp = tm.TreeBatch.from_brackets([oracles.brackets(tree) for tree in hyps])
    others = [
        tm.TreeBatch.from_brackets([oracles.brackets(tree) for tree in stream])
        for stream in zip(*refs, strict=True)
    ]
    for metric in (tm.STM(3), tm.STM(3, balance="f1"), tm.HWCM(3)):
        rows = metric.statistics(hyp, others)
        found = shapley_values(metric, rows, [[1], [2], [3]])
        assert torch.allclose(found.sum(1), metric(hyp, others))
        for row, values in zip(rows, found.tolist(), strict=True):
            expected = [0.0] * 3
            for sequence in permutations(range(3)):
                now = row.clone()
                now[1:4] = 0
                for order in sequence:
                    before = float(metric.score(now, segment=True))
                    now[1 + order] = row[1 + order]
                    expected[order] += (float(metric.score(now, segment=True)) - before) / 6
            assert values[1:] == pytest.approx(expected, abs=1e-12)
    assert shapley_values(tm.STM(9), torch.zeros(1, 19), [[k] for k in range(9)]) is None


LINES = ["the cat sat on the mat", "a dog ran home", "no one"]
REFS = [["the cat sits on the mat", "a dog runs home", "nobody"], ["the mat", "", "no one knew"]]


@pytest.mark.parametrize(
    "spec", ["bleu", "chrf", "nist", "bm", "chrf+bleu", "chrf:word_order=1+bleu:max_order=2"]
)
def test_contributions_sum_to_the_score(spec):
    scores = tm.score(LINES, REFS, [spec]).segments[spec].tolist()
    for found, score in zip(tm.explain(spec, LINES, REFS), scores, strict=True):
        items = contributions(found)
        total = math.fsum(item.adds for item in items) + base_score(found)
        assert total == pytest.approx(score, abs=1e-9)
        adds = [item.adds for item in items if item.counted]
        assert adds == sorted(adds, reverse=True)
        assert all(item.adds == 0 for item in items if not item.counted)
    assert len(items) > 2


def test_contributions_of_a_kernel_sum_to_the_score():
    hyps, refs = oracles.random_case(3, most=12)
    hyp = tm.TreeBatch.from_brackets([oracles.brackets(tree) for tree in hyps])
    others = [
        tm.TreeBatch.from_brackets([oracles.brackets(tree) for tree in stream])
        for stream in zip(*refs, strict=True)
    ]
    metric = tm.Mean([tm.TKM(), tm.STM(2, "f1")])
    for found, score in zip(tm.explain(metric, hyp, others), metric(hyp, others), strict=True):
        items = contributions(found)
        total = math.fsum(item.adds for item in items) + base_score(found)
        assert total == pytest.approx(float(score), abs=1e-9)
        assert {item.member for item in items} <= {"TKM", "STM-2 F1"}


def test_equal_items_are_put_together():
    [found] = tm.explain("bleu:max_order=1", ["the the cat the"], [["the cat the"], ["cat"]])
    the, cat = contributions(found)
    assert (the.text, the.counted, the.total, the.references) == ("the", 2, 3, [0])
    assert (cat.text, cat.counted, cat.total, cat.references) == ("cat", 1, 1, [0, 1])
    assert the.adds == pytest.approx(2 * cat.adds)


def test_what_is_not_known():
    """More than eight orders: too many subsets. Or the statistics do not count matches."""
    [found] = tm.explain("bleu:max_order=9", ["a b"], [["a b"]])
    assert base_score(found) is None
    assert {item.adds for item in contributions(found)} == {None}
    metric, batch = tm.BLEU(1), tm.TokenBatch.from_text(["a b"])
    explanation = replace(metric.explain(batch, [batch]), columns=[[]])
    assert order_values(metric, metric.statistics(batch, [batch]), explanation) is None


def test_orders_that_are_counted_together():
    """Two orders with one column share its contribution by their numbers of matches."""
    metric, batch = tm.BLEU(2), tm.TokenBatch.from_text(["a b c", "a b", "x y"])
    other = tm.TokenBatch.from_text(["a b c", "a b", "z z"])
    rows = metric.statistics(batch, [other])
    found = metric.explain(batch, [other])
    together = [*found.columns[0], *found.columns[1]]
    values = order_values(metric, rows, replace(found, columns=[together, together]))
    expected = [[0, 60, 40], [0, 200 / 3, 100 / 3], [0, 0, 0]]
    assert torch.allclose(values, torch.tensor(expected, dtype=torch.float64))
