"""Estimates before a run: shards, rows, bytes, and the speed on a sample."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from tensormt.data.row_columns import Record
from tensormt.data.shard_reader import sample_rows
from tensormt.data.shards import Shard
from tensormt.scale.job import Job
from tensormt.scale.worker import row_segments

_SAMPLED_SHARDS = 20  # shards from which rows are sampled
_SAMPLE = 1000  # rows that are scored


@dataclass(frozen=True)
class Estimate:
    """The size of a run.

    Attributes:
        files: Number of files.
        shards: Number of shards.
        bytes: Their size.
        rows: Number of rows.
        exact: Whether `rows` is exact, as for Parquet.
        speed: Rows per second of one worker.
    """

    files: int
    shards: int
    bytes: int
    rows: int
    exact: bool
    speed: float

    def seconds(self, workers: int) -> float:
        """Return the duration with so many workers, without start-up."""
        return self.rows / self.speed / workers if self.speed else 0.0


def estimate_rows(job: Job, shards: Sequence[Shard]) -> tuple[int, bool]:
    """Return the number of rows of shards, and whether it is exact.

    Rows of text files are estimated from the length of their first lines.
    """
    known = sum(shard.rows for shard in shards if shard.rows is not None)
    text = [shard for shard in shards if shard.rows is None]
    if not text:
        return known, True
    step = max(1, len(text) // _SAMPLED_SHARDS)
    sampled = text[::step]
    counted = sum(sample_rows(shard, job.columns, 100)[1] for shard in sampled)
    weight = sum(shard.bytes for shard in sampled)
    rate = counted / weight if weight else 0.0
    return known + round(rate * sum(shard.bytes for shard in text)), False


def estimate(job: Job, shards: Sequence[Shard]) -> Estimate:
    """Estimate rows and speed; a sample is scored on one thread."""
    rows, exact = estimate_rows(job, shards)
    some: list[Record] = []
    for shard in shards[:_SAMPLED_SHARDS]:
        some += sample_rows(shard, job.columns, _SAMPLE - len(some))[0]
        if len(some) >= _SAMPLE:
            break
    files = len({shard.path for shard in shards})
    weight = sum(shard.bytes for shard in shards)
    return Estimate(files, len(shards), weight, rows, exact, _speed(job, some))


def _speed(job: Job, rows: list[Record]) -> float:
    """Rows per second, after a warm-up on the first rows, which also loads the parser."""
    evaluator, threads = job.evaluator(), torch.get_num_threads()
    segments, warm = row_segments(rows, job.columns), len(rows) // 10
    torch.set_num_threads(1)
    try:
        counting = time.perf_counter()
        evaluator = evaluator.fit(segments)
        counting = time.perf_counter() - counting
        evaluator.evaluate(segments[:warm])
        began = time.perf_counter()
        for _, found in evaluator.run(segments, job.chunk_size(evaluator), warm):
            for name in evaluator.metrics:
                found.segments(name)
        scoring = time.perf_counter() - began
    finally:
        torch.set_num_threads(threads)
    each = counting / max(len(rows), 1) + scoring / max(len(rows) - warm, 1)
    return 1 / each if each > 0 else 0.0
