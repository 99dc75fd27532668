"""The data of a report: statistics, texts and matched items, whatever the chunks are."""

from itertools import accumulate

import numpy as np
import pytest
import torch
from reporting.page_samples import HYPS, REFS, TREES

from tensormt.errors import TensorMTError
from tensormt.evaluator import Evaluator
from tensormt.reporting.collect import _tokenizer, collect
from tensormt.segments import Segments
from tensormt.trees.sources import TreesAsText


def collected(metrics, hyps=HYPS, refs=REFS, source="default", size=1024):
    corpus = Segments(hyps, refs)
    return collect(Evaluator(metrics, source), corpus, size=size)


def test_chunks_change_nothing():
    one, many = (collected(["bleu:max_order=2", "chrf"], size=size) for size in (100, 1))
    assert (one.hyps, one.refs, one.systems) == (many.hyps, many.refs, list(HYPS))
    for name, table in one.statistics.items():
        assert torch.equal(table, many.statistics[name])
    for name, items in one.item_counts.items():
        rows = [
            sorted(zip(*(array.tolist() for array in own.arrays()), strict=True))
            for own in (items, many.item_counts[name])
        ]
        assert rows[0] == rows[1]


def test_members_of_a_mean_have_weights_columns_and_matches():
    """The weighted scores of the members sum to the score of the mean."""
    found = collected(["chrf+bleu:max_order=2"])
    explained = found.explain([0, 2])
    assert list(explained) == [f"chrf+bleu:max_order=2: {name}" for name in ("chrF", "BLEU-2")]
    for s in range(3):
        total = torch.zeros(2, dtype=torch.float64)
        for by_system in explained.values():
            matches = by_system[s]
            assert matches.metric == "chrf+bleu:max_order=2"
            rows = matches.select(found.statistics[matches.metric][s][[0, 2]])
            total += matches.weight * matches.own.score(rows, segment=True)
        assert torch.allclose(total, torch.from_numpy(found.scores(matches.metric)[s][[0, 2]]))


def test_missing_outputs_have_no_score():
    hyps = {**HYPS, "B": [None, *HYPS["B"][1:]]}
    found = collected(["bm"], hyps)
    assert found.present.tolist() == [[True] * 4, [False, True, True, True], [True] * 4]
    assert np.isnan(found.scores("bm")).tolist() == (~found.present).tolist()
    assert found.hyps[1][0] == ""


def test_depths_are_those_of_the_first_reference():
    """The largest number of open brackets."""
    refs = [TREES[::-1], TREES]
    found = collected(["stm"], {"A": TREES}, refs, TreesAsText())
    signs = [[{"(": 1, ")": -1}.get(sign, 0) for sign in line] for line in refs[0]]
    assert found.depths.tolist() == [max(accumulate(row)) for row in signs]
    assert collected(["bm"]).depths is None


def test_no_segments():
    with pytest.raises(TensorMTError, match="no segments to report on"):
        collected(["bm"], {"A": []}, [[]])


def test_words_are_cut_by_the_tokeniser_of_a_metric():
    for metrics, name in ((["chrf"], "13a"), (["chrf", "bleu:tokenize=zh"], "zh")):
        assert _tokenizer(Evaluator(metrics)) == name
    assert _tokenizer(Evaluator(["chrf+bleu:tokenize=none"])) == "none"


def test_what_may_mislead_is_warned_of():
    some = Segments({"A": [""] * 20}, [["a cat sat"] * 20])
    with pytest.warns(UserWarning, match="^20 of 20 outputs are empty$"):
        collect(Evaluator(["ter"]), some)
