"""A worker: scores a shard chunk by chunk and writes one file, or counts its n-grams.

Workers run in this process, in another process or in an actor of a cluster. A worker receives tasks
and answers with the footer of the shard, or with an error message. As a program (`main`) it reads
the job and then the tasks from standard input, one JSON line each, and writes its answers to
standard output; it ends when standard input is closed, so it outlives its driver by at most one
shard.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import Any

import torch

from tensormt.data.fsspec_io import atomic_upload
from tensormt.data.row_columns import Columns, Record
from tensormt.data.shard_reader import InvalidRow, id_type, read_records
from tensormt.data.shard_writer import ScoreFile
from tensormt.data.shards import Shard, row_location
from tensormt.errors import TensorMTError
from tensormt.evaluator import Evaluator, named_metrics
from tensormt.scale.documents import finished_footer, write_sums
from tensormt.scale.job import Job, unfitted
from tensormt.segments import Segments
from tensormt.statistics import Statistics, Totals
from tensormt.text_warnings import TextWarnings

FORMAT = "tensormt scores 1"
_MAX_ERRORS = 5  # messages about invalid rows in a footer

Task = dict[str, Any]  # "do": score or count, "shard", "fingerprint", "targets"


def row_segments(rows: list[Record], columns: Columns) -> Segments:
    """Return the segments of rows, with one system of empty name, and sources if they are named."""
    return Segments.from_rows(
        {"": [row.hyp for row in rows]},
        [row.refs for row in rows],
        sources=[row.src for row in rows] if columns.src else None,
    )


class Worker:
    """Does the tasks of one job; parser and n-gram counts are loaded once."""

    def __init__(self, job: Job) -> None:
        self.job = job

    @cached_property
    def evaluator(self) -> Evaluator:
        """The evaluator of the job, with n-gram counts and parser."""
        return self.job.evaluator()

    def run(self, task: Task, progress: Callable[[int], object] = lambda rows: None) -> Task:
        """Do a task.

        Args:
            task: "do" ("score" or "count"), "shard", and "fingerprint" or "targets".
            progress: Called with numbers of rows that were processed.

        Returns:
            The footer of the shard, or {"error": message}.
        """
        shard = Shard(*task["shard"])
        try:
            if task["do"] == "count":
                return self._count(shard, task["targets"], progress)
            return self._score(shard, task, progress)
        except TensorMTError as error:
            options = {"options": error.options} if error.options else {}
            return {"error": str(error), **options}

    def _chunks(
        self, shard: Shard, size: int, digest: hashlib.blake2b | None = None
    ) -> Iterator[tuple[int, list[Record | InvalidRow]]]:
        """Batches of rows of the shard, with the number of rows before each."""
        rows, start = read_records(shard, self.job.columns, digest), 0
        while part := list(islice(rows, size)):
            for row in part:
                if isinstance(row, InvalidRow) and not self.job.skip:
                    raise TensorMTError(row.message, options=row.options)
            yield start, part
            start += len(part)

    # --- scores -------------------------------------------------------------------------------

    def _score(self, shard: Shard, task: Task, progress: Callable[[int], object]) -> Task:
        target = self.job.output(shard)
        done = finished_footer(self.job, shard, task["fingerprint"])
        if done is not None and done.get("fingerprint") == task["fingerprint"]:
            # another driver has finished it meanwhile
            progress(done["rows"])
            return done
        names = list(self.evaluator.metrics)
        kept = {"id": id_type(shard, self.job.columns)} if self.job.columns.id else {}
        if self.job.columns.doc:
            kept["doc"] = "string"
        digest = hashlib.blake2b(digest_size=16)
        totals, seen = Totals(), TextWarnings(self.evaluator.metrics)
        began, rows, references = time.process_time(), 0, 0
        errors: list[str] = []
        skipped = 0
        with ScoreFile(target, {**kept, **dict.fromkeys(names, "double")}) as file:
            for start, part in self._chunks(shard, self.job.chunk_size(self.evaluator), digest):
                found, bad = self._statistics(shard, start, part, seen)
                good = [k for k in range(len(part)) if k not in bad]
                columns: dict[str, list[Any]] = {
                    name: self._kept(part, name, kind) for name, kind in kept.items()
                }
                columns |= {name: [None] * len(part) for name in names}
                if found is not None:
                    for name in names:
                        for k, score in zip(good, found.segments(name)[0].tolist(), strict=True):
                            columns[name][k] = score
                    docs = [getattr(part[k], "doc", None) or "" for k in good]
                    totals.add(replace(found, documents=docs), documents=self.job.documents)
                for row in part:
                    references = max(references, len(row.refs) if isinstance(row, Record) else 0)
                file.add(columns)
                rows, skipped = rows + len(part), skipped + len(bad)
                errors += list(bad.values())[: _MAX_ERRORS - len(errors)]
                progress(len(part))
            footer = {
                "format": FORMAT,
                "fingerprint": task["fingerprint"],
                "input": [shard.path, shard.start, shard.stop, shard.mark, digest.hexdigest()],
                "skip": shard.skip,
                "rows": rows,
                "skipped": skipped,
                "errors": errors,
                "references": references,
                "warnings": seen.counts,
                "signatures": self.evaluator.signatures(references),
                "statistics": totals.to_json()["corpus"].get("", {}),
                "cpu_seconds": time.process_time() - began,
            }
            if self.job.documents:
                write_sums(self.job, shard, totals, footer)
            file.finish(footer)
        return footer

    def _kept(self, part: list[Record | InvalidRow], name: str, kind: str) -> list[Any]:
        values = [getattr(row, name, None) for row in part]
        if kind == "int64":
            return values
        return [None if value is None else str(value) for value in values]

    def _evaluate(self, rows: list[Record], seen: TextWarnings) -> Statistics:
        segments = row_segments(rows, self.job.columns)
        found = self.evaluator.evaluate(segments)
        seen.add(segments, found)
        return found

    def _statistics(
        self, shard: Shard, start: int, part: list[Record | InvalidRow], seen: TextWarnings
    ) -> tuple[Statistics | None, dict[int, str]]:
        """Statistics of the valid rows, and messages about the others by position."""
        bad = {k: row.message for k, row in enumerate(part) if isinstance(row, InvalidRow)}
        rows = {k: row for k, row in enumerate(part) if isinstance(row, Record)}
        found: list[Statistics] = []

        def score(some: list[int]) -> None:
            """Score rows; a row that cannot be scored is found by bisection."""
            try:
                found.append(self._evaluate([rows[k] for k in some], seen))
            except TensorMTError as error:
                if len(some) > 1:
                    score(some[: len(some) // 2])
                    score(some[len(some) // 2 :])
                    return
                message = f"{row_location(shard, start + some[0])}: {error}"
                if not self.job.skip:
                    raise TensorMTError(message) from None
                bad[some[0]] = message

        if rows:
            score(list(rows))
        return (Statistics.concat(found) if found else None), dict(sorted(bad.items()))

    # --- counts -------------------------------------------------------------------------------

    def _count(
        self, shard: Shard, targets: dict[str, str], progress: Callable[[int], object]
    ) -> Task:
        """Count units of the references; one file for each table that metrics need."""
        tables = unfitted(named_metrics(self.job.metrics, self.job.lang).values())
        counted = {key: tables[key][0] for key in targets}
        evaluator = self.job.evaluator(metrics=counted)
        rows = 0
        for _, part in self._chunks(shard, self.job.chunk_size(evaluator)):
            valid = [row.refs for row in part if isinstance(row, Record)]
            texts = evaluator.prepare(Segments.from_rows({}, valid))
            for metric in counted.values():
                metric.fit(metric.fit_reads.batches(texts))
            rows += len(part)
            progress(len(part))
        for key, metric in counted.items():
            with atomic_upload(targets[key]) as path:
                (metric.counts or metric.no_counts()).save(path)
        return {"rows": rows}


def main() -> None:
    """Do tasks from standard input until it is closed."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # other output must not mix with the answers
    torch.set_num_threads(1)
    worker = Worker(Job.from_json(sys.stdin.readline()))

    def send(message: Task) -> None:
        answers.write(json.dumps(message) + "\n")
        answers.flush()

    try:
        send({"ready": os.getpid()})
        for line in sys.stdin:
            send({"done": worker.run(json.loads(line), lambda rows: send({"rows": rows}))})
    except (BrokenPipeError, KeyboardInterrupt):
        os._exit(1)  # the driver has ended
