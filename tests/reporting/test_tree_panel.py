"""Matches of the tree panel against `tm.explain`, contributions against their definition."""

import oracles
import pytest
import torch
from reporting.page_samples import HYPS, REFS

import tensormt as tm
from tensormt.reporting.tree_panel import shapley_values


def test_drawn_matches_are_those_of_explain(page):
    hyps = [tm.TokenBatch.from_text(lines) for lines in HYPS.values()]
    refs = [tm.TokenBatch.from_text(lines) for lines in REFS]
    explained = [tm.explain("bm", hyp, refs) for hyp in hyps]
    for card in page.cards():
        part = card["m"]["bm"]
        for s in range(3):
            counted = [[*zip(flat[::2], flat[1::2], strict=True)] for flat in part["k"][s]]
            expected = [[], [], [], []]
            for match in explained[s][card["i"]].matches:
                if match.counted:
                    expected[match.order - 1].append((match.place, match.reference))
                numbers = [dict(zip(f[::2], f[1::2], strict=True)) for f in part["c"][3 + s]]
                mine = numbers[match.order - 1].get(match.place)
                for r, places in enumerate(match.places):
                    flat = part["c"][r][match.order - 1]
                    theirs = [p for p, n in zip(flat[::2], flat[1::2], strict=True) if n == mine]
                    assert (theirs if mine else []) == places
            assert counted == expected


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
