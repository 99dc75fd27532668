"""One worker: reads a shard chunk by chunk, scores it, writes one file; or counts its n-grams.

A worker is an object that any engine can hold: this process, a process of this machine, an actor
of a cluster. It is told a task and answers with the facts of the shard, or with the sentence that
says why there are none. As a program (`main`) it reads the job and then tasks from standard input,
a JSON line each, and answers on standard output; it ends where its standard input does, so that no
worker outlives its driver for longer than one shard.
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

from tensormt.data.fsspec_io import stored
from tensormt.data.shard_reader import InvalidRow, Record, id_type, records
from tensormt.data.shard_writer import ScoreFile
from tensormt.data.shards import Shard, place
from tensormt.errors import TensorMTError
from tensormt.evaluator import Evaluator, named_metrics
from tensormt.ngram.frequencies import Frequencies
from tensormt.scale.documents import finished, keep
from tensormt.scale.job import Job, unfitted
from tensormt.segments import Segments
from tensormt.statistics import Statistics, Totals

FORMAT = "tensormt scores 1"
_TOLD = 5  # sentences about bad rows that a footer keeps

Task = dict[str, Any]  # "do": score or count, "shard", "fingerprint", "targets"


def row_segments(rows: list[Record]) -> Segments:
    """Return the segments of rows, as those of one system."""
    return Segments.from_rows({"": [row.hyp for row in rows]}, [row.refs for row in rows])


class Worker:
    """Does the tasks of one job; weights and tables are loaded once."""

    def __init__(self, job: Job) -> None:
        self.job = job

    @cached_property
    def evaluator(self) -> Evaluator:
        """The metrics, with n-gram counts and parser."""
        return self.job.evaluator()

    def run(self, task: Task, progress: Callable[[int], object] = lambda rows: None) -> Task:
        """The answer to a task: the footer of a shard, or {"error": sentence}."""
        shard = Shard(*task["shard"])
        try:
            if task["do"] == "count":
                return self._count(shard, task["targets"], progress)
            return self._score(shard, task, progress)
        except TensorMTError as error:
            return {"error": str(error)}

    def _chunks(
        self, shard: Shard, size: int, digest: hashlib.blake2b | None = None
    ) -> Iterator[tuple[int, list[Record | InvalidRow]]]:
        """Rows of the shard, so many at a time, with the number of rows before them."""
        rows, start = records(shard, self.job.columns, digest), 0
        while part := list(islice(rows, size)):
            for row in part:
                if isinstance(row, InvalidRow) and not self.job.skip:
                    raise TensorMTError(row.message)
            yield start, part
            start += len(part)

    # --- scores -------------------------------------------------------------------------------

    def _score(self, shard: Shard, task: Task, progress: Callable[[int], object]) -> Task:
        target = self.job.output(shard)
        done = finished(self.job, shard, task["fingerprint"])
        if done is not None and done.get("fingerprint") == task["fingerprint"]:
            # by another driver, since this one made its plan
            progress(done["rows"])
            return done
        names = list(self.evaluator.metrics)
        kept = {"id": id_type(shard, self.job.columns)} if self.job.columns.id else {}
        if self.job.columns.doc:
            kept["doc"] = "string"
        digest = hashlib.blake2b(digest_size=16)
        totals = Totals()
        began, rows, references = time.process_time(), 0, 0
        told: list[str] = []
        skipped = 0
        with ScoreFile(target, {**kept, **dict.fromkeys(names, "double")}) as file:
            for start, part in self._chunks(shard, self.job.chunk_size(self.evaluator), digest):
                found, bad = self._statistics(shard, start, part)
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
                told += list(bad.values())[: _TOLD - len(told)]
                progress(len(part))
            footer = {
                "format": FORMAT,
                "fingerprint": task["fingerprint"],
                "input": [shard.path, shard.start, shard.stop, shard.mark, digest.hexdigest()],
                "skip": shard.skip,
                "rows": rows,
                "skipped": skipped,
                "errors": told,
                "references": references,
                "signatures": self.evaluator.signatures(references),
                "statistics": totals.to_json()["corpus"].get("", {}),
                "cpu_seconds": time.process_time() - began,
            }
            if self.job.documents:
                keep(self.job, shard, totals, footer)
            file.finish(footer)
        return footer

    def _kept(self, part: list[Record | InvalidRow], name: str, kind: str) -> list[Any]:
        values = [getattr(row, name, None) for row in part]
        if kind == "int64":
            return values
        return [None if value is None else str(value) for value in values]

    def _statistics(
        self, shard: Shard, start: int, part: list[Record | InvalidRow]
    ) -> tuple[Statistics | None, dict[int, str]]:
        """Statistics of the valid rows, and messages about the others by their place."""
        bad = {k: row.message for k, row in enumerate(part) if isinstance(row, InvalidRow)}
        rows = {k: row for k, row in enumerate(part) if isinstance(row, Record)}
        found: list[Statistics] = []

        def score(some: list[int]) -> None:
            """Score rows; a row that cannot be scored is found by halving."""
            try:
                found.append(self.evaluator.evaluate(row_segments([rows[k] for k in some])))
            except TensorMTError as error:
                if len(some) > 1:
                    score(some[: len(some) // 2])
                    score(some[len(some) // 2 :])
                    return
                message = f"{place(shard, start + some[0])}: {error}"
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
        """Count the n-grams of the references, a file for each table that metrics wait for."""
        tables = unfitted(named_metrics(self.job.metrics).values())
        counted = {key: tables[key][0] for key in targets}
        evaluator = self.job.evaluator(metrics=counted)
        rows = 0
        for _, part in self._chunks(shard, self.job.chunk_size(evaluator)):
            valid = [row.refs for row in part if isinstance(row, Record)]
            texts = evaluator.prepare(Segments.from_rows({}, valid))
            for metric in counted.values():
                metric.fit(metric.reads.batches(texts))
            rows += len(part)
            progress(len(part))
        for key, metric in counted.items():
            with stored(targets[key]) as path:
                (metric.counts or Frequencies(metric.max_order)).save(path)
        return {"rows": rows}


def main() -> None:
    """Do tasks from standard input until it ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever prints must not disturb the answers
    torch.set_num_threads(1)
    worker = Worker(Job.of_json(sys.stdin.readline()))

    def tell(answer: Task) -> None:
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    try:
        tell({"ready": os.getpid()})
        for line in sys.stdin:
            tell({"done": worker.run(json.loads(line), lambda rows: tell({"rows": rows}))})
    except (BrokenPipeError, KeyboardInterrupt):
        os._exit(1)  # the driver has gone away
