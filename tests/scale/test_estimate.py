"""The plan of a run against files counted in plain Python, and times against a pretended clock."""

import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scale.samples import rows, write_jsonl

from tensormt.data.row_columns import Columns
from tensormt.data.shards import cut_files, find_files
from tensormt.evaluator import Evaluator
from tensormt.scale import estimate as module
from tensormt.scale.estimate import Estimate, estimate, estimate_rows
from tensormt.scale.job import Job


def job(metrics=("bleu",), **more):
    return Job("out", metrics, **more)


def test_rows_of_parquet_are_exact(tmp_path):
    for k, count in enumerate((3, 1, 700)):
        pq.write_table(pa.Table.from_pylist(rows(count)), tmp_path / f"{k}.parquet")
    for size in (100, 5000, 1 << 24):
        shards = cut_files(find_files([tmp_path]), size)
        assert estimate_rows(job(), shards) == (704, True)
        part = shards[1::2]
        assert estimate_rows(job(), part) == (sum(shard.rows for shard in part), True)


@pytest.mark.parametrize("size", [2000, 20_000, 1 << 24])
def test_rows_of_text_are_weighed(tmp_path, size):
    """Lines of one length are counted to the row, others within a tenth."""
    line = json.dumps({"hypothesis": "a b c", "references": ["a b d"]}) + "\n"
    (tmp_path / "even.jsonl").write_text(line * 1000)
    count, exact = estimate_rows(job(), cut_files([str(tmp_path / "even.jsonl")], size))
    assert not exact
    assert count == pytest.approx(1000, abs=25)  # a shard may begin and end within a line
    path = write_jsonl(tmp_path / "uneven.jsonl", rows(3000))
    count, _ = estimate_rows(job(), cut_files([str(path)], size))
    assert count == pytest.approx(3000, rel=0.1)
    head, cells = "hypothesis\treference\n", "some words here\tsome other words\n"
    (tmp_path / "even.tsv").write_text(head + cells * 900)
    count, _ = estimate_rows(job(), cut_files([str(tmp_path / "even.tsv")], size))
    assert count == pytest.approx(900, rel=0.05)


def test_rows_of_packed_text_and_both_kinds(tmp_path):
    packed = gzip.compress(b'{"hypothesis": "a", "reference": "b"}\n' * 10, 0)
    (tmp_path / "a.jsonl.gz").write_bytes(packed)
    pq.write_table(pa.Table.from_pylist(rows(50)), tmp_path / "b.parquet")
    count, exact = estimate_rows(job(), cut_files(find_files([tmp_path]), 1000))
    assert not exact
    # text is taken to be packed to a quarter; this is not packed at all
    assert count == 50 + round(4 * len(packed) / 38)


def test_no_rows(tmp_path):
    (tmp_path / "a.jsonl").write_text("")
    shards = cut_files([str(tmp_path / "a.jsonl")], 1000)
    found = estimate(job(), shards)
    assert (found.files, found.shards, found.bytes, found.rows) == (1, 1, 0, 0)
    assert found.seconds(4) == 0.0
    assert Estimate(1, 1, 1, 100, True, 0.0).seconds(1) == 0.0


def test_seconds_are_shared_by_workers():
    found = Estimate(2, 8, 1 << 20, 90_000, False, 300.0)
    assert found.seconds(1) == 300.0
    assert found.seconds(4) == 75.0


class Clock:
    """Time that passes only while rows are counted or scored."""

    def __init__(self):
        self.now = 0.0

    def perf_counter(self):
        return self.now


@pytest.mark.parametrize(("metrics", "each"), [(("bleu",), 0.002), (("bleu", "nist"), 0.005)])
def test_speed_is_that_of_a_sample_after_warming_up(tmp_path, monkeypatch, metrics, each):
    """Scoring a row takes 2 ms on the clock, counting it 3 ms, the warm-up is not timed."""
    clock, scored = Clock(), []

    class Slow(module.Job):
        def evaluator(self):
            return SlowEvaluator(self.metrics)

    class SlowEvaluator(Evaluator):
        def evaluate(self, segments, texts=None):
            scored.append((segments.number(0), len(segments)))
            clock.now += 0.002 * len(segments) if len(scored) > 1 else 1000.0
            return super().evaluate(segments, texts)

        def fit(self, corpus, size=None):
            if "nist" in self.metrics:
                clock.now += 0.003 * len(corpus)
            super().fit(corpus, size)
            return self

    monkeypatch.setattr(module, "time", clock)
    path = write_jsonl(tmp_path / "rows.jsonl", rows(2500))
    shards = cut_files([str(path)], 50_000)
    found = estimate(Slow("out", metrics, chunk=400), shards)
    assert scored == [
        (0, 100),
        (100, 400),
        (500, 400),
        (900, 100),
    ]  # 1,000 rows
    assert found.speed == pytest.approx(1 / each)
    assert (found.files, found.shards) == (1, len(shards))
    assert found.bytes == path.stat().st_size
    assert found.seconds(3) == pytest.approx(found.rows * each / 3)


def test_bad_rows_are_left_out_of_the_sample(tmp_path):
    """The plan is shown all the same; the run will tell."""
    some = rows(40)
    lines = [json.dumps(row) for row in some]
    lines[3], lines[30] = "no JSON", '{"hypothesis": "x"}'
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(lines) + "\n")
    found = estimate(job(), cut_files([str(path)], 1 << 20))
    assert found.speed > 0
    assert found.rows == 40
    other = [{"mt": row["hypothesis"], "ref": row["references"][0]} for row in some]
    own = write_jsonl(tmp_path / "b.jsonl", other)
    named = job(columns=Columns("mt", ("ref",)))
    assert estimate(named, cut_files([str(own)], 1 << 20)).rows == 40
