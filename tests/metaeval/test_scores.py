"""Test sets from files, and a metric's scores on them at every level against single calls."""

import json
import math

import numpy as np
import pytest
import torch

from tensormt import metaeval
from tensormt.data import human_scores as data
from tensormt.errors import TensorMTError
from tensormt.evaluator import Evaluator
from tensormt.metaeval import scores
from tensormt.ngram.bleu import BLEU
from tensormt.syntax import STM
from tensormt.text.tokens import TokenBatch
from tensormt.trees.batch import TreeBatch

ROWS = [
    {
        "doc": "one",
        "seg": 1,
        "refs": ["the cat sat on the mat .", "a cat was sitting on the mat ."],
        "sys": {
            "b": {"hyp": "the cat sat on a mat .", "scores": {"fluency": 4, "adequacy": 5}},
            "a": {"hyp": "cat mat", "scores": {"fluency": 1}},
            "c": {"hyp": "a cat sat on the mat .", "scores": {"fluency": 4.5}},
        },
    },
    {
        "doc": "one",
        "seg": 2,
        "refs": ["it rained all day long ."],
        "sys": {
            "b": {"hyp": "it rained all the day .", "scores": {"fluency": 3}},
            "a": {"hyp": "", "scores": {"fluency": 0}},
            "c": {"hyp": "it rained all day .", "scores": {}},
        },
    },
    {
        "doc": "two",
        "seg": 3,
        "refs": [
            "nobody knew the answer .",
            "no one knew the answer .",
            "who knew ?",
        ],
        "sys": {
            "b": {"hyp": "nobody had the answer .", "scores": {"fluency": 2}},
            "c": {"hyp": "no one knew the answer .", "scores": {"fluency": 5}},
        },
    },
]


@pytest.fixture
def jsonl(tmp_path):
    path = tmp_path / "set.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in ROWS) + "\n\n", encoding="utf-8")
    return path


def test_jsonl_becomes_tables(jsonl):
    test = data.read_jsonl(jsonl)
    assert len(test) == 3
    assert test.systems == ["a", "b", "c"]
    assert test.outputs["a"] == ["cat mat", "", None]
    fluency = test.human_scores("fluency")
    assert fluency.dtype == np.float64
    assert np.nan_to_num(fluency[:2], nan=-1).tolist() == [[1, 0, -1], [4, 3, 2]]
    assert math.isnan(fluency[2, 1])
    numbers, names = test.document_numbers()
    assert (numbers.tolist(), names) == ([0, 0, 1], ["one", "two"])
    with pytest.raises(TensorMTError, match="the test set has adequacy, fluency"):
        test.human_scores("x")


def test_selection(jsonl):
    test = data.read_jsonl(jsonl)
    part = test.select(min_references=2, max_references=2, without=["a"])
    assert part.systems == ["b", "c"]
    assert part.documents == ["one", "two"]
    assert [len(refs) for refs in part.reference_rows()] == [2, 2]
    assert part.human_scores("fluency").tolist() == [[4, 2], [4.5, 5]]
    with pytest.raises(TensorMTError, match="nothing is left with at least 9 references"):
        test.select(min_references=9)
    with pytest.raises(TensorMTError, match="no system 'z' to leave out"):
        test.select(without=["z"])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", r"bad.jsonl, line 1: not a JSON object"),
        ("[1]", r"bad.jsonl, line 1: expected a JSON object"),
        ('{"sys": {}, "refs": [""]}', r"bad.jsonl, line 1: no reference"),
        ("", r"bad.jsonl: no segment"),
    ],
)
def test_a_mistake_is_named_with_its_line(tmp_path, line, message):
    path = tmp_path / "bad.jsonl"
    path.write_text(line, encoding="utf-8")
    with pytest.raises(TensorMTError, match=message):
        data.read_jsonl(path)
    with pytest.raises(TensorMTError, match=r"gone.jsonl cannot be read"):
        data.read_jsonl(tmp_path / "gone.jsonl")


def test_score_files(tmp_path):
    human, metric = tmp_path / "x.mqm.seg.score", tmp_path / "BLEU.seg.score"
    human.write_text("s1\t-1.5\ns1\tNone\ns2\t0\ns2\t-2\n", encoding="utf-8")
    metric.write_text("s2\t10\ns2\t20\ns1\t30\ns1\t40\nref\t1\nref\t2\n", encoding="utf-8")
    systems, (people, bleu) = data.align_scores([human, metric])
    assert systems == ["s1", "s2"]
    assert np.nan_to_num(people, nan=9).tolist() == [[-1.5, 9], [0, -2]]
    assert bleu.tolist() == [[30, 40], [10, 20]]
    docs = tmp_path / "x.docs"
    docs.write_text("news\td1\nnews\td2\n", encoding="utf-8")
    assert data.read_documents(docs) == ["d1", "d2"]
    metric.write_text("s2\t10\ns1\t30\n", encoding="utf-8")
    with pytest.raises(TensorMTError, match=r"BLEU.seg.score has 1 scores per system.*has 2"):
        data.align_scores([human, metric])
    metric.write_text("s2 ten\n", encoding="utf-8")
    with pytest.raises(TensorMTError, match=r"BLEU.seg.score:1: expected a system and a score"):
        data.read_scores(metric)
    metric.write_text("s2 1\ns2 2\ns1 3\n", encoding="utf-8")
    with pytest.raises(TensorMTError, match=r"different numbers of scores \(s2 2, s1 1\)"):
        data.read_scores(metric)
    metric.write_text("s2 1\ns2 2\n", encoding="utf-8")
    with pytest.raises(TensorMTError, match="have 1 systems in common"):
        data.align_scores([human, metric])


