"""What a run would be, before it is started: shards, rows, bytes, and the time of a sample."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from tensormt.data.shard_reader import Record, sample
from tensormt.data.shards import Shard
from tensormt.scale.job import Job
from tensormt.scale.worker import row_segments

_LOOKED_AT = 20  # files whose rows are weighed
_SAMPLE = 1000  # rows that are scored


@dataclass(frozen=True)
class Estimate:
    """Files, shards, bytes; rows (exact for Parquet) and rows a second of one worker."""

    files: int
    shards: int
    bytes: int
    rows: int
    exact: bool
    speed: float

    def seconds(self, workers: int) -> float:
        """How long so many workers would take, start-up apart."""
        return self.rows / self.speed / workers if self.speed else 0.0


def about_rows(job: Job, shards: Sequence[Shard]) -> tuple[int, bool]:
    """The rows of shards, and whether that is exact: text is weighed by its first lines."""
    known = sum(shard.rows for shard in shards if shard.rows is not None)
    text = [shard for shard in shards if shard.rows is None]
    if not text:
        return known, True
    step = max(1, len(text) // _LOOKED_AT)
    looked = text[::step]
    counted = sum(sample(shard, job.columns, 100)[1] for shard in looked)
    weight = sum(shard.bytes for shard in looked)
    rate = counted / weight if weight else 0.0
    return known + round(rate * sum(shard.bytes for shard in text)), False


def estimate(job: Job, shards: Sequence[Shard]) -> Estimate:
    """Look at the shards, and score a sample on one thread."""
    rows, exact = about_rows(job, shards)
    some: list[Record] = []
    for shard in shards[:_LOOKED_AT]:
        some += sample(shard, job.columns, _SAMPLE - len(some))[0]
        if len(some) >= _SAMPLE:
            break
    files = len({shard.path for shard in shards})
    weight = sum(shard.bytes for shard in shards)
    return Estimate(files, len(shards), weight, rows, exact, _speed(job, some))


def _speed(job: Job, rows: list[Record]) -> float:
    """Rows a second; the first few are scored before, which also loads the parser."""
    evaluator, threads = job.evaluator(), torch.get_num_threads()
    segments, warm = row_segments(rows), len(rows) // 10
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
