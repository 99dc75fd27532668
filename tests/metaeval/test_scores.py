"""Scores of a metric on a test set at every level, against single calls."""

import json
import math

import pytest
import torch
from data.judged_samples import ROWS
from metaeval.error_rate_samples import LengthError, LengthScore

from tensormt import metaeval
from tensormt.data import human_scores as data
from tensormt.errors import TensorMTError
from tensormt.evaluator import Evaluator
from tensormt.metaeval import scores
from tensormt.ngram.bleu import BLEU
from tensormt.syntax import STM
from tensormt.text.tokens import TokenBatch
from tensormt.trees.batch import TreeBatch


@pytest.fixture
def jsonl(tmp_path):
    path = tmp_path / "set.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in ROWS) + "\n\n", encoding="utf-8")
    return path


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


def test_error_rates_are_negated_at_every_level(jsonl):
    """The scores of an error rate are those of the metric with the opposite sign."""
    test = data.read_jsonl(jsonl)
    metrics = {"error": LengthError(), "score": LengthScore()}
    error, score = scores.evaluate_metrics(Evaluator(metrics), test)
    assert (error.negated, score.negated) == (True, False)
    assert error.segments.nan_to_num(0).min() < 0
    assert error.segments.nan_to_num(0).max() <= 0
    numbers = torch.from_numpy(test.document_numbers()[0])
    drawn = torch.tensor([[2, 0, 1], [0, 1, 2]])
    for read in (
        lambda own: own.segments,
        lambda own: own.documents(numbers, 2),
        lambda own: own.systems(),
        lambda own: own.systems(drawn),
        lambda own: own.means(),
    ):
        torch.testing.assert_close(read(error), read(score), equal_nan=True, rtol=0, atol=0)
