"""Jobs: JSON, outputs, fingerprints, and options that are rejected."""

from dataclasses import replace

import pytest

import tensormt as tm
from tensormt.data.row_columns import Columns
from tensormt.data.shards import Shard
from tensormt.errors import TensorMTError
from tensormt.scale.job import Job, unfitted
from tensormt.train.torchmetrics_wrapper import TorchScore

JOB = Job("out", ("bleu", "bm"), Columns("mt", ("a", "b"), "doc", "key"), "jsonl")


def test_json_and_outputs():
    assert Job.from_json(JOB.to_json()) == JOB
    shard = Shard(0, "00000-a", "a.jsonl", 0, 10, 10, "mark")
    assert JOB.output(shard) == "out/00000-a.jsonl"
    assert list(JOB.evaluator().metrics) == ["bleu", "bm"]
    assert replace(JOB, chunk=7).chunk_size(JOB.evaluator()) == 7
    assert JOB.chunk_size(JOB.evaluator()) == JOB.evaluator().chunk_size


def test_the_fingerprint_covers_what_scores_depend_on():
    mark = JOB.fingerprint()
    assert replace(JOB, out="other", chunk=3).fingerprint() == mark
    for change in (
        {"metrics": ("bleu",)},
        {"metrics": ("bleu:max_order=2", "bm")},
        {"columns": Columns("mt", ("a",), "doc", "key")},
        {"skip": True},
        {"documents": True},
    ):
        assert replace(JOB, **change).fingerprint() != mark


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"form": "csv"}, "no format 'csv'"),
        ({"chunk": 0}, "chunks of 0 segments"),
        ({"documents": True, "columns": Columns()}, "document scores need document ids"),
    ],
)
def test_invalid_options(change, message):
    with pytest.raises(TensorMTError, match=message):
        replace(JOB, **change)


def test_metrics_that_need_counts_share_tables():
    found = unfitted([tm.NIST(), tm.BLEU(), tm.NM()])
    assert sorted(metric.name for some in found.values() for metric in some) == ["NIST", "NM"]


class Rare(tm.BLEU):
    """A metric of another package that counts references in a way of its own."""

    name = "Rare"
    fitted = False

    @property
    def needs_fit(self):
        return not self.fitted

    def _fit(self, refs):
        self.fitted = True


def test_a_metric_that_is_fitted_in_a_way_of_its_own(tmp_path):
    """One file can be scored, also in a mean; shards are refused, and so are torchmetrics."""
    for metric in (Rare(), tm.Mean([Rare(), tm.ChrF()])):
        text = ["the dog ran home"]
        assert float(tm.score(text, [text], [metric]).corpus[metric.label]) > 0
        with pytest.raises(TensorMTError, match="needs all references at once"):
            Job(str(tmp_path), ("bleu",)).evaluator(metrics={"rare": metric})
        with pytest.raises(TensorMTError, match="pass all references as fit_on"):
            TorchScore(metric)
