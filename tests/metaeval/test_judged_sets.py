"""Judged sets from segments and score files; folders are tested with the command."""

import numpy as np
import pytest
import torch

from tensormt.errors import TensorMTError
from tensormt.metaeval.format import set_notes
from tensormt.metaeval.judged_sets import (
    Selection,
    judged_sets_from_score_files,
    judged_sets_from_segments,
)
from tensormt.metaeval.scores import Scores
from tensormt.segments import Segments


def segments(**human):
    tables = {name: np.array(rows, float) for name, rows in human.items()}
    outputs = {"a": ["x", "y"], "b": ["z", None]}
    return Segments(outputs, [["r", "s"], ["t", None]], documents=["d", "d"], human=tables)


def test_one_set_for_each_human_score():
    test = segments(fluency=[[1, 2], [3, 4]], mqm=[[5, 6], [7, 8]], n_raters=[[1, 1], [1, 1]])
    scores = [Scores("m", "m", torch.rand(2, 2))]
    published = {"mqm": torch.tensor([1.0, 2.0])}
    sets = judged_sets_from_segments(
        "set", test, scores, Selection(), prefix="en-de, ", human_systems=published
    )
    assert [own.human_name for own in sets] == ["en-de, fluency", "en-de, mqm"]  # no n_*
    assert sets[1].human.tolist() == [[5, 6], [7, 8]]
    assert sets[0].human_systems is None
    assert sets[1].human_systems.tolist() == [1, 2]
    assert sets[0].metrics is scores
    assert sets[0].systems == ["a", "b"]
    assert (sets[0].documents[0].tolist(), sets[0].documents[1]) == ([0, 0], 1)


def test_selections():
    test = segments(fluency=[[1, 2], [3, 4]])
    part = Selection(without=["a"], min_references=2, max_references=1).select(test)
    assert (part.systems, part.references, part.human["fluency"].tolist()) == (
        ["b"],
        [["r"]],
        [[3]],
    )
    assert list(Selection(human=["fluency"]).human_tables(test)) == ["fluency"]
    with pytest.raises(TensorMTError, match="there is no human score 'x'"):
        Selection(human=["x"]).human_tables(test)
    with pytest.raises(TensorMTError, match="the test set has no human scores"):
        Selection().human_tables(segments(n_raters=[[1, 1], [1, 1]]))


def test_score_files(tmp_path):
    human, metric = tmp_path / "x.mqm.seg.score", tmp_path / "BLEU.seg.score"
    human.write_text("s1\t-1\ns1\tNone\ns2\t0\ns2\t-2\n", encoding="utf-8")
    metric.write_text("s2\t10\ns2\t20\ns1\t30\ns1\t40\n", encoding="utf-8")
    [found] = judged_sets_from_score_files(str(human), [str(metric)])
    assert (found.name, found.systems) == ("x.mqm.seg.score", ["s1", "s2"])
    assert found.human.nan_to_num(9).tolist() == [[-1, 9], [0, -2]]
    [error] = judged_sets_from_score_files(str(human), [str(metric)], None, ["BLEU"])
    assert error.metrics[0].segments.tolist() == (-found.metrics[0].segments).tolist()
    assert (error.metrics[0].negated, found.metrics[0].negated) == (True, False)
    assert set_notes([error]) == ["negated, as lower is better: BLEU"]
    with pytest.raises(TensorMTError, match="no scores of 'TER' that could be error rates: BLEU"):
        judged_sets_from_score_files(str(human), [str(metric)], None, ["TER"])
    assert [own.name for own in found.metrics] == ["BLEU"]
    assert found.metrics[0].segments.tolist() == [[30, 40], [10, 20]]
    assert (found.documents[0].tolist(), found.documents[1]) == ([0, 1], 2)
    documents = tmp_path / "x.docs"
    documents.write_text("news\td1\nnews\td1\n", encoding="utf-8")
    [found] = judged_sets_from_score_files(str(human), [str(metric)], str(documents))
    assert (found.documents[0].tolist(), found.documents[1]) == ([0, 0], 1)
    documents.write_text("news\td1\n", encoding="utf-8")
    with pytest.raises(TensorMTError, match=r"has 1 lines, .* has 2 scores a system"):
        judged_sets_from_score_files(str(human), [str(metric)], str(documents))