def batches(test, name):
    row = test.outputs[name]
    kept = [i for i, text in enumerate(row) if text is not None]
    refs = [TokenBatch.from_text([stream[i] for i in kept]) for stream in test.references]
    return kept, TokenBatch.from_text([row[i] for i in kept]), refs


def test_every_level_equals_the_metric_on_that_part(jsonl):
    test = data.read_jsonl(jsonl)
    metric = BLEU(max_order=2, smooth="add-k")
    (column,) = scores.evaluate_metrics(Evaluator({"bleu": metric}), test)
    numbers, names = test.document_numbers()
    numbers = torch.from_numpy(numbers)
    documents = column.documents(numbers, 2)
    for s, name in enumerate(test.systems):
        kept, hyp, refs = batches(test, name)
        torch.testing.assert_close(column.segments[s, kept], metric(hyp, refs))
        torch.testing.assert_close(column.systems()[s], metric.corpus(hyp, refs))
        expected = metric.documents(hyp, refs, [test.documents[i] for i in kept])
        for d, doc in enumerate(names):
            got = documents[s, d].item()
            assert got == pytest.approx(expected.get(doc, math.nan), nan_ok=True)
    assert column.segments[0, 2].isnan()
    drawn = torch.tensor([[2, 0, 1], [0, 1, 2]])
    for r, draw in enumerate([[0, 0, 2], [1, 2, 2]]):
        for s, row in enumerate(test.outputs.values()):
            chosen = [i for i in draw if row[i] is not None]
            hyp = TokenBatch.from_text([row[i] for i in chosen])
            refs = [TokenBatch.from_text([own[i] for i in chosen]) for own in test.references]
            expected = metric.corpus(hyp, refs) if chosen else torch.tensor(0.0)
            assert column.systems(drawn)[r, s].item() == pytest.approx(expected.item())


def test_scores_of_a_file_are_averaged():
    table = torch.tensor([[1.0, 3.0, math.nan], [2.0, 2.0, 5.0]], dtype=torch.float64)
    column = scores.Scores("m", "m", table)
    assert column.systems().tolist() == [2, 3]
    assert column.systems(torch.tensor([[2, 1, 0]])).tolist()[0] == pytest.approx([5 / 3, 2])
    assert column.documents(torch.tensor([0, 0, 1]), 2)[1].tolist() == [2, 5]


def test_agreement_at_levels_and_its_draws(jsonl):
    test = data.read_jsonl(jsonl)
    (column,) = scores.evaluate_metrics(Evaluator(["bleu"]), test)
    human = torch.from_numpy(test.human_scores("fluency"))
    numbers, names = test.document_numbers()
    documents = torch.from_numpy(numbers), len(names)
    judged = column.where(~human.isnan())
    assert judged.segments.isnan().sum() == 2
    assert judged.statistics[2, 1].eq(0).all()
    expected = {
        "segment": metaeval.correlate(human, column.segments, "tau_b", "none"),
        "document": metaeval.correlate(
            metaeval.document_means(human, *documents), judged.documents(*documents), "tau_b"
        ),
        "system": metaeval.tau_b(human.nanmean(dim=1), column.systems()),
        "mean": metaeval.tau_b(human.nanmean(dim=1), column.segments.nanmean(dim=1)),
    }
    for level in scores.LEVELS:
        value = scores.correlate_at(level, human, column, "tau_b", "none", documents)
        torch.testing.assert_close(value, expected[level])
        once = torch.ones(2, 3 if level != "document" else 2, dtype=torch.int64)
        drawn = scores.correlate_at(level, human, column, "tau_b", "none", documents, segments=once)
        torch.testing.assert_close(drawn, value.expand(2))


def test_trees_come_from_the_parser_once_a_text(jsonl):
    test = data.read_jsonl(jsonl)
    seen = []

    def parse(lines):
        seen.extend(lines)
        flat = [" ".join(f"(X {w})" for w in line.split()) for line in lines]
        return TreeBatch.from_brackets([f"(S {tree})" if tree else "" for tree in flat])

    metrics = {str(depth): STM(max_depth=depth) for depth in (2, 3)}
    for column in scores.evaluate_metrics(Evaluator(metrics, parse), test):
        assert column.segments.shape == (3, 3)
    assert len(seen) == len(set(seen))
    with pytest.raises(TensorMTError, match="STM compares trees: name a parser"):
        Evaluator(["stm"])
